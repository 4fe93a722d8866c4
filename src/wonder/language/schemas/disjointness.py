"""Whether schemas have no value in common: then nothing that comes from one can ever fit the other."""

from math import inf

from wonder.language.schemas.branches import Branch, Bundle, BundleKey, branches, bundle_key

# How many bundles are taken apart before the answer is "it can't be told", and how deep inside each other.
_STEPS = 10_000
_LEVELS = 20


class Emptiness:
    """Finds contradictions between schemas, and remembers what it found."""

    def __init__(self) -> None:
        self._known: dict[BundleKey, bool] = {}
        self._steps = _STEPS

    def is_empty(self, bundle: Bundle, levels: int = _LEVELS) -> bool:
        """Say whether it is certain that no value fits all of these; False when it can't be told."""
        key = bundle_key(bundle)
        if key not in self._known:
            self._steps -= 1
            if not levels or self._steps < 0:
                return False
            self._known[key] = False  # Until shown otherwise, also for what refers back to this.
            self._known[key] = all(self.contradicts(branch, levels) for branch in branches(bundle))
        return self._known[key]

    def contradicts(self, branch: Branch, levels: int = _LEVELS) -> bool:
        """Say whether a branch, which has a kind of value left, admits none of them after all."""
        if branch.values is not None:
            return False  # They have all been tried.
        match branch.kind:
            case "integer" | "fraction":
                return _numbers_contradict(branch)
            case "string":
                return branch.least("minLength") > branch.most("maxLength")
            case "array":
                return self._elements_contradict(branch, levels)
            case _:
                return self._properties_contradict(branch, levels)

    def _elements_contradict(self, branch: Branch, levels: int) -> bool:
        least = max(branch.least("minItems"), 0)
        if least > branch.most("maxItems"):
            return True
        told_apart = int(min(least, branch.elements_told_apart() + 1))
        return any(self.is_empty(branch.element(index), levels - 1) for index in range(told_apart))

    def _properties_contradict(self, branch: Branch, levels: int) -> bool:
        required = branch.required()
        if max(len(required), branch.least("minProperties")) > branch.most("maxProperties"):
            return True
        return any(self.is_empty(branch.property(name), levels - 1) for name in required)


def interval(branch: Branch) -> tuple[float, float]:
    """Give the limits of the numbers of a branch; integers reach them, fractions may not."""
    low, high = branch.least("minimum"), branch.most("maximum")
    above, below = branch.least("exclusiveMinimum"), branch.most("exclusiveMaximum")
    if branch.kind == "fraction":
        return max(low, above), min(high, below)
    return max(_whole_from(low), _whole_above(above)), min(-_whole_from(-high), -_whole_above(-below))


def _whole_from(limit: float) -> float:
    """Give the smallest integer that is not below a limit."""
    if abs(limit) == inf or limit == int(limit):
        return limit
    return int(limit) + (1 if limit > 0 else 0)


def _whole_above(limit: float) -> float:
    """Give the smallest integer above a limit."""
    if abs(limit) == inf:
        return limit
    return int(limit) + 1 if limit == int(limit) else _whole_from(limit)


def _numbers_contradict(branch: Branch) -> bool:
    low, high = interval(branch)
    if branch.kind == "integer":
        return low > high
    steps = [schema["multipleOf"] for schema in branch.schemas() if "multipleOf" in schema]
    whole = any(isinstance(step, int | float) and step == int(step) for step in steps)
    return whole or low > high or (low == high and abs(low) != inf and low == int(low))
