"""Template text to a syntax tree."""

import re
from typing import Final

from wonder.language.templates.faults import TemplateSyntax
from wonder.language.templates.lexer import Tag, Token, read_pieces
from wonder.language.templates.tree import (
    Block,
    Call,
    Comment,
    Content,
    Expression,
    Literal,
    Mustache,
    PathExpression,
    Program,
    Strip,
)
from wonder.language.values import BadValue, JsonValue, parse_json

# Rendering goes a few Python calls deeper for each block inside a block.
DEPTH_MAX = 100

_WORDS: Final[dict[str, JsonValue]] = {"true": True, "false": False, "null": None, "undefined": None}
_SEGMENT_ESCAPE: Final = re.compile(r"\\([\\\]])")


def parse_template(text: str) -> Program:
    """Read a template; raises TemplateSyntax."""
    parser = _Parser(text)
    program, tag = parser.program(DEPTH_MAX)
    if tag is not None:
        what = "{{else}}" if tag.kind == "else" else f"{{{{/{parser.name_of(tag)}}}}}"
        raise TemplateSyntax(text, tag.position, f"{what} stands outside a block", "remove it, or open its block")
    return program


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.pieces = read_pieces(text)

    def program(self, depth_left: int) -> tuple[Program, Tag | None]:
        """Read statements up to the tag that ends them, which is returned; None is the end of the text."""
        program = Program()
        for piece in self.pieces:
            if isinstance(piece, str):
                if piece:
                    program.body.append(Content(piece))
                continue
            match piece.kind:
                case "comment":
                    program.body.append(Comment(piece.strip))
                case "mustache":
                    program.body.append(Mustache(self.call(piece), piece.strip))
                case "block":
                    program.body.append(self.block(piece, depth_left - 1))
                case "inverse" if piece.tokens:
                    program.body.append(self.block(piece, depth_left - 1))
                case "inverse":
                    return program, Tag("else", piece.position, piece.strip)
                case _:
                    return program, piece
        return program, None

    def block(self, opening: Tag, depth_left: int) -> Block:
        """Read a block to its closing tag."""
        block, closing = self.branches(opening, depth_left)
        name = block.call.path.original
        if self.name_of(closing) != name:
            reason = f"{{{{/{self.name_of(closing)}}}}} closes the block {name}"
            raise TemplateSyntax(self.text, closing.position, reason, f"write {{{{/{name}}}}}")
        return block

    def branches(self, opening: Tag, depth_left: int) -> tuple[Block, Tag]:
        """Read what a block holds, with each {{else}}; the closing tag is returned too."""
        if depth_left < 0:
            raise TemplateSyntax(self.text, opening.position, f"more than {DEPTH_MAX} blocks in blocks", "use fewer")
        call = self.call(opening, in_block=True)
        first, ending = self.program(depth_left)
        second: Program | None = None
        inverse_strip = Strip()
        if ending is not None and ending.kind == "else":
            inverse_strip = ending.strip
            if ending.tokens:
                chained, ending = self.branches(ending, depth_left - 1)
                if opening.kind == "else":
                    # As in handlebars.js: the ~ of the closing tag counts for the first {{else if}} only.
                    chained.close_strip = chained.open_strip
                second = Program([chained], chained=True)
            else:
                second, ending = self.program(depth_left)
        if ending is None:
            reason = f"the block {call.path.original} has no end"
            raise TemplateSyntax(self.text, opening.position, reason, f"close it with {{{{/{call.path.original}}}}}")
        if ending.kind == "else":
            raise TemplateSyntax(self.text, ending.position, "a second {{else}} in one block", "keep one of them")
        program, inverse = (second, first) if opening.kind == "inverse" else (first, second)
        return Block(call, program, inverse, opening.strip, inverse_strip, ending.strip), ending

    def name_of(self, closing: Tag) -> str:
        return "".join(token.text for token in closing.tokens)

    def call(self, tag: Tag, *, in_block: bool = False) -> Call:
        return _CallReader(self.text, tag).read(in_block=in_block)


