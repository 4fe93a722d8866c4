"""Refs: `@output.items[0]`, `@fetch-items.output`: how the phase form and triggers name a value (PHS-2, PHS-6)."""

import re
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from wonder.language.paths import MISSING, Missing, Path, parse_dotted
from wonder.language.values import JsonValue

_QUOTED_OR_WORD: Final = re.compile(r'"(?:[^"]|"")*"|[^\s."\[\]@]+')
Place: TypeAlias = tuple[str | int, ...]
Find: TypeAlias = Callable[[Path], Callable[[JsonValue], JsonValue | Missing]]
Filled: TypeAlias = Callable[[JsonValue], JsonValue | Missing]


def is_ref(value: object) -> bool:
    """Say whether a value is a ref: a text that begins with one `@`; `@@x` is the text `@x`."""
    return isinstance(value, str) and value.startswith("@") and not value.startswith("@@")


def parse_ref(text: str) -> Path:
    """Read a ref; unlike elsewhere a name may hold hyphens without quotes. Raises PathSyntax."""
    return parse_dotted(_QUOTED_OR_WORD.sub(_quoted, text[1:]))


def refs_in(value: JsonValue, place: Place = ()) -> Iterator[tuple[Place, str]]:
    """Give the refs in a template at any depth, each with its place."""
    if isinstance(value, str):
        if is_ref(value):
            yield place, value
    elif isinstance(value, dict):
        for key, element in value.items():
            yield from refs_in(element, (*place, key))
    elif isinstance(value, list):
        for index, element in enumerate(value):
            yield from refs_in(element, (*place, index))


def compile_refs(template: JsonValue, find: Find) -> Filled:
    """Make the function that puts values in the place of a template's refs; MISSING if one of them is missing.

    `find` makes, out of a ref's path, the function that looks its value up.
    """
    if isinstance(template, str):
        if is_ref(template):
            return find(parse_ref(template))
        text = template[1:] if template.startswith("@@") else template
        return lambda root: text
    if not any(_has_at(value) for value in _texts(template)):
        return lambda root: template
    if isinstance(template, dict):
        return _object([(key, compile_refs(value, find)) for key, value in template.items()])
    assert isinstance(template, list)
    return _list([compile_refs(value, find) for value in template])


def _object(parts: list[tuple[str, Filled]]) -> Filled:
    def fill(root: JsonValue) -> JsonValue | Missing:
        filled: dict[str, JsonValue] = {}
        for key, part in parts:
            value = part(root)
            if value is MISSING:
                return MISSING
            filled[key] = value
        return filled

    return fill


def _list(parts: list[Filled]) -> Filled:
    def fill(root: JsonValue) -> JsonValue | Missing:
        filled: list[JsonValue] = []
        for part in parts:
            value = part(root)
            if value is MISSING:
                return MISSING
            filled.append(value)
        return filled

    return fill


def _texts(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for element in value.values():
            yield from _texts(element)
    elif isinstance(value, list):
        for element in value:
            yield from _texts(element)


def _has_at(text: str) -> bool:
    return text.startswith("@")


def _quoted(found: "re.Match[str]") -> str:
    word = found[0]
    return f'"{word}"' if "-" in word and not word.startswith('"') else word
