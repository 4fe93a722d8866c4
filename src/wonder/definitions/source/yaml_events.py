"""The YAML parser's events for one text, with its complaints made readable and its YAML 1.1 habits fixed."""

import re
from itertools import islice
from typing import Final

from yaml import CBaseLoader, MarkedYAMLError
from yaml.events import Event

from wonder.definitions.source.document import SourceText
from wonder.definitions.source.faults import FaultList, Unreadable

_NOT_PRINTABLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufeff\ufffe\uffff]")
# Line breaks to YAML 1.1 and its parsers, plain characters to YAML 1.2: hidden from the parser while it works.
_OLD_BREAKS: Final = "\x85\u2028\u2029"
# The parser compares each %TAG directive with all before it. They are useless here, as tags are not allowed.
_TAG_DIRECTIVE: Final = re.compile(r"(?:\A|[\r\n])%TAG")
_TAG_DIRECTIVES_MAX: Final = 100
_PRIVATE_USE: Final = range(0xF0000, 0xF0100)


class YamlEvents:
    """The events of one text, in order."""

    def __init__(self, source: SourceText, faults: FaultList) -> None:
        self._text, self._faults = source.text, faults
        self._hidden = _hiding_places(source.text)
        self._shown = {ord(stand_in): chr(character) for character, stand_in in self._hidden.items()}
        if found := _NOT_PRINTABLE.search(source.text):
            raise self._unprintable(found)
        directives = islice(_TAG_DIRECTIVE.finditer(source.text), _TAG_DIRECTIVES_MAX, None)
        if directive := next(directives, None):
            message = f"more than {_TAG_DIRECTIVES_MAX} %TAG directives"
            raise faults.stop("YAML_TAG", directive.end() - len("%TAG"), message, "remove them; tags are not allowed")
        self._parser = CBaseLoader(source.text.translate(self._hidden) if self._hidden else source.text)

    def next(self) -> Event:
        """Return the next event; raises Unreadable where the text is not YAML."""
        try:
            event = self._parser.get_event()
        except MarkedYAMLError as error:
            raise self._broken(error) from None
        assert event is not None, "nobody asks for more behind the stream's end"
        return event

    def restored(self, text: str) -> str:
        """Return a scalar's text with the characters that were hidden from the parser."""
        return text.translate(self._shown) if self._hidden else text

    def _unprintable(self, found: re.Match[str]) -> Unreadable:
        name = f"the character U+{ord(found[0]):04X}"
        if "\ud800" <= found[0] <= "\udfff":
            message, hint = f"{name} is half of a surrogate pair", "write the character itself"
        else:
            message, hint = f"{name} can't stand in YAML as it is", "remove it, or escape it in double quotes"
        return self._faults.stop("BAD_VALUE", found.start(), message, hint)

    def _broken(self, error: MarkedYAMLError) -> Unreadable:
        mark = error.problem_mark or error.context_mark
        offset = min(mark.index if mark else 0, len(self._text))
        problem = error.problem or "not YAML"
        message = f"{error.context}: {problem}" if error.context else problem
        return self._faults.stop("YAML_SYNTAX", offset, message, _hint(message, self._text[offset : offset + 1]))


def offset_of(event: Event) -> int:
    """Return the offset at which an event begins in its text."""
    assert event.start_mark is not None, "an event of the parser has its mark"
    return event.start_mark.index


def _hiding_places(text: str) -> dict[int, str]:
    """Choose for each old line break in the text a character that the text does not have."""
    found = [character for character in _OLD_BREAKS if character in text]
    if not found:
        return {}
    unused = (chr(point) for point in _PRIVATE_USE if chr(point) not in text)
    return {ord(character): stand_in for character, stand_in in zip(found, unused, strict=False)}


def _hint(complaint: str, character: str) -> str:
    if "cannot start any token" in complaint:
        return "indent with spaces, not tabs" if character == "\t" else f"quote a string that begins with {character}"
    if "mapping values are not allowed" in complaint:
        return "quote a string that contains ': ', or fix the indentation"
    for word, sign in (("an alias", "*"), ("an anchor", "&"), ("a tag", "!")):
        if f"while scanning {word}" in complaint:
            return f"quote a string that begins with {sign}"
    if "escape" in complaint or "quoted scalar" in complaint:
        return "write a backslash in double quotes as \\\\, or use single quotes"
    if "could not find expected ':'" in complaint:
        return "write 'key: value', with a space behind the colon"
    if "tab character" in complaint:
        return "indent with spaces, not tabs"
    return "look at the brackets, quotes and indentation here and in the line above"
