"""JSONPath queries: plain ones read here, all others by the rules of RFC 9535."""

import re
from typing import Final

from wonder.language.letters import NOT_FIRST, NOT_NEXT
from wonder.language.paths.faults import PathSyntax
from wonder.language.paths.getters import Getter, Path, getter

TEXT_MAX = 10_000
SEGMENTS_MAX = 200

_NAME = rf"\.[^{NOT_FIRST}\uD800-\uDFFF][^{NOT_NEXT}\uD800-\uDFFF]*"
_INDEX = r"\[(?:0|-?[1-9][0-9]{0,14})\]"  # fifteen digits stay below 2^53, where RFC 9535 ends
_QUOTED = r"\['[^'\\\x00-\x1f\uD800-\uDFFF]*'\]"
_PLAIN: Final = re.compile(rf"\$(?:{_NAME}|{_INDEX}|{_QUOTED})*")
_SEGMENT: Final = re.compile(rf"{_NAME}|{_INDEX}|{_QUOTED}")


class Query:
    """A compiled query, immutable.

    `singular`: finds one value at most. `path`: its names and indexes, if it has nothing else. `prefix`: the names and
    indexes with which it begins.
    """

    __slots__ = ("find", "path", "prefix", "singular", "text")

    def __init__(self, text: str, find: Getter, prefix: Path, *, plain: bool, singular: bool) -> None:
        self.text = text
        self.singular = singular
        self.path = prefix if plain else None
        self.prefix = prefix
        self.find: Final = find
        """Return the value found or MISSING; for a query that is not singular, the list of all values found.

        What is found is the document's own, not a copy: do not change it in place.
        """

    def __repr__(self) -> str:
        return f"Query({self.text!r})"


def compile_query(text: str) -> Query:
    """Compile a JSONPath query; raises PathSyntax if the text is not one."""
    if len(text) > TEXT_MAX:
        raise PathSyntax(text, TEXT_MAX, f"longer than {TEXT_MAX:,} characters", "write a shorter query")
    if not text.startswith("$"):
        raise PathSyntax(text, 0, "a query begins with $", "write $. before it")
    path = _plain_path(text)
    if path is not None:
        if len(path) > SEGMENTS_MAX:
            raise PathSyntax(text, len(text), f"more than {SEGMENTS_MAX} segments", "values are not nested that deep")
        return Query(text, getter(path), path, plain=True, singular=True)
    # Imported here, because the parser behind it takes 75 ms to load and most definitions have plain paths only.
    from wonder.language.paths.rfc9535 import compile_rfc9535

    find, prefix, plain = compile_rfc9535(text, SEGMENTS_MAX)
    return Query(text, find, prefix, plain=plain, singular=plain)


def _plain_path(text: str) -> Path | None:
    if not _PLAIN.fullmatch(text):
        return None
    segments: list[str | int] = []
    for found in _SEGMENT.findall(text):
        if found[0] == ".":
            segments.append(found[1:])
        elif found[1] == "'":
            segments.append(found[2:-2])
        else:
            segments.append(int(found[1:-1]))
    return tuple(segments)
