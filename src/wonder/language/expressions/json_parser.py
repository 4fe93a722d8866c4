"""Reads JSON, and JSON5 as far as SQLite takes it, into nodes that remember how they were written."""

import re
from typing import Final

from wonder.language.expressions.errors import EvaluationError
from wonder.language.expressions.json_text import Members, Node, Number, Text
from wonder.language.expressions.limits import MAX_JSON_DEPTH
from wonder.language.letters import NOT_FIRST_NOR_DOLLAR, NOT_NEXT_NOR_DOLLAR
from wonder.language.steps import spend, spend_on_text

_SYNTAX_ERROR, _END_OF_TEXT = -1, 0
# What one value takes to be read, and how many values are read before that is counted.
_STEPS_A_VALUE: Final = 10
_COUNTED_AT_ONCE: Final = 100
# Characters of a string with escapes that are read in the time of one step.
_ESCAPED_A_STEP: Final = 2
_CLOSING: Final = {"}": -2, "]": -3, ",": -4, ":": -5}
_SPACE = re.compile(r"[\t\n\r ]*")
_WIDE_SPACE = r"\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_EXTENDED_SPACE = re.compile(rf"(?:[\t-\r {_WIDE_SPACE}]|/\*[^\x00]*?\*/|//[^\n\r\u2028\u2029]*[\n\r\u2028\u2029]?)*")
_STRING_RUN = re.compile(r"[^\"'\\\x00-\x1f]*")
_STANDARD_ESCAPE = re.compile(r"[\"\\/bfnrt]|u[0-9a-fA-F]{4}")
_EXTENDED_ESCAPE = re.compile(r"['v\n\u2028\u2029]|0(?!\d)|x[0-9a-fA-F]{2}|\r\n?", re.ASCII)
_LABEL = re.compile(
    rf"(?:[^{NOT_FIRST_NOR_DOLLAR}]|\\u[0-9a-fA-F]{{4}})"
    rf"(?:(?![{_WIDE_SPACE}])[^{NOT_NEXT_NOR_DOLLAR}]|\\u[0-9a-fA-F]{{4}})*"
)
_HEX = re.compile(r"0[xX][0-9a-fA-F]+")
_DIGITS = re.compile(r"\d*", re.ASCII)
_NOT_A_NUMBER: Final = (
    ("infinity", Number("9e999", "real")),
    ("inf", Number("9e999", "real")),
    ("nan", None),
    ("qnan", None),
    ("snan", None),
)


class ParsedJson:
    """The outcome of reading one text: its node, or where it is malformed."""

    def __init__(self, text: str) -> None:
        self.node: Node = None
        self.error_at = 0
        self.extended = False
        self._text = text
        self._depth = self._values = 0
        spend_on_text(len(text))
        end = self._value(0)
        self.valid = end > 0 and self._only_space_from(end)

    def _only_space_from(self, end: int) -> bool:
        end = _skip(_SPACE, self._text, end)
        if end == len(self._text):
            return True
        self.extended = True
        return _skip(_EXTENDED_SPACE, self._text, end) == len(self._text)

    def _value(self, at: int) -> int:
        """Read the value at an offset into `node`; return where it ends, or one of the codes above."""
        text = self._text
        self._values += 1
        if not self._values % _COUNTED_AT_ONCE:
            spend(_STEPS_A_VALUE * _COUNTED_AT_ONCE)
        while True:
            at = _skip(_SPACE, text, at)
            if at >= len(text):
                return _END_OF_TEXT
            character = text[at]
            if character in "{[":
                return self._object(at) if character == "{" else self._array(at)
            if character in "\"'":
                return self._string(at)
            if character in "-+.0123456789":
                return self._number(at)
            if code := _CLOSING.get(character):
                self.error_at = at
                return code
            end = _skip(_EXTENDED_SPACE, text, at)
            if end == at:
                return self._word(at)
            self.extended = True
            at = end

    def _fail(self, at: int) -> int:
        self.error_at = at
        return _SYNTAX_ERROR

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > MAX_JSON_DEPTH:
            raise EvaluationError(f"a JSON text is nested deeper than {MAX_JSON_DEPTH} levels")

    def _array(self, at: int) -> int:
        self._enter()
        elements: list[Node] = []
        at += 1
        while True:
            end = self._value(at)
            if end <= 0:
                if end == _CLOSING["]"]:
                    self.extended |= bool(elements)
                    return self._close(elements, self.error_at)
                return self._fail(at) if end != _SYNTAX_ERROR else end
            elements.append(self.node)
            at, closed = self._after_element(end, "]")
            if closed:
                return self._close(elements, at)
            if at < 0:
                return at
            at += 1

    def _object(self, at: int) -> int:
        self._enter()
        pairs: list[tuple[str | Text, Node]] = []
        at += 1
        while True:
            end = self._value(at)
            if end <= 0:
                if end == _CLOSING["}"]:
                    self.extended |= bool(pairs)
                    return self._close(Members(tuple(pairs)), self.error_at)
                at, end = self._bare_label(at, end)
                if end < 0:
                    return end
            label = self.node
            if type(label) is not str and type(label) is not Text:
                return self._fail(at)
            end = self._member_value(end)
            if end < 0:
                return end
            pairs.append((label, self.node))
            at, closed = self._after_element(end, "}")
            if closed:
                return self._close(Members(tuple(pairs)), at)
            if at < 0:
                return at
            at += 1

    def _bare_label(self, at: int, code: int) -> tuple[int, int]:
        """Read a label without quotes, where reading a value has failed."""
        at = _skip(_EXTENDED_SPACE, self._text, at)
        label = _LABEL.match(self._text, at)
        if not label:
            if code != _SYNTAX_ERROR:
                self.error_at = at
            return at, _SYNTAX_ERROR
        name = label[0]
        self.node = Text(name) if "\\" in name else name
        self.extended = True
        return at, at + len(name)

    def _member_value(self, at: int) -> int:
        """Read the colon at an offset and the value behind it."""
        at = _skip(_SPACE, self._text, at)
        if self._text[at : at + 1] == ":":
            at += 1
        else:
            code = self._value(at)
            if code != _CLOSING[":"]:
                return self._fail(at) if code != _SYNTAX_ERROR else code
            at = self.error_at + 1
        end = self._value(at)
        if end <= 0:
            return self._fail(at) if end != _SYNTAX_ERROR else end
        return end

    def _after_element(self, at: int, closing: str) -> tuple[int, bool]:
        """Return where the comma or the closing bracket behind an element is, and which of the two it is."""
        at = _skip(_SPACE, self._text, at)
        found = self._text[at : at + 1]
        if found != "," and found != closing:
            code = self._value(at)
            if code not in (_CLOSING[","], _CLOSING[closing]):
                return self._fail(at), False
            at = self.error_at
            found = self._text[at]
        return at, found == closing

    def _close(self, node: Node, at: int) -> int:
        self._depth -= 1
        self.node = node
        return at + 1

    def _string(self, at: int) -> int:
        text, quote = self._text, self._text[at]
        self.extended |= quote == "'"
        escaped = extended = False
        end = at + 1
        while True:
            end = _skip(_STRING_RUN, text, end)
            character = text[end : end + 1]
            if character == quote:
                break
            if not character:
                return self._fail(end)
            if character == "\\":
                end += 1
                if escape := _STANDARD_ESCAPE.match(text, end):
                    escaped = True
                elif escape := _EXTENDED_ESCAPE.match(text, end):
                    extended = self.extended = True
                else:
                    return self._fail(end)
                end = escape.end()
            else:
                if character < " ":
                    extended = self.extended = True
                elif character == '"':
                    extended = True
                end += 1
        raw = text[at + 1 : end]
        if escaped or extended:
            spend(len(raw) // _ESCAPED_A_STEP)
        self.node = Text(raw, extended) if escaped or extended else raw
        return end + 1

    def _number(self, at: int) -> int:
        text = self._text
        first = text[at]
        body = at + 1 if first in "+-" else at
        if first == "+":
            self.extended = True
        extended = False
        following = text[body + 1 : body + 2] if first in ".0" else text[body : body + 1]
        if first == ".":
            if not _is_digit(following):
                return self._fail(at)
            return self._real(at, at, extended=True)
        if first in "+-" and not _is_digit(following):
            if text[body : body + 3].lower() == "inf":
                self.extended = True
                self.node = Number("-9e999" if first == "-" else "9e999", "real")
                return at + (9 if text[body + 3 : body + 8].lower() == "inity" else 4)
            if following != ".":
                return self._fail(at)
            extended = self.extended = True
        if hexadecimal := _HEX.match(text, body):
            self.extended = True
            return self._keep(at, hexadecimal.end(), "integer", extended=True)
        if text[body : body + 1] == "0" and _is_digit(text[body + 1 : body + 2]):
            return self._fail(body if first in "+-" else at + 1)
        return self._real(at, body, extended=extended)

    def _real(self, start: int, body: int, *, extended: bool) -> int:
        """Read digits, point and exponent of a number whose digits begin at `body`."""
        text = self._text
        if text[body] == ".":
            self.extended = extended = True
        fraction = exponent = False
        if text[start] == ".":
            fraction = True
        end = start + 1
        while True:
            end = _skip(_DIGITS, text, end)
            character = text[end : end + 1]
            if character == ".":
                if fraction:
                    return self._fail(end)
                fraction = True
                end += 1
            elif character and character in "eE":
                if text[end - 1] < "0":
                    if text[end - 1] != "." or end - 2 < start or not _is_digit(text[end - 2]):
                        return self._fail(end)
                    self.extended = extended = True
                if exponent:
                    return self._fail(end)
                fraction = exponent = True
                end += 2 if text[end + 1 : end + 2] in ("+", "-") else 1
                if not _is_digit(text[end : end + 1]):
                    return self._fail(end - 1)
            else:
                break
        if text[end - 1] < "0":
            if text[end - 1] != "." or end - 2 < start or not _is_digit(text[end - 2]):
                return self._fail(end)
            self.extended = extended = True
        return self._keep(start, end, "real" if fraction else "integer", extended=extended)

    def _keep(self, start: int, end: int, kind: str, *, extended: bool) -> int:
        raw = self._text[start:end].removeprefix("+")
        self.node = Number(raw, "integer" if kind == "integer" else "real", extended)
        return end

    def _word(self, at: int) -> int:
        for word, value in (("true", True), ("false", False), ("null", None)):
            if self._text.startswith(word, at) and not _is_alphanumeric(
                self._text[at + len(word) : at + len(word) + 1]
            ):
                self.node = value
                return at + len(word)
        for word, number in _NOT_A_NUMBER:
            end = at + len(word)
            if self._text[at:end].lower() == word and not _is_alphanumeric(self._text[end : end + 1]):
                self.node = number
                self.extended = True
                return end
        return self._fail(at)


def _skip(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


def _is_digit(character: str) -> bool:
    return "0" <= character <= "9" and character != ""


def _is_alphanumeric(character: str) -> bool:
    return character.isascii() and character.isalnum()
