"""The differences between two JSON values, place by place."""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

from wonder.definitions.faults import Path
from wonder.language.values import JsonValue, canonical_json


@dataclass(frozen=True)
class Difference:
    """What stands at one place before and after; `added` and `removed` tell absent from null."""

    path: Path
    before: JsonValue
    after: JsonValue
    added: bool = False
    removed: bool = False


def differences(before: JsonValue, after: JsonValue, path: Path = ()) -> Iterator[Difference]:
    """Give the smallest places that differ; elements of lists are matched before they are compared."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*before, *(key for key in after if key not in before)]:
            if key not in after:
                yield Difference((*path, key), before[key], None, removed=True)
            elif key not in before:
                yield Difference((*path, key), None, after[key], added=True)
            else:
                yield from differences(before[key], after[key], (*path, key))
    elif isinstance(before, list) and isinstance(after, list):
        yield from _list_differences(before, after, path)
    elif canonical_json(before) != canonical_json(after):
        yield Difference(path, before, after)


def _list_differences(before: list[JsonValue], after: list[JsonValue], path: Path) -> Iterator[Difference]:
    old, new = [canonical_json(element) for element in before], [canonical_json(element) for element in after]
    for change, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if change == "equal":
            continue
        both = min(i2 - i1, j2 - j1)
        for offset in range(both):
            yield from differences(before[i1 + offset], after[j1 + offset], (*path, j1 + offset))
        for i in range(i1 + both, i2):
            yield Difference((*path, i), before[i], None, removed=True)
        for j in range(j1 + both, j2):
            yield Difference((*path, j), None, after[j], added=True)
