"""Where a place inside a text stands in the file that the text was written in, quotes and escapes and all."""

import re

# A JSON text from its first quote on, and one sign of it as it is written.
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SIGN = re.compile(r"\\u[0-9A-Fa-f]{4}|\\.|[^\\]", re.DOTALL)
_COLON = re.compile(r"\s*:\s*")
# The key of a YAML text that is kept line by line, and what stands behind it.
_BLOCK = re.compile(r"""(?:"[^"\n]*"|'[^'\n]*'|[\w-]+)[ \t]*:[ \t]+\|[+-]?[ \t]*(?:#[^\n]*)?\r?\n""")
_BREAKS = ("\n", "\\n")


def offset_inside(source: str, key_offset: int, line: int, column: int) -> int | None:
    """Find a line and column, from 1, of the text whose key stands at an offset; None if that can't be told."""
    block = _BLOCK.match(source, key_offset)
    if block:
        return _inside_block(source, block.end(), line, column)
    key = _TEXT.match(source, key_offset)
    colon = _COLON.match(source, key.end() if key else _end_of_word(source, key_offset))
    text = _TEXT.match(source, colon.end()) if colon else None
    return _inside_quotes(source, text.start() + 1, text.end() - 1, line, column) if text else None


def _inside_block(source: str, begin: int, line: int, column: int) -> int | None:
    """Count lines of a block: each is one of the text, behind the spaces that the first of them begins with."""
    lines = source[begin:].split("\n", line)
    if len(lines) < line:
        return None
    first = next((one for one in lines if one.strip()), "")
    indent = len(first) - len(first.lstrip(" "))
    return begin + sum(len(one) + 1 for one in lines[: line - 1]) + indent + column - 1


def _inside_quotes(source: str, begin: int, end: int, line: int, column: int) -> int | None:
    """Count the signs of a quoted text; an escape is one."""
    at_line, at_column = 1, 1
    for sign in _SIGN.finditer(source, begin, end):
        if (at_line, at_column) == (line, column):
            return sign.start()
        if sign[0] in _BREAKS:
            at_line, at_column = at_line + 1, 1
        else:
            at_column += 1
    return end if (at_line, at_column) == (line, column) else None


def _end_of_word(source: str, offset: int) -> int:
    end = re.compile(r"[\w-]+").match(source, offset)
    return end.end() if end else offset
