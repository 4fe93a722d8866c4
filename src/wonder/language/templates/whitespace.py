"""White space around tags: `~` takes all of it, and a block tag or comment alone on its line takes the line."""

import re
from typing import Final

from wonder.language.templates.tree import Block, Comment, Content, Mustache, Program, Statement

_LINE_END: Final = re.compile(r"[ \t]*\r?\n?")


def strip_whitespace(program: Program, *, is_root: bool = True) -> None:
    """Shorten the content of a program and all in it, in place, by the rules of handlebars.js."""
    body = program.body
    for index, statement in enumerate(body):
        match statement:
            case Mustache():
                _strip_marked(body, index, before=statement.strip.before, behind=statement.strip.behind)
            case Comment():
                alone = _line_before(body, index, is_root) and _line_behind(body, index, is_root)
                _strip_marked(body, index, before=statement.strip.before, behind=statement.strip.behind)
                if alone:
                    _strip_right(body, index + 1)
                    _strip_left(body, index - 1)
            case Block():
                _strip_block(body, index, statement, is_root)


def _strip_block(body: list[Statement], index: int, block: Block, is_root: bool) -> None:
    for program in (block.program, block.inverse):
        if program is not None:
            strip_whitespace(program, is_root=False)
    first = block.program or block.inverse
    assert first is not None, "a block has at least one program"
    inverse = block.inverse if block.program is not None else None
    first_inverse, last_inverse = _ends_of_chain(inverse)
    opens_line = _line_behind(first.body, -1, False)
    last_body = (first_inverse or first).body
    closes_line = _line_before(last_body, len(last_body), False)
    _strip_inside(block, first, first_inverse, last_inverse)
    opens_line = opens_line and _line_before(body, index, is_root)
    closes_line = closes_line and _line_behind(body, index, is_root)
    _strip_marked(body, index, before=block.open_strip.before, behind=block.close_strip.behind)
    if opens_line:
        _strip_right(first.body, 0)
        _strip_left(body, index - 1)
    if closes_line:
        _strip_right(body, index + 1)
        innermost = (block.inverse or block.program or first).body
        _strip_left(innermost, len(innermost) - 1)


def _strip_inside(block: Block, first: Program, first_inverse: Program | None, last_inverse: Program | None) -> None:
    if block.open_strip.behind:
        _strip_right(first.body, 0, everything=True)
    if first_inverse is None or last_inverse is None:
        if block.close_strip.before:
            _strip_left(first.body, len(first.body) - 1, everything=True)
        return
    if block.inverse_strip.before:
        _strip_left(first.body, len(first.body) - 1, everything=True)
    if block.inverse_strip.behind:
        _strip_right(first_inverse.body, 0, everything=True)
    if block.close_strip.before:
        _strip_left(last_inverse.body, len(last_inverse.body) - 1, everything=True)
    if _line_before(first.body, len(first.body), False) and _line_behind(first_inverse.body, -1, False):
        _strip_left(first.body, len(first.body) - 1)
        _strip_right(first_inverse.body, 0)


def _ends_of_chain(inverse: Program | None) -> tuple[Program | None, Program | None]:
    """Return what stands behind the first {{else}} and before the closing tag."""
    first = last = inverse
    if inverse is not None and inverse.chained:
        first = _chained_block(inverse).program
        while last is not None and last.chained:
            last = _chained_block(last).program
    return first, last


def _chained_block(program: Program) -> Block:
    block = program.body[-1]
    assert isinstance(block, Block), "an {{else if}} holds one block"
    return block


def _strip_marked(body: list[Statement], index: int, *, before: bool, behind: bool) -> None:
    if behind:
        _strip_right(body, index + 1, everything=True)
    if before:
        _strip_left(body, index - 1, everything=True)


def _line_before(body: list[Statement], index: int, is_root: bool) -> bool:
    """Say whether only white space stands before an index on its line."""
    if index == 0:
        return is_root
    content = body[index - 1]
    if not isinstance(content, Content):
        return False
    space = content.original[len(content.original.rstrip()) :]
    return "\n" in space or (is_root and index == 1 and space == content.original)


def _line_behind(body: list[Statement], index: int, is_root: bool) -> bool:
    """Say whether only white space stands behind an index on its line."""
    if index + 1 >= len(body):
        return is_root
    content = body[index + 1]
    if not isinstance(content, Content):
        return False
    space = content.original[: len(content.original) - len(content.original.lstrip())]
    return "\n" in space or (is_root and index + 2 >= len(body) and space == content.original)


def _strip_right(body: list[Statement], index: int, *, everything: bool = False) -> None:
    """Take the rest of the line, or all white space, from the beginning of a content."""
    content = body[index] if 0 <= index < len(body) else None
    if not isinstance(content, Content) or (content.stripped_right and not everything):
        return
    before = content.value
    content.value = before.lstrip() if everything else _LINE_END.sub("", before, count=1)
    content.stripped_right = content.value != before


def _strip_left(body: list[Statement], index: int, *, everything: bool = False) -> None:
    """Take the indentation, or all white space, from the end of a content."""
    content = body[index] if 0 <= index < len(body) else None
    if not isinstance(content, Content) or (content.stripped_left and not everything):
        return
    before = content.value
    content.value = before.rstrip() if everything else before.rstrip(" \t")
    content.stripped_left = content.value != before
