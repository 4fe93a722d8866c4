"""What people and programs see: faults under the line they are about, tables, JSON."""

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from wonder.definitions.faults import Fault
from wonder.language.values import encode_json, show_path

_COLORS = {"error": "31", "warning": "33", "good": "32", "hint": "36", "dim": "2", "bold": "1"}


def print_json(value: Any) -> None:
    """Print a value for a program: one document, nothing else."""
    try:
        text = json.dumps(value, ensure_ascii=False, indent=2)
    except ValueError:  # an integer of more digits than Python writes
        text = encode_json(value)
    if not _can_be_printed(text):
        # The stream's encoding lacks a character, or a file's name is no UTF-8: JSON can write both in plain ASCII.
        text = "".join(sign if sign.isascii() else json.dumps(sign)[1:-1] for sign in text)
    print(text)


def visible(text: str) -> str:
    """Write out what a terminal would obey instead of showing: escape sequences, line breaks, reversed text."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def color(style: str, text: str) -> str:
    """Color a text, if a person looks at it on a terminal."""
    return f"\x1b[{_COLORS[style]}m{text}\x1b[0m" if sys.stdout.isatty() else text


def print_faults(faults: Iterable[Fault], lines: Sequence[str]) -> None:
    """Print each fault with its line of the source, a mark under the place, and how to mend it."""
    for fault in faults:
        where = f"{visible(fault.place.file)}:{fault.place.line}:{fault.place.column}: " if fault.place else ""
        said, *more = map(visible, fault.message.split("\n"))
        print(f"{color('bold', where)}{color(fault.severity, fault.severity)} {fault.code}: {said}")
        for line in more:  # as the TypeScript compiler tells why two types differ
            print(f"    {line}")
        if fault.place and 0 < fault.place.line <= len(lines):
            _print_line(lines[fault.place.line - 1], fault.place.line, fault.place.column)
        if fault.path:
            print(f"      {color('dim', 'at ' + visible(show_path(fault.path)))}")
        if fault.hint:
            print(f"      {color('hint', visible(fault.hint))}")


def count(number: int, noun: str) -> str:
    """Write a number with its noun: `1 error`, `2 errors`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def print_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table, its columns as wide as they need to be."""
    rows = [[visible(cell) for cell in row] for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(titles, *rows, strict=True)]
    print(color("bold", "  ".join(title.ljust(width) for title, width in zip(titles, widths, strict=True)).rstrip()))
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _print_line(line: str, number: int, column: int) -> None:
    # A long line is shown around the place; tabs count as one character, as they do in the column, and so does what a
    # terminal would obey instead of showing.
    start = max(0, column - 60)
    part = line[start : start + 110].replace("\t", " ")
    shown = "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in part)
    before = "…" if start else ""
    print(f"  {color('dim', f'{number:>4} |')} {before}{shown}")
    print(f"       {color('dim', '|')} {' ' * (column - 1 - start + len(before))}{color('bold', '^')}")


def _can_be_printed(text: str) -> bool:
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return False
    return True
