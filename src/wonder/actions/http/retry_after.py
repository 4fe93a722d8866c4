"""How long a server asks to be left alone: `Retry-After`, and what some send in its place (RET-1)."""

from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Final

RETRY_AFTER_MAX_MS: Final = 86_400_000
"""The longest wait that is heard, a day; how long is waited in truth is the retry policy's to say."""

_DIGITS_MAX: Final = 16


def retry_after_of(headers: Mapping[str, str], now_ms: int) -> int | None:
    """Return how long the headers of an answer ask to wait, by the milliseconds that model providers send if there."""
    milliseconds = _number(headers.get("retry-after-ms", ""))
    return retry_after_ms(headers.get("retry-after", ""), now_ms) if milliseconds is None else _bounded(milliseconds)


def retry_after_ms(text: str, now_ms: int) -> int | None:
    """Return how long a `Retry-After` asks to wait, in seconds or until a date; None if it says nothing."""
    seconds = _number(text)
    if seconds is not None:
        return _bounded(seconds * 1_000)
    try:
        return _bounded(parsedate_to_datetime(text.strip()).timestamp() * 1_000 - now_ms)
    except (ValueError, OverflowError):
        return None


def _number(text: str) -> float | None:
    whole, _, part = text.strip().partition(".")
    if not whole.isascii() or not whole.isdigit() or not (not part or (part.isascii() and part.isdigit())):
        return None
    # Of a very long one the beginning is enough: it is above any bound.
    return float(f"{whole[:_DIGITS_MAX]}.{part[:_DIGITS_MAX]}")


def _bounded(milliseconds: float) -> int:
    return int(min(max(milliseconds, 0), RETRY_AFTER_MAX_MS))
