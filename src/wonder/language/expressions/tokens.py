"""Cuts the text of an expression into tokens, with paths read before SQL sees them (EXP-2)."""

import re
from typing import Literal, NamedTuple

from wonder.language.expressions.errors import ExpressionForbidden, ExpressionSyntax, ExpressionTooLarge
from wonder.language.expressions.limits import MAX_LENGTH
from wonder.language.expressions.names import RESERVED_WORDS, WORD, Path, read_path
from wonder.language.letters import NOT_NEXT_NOR_DOLLAR

_SPACE = re.compile(r"(?:[ \t\n\f\r\ufeff]|--[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/|\Z))*")
_NUMBER = re.compile(
    r"0[xX][0-9a-fA-F][0-9a-fA-F_]*|(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d[\d_]*)?", re.ASCII
)
_MISPLACED_SEPARATOR = re.compile(r"(?<![0-9a-fA-F])_|_(?![0-9a-fA-F])")
_TEXT = re.compile(r"'(?:[^']|'')*'")
_OPERATOR = re.compile(r"\|\||->>|->|<<|>>|<=|>=|<>|!=|==|[=<>+\-*/%&|~(),]")
_IDENTIFIER_CHARACTER = re.compile(rf"[^{NOT_NEXT_NOR_DOLLAR}]")

Kind = Literal["number", "text", "path", "function", "word", "operator", "end"]


class Token(NamedTuple):
    """A piece of an expression: `text` is lower case for words, without quotes for texts; `path` only for paths."""

    kind: Kind
    text: str
    position: int
    path: Path = ()


def tokenize(text: str) -> list[Token]:
    """Return the tokens of an expression, the last one of kind `end`."""
    if len(text) > MAX_LENGTH:
        raise ExpressionTooLarge(
            text, MAX_LENGTH, f"the expression has {len(text):,} characters, the limit is {MAX_LENGTH:,}; split it up"
        )
    _check_characters(text)
    tokens: list[Token] = []
    at = _after_space(text, 0)
    while at < len(text):
        token, at = _next_token(text, at)
        tokens.append(token)
        at = _after_space(text, at)
    return [*tokens, Token("end", "", len(text))]


def quoted_names(text: str) -> frozenset[str]:
    """Return the names of an expression that stand alone and in double quotes, as texts do in other languages."""
    if '"' not in text:
        return frozenset()
    paths = [token for token in tokenize(text) if token.kind == "path" and token.text.startswith('"')]
    return frozenset(str(token.path[0]) for token in paths if len(token.path) == 1)


def _check_characters(text: str) -> None:
    for position, character in enumerate(text):
        if character == "\0" or "\ud800" <= character <= "\udfff":
            raise ExpressionSyntax(text, position, f"U+{ord(character):04X} can't stand in an expression; remove it")


def _after_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    assert space is not None  # it may be empty
    return space.end()


def _next_token(text: str, at: int) -> tuple[Token, int]:
    if number := _NUMBER.match(text, at):
        return _number(text, number), number.end()
    if quoted := _TEXT.match(text, at):
        return Token("text", quoted[0][1:-1].replace("''", "'"), at), quoted.end()
    if word := WORD.match(text, at):
        return _word(text, word)
    path, end = read_path(text, at)
    if path:
        return Token("path", text[at:end], at, path), _checked_end(text, end)
    if text.startswith("&&", at):
        raise ExpressionSyntax(text, at, "&& means nothing in an expression; write AND")
    if operator := _OPERATOR.match(text, at):
        return Token("operator", operator[0], at), operator.end()
    raise _stray(text, at)


def _word(text: str, word: re.Match[str]) -> tuple[Token, int]:
    at, lowered = word.start(), word[0].lower()
    if lowered == "x" and text[word.end() : word.end() + 1] == "'":
        raise ExpressionForbidden(text, at, "binary literals like x'00' are not allowed, because values are JSON")
    if lowered in RESERVED_WORDS:
        return Token("word", lowered, at), word.end()
    path, end = read_path(text, at)
    if len(path) == 1 and text[_after_space(text, end) :][:1] == "(":
        return Token("function", lowered, at), end
    return Token("path", text[at:end], at, path), _checked_end(text, end)


def _checked_end(text: str, end: int) -> int:
    """Reject what looks like one more part of a path and is not."""
    following = text[end : end + 1]
    if following == ".":
        raise ExpressionSyntax(
            text, end, 'expected a name directly behind the dot; write [0] for an index, and "a b" for an unusual name'
        )
    if following == "[":
        raise ExpressionSyntax(
            text,
            end,
            'expected a zero-based index like [0] directly behind the path; a field is state.name, or state."a b"',
        )
    return end


def _number(text: str, number: re.Match[str]) -> Token:
    if _IDENTIFIER_CHARACTER.match(text, number.end()) or _MISPLACED_SEPARATOR.search(number[0]):
        raise ExpressionSyntax(text, number.start(), "expected a number; a name must begin with a letter or _")
    return Token("number", number[0], number.start())


def _stray(text: str, at: int) -> ExpressionSyntax:
    character = text[at]
    if character == "'":
        return ExpressionSyntax(text, at, "the text that begins here has no closing '; write '' for a quote in it")
    if character == '"':
        return ExpressionSyntax(text, at, 'the name that begins here has no closing "')
    if text.startswith("$.", at):
        reason = "paths in an expression are written without $.; write state.a, not $.state.a"
        return ExpressionForbidden(text, at, reason)
    if character in "?:@$#":
        return ExpressionForbidden(
            text, at, f"parameters like {character}1 are not allowed; name what you mean by its path"
        )
    if character in "[`":
        return ExpressionSyntax(text, at, f'{character} does not quote names here; use double quotes ("a b")')
    if character == "!":
        return ExpressionSyntax(text, at, "! means nothing in an expression; write NOT")
    if character == ";":
        return ExpressionForbidden(text, at, "only a single expression is allowed; remove the ;")
    return ExpressionSyntax(text, at, f"{character!r} means nothing in an expression; remove it")
