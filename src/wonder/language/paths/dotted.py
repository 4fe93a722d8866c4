"""Dotted paths: `state.items`, `state."a b".c[2]`, and the same written as a query (CTX-6)."""

import re
from typing import Final

from wonder.language.letters import NOT_FIRST, NOT_NEXT
from wonder.language.paths.faults import PathSyntax
from wonder.language.paths.getters import Path
from wonder.language.paths.query import SEGMENTS_MAX, TEXT_MAX, compile_query

_WORD: Final = re.compile(rf"[^{NOT_FIRST}][^{NOT_NEXT}]*")
_QUOTED: Final = re.compile(r'"((?:[^"\x00\uD800-\uDFFF]|"")*+)"')
_INDEX: Final = re.compile(r"\[(0|[1-9][0-9]{0,14})\]")


def parse_dotted(text: str) -> Path:
    """Read a dotted path; a name with other characters stands in double quotes, and a quote in it is doubled."""
    if len(text) > TEXT_MAX:
        raise PathSyntax(text, TEXT_MAX, f"longer than {TEXT_MAX:,} characters", "write a shorter path")
    if text.startswith("$"):
        return _parse_query(text)
    name, position = _name(text, 0)
    path: list[str | int] = [name]
    while position < len(text):
        if text[position] == ".":
            name, position = _name(text, position + 1)
            path.append(name)
        elif found := _INDEX.match(text, position):
            path.append(int(found[1]))
            position = found.end()
        else:
            raise PathSyntax(text, position, f"unexpected {text[position]!r}", _hint(text[position]))
    if len(path) > SEGMENTS_MAX:
        raise PathSyntax(text, len(text), f"more than {SEGMENTS_MAX} segments", "values are not nested that deep")
    return tuple(path)


def _parse_query(text: str) -> Path:
    path = compile_query(text).path
    if not path:
        raise PathSyntax(text, 0, "a path to one value is needed", "write names and indexes only, as in state.items[0]")
    if any(isinstance(segment, int) and segment < 0 for segment in path):
        raise PathSyntax(text, text.index("[-"), "an index can't be negative here", "count from the beginning")
    return path


def _name(text: str, position: int) -> tuple[str, int]:
    if found := _WORD.match(text, position):
        return found[0], found.end()
    if found := _QUOTED.match(text, position):
        return found[1].replace('""', '"'), found.end()
    if position < len(text):
        raise PathSyntax(text, position, f"a name can't begin with {text[position]!r}", _hint(text[position]))
    raise PathSyntax(text, position, "a name is missing", "write a name behind each dot")


def _hint(character: str) -> str:
    if character == '"':
        return "close the quote"
    if character == "[":
        return "an index is a number from 0, as in state.items[0]"
    return 'put a name with other characters in double quotes: state."a-b"'
