"""What people and programs see: faults under the line they are about, tables, JSON."""

import json
import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from wonder.cli.own_output import own_output, say
from wonder.definitions.faults import Fault
from wonder.language.values import encode_json, show_path
from wonder.operations.outputs import as_json

_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
# JSON itself leaves these as they are: DEL, and beyond ASCII the other control characters and marks that reverse text.
_PERHAPS_OBEYED = re.compile(r"[\x7f-\U0010ffff]")
_WIDTH_MAX = 500
_SIGNS_MAX = 50
_COLORS = {"error": "31", "warning": "33", "good": "32", "hint": "36", "dim": "2", "bold": "1"}


def print_json(value: Any) -> None:
    """Print a value for a program: one document, nothing else."""
    say(_json_text(value))


def print_output(output: Any) -> None:
    """Print the output of an operation for a program."""
    print_json(as_json(output))


class JsonList:
    """Prints a list for a program element by element, so that a long one needs no memory."""

    def __init__(self) -> None:
        self._is_empty = True

    def add(self, value: Any) -> None:
        """Print one more element."""
        say("[" if self._is_empty else ",")
        self._is_empty = False
        say(textwrap.indent(_json_text(value), "  "), end="")

    def end(self) -> None:
        """Close the list."""
        say("[]" if self._is_empty else "\n]")


def visible(text: str) -> str:
    """Write out what a terminal would obey instead of showing: escape sequences, line breaks, reversed text."""
    if text.isprintable():
        return text
    # Sign by sign in Python, a result of a query of 30 MB takes half a minute.
    shown = {sign: sign.encode("unicode_escape").decode() for sign in set(text) if not sign.isprintable()}
    if len(shown) > _SIGNS_MAX:
        return text.translate({ord(sign): escape for sign, escape in shown.items()})
    for sign, escape in shown.items():
        text = text.replace(sign, escape)
    return text


def visible_lines(text: str, margin: str = "    ") -> str:
    """Do the same line by line: all lines but the first stand behind a margin, so that none passes for one of ours."""
    first, *more = map(visible, text.split("\n"))
    return "\n".join([first, *(f"{margin}{line}" for line in more)])


def visible_json(value: Any) -> str:
    """Write a value as JSON on one line, with what a terminal would obey escaped as JSON does it."""
    return _escaped(encode_json(value))


def color(style: str, text: str) -> str:
    """Color a text, if a person looks at it on a terminal."""
    return f"\x1b[{_COLORS[style]}m{text}\x1b[0m" if own_output().isatty() else text


def print_faults(faults: Iterable[Fault], lines: Sequence[str]) -> None:
    """Print each fault with its line of the source, a mark under the place, and how to fix it."""
    for fault in faults:
        where = f"{visible(fault.place.file)}:{fault.place.line}:{fault.place.column}: " if fault.place else ""
        said, *more = map(visible, fault.message.split("\n"))
        say(f"{color('bold', where)}{color(fault.severity, fault.severity)} {fault.code}: {said}")
        for line in more:  # as the TypeScript compiler tells why two types differ
            say(f"    {line}")
        if fault.place and 0 < fault.place.line <= len(lines):
            _print_line(lines[fault.place.line - 1], fault.place.line, fault.place.column)
        if fault.path:
            say(f"      {color('dim', 'at ' + visible(show_path(fault.path)))}")
        if fault.hint:
            say(f"      {color('hint', visible(fault.hint))}")


def named(ref: str, name: str | None) -> str:
    """Write a node, with its name for people if it has one."""
    return visible(f"{ref} ({name})" if name and name != ref else ref)


def count(number: int, noun: str) -> str:
    """Write a number with its noun: `1 error`, `2 errors`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def print_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table, its columns as wide as they need to be; a very wide cell does not widen the other rows."""
    # The titles too: a query chooses the names of its columns.
    titles, rows = [*map(visible, titles)], [[visible(cell) for cell in row] for row in rows]
    widths = [min(_WIDTH_MAX, max(map(len, column))) for column in zip(titles, *rows, strict=True)]
    say(color("bold", _line(titles, widths)))
    for row in rows:
        say(_line(row, widths))


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def _print_line(line: str, number: int, column: int) -> None:
    # A long line is shown around the place; tabs count as one character, as they do in the column, and so does what a
    # terminal would obey instead of showing.
    start = max(0, column - 60)
    part = line[start : start + 110].replace("\t", " ")
    shown = "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in part)
    before = "…" if start else ""
    say(f"  {color('dim', f'{number:>4} |')} {before}{shown}")
    say(f"       {color('dim', '|')} {' ' * (column - 1 - start + len(before))}{color('bold', '^')}")


def _json_text(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, indent=2)
    except ValueError:  # an integer of more digits than Python writes
        text = encode_json(value)
    if not _can_be_printed(text):
        # The stream's encoding lacks a character, or a file's name is no UTF-8: JSON can write both in plain ASCII.
        text = _NOT_ASCII.sub(lambda found: json.dumps(found[0])[1:-1], text)
    return _escaped(text)


def _escaped(text: str) -> str:
    """Escape what a terminal would obey in a JSON text, which stays the same value."""
    for sign in {sign for sign in set(_PERHAPS_OBEYED.findall(text)) if not sign.isprintable()}:
        text = text.replace(sign, "\\u007f" if sign == "\x7f" else json.dumps(sign)[1:-1])
    return text


def _can_be_printed(text: str) -> bool:
    try:
        text.encode(getattr(own_output(), "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return False
    return True
