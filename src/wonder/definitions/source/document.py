"""What was read from a file: its text, its value, and the place of each part."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct

from wonder.definitions.source.inside import offset_inside
from wonder.language.values import JsonValue

# Where a value stands: the offset of its key (or of itself, in a list), and the same for what is inside it.
Marks: TypeAlias = tuple[int, "MarksInside"]
MarksInside: TypeAlias = dict[str, Marks] | list[Marks] | None

# How many values a file may hold. Each costs time and memory, whatever it is: a file of 16 MB can hold 8 million.
VALUES_MAX = 250_000

_LINE_BREAK = re.compile(r"\r\n|\n|\r")


class Place(Struct, frozen=True):
    """A place in a file; lines and columns count from 1, columns in characters."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class SourceText:
    """A text and its file's name, which together turn an offset into a place."""

    def __init__(self, text: str, file: str) -> None:
        self.text, self.file = text, file
        self._line_starts: list[int] | None = None

    def place(self, offset: int) -> Place:
        """Return the line and column of the character at an offset."""
        if self._line_starts is None:
            self._line_starts = [0, *(found.end() for found in _LINE_BREAK.finditer(self.text))]
        line = bisect_right(self._line_starts, offset)
        return Place(self.file, line, offset - self._line_starts[line - 1] + 1)


class SourceDocument:
    """The value of a file, which can say where each part of it was written."""

    def __init__(self, value: JsonValue, source: SourceText, marks: Marks) -> None:
        self.value = value
        self.file = source.file
        self._source, self._marks = source, marks

    def place_inside(self, path: Sequence[str | int], line: int, column: int) -> Place | None:
        """Return where a line and column of the text at a path stands in the file; None if that can't be told."""
        offset = offset_inside(self._source.text, self._offset_of(path), line, column)
        return None if offset is None else self._source.place(offset)

    def place_of(self, path: Sequence[str | int]) -> Place:
        """Return where the key or element at a path stands, or the nearest parent that exists."""
        return self._source.place(self._offset_of(path))

    def _offset_of(self, path: Sequence[str | int]) -> int:
        mark = self._marks
        for segment in path:
            match mark[1], segment:
                case dict() as members, str() if segment in members:
                    mark = members[segment]
                case list() as elements, int() if 0 <= segment < len(elements):
                    mark = elements[segment]
                case _:
                    break
        return mark[0]
