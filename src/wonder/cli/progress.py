"""What actions tell while they run, each in a few words for one line of a terminal."""

import re
import time
from collections.abc import Container, Iterable
from typing import Any, Final
from unicodedata import east_asian_width

from wonder.cli.output import visible
from wonder.language.values import JsonValue, encode_json
from wonder.observe.watching import Progress

_TAIL_MAX: Final = 500
_NODES_MAX: Final = 1_000
_NARROWEST: Final = 8
_STYLES: Final = re.compile(r"\x1b\[[0-9;]*m")


class ProgressLines:
    """The last that each node has told."""

    def __init__(self) -> None:
        self._told: dict[str, Progress] = {}
        self._text: dict[str, str] = {}

    def add(self, messages: Iterable[Progress]) -> None:
        """Take messages, oldest first."""
        for message in messages:
            node, text = message.node, _partial_text(message.progress)
            if node not in self._told and len(self._told) >= _NODES_MAX:
                continue
            before = self._told.get(node)
            if text is None:
                self._text.pop(node, None)
            elif before is not None and _speaker(before) == _speaker(message) and _offset(message.progress):
                self._text[node] = (self._text.get(node, "") + text)[-_TAIL_MAX:]
            else:
                # Another branch speaks now, or the same one from the beginning.
                self._text[node] = text[-_TAIL_MAX:]
            self._told[node] = message

    def in_line(self, live: Container[str]) -> list[str]:
        """Say which of the nodes that are live wait in line for their turn."""
        told = [(node, self._told[node].progress) for node in self._told if node in live]
        return [visible(f"{node} {_in_words(progress)}") for node, progress in told if _waits_in_line(progress)]

    def beside(self, line: str, node: str, width: int) -> str:
        """Give as much of what a node has told last as a terminal has room for beside a line."""
        room = width - columns(_STYLES.sub("", line)) - 2
        if node not in self._told or room < _NARROWEST:
            return ""
        if node in self._text:
            return _last_columns(visible(" ".join(self._text[node].split())), room)
        return _first_columns(visible(_in_words(self._told[node].progress)), room)


def columns(text: str) -> int:
    """Count the columns that a terminal shows a text in."""
    return sum(2 if east_asian_width(sign) in "WF" else 1 for sign in text)


def _in_words(progress: JsonValue) -> str:
    match progress:
        case {"waiting_for": _, "ahead": int(ahead)}:
            return f"waits in line: {ahead} ahead"
        case {"waiting_for": _, "until_ms": int(until_ms)} if 0 <= until_ms < 2**42:
            return f"waits in line until {time.strftime('%H:%M:%S', time.localtime(until_ms / 1_000))}"
        case {"progress": int() | float() as done, **rest}:
            of = f"/{_number(rest['total'])}" if "total" in rest else ""
            message = rest.get("message")
            return f"{_number(done)}{of}" + (f" {' '.join(message.split())}" if isinstance(message, str) else "")
        case str(text):
            return " ".join(text.split())
    return encode_json(progress)


def _waits_in_line(progress: JsonValue) -> bool:
    return isinstance(progress, dict) and "waiting_for" in progress


def _number(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else encode_json(value)


def _partial_text(progress: JsonValue) -> str | None:
    match progress:
        case {"text": str(text), "offset": int()}:
            return text
    return None


def _offset(progress: JsonValue) -> JsonValue:
    return progress.get("offset") if isinstance(progress, dict) else None


def _speaker(message: Progress) -> tuple[str, str]:
    return (message.branch, message.step)


def _first_columns(text: str, room: int) -> str:
    if columns(text) <= room:
        return text
    kept = text[:room]
    while columns(kept) > room - 1:
        kept = kept[:-1]
    return f"{kept}…"


def _last_columns(text: str, room: int) -> str:
    if columns(text) <= room:
        return text
    kept = text[-room:]
    while columns(kept) > room - 1:
        kept = kept[1:]
    return f"…{kept}"
