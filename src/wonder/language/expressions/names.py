"""Names in expressions: the paths that they spell, and what they are resolved to (EXP-2)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias

from wonder.language.expressions.errors import ExpressionSyntax
from wonder.language.letters import NOT_FIRST, NOT_NEXT_NOR_DOLLAR

Path: TypeAlias = tuple[str | int, ...]

ROOTS: Final = frozenset({"input", "state", "output", "_branch", "_last_error"})

# Words that mean something in an expression, in any case; as names they must stand in double quotes or behind a dot.
RESERVED_WORDS: Final = frozenset(
    {
        *["and", "or", "not", "is", "in", "like", "glob", "regexp", "match", "escape", "between", "collate"],
        *["isnull", "notnull", "null", "true", "false", "distinct", "from"],
        *["case", "when", "then", "else", "end", "cast", "as"],
        *["select", "exists", "raise", "current_date", "current_time", "current_timestamp"],
    }
)

# The letters that SQLite takes: ASCII, and everything beyond it.
_WORD = rf"[^{NOT_FIRST}][^{NOT_NEXT_NOR_DOLLAR}]*"
WORD: Final = re.compile(_WORD)
_QUOTED = r'"(?:[^"]|"")*"'
_SEGMENT = re.compile(rf"\.(?:({_WORD})|({_QUOTED}))|\[(\d+)\]", re.ASCII)
_FIRST = re.compile(rf"({_WORD})|({_QUOTED})")
# More digits than any list has elements, and fewer than Python refuses to read.
_INDEX_DIGITS_MAX = 18


@dataclass(frozen=True)
class Names:
    """What an expression may name at its place.

    `roots` has the fixed roots that are there and each enclosing item_var; `reads` the paths whose last part a bare
    name may stand for. A bare name that is neither is a field of `state`.
    """

    roots: frozenset[str] = ROOTS
    reads: tuple[str, ...] = ()

    def resolve(self, path: Path, text: str, position: int) -> Path:
        """Return the path from its root on; raise ExpressionSyntax where two of `reads` have the same last part."""
        if path[0] not in self.roots:
            path = self._resolve_bare(path, text, position)
        return path[1:] if path[:2] == ("state", "_last_error") else path

    def _resolve_bare(self, path: Path, text: str, position: int) -> Path:
        found = set(self._reads_by_last_part.get(path[0], ()))
        if len(found) > 1:
            shown = " or ".join(sorted(show_path(read) for read in found))
            raise ExpressionSyntax(text, position, f"the name {path[0]!r} could be {shown}; write one of them in full")
        return (*found.pop(), *path[1:]) if found else ("state", *path)

    @cached_property
    def _reads_by_last_part(self) -> dict[str | int, set[Path]]:
        found: dict[str | int, set[Path]] = {}
        for path in map(self._read_path, self.reads):
            found.setdefault(path[-1], set()).add(path)
        return found

    def _read_path(self, read: str) -> Path:
        path = parse_path(read)
        return path if path[0] in self.roots else ("state", *path)


def is_item_var(name: str) -> bool:
    """Tell whether a foreach may call its item so: an identifier that is no root and no word of the language."""
    return WORD.fullmatch(name) is not None and name not in ROOTS and name.lower() not in RESERVED_WORDS


def parse_path(text: str) -> Path:
    """Read a whole path like `state.rows[3]."a b"`; raise ExpressionSyntax if it is not one."""
    path, end = read_path(text, 0)
    if not path or end != len(text):
        raise ExpressionSyntax(text, end, 'expected a path like state.rows[3]."a b"')
    return path


def read_path(text: str, start: int) -> tuple[Path, int]:
    """Read the longest path that begins at an offset; return it, empty if there is none, and where it ends."""
    first = _FIRST.match(text, start)
    if not first:
        return (), start
    path: list[str | int] = [first[1] or _unquoted(first[2])]
    end = first.end()
    while segment := _SEGMENT.match(text, end):
        word, quoted, index = segment.groups()
        if index:
            path.append(int(index) if len(index) <= _INDEX_DIGITS_MAX else 10**_INDEX_DIGITS_MAX)
        else:
            path.append(word or _unquoted(quoted))
        end = segment.end()
    return tuple(path), end


def show_path(path: Iterable[str | int]) -> str:
    """Write a path as an expression would."""
    shown = ""
    for segment in path:
        if isinstance(segment, int):
            shown += f"[{segment}]"
            continue
        name = segment if WORD.fullmatch(segment) else '"' + segment.replace('"', '""') + '"'
        shown += f".{name}" if shown else name
    return shown


def _unquoted(quoted: str) -> str:
    return quoted[1:-1].replace('""', '"')