class _CallReader:
    """Reads the words of one tag."""

    def __init__(self, text: str, tag: Tag) -> None:
        self.text, self.tag, self.tokens = text, tag, tag.tokens
        self.at = 0

    def read(self, *, in_block: bool) -> Call:
        call = self.call(depth_left=DEPTH_MAX)
        names: tuple[str, ...] = ()
        if in_block and (token := self.peek()) and token.kind == "as":
            names = tuple(token.text.split())
            self.at += 1
        if token := self.peek():
            raise self.unexpected(token)
        return Call(call.path, call.arguments, call.options, names)

    def call(self, depth_left: int) -> Call:
        if not depth_left:
            raise TemplateSyntax(self.text, self.tag.position, "too many parentheses in one tag", "use fewer")
        head = self.operand(depth_left, head=True)
        if isinstance(head, Literal):
            # As in handlebars.js: what stands first is a name, whatever it looks like.
            text = head.value if isinstance(head.value, str) else self.tokens[self.at - 1].text
            head = PathExpression(text, self.tag.position, 0, (text,), is_variable=False, scoped=False)
        assert isinstance(head, PathExpression), "no parenthesis opens a tag"
        arguments: list[Expression] = []
        options: dict[str, Expression] = {}
        while (token := self.peek()) and token.kind != "as" and token.text != ")":
            following = self.tokens[self.at + 1] if self.at + 1 < len(self.tokens) else None
            if following and following.kind == "sign" and following.text == "=":
                self.at += 2
                options[_segment(token)] = self.operand(depth_left)
            elif options:
                raise TemplateSyntax(self.text, token.position, "a value behind an option", "write options last")
            else:
                arguments.append(self.operand(depth_left))
        return Call(head, tuple(arguments), options)

    def operand(self, depth_left: int, *, head: bool = False) -> Expression:
        token = self.peek()
        if token is None:
            position = self.tokens[-1].position if self.tokens else self.tag.position
            raise TemplateSyntax(self.text, position, "a name is missing in a tag", "write {{name}}")
        match token.kind:
            case "string":
                self.at += 1
                quote = token.text[0]
                return Literal(token.text[1:-1].replace("\\" + quote, quote))
            case "number":
                self.at += 1
                return Literal(self.number(token))
            case "word":
                self.at += 1
                return Literal(_WORDS[token.text])
            case "sign" if token.text == "(" and not head:
                self.at += 1
                call = self.call(depth_left - 1)
                closing = self.peek()
                if closing is None or closing.text != ")":
                    raise TemplateSyntax(self.text, token.position, "a parenthesis has no end", "close it with )")
                self.at += 1
                return call
            case _:
                return self.path()

    def number(self, token: Token) -> JsonValue:
        try:
            return parse_json(token.text)
        except BadValue as refusal:
            raise TemplateSyntax(self.text, token.position, refusal.reason, "write it as JSON does") from None

    def path(self) -> PathExpression:
        start = self.tokens[self.at]
        is_variable = start.text == "@" and start.kind == "sign"
        self.at += is_variable
        original, depth, parts = "@" if is_variable else "", 0, list[str]()
        while True:
            token = self.peek()
            if token is None or token.kind not in ("up", "here", "name", "segment", "word", "number"):
                raise self.unexpected(token or start)
            self.at += 1
            original += token.text
            if token.kind in ("up", "here") or token.text == "this":
                if parts:
                    raise TemplateSyntax(self.text, token.position, f"{token.text} inside a path", "write it first")
                depth += token.kind == "up"
            elif token.kind == "number":
                parts += token.text.split(".")
            else:
                parts.append(_segment(token))
            separator = self.peek()
            if separator is None or separator.kind != "separator":
                break
            original += separator.text
            self.at += 1
        scoped = start.kind in ("up", "here") or start.text == "this"
        return PathExpression(original, start.position, depth, tuple(parts), is_variable=is_variable, scoped=scoped)

    def peek(self) -> Token | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def unexpected(self, token: Token) -> TemplateSyntax:
        return TemplateSyntax(
            self.text,
            token.position,
            f"unexpected {token.text!r} in a tag",
            "put names with other characters in [brackets]",
        )


def _segment(token: Token) -> str:
    return _SEGMENT_ESCAPE.sub(r"\1", token.text[1:-1]) if token.kind == "segment" else token.text
