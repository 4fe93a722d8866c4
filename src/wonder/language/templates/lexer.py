"""Template text to pieces: content, comments, and tags with the words in them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from wonder.language.templates.faults import TemplateSyntax
from wonder.language.templates.tree import Strip

_COMMENT: Final = re.compile(r"\{\{~?!(?:(?=--)[\s\S]*?--~?|(?!--)[\s\S]*?)\}\}")
_COMMENT_START: Final = re.compile(r"\{\{~?!")
_TRIPLE_END: Final = re.compile(r"\}(~?)\}\}")
# An escaped tag goes on until the next tag, or the backslashes before it.
_ESCAPED_END: Final = re.compile(r"\\{0,2}\{\{")
_OPEN: Final = re.compile(r"\{\{(~?)(\{\{|\{|&|#>|#\*|#|/|\^|>|\*|(?=\s*else(?:[\s~}])))?\s*")
_TOKEN: Final = re.compile(
    r"""
    (?P<close>   ~?\}\} )
  | (?P<string>  "(?:\\"|[^"])*" | '(?:\\'|[^'])*' )
  | (?P<number>  -?[0-9]+(?:\.[0-9]+)?(?=[~}\s)]) )
  | (?P<word>    (?:true|false|null|undefined)(?=[~}\s)]) )
  | (?P<as>      as\s+\|(?P<names>[^|}]*)\| )
  | (?P<up>      \.\. )
  | (?P<here>    \.(?=[=~}\s/.)|]) )
  | (?P<separator> [/.] )
  | (?P<segment> \[(?:\\\]|[^\]])*\] )
  | (?P<name>    [^\s!"\#%-,./;->@\[-^`{-~]+(?=[=~}\s/.)|]) )
  | (?P<sign>    [()=@] )
    """,
    re.VERBOSE,
)
_SPACE: Final = re.compile(r"\s*")
# What handlebars.js puts between "{{" and a name, and what it opens.
_KINDS: Final = {"": "mustache", "{": "mustache", "&": "mustache", "#": "block", "/": "close", "^": "inverse"}
_REFUSED: Final = {
    ">": "partials are not there",
    "#>": "partial blocks are not there",
    "*": "decorators are not there",
    "#*": "inline partials are not there",
    "{{": "raw blocks are not there",
}


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a tag."""

    kind: str
    text: str
    position: int
    spaced: bool


@dataclass(frozen=True, slots=True)
class Tag:
    """One tag; `kind` is mustache, block, close, inverse, else or comment."""

    kind: str
    position: int
    strip: Strip
    tokens: tuple[Token, ...] = ()


def read_pieces(text: str) -> Iterator[str | Tag]:
    """Yield the content between tags as texts, which may be empty, and the tags."""
    position = 0
    while position < len(text):
        start = text.find("{{", position)
        if start < 0:
            yield text[position:]
            return
        content = text[position:start]
        if content.endswith("\\") and not content.endswith("\\\\"):
            following = _ESCAPED_END.search(text, start + 2)
            position = following.start() if following else len(text)
            yield content[:-1]
            yield text[start:position]
            continue
        yield content[:-1] if content.endswith("\\\\") else content
        tag, position = _read_tag(text, start)
        yield tag


def _read_tag(text: str, start: int) -> tuple[Tag, int]:
    if comment := _COMMENT.match(text, start):
        strip = Strip(text[start + 2] == "~", comment[0][-3] == "~")
        return Tag("comment", start, strip), comment.end()
    opened = _OPEN.match(text, start)
    assert opened is not None, "a tag begins with two braces"
    if _COMMENT_START.match(text, start):
        raise TemplateSyntax(
            text, start, "a comment has no end", "close it with }}, or --}} where it begins with {{!--"
        )
    sign = opened[2]
    if sign in _REFUSED:
        raise TemplateSyntax(text, start, f"{_REFUSED[sign]} in these templates", "write the text out")
    position = opened.end()
    kind = _KINDS.get(sign or "", "mustache")
    if sign == "" and text.startswith("else", position):
        kind, position = "else", position + 4
    return _read_tokens(text, start, position, kind, opened)


def _read_tokens(text: str, start: int, position: int, kind: str, opened: re.Match[str]) -> tuple[Tag, int]:
    triple = opened[2] == "{"
    tokens: list[Token] = []
    while True:
        found_space = _SPACE.match(text, position)
        spaced = found_space is not None and found_space.end() > position
        position = found_space.end() if found_space else position
        if triple and (ending := _TRIPLE_END.match(text, position)):
            return Tag(kind, start, Strip(bool(opened[1]), bool(ending[1])), tuple(tokens)), ending.end()
        found = _TOKEN.match(text, position)
        if found is None or (triple and found.lastgroup == "close"):
            raise _unreadable(text, start, position, triple=triple)
        if found.lastgroup == "close":
            return Tag(kind, start, Strip(bool(opened[1]), found[0][0] == "~"), tuple(tokens)), found.end()
        kind_of_token = "as" if found["as"] else str(found.lastgroup)
        tokens.append(Token(kind_of_token, found["names"] if found["as"] else found[0], position, spaced))
        position = found.end()


def _unreadable(text: str, start: int, position: int, *, triple: bool) -> TemplateSyntax:
    closing = "}}}" if triple else "}}"
    if position >= len(text) or "}}" not in text[position:]:
        return TemplateSyntax(text, start, "a tag has no end", f"close it with {closing}")
    hint = f"close it with {closing}" if text[position] == "}" else "put names with other characters in [brackets]"
    return TemplateSyntax(text, position, f"unexpected {text[position]!r} in a tag", hint)
