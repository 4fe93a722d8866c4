"""The differences between two JSON values, place by place."""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

from wonder.definitions.faults import Path
from wonder.language.values import JsonValue, canonical_json

# Matching takes the product of both lengths in time: beyond this, elements are compared by their position.
_MATCHED_MAX = 1_000_000


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
    for i1, i2, j1, j2 in _changes(old, new):
        both = min(i2 - i1, j2 - j1)
        for offset in range(both):
            yield from differences(before[i1 + offset], after[j1 + offset], (*path, j1 + offset))
        for i in range(i1 + both, i2):
            yield Difference((*path, i), before[i], None, removed=True)
        for j in range(j1 + both, j2):
            yield Difference((*path, j), None, after[j], added=True)


def _changes(old: list[str], new: list[str]) -> Iterator[tuple[int, int, int, int]]:
    """Give the parts that differ, from and to in each list; what is too long to be matched differs as a whole."""
    start, behind, most = 0, 0, min(len(old), len(new))
    while start < most and old[start] == new[start]:
        start += 1
    while behind < most - start and old[-1 - behind] == new[-1 - behind]:
        behind += 1
    middle, other = old[start : len(old) - behind], new[start : len(new) - behind]
    if len(middle) * len(other) > _MATCHED_MAX:
        yield start, start + len(middle), start, start + len(other)
        return
    for change, i1, i2, j1, j2 in SequenceMatcher(None, middle, other, autojunk=False).get_opcodes():
        if change != "equal":
            yield start + i1, start + i2, start + j1, start + j2
