"""JSON text to a value with places: strict, and with every doubled key and bad value reported at once."""

import json
import re
from typing import Final

from wonder.definitions.source.document import VALUES_MAX, Marks, MarksInside, SourceDocument, SourceText
from wonder.definitions.source.faults import FaultList, SourceFaults, Unreadable
from wonder.language.values import MAX_DEPTH, BadValue, JsonValue, parse_json

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_STRING: Final = re.compile(r'"((?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*+)"')
_STRING_UP_TO_FAULT: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*+')
_WORD: Final = re.compile(r"[^\s,:\[\]{}\"]+")
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_WORDS: Final[dict[str, JsonValue]] = {"true": True, "false": False, "null": None}
_COMMENTS: Final = ("//", "/*", "#")
_NO_COMMENTS: Final = "JSON has no comments; remove it, or name the file .yaml"
_NOT_FINITE: Final = {"NaN", "Infinity", "-Infinity", "+Infinity", "nan", "inf", "-inf"}


def read_json(source: SourceText) -> SourceDocument:
    """Read JSON text; a mistake of syntax ends the reading, all other faults are collected."""
    scanner = _Scanner(source)
    try:
        value, marks = scanner.document()
    except Unreadable:
        raise SourceFaults(scanner.faults.found) from None
    scanner.faults.raise_if_any()
    return SourceDocument(value, source, marks)


