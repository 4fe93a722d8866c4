"""A few different values of a schema: they show that a difference between two schemas is real."""

from collections.abc import Iterator
from itertools import islice
from math import inf

from wonder.language.schemas.branches import Branch, Bundle, BundleKey, branches, bundle_key
from wonder.language.schemas.disjointness import interval
from wonder.language.values import JsonValue

_LEVELS = 5
# How many values of one branch, and of all together.
_EACH = 12
_ALL = 60
_ITEMS = 50
# How many bundles are looked at, and how many values tried, before it has to do with what was found.
_STEPS = 500
_CHECKS = 3_000


class Samples:
    """Makes values of schemas, and remembers those that it made."""

    def __init__(self) -> None:
        self._known: dict[tuple[BundleKey, int], list[JsonValue]] = {}
        self._steps, self._checks = _STEPS, _CHECKS

    def of(self, bundle: Bundle, levels: int = _LEVELS) -> list[JsonValue]:
        """Give some values that fit all of these, of every kind if possible; there may be others, or none."""
        key = (bundle_key(bundle), levels)
        if key not in self._known:
            self._steps -= 1
            self._known[key] = self._made(bundle, levels) if self._steps >= 0 else []
        return self._known[key]

    def _made(self, bundle: Bundle, levels: int) -> list[JsonValue]:
        found: list[JsonValue] = []
        ways = branches(bundle)
        for branch in ways:
            candidates = branch.values if branch.values is not None else self._candidates(branch, levels)
            fitting = (value for value in candidates if self._fits(bundle, value))
            found.extend(islice(fitting, max(2, min(_EACH, _ALL // len(ways)))))
        return found

    def _fits(self, bundle: Bundle, value: JsonValue) -> bool:
        self._checks -= 1
        return self._checks >= 0 and all(node.admits(value) for node in bundle)

    def _candidates(self, branch: Branch, levels: int) -> Iterator[JsonValue]:
        match branch.kind:
            case "integer":
                return _integers(branch)
            case "fraction":
                return _fractions(branch)
            case "string":
                return _texts(branch)
            case "array":
                return self._lists(branch, levels)
            case _:
                return self._objects(branch, levels)

    def _lists(self, branch: Branch, levels: int) -> Iterator[JsonValue]:
        least, most = int(max(branch.least("minItems"), 0)), branch.most("maxItems")
        if least == 0:
            yield []
        if not levels or least > _ITEMS:
            return
        count = max(least, branch.elements_told_apart(), 1)
        columns = [self.of(branch.element(index), levels - 1) for index in range(min(count, _ITEMS))]
        filled = next((index for index, column in enumerate(columns) if not column), len(columns))
        if filled == 1:
            yield columns[0][:1] * 2
            yield columns[0][:2]
        longest = int(min(filled, most))
        for variant in range(_EACH):
            yield [columns[index][variant % len(columns[index])] for index in range(longest)]

    def _objects(self, branch: Branch, levels: int) -> Iterator[JsonValue]:
        required = branch.required()
        if not required:
            yield {}
        if not levels:
            return
        names = list(dict.fromkeys([*required, *branch.names(), "extra"]))[:_ITEMS]
        columns = {name: self.of(branch.property(name), levels - 1) for name in names}
        if any(not columns[name] for name in required if name in columns):
            return
        smallest: dict[str, JsonValue] = {name: columns[name][0] for name in required if name in columns}
        yield smallest
        yield smallest | {name: column[0] for name, column in columns.items() if column and name != "extra"}
        for variant in range(1, _EACH):
            for name, column in columns.items():
                if variant - 1 < len(column):
                    yield smallest | {name: column[variant - 1]}


def _integers(branch: Branch) -> Iterator[JsonValue]:
    low, high = interval(branch)
    steps = [schema["multipleOf"] for schema in branch.schemas() if "multipleOf" in schema]
    step = next((int(step) for step in steps if isinstance(step, int | float) and step >= 1), 1)
    for near in (low, high, 0):
        if abs(near) != inf:
            base = int(near) // step * step
            yield from (base + step * count for count in (0, 1, -1, 2))
    yield from (10**6 * step, -(10**6) * step)


def _fractions(branch: Branch) -> Iterator[JsonValue]:
    low, high = interval(branch)
    if abs(low) != inf and abs(high) != inf:
        yield from (low + (high - low) * part for part in (0.5, 0.25, 0.01, 0.99, 0.123))
    for near in (low, high, 0):
        if abs(near) != inf:
            yield from (near, near + 0.5, near - 0.5, near + 0.25)
    yield from (1e6 + 0.5, -1e6 - 0.5)


def _texts(branch: Branch) -> Iterator[JsonValue]:
    least, most = max(branch.least("minLength"), 0), branch.most("maxLength")
    lengths = [int(length) for length in (least, least + 1, most, 3, 40) if length <= 1000]
    yield from ("a" * length for length in lengths)
    yield from ("~" * length for length in lengths)
