"""Keys: texts from outside by which something is found again. They are indexed, and so bounded (RES-7)."""

from typing import Final

from wonder.errors import WonderError
from wonder.language.values import BadValue, check_value

KEY_BYTES_MAX: Final = 1_000
"""PostgreSQL indexes rows of 2,704 bytes at most: two keys and two ids have room in one. The same holds on SQLite."""
_SHOWN: Final = 40


class KeyRefused(WonderError):
    """A text can't be a key: it is too long, or no database can store it."""

    code = "KEY_REFUSED"

    def __init__(self, what: str, text: str, reason: str) -> None:
        shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
        super().__init__(f"{what} {shown!r} {reason}")
        self.what, self.text, self.reason = what, text, reason


def check_key(what: str, text: str) -> None:
    """Refuse a text that can't be indexed; `what` begins the message: "the idempotency key"."""
    try:
        check_value(text)
    except BadValue as error:
        raise KeyRefused(what, text, f"can't be stored: {error}; leave that character out") from None
    # A character has four bytes at most: most keys need not be encoded.
    if len(text) > KEY_BYTES_MAX // 4 and (found := len(text.encode())) > KEY_BYTES_MAX:
        reason = f"has {found:,} bytes, and {KEY_BYTES_MAX:,} are the limit; use a shorter one, or a hash of it"
        raise KeyRefused(what, text, reason)
