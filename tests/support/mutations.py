"""Random damage to a definition, the same for the same seed."""

from copy import deepcopy
from random import Random
from typing import Any

WORDS = [
    "",
    "$",
    "$.",
    "$.input[",
    "{{",
    "{{#if x}}",
    "a..b",
    "state.",
    "input.x >",
    "'",
    '"',
    "@",
    "@output.x",
    "a/b@c",
    "x" * 300,
]
WORDS += [
    "state.x",
    "$.state.x",
    "_branch.output.x",
    "_last_error.code = 1",
    "1",
    "null",
    "é",
    "😀",
    " ",
    "#/$defs/x",
    "[",
    "(a+)+$",
]
OTHERS: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    3,
    10**30,
    1.5,
    1e300,
    [],
    {},
    [[]],
    {"": None},
    {"type": "object"},
    {"$ref": "#"},
]
OTHERS += [{"type": "comparison"}, ["a", 1, None], {"$literal": 1}, {"kind": "sleep"}, {"m_of_n": 2}, {"default": 1}]


def damaged(definition: Any, random: Random, changes: int) -> Any:
    """Give a copy with so many changes at random places."""
    document = deepcopy(definition)
    for _ in range(changes):
        holders = list(_holders(document))
        holder = random.choice(holders)
        if holder:
            random.choice(_CHANGES)(holder, random, document)
    return document


def _holders(value: Any) -> Any:
    if isinstance(value, dict | list):
        yield value
        for part in value.values() if isinstance(value, dict) else value:
            yield from _holders(part)


def _place(holder: Any, random: Random) -> Any:
    return random.choice(list(holder)) if isinstance(holder, dict) else random.randrange(len(holder))


def _remove(holder: Any, random: Random, document: Any) -> None:
    del holder[_place(holder, random)]


def _replace(holder: Any, random: Random, document: Any) -> None:
    holder[_place(holder, random)] = deepcopy(random.choice(OTHERS))


def _rewrite(holder: Any, random: Random, document: Any) -> None:
    holder[_place(holder, random)] = random.choice(WORDS)


def _rename(holder: Any, random: Random, document: Any) -> None:
    if isinstance(holder, dict):
        name = _place(holder, random)
        other = random.choice([name + "s", name[:-1], name.upper(), *WORDS, *_words(document)[:200]])
        holder[other] = holder.pop(name)


def _double(holder: Any, random: Random, document: Any) -> None:
    copy = deepcopy(holder[_place(holder, random)])
    if isinstance(holder, list):
        holder.insert(random.randrange(len(holder) + 1), copy)
    else:
        holder[random.choice([*WORDS, *_words(document)])] = copy


def _transplant(holder: Any, random: Random, document: Any) -> None:
    source = random.choice([part for part in _holders(document) if part])
    holder[_place(holder, random)] = deepcopy(source[_place(source, random)])


def _nest(holder: Any, random: Random, document: Any) -> None:
    place = _place(holder, random)
    value = holder[place]
    for _ in range(random.choice([1, 5, 60])):
        value = random.choice([[value], {"properties": {"a": value}}, {"conditions": [value], "type": "and"}])
    holder[place] = value


def _words(document: Any) -> list[str]:
    found = [key for holder in _holders(document) if isinstance(holder, dict) for key in holder]
    return found + [part for holder in _holders(document) for part in _parts(holder) if isinstance(part, str)]


def _parts(holder: Any) -> Any:
    return holder.values() if isinstance(holder, dict) else holder


_CHANGES = [_remove, _replace, _rewrite, _rename, _double, _transplant, _nest]
