"""LIKE and GLOB patterns, compiled to steps that a text is matched with in linear passes."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from wonder.language.expressions.errors import EvaluationError
from wonder.language.expressions.limits import MAX_MATCH_STEPS, MAX_PATTERN
from wonder.language.expressions.sql_values import SqlValue, lower_ascii, text_of
from wonder.language.steps import LARGE, spend

_ANY_MANY, _ANY_ONE = "many", "one"
# What one character of a pattern takes to be compiled, and how many steps of a match take the time of one step.
_STEPS_A_CHARACTER = 5
_MATCHED_A_STEP = 50


class _Segment(NamedTuple):
    """The part of a pattern between two wildcards for any number of characters."""

    length: int
    literal: str | None
    expression: re.Pattern[str] | None


class _Pattern(NamedTuple):
    """A compiled pattern; without segments it matches nothing."""

    segments: tuple[_Segment, ...]
    fold_case: bool


def like(pattern: SqlValue, value: SqlValue, *escapes: SqlValue) -> int | None:
    """like(PATTERN, X, ESCAPE): X LIKE PATTERN ESCAPE ESCAPE; only the case of A to Z is ignored."""
    if escapes:
        if escapes[0] is None:
            _check_length(pattern)
            return None
        escape = text_of(escapes[0])
        _check_length(pattern)
        if len(escape) != 1:
            raise EvaluationError("ESCAPE must be a single character")
    else:
        escape = ""
    return _matches(pattern, value, "like", escape)


def glob(pattern: SqlValue, value: SqlValue) -> int | None:
    """glob(PATTERN, X): X GLOB PATTERN."""
    return _matches(pattern, value, "glob", "")


def _check_length(pattern: SqlValue) -> None:
    text = text_of(pattern)
    if text is not None and len(text) > MAX_PATTERN // 4 and len(text.encode()) > MAX_PATTERN:
        raise EvaluationError(f"a LIKE or GLOB pattern may have {MAX_PATTERN:,} bytes")


def _matches(pattern: SqlValue, value: SqlValue, kind: str, escape: str) -> int | None:
    _check_length(pattern)
    if pattern is None or value is None:
        return None
    written = text_of(pattern)
    if len(written) > LARGE:
        # Whether it was compiled before or not: the count may not depend on what came before.
        spend(len(written) * _STEPS_A_CHARACTER)
    compiled = _compile(written, kind, escape)
    text = text_of(value)
    return int(_match(compiled.segments, lower_ascii(text) if compiled.fold_case else text))


def _match(segments: tuple[_Segment, ...], text: str) -> bool:
    if not segments:
        return False
    first, last = segments[0], segments[-1]
    if len(segments) == 1:
        return first.length == len(text) and _fits(first, text, 0)
    end = len(text) - last.length
    if first.length > end or not _fits(first, text, 0) or not _fits(last, text, end):
        return False
    at = first.length
    for segment in segments[1:-1]:
        at = _find(segment, text, at, end)
        if at < 0:
            return False
        at += segment.length
    return at <= end


def _fits(segment: _Segment, text: str, at: int) -> bool:
    if segment.expression:
        return segment.expression.match(text, at) is not None
    assert segment.literal is not None  # a segment is one or the other
    return text.startswith(segment.literal, at)


def _find(segment: _Segment, text: str, at: int, end: int) -> int:
    if segment.literal is not None:
        return text.find(segment.literal, at, end)
    assert segment.expression is not None  # a segment is one or the other
    if segment.length * (end - at) > MAX_MATCH_STEPS:
        raise EvaluationError("a LIKE or GLOB pattern with single-character wildcards is too long for a text so long")
    spend(segment.length * (end - at) // _MATCHED_A_STEP)
    found = segment.expression.search(text, at, end)
    return found.start() if found else -1


@lru_cache(maxsize=512)
def _compile(pattern: str, kind: str, escape: str) -> _Pattern:
    parts = list(_glob_parts(pattern) if kind == "glob" else _like_parts(pattern, escape))
    fold_case = kind == "like"
    if None in parts:
        return _Pattern((), fold_case)
    segments: list[_Segment] = []
    current: list[str] = []
    for part in [*parts, _ANY_MANY]:
        if part == _ANY_MANY:
            segments.append(_segment(current))
            current = []
        else:
            assert part is not None  # those were sorted out above
            current.append(part)
    # Empty segments between wildcards that follow each other change nothing.
    kept = [segments[0], *(segment for segment in segments[1:-1] if segment.length), *segments[1:][-1:]]
    return _Pattern(tuple(kept), fold_case)


def _segment(parts: list[str]) -> _Segment:
    if all(part.startswith("=") for part in parts):
        return _Segment(len(parts), "".join(part[1:] for part in parts), None)
    source = "".join(
        "." if part == _ANY_ONE else re.escape(part[1:]) if part.startswith("=") else part[1:] for part in parts
    )
    return _Segment(len(parts), None, re.compile(source, re.DOTALL))


def _like_parts(pattern: str, escape: str) -> Iterator[str | None]:
    """Yield a wildcard, `=c` for a character, or None for an escape with nothing behind it."""
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            following = next(characters, None)
            yield None if following is None else "=" + lower_ascii(following)
        elif character == "%":
            yield _ANY_MANY
        elif character == "_":
            yield _ANY_ONE
        else:
            yield "=" + lower_ascii(character)


def _glob_parts(pattern: str) -> Iterator[str | None]:
    """Yield a wildcard, `=c` for a character, `[...` for a set as a regular expression, or None for an open set."""
    at = 0
    while at < len(pattern):
        character = pattern[at]
        at += 1
        if character == "*":
            yield _ANY_MANY
        elif character == "?":
            yield _ANY_ONE
        elif character == "[":
            source, at = _set(pattern, at)
            yield source
        else:
            yield "=" + character


def _set(pattern: str, at: int) -> tuple[str | None, int]:
    """Read `^a-z]` and the like; a `]` that comes first is that character."""
    inverted = pattern[at : at + 1] == "^"
    at += inverted
    items: list[str] = []
    if pattern[at : at + 1] == "]":
        items.append(r"\]")
        at += 1
    before = ""
    while at < len(pattern) and pattern[at] != "]":
        character = pattern[at]
        following = pattern[at + 1 : at + 2]
        if character == "-" and following not in ("", "]") and before:
            if before <= following:
                items.append(f"{_in_set(before)}-{_in_set(following)}")
            before = ""
            at += 2
        else:
            items.append(_in_set(character))
            before = character
            at += 1
    if at >= len(pattern):
        return None, at
    return f"[[{'^' if inverted else ''}{''.join(items)}]", at + 1


def _in_set(character: str) -> str:
    return "\\" + character if character in r"\]^-[&~|" else character