class _Scanner:
    """Walks through one text once; `at` is the offset of what comes next."""

    def __init__(self, source: SourceText) -> None:
        self.text = source.text
        self.at = 0
        self.values = 0
        self.faults = FaultList(source)

    def document(self) -> tuple[JsonValue, Marks]:
        self.skip_space()
        start = self.at
        value, inside = self.value(MAX_DEPTH)
        self.skip_space()
        if self.at < len(self.text):
            raise self.broken(f"{self.shown()} stands behind the end of the document", "remove it, or fix the brackets")
        return value, (start, inside)

    def value(self, depth_left: int) -> tuple[JsonValue, MarksInside]:
        self.values += 1
        if self.values > VALUES_MAX:
            raise self.faults.stop_at_too_many(self.at)
        first = self.text[self.at : self.at + 1]
        if first == '"':
            return self.string(), None
        if first in ("{", "["):
            if not depth_left:
                raise self.faults.stop(
                    "TOO_DEEP", self.at, f"nested deeper than {MAX_DEPTH} levels", "flatten the document"
                )
            return self.object(depth_left - 1) if first == "{" else self.array(depth_left - 1)
        return self.number_or_word(), None

    def object(self, depth_left: int) -> tuple[JsonValue, dict[str, Marks]]:
        members: dict[str, JsonValue] = {}
        marks: dict[str, Marks] = {}
        self.skip(1)
        while not self.took("}"):
            if members and not self.took(","):
                raise self.broken(f"expected ',' or '}}', found {self.shown()}", "separate members by a comma")
            start = self.at
            if self.text[start : start + 1] != '"':
                raise self.broken(f"expected a key in double quotes, found {self.shown()}", self.key_hint())
            key = self.string()
            if not self.took(":"):
                raise self.broken(f"expected ':' behind the key {key!r}, found {self.shown()}", 'write "key": value')
            value, inside = self.value(depth_left)
            self.skip_space()
            if key in members:
                self.faults.note_duplicate(key, start, marks[key][0])
            else:
                members[key], marks[key] = value, (start, inside)
        return members, marks

    def array(self, depth_left: int) -> tuple[JsonValue, list[Marks]]:
        elements: list[JsonValue] = []
        marks: list[Marks] = []
        self.skip(1)
        while not self.took("]"):
            if elements and not self.took(","):
                raise self.broken(f"expected ',' or ']', found {self.shown()}", "separate elements by a comma")
            start = self.at
            value, inside = self.value(depth_left)
            self.skip_space()
            elements.append(value)
            marks.append((start, inside))
        return elements, marks

    def string(self) -> str:
        found = _STRING.match(self.text, self.at)
        if found is None:
            raise self.broken_string()
        start, self.at = self.at, found.end()
        inner = found[1]
        text: str = json.loads(found[0]) if "\\" in inner else inner
        if unstorable := _UNSTORABLE.search(text):
            self.faults.note(
                "BAD_VALUE",
                start,
                f"the string contains {_name_of(unstorable[0])}, which can't be stored",
                "remove it" if unstorable[0] == "\x00" else "write both halves of the surrogate pair",
            )
        return text

    def number_or_word(self) -> JsonValue:
        found = _NUMBER.match(self.text, self.at)
        word = _WORD.match(self.text, self.at)
        if found and word and found.end() == word.end():
            return self.number(found)
        if word and word[0] in _WORDS:
            self.at = word.end()
            return _WORDS[word[0]]
        if word and word[0] in _NOT_FINITE:
            self.faults.note("BAD_VALUE", self.at, f"{word[0]} is not a JSON number", "use null or a string")
            self.at = word.end()
            return None
        raise self.broken(f"expected a value, found {self.shown()}", self.value_hint())

    def number(self, found: re.Match[str]) -> JsonValue:
        start, self.at = self.at, found.end()
        digits = found[0]
        if found[1] is None and found[2] is None and len(digits) < 19:
            return int(digits)
        try:
            return parse_json(digits)
        except BadValue as refusal:
            self.faults.note("BAD_VALUE", start, refusal.reason, "write a smaller number, or a string")
            return None

    def skip_space(self) -> None:
        found = _SPACE.match(self.text, self.at)
        assert found is not None, "the pattern matches nothing at least"
        self.at = found.end()

    def skip(self, count: int) -> None:
        self.at += count
        self.skip_space()

    def took(self, sign: str) -> bool:
        self.skip_space()
        if not self.text.startswith(sign, self.at):
            return False
        self.at += 1
        if sign in ",:":
            self.skip_space()
        return True

    def broken(self, message: str, hint: str) -> Unreadable:
        return self.faults.stop("JSON_SYNTAX", self.at, message, hint)

    def broken_string(self) -> Unreadable:
        start = self.at
        found = _STRING_UP_TO_FAULT.match(self.text, start)
        assert found is not None, "a text begins with a quote"
        self.at = found.end()
        if self.at >= len(self.text) or self.text[self.at] in "\r\n":
            self.at = start
            return self.broken(
                "a string has no closing quote on its line", 'close it with ", and write line breaks as \\n'
            )
        if self.text[self.at] == "\\":
            return self.broken(
                f"{self.text[self.at : self.at + 2]!r} is not an escape in JSON", "write a backslash itself as \\\\"
            )
        return self.broken(
            f"{_name_of(self.text[self.at])} is not escaped in a string", "write it as an escape (\\t, \\u001f)"
        )

    def shown(self) -> str:
        word = _WORD.match(self.text, self.at)
        if word:
            return repr(word[0][:40])
        return repr(self.text[self.at]) if self.at < len(self.text) else "the end of the file"

    def key_hint(self) -> str:
        if self.text.startswith("}", self.at):
            return "remove the comma before it"
        if self.text.startswith(_COMMENTS, self.at):
            return _NO_COMMENTS
        return 'write keys as "key": value'

    def value_hint(self) -> str:
        rest = self.text[self.at : self.at + 2]
        if rest[:1] in ("}", "]"):
            return "remove the comma before it, or write the missing value"
        if rest.startswith(_COMMENTS):
            return _NO_COMMENTS
        if rest[:1] == "'":
            return "write strings in double quotes"
        if rest[:1] in ("+", "-", ".") or rest[:1].isdigit():
            return "write numbers as 1, -2.5 or 1e3, without a plus sign or leading zeros"
        if not self.text[: self.at].strip():
            return "begin with {; a file in YAML is named .yaml"
        return "write a string in double quotes, a number, true, false, null, an object or a list"


def _name_of(character: str) -> str:
    kind = "a lone surrogate " if "\ud800" <= character <= "\udfff" else "the character "
    return f"{kind}U+{ord(character):04X}"
