"""Why a value does not fit its schema, told for people, within a bounded amount of work."""

from collections.abc import Iterable, Iterator
from itertools import islice

from wonder.language.schemas.compiled import compile_checked
from wonder.language.schemas.describe import describe
from wonder.language.schemas.equality import has_type
from wonder.language.schemas.faults import ValueFault, show_value
from wonder.language.schemas.limits import listed, named, number, plain_faults
from wonder.language.schemas.names import closest
from wonder.language.schemas.positions import Path, Schema, as_schema
from wonder.language.schemas.references import References, cut_out
from wonder.language.schemas.regexes import pattern_matches
from wonder.language.values import JsonValue

FAULTS = 50
# How many schemas are held against how many parts of the value before the explanation gives up.
STEPS = 100_000
# How many schemas may be entered one inside the other; Python's own stack ends not far beyond.
_LEVELS = 120
# From how many elements on a list is worth a compilation.
_LONG = 500

_Faults = Iterator[ValueFault]


class _GaveUp(Exception):
    """There is too much to look at."""


def explain(
    references: References, schema: Schema, value: JsonValue, *, faults_max: int = FAULTS, steps: int = STEPS
) -> list[ValueFault]:
    """Say where and why a value does not fit; empty when nothing was found, which `unevaluated…` may still refuse."""
    explanation = _Explanation(references, steps)
    faults: list[ValueFault] = []
    try:
        for fault in islice(explanation.faults(schema, value, ()), faults_max):
            faults.append(fault)  # noqa: PERF402  # what was found before giving up is kept
    except (_GaveUp, RecursionError):
        return faults
    return faults


def fits(references: References, schema: Schema, value: JsonValue) -> bool | None:
    """Say whether a value fits, for a schema that will be asked too seldom to be worth compiling; None: can't tell."""
    if references.looks_at_leftovers:
        return None
    try:
        return next(_Explanation(references, STEPS).faults(schema, value, ()), None) is None
    except (_GaveUp, RecursionError):
        return None


class _Explanation:
    def __init__(self, references: References, steps: int) -> None:
        self.references = references
        self.steps = steps
        self.level = 0
        self.known: dict[tuple[int, int], bool] = {}
        self.meant: dict[tuple[int, int], bool] = {}

    def faults(self, schema: JsonValue, value: JsonValue, path: Path) -> _Faults:
        self.steps -= 1
        self.level += 1
        if self.steps < 0 or self.level > _LEVELS:
            raise _GaveUp
        if schema is False:
            yield ValueFault(path, f"nothing is allowed here, found {show_value(value)}", "false")
        elif isinstance(schema, dict):
            yield from self._faults_of(schema, value, path)
        self.level -= 1

    def fits(self, schema: JsonValue, value: JsonValue) -> bool:
        """Say whether a value fits; remembered, or alternatives inside alternatives would double the work each time."""
        key = (id(schema), id(value))
        if key not in self.known:
            level = self.level
            self.known[key] = next(self.faults(schema, value, ()), None) is None
            self.level = level
        return self.known[key]

    def _faults_of(self, schema: dict[str, JsonValue], value: JsonValue, path: Path) -> _Faults:
        held = schema.get("type")
        types = held if isinstance(held, list) else [held]
        if held is not None and not any(has_type(value, str(name)) for name in types):
            message = f"expected {' or '.join(map(str, types))}, found {show_value(value)}"
            yield ValueFault(path, message, "type")
            return  # What else the schema says is about values of that type.
        yield from plain_faults(self.references, schema, value, path)
        match value:
            case dict():
                yield from self._object_faults(schema, value, path)
            case list():
                yield from self._list_faults(schema, value, path)
        for target in self.references.targets(schema):
            yield from self.faults(target, value, path)
        yield from self._combined_faults(schema, value, path)

    def _object_faults(self, schema: dict[str, JsonValue], value: dict[str, JsonValue], path: Path) -> _Faults:
        properties, patterns = named(schema, "properties"), named(schema, "patternProperties")
        others = schema.get("additionalProperties", True)
        for name, part in value.items():
            matched = [below for pattern, below in patterns.items() if pattern_matches(pattern, name)]
            if name in properties:
                matched.append(properties[name])
            if not matched and others is False:
                yield ValueFault((*path, name), _not_allowed(name, properties), "additionalProperties")
            for below in matched or ([others] if isinstance(others, dict) else []):
                yield from self.faults(below, part, (*path, name))
            if "propertyNames" in schema and not self.fits(schema["propertyNames"], name):
                yield ValueFault((*path, name), f"the name {show_value(name)} is not allowed", "propertyNames")
        for trigger, below in named(schema, "dependentSchemas").items():
            if trigger in value:
                yield from self.faults(below, value, path)

    def _list_faults(self, schema: dict[str, JsonValue], value: list[JsonValue], path: Path) -> _Faults:
        held = schema.get("prefixItems")
        first = held if isinstance(held, list) else []
        for index, (below, part) in enumerate(zip(first, value, strict=False)):
            yield from self.faults(below, part, (*path, index))
        rest = schema.get("items", True)
        if rest is False and len(value) > len(first):
            message = f"expected at most {len(first)} elements, found {len(value)}"
            yield ValueFault((*path, len(first)), message, "items")
        elif rest is not True:
            for index, part in self._suspects(rest, enumerate(value[len(first) :], len(first)), len(value)):
                yield from self.faults(rest, part, (*path, index))
        if "contains" in schema:
            yield from self._contains_faults(schema, value, path)

    def _suspects(
        self, schema: JsonValue, parts: Iterable[tuple[int, JsonValue]], count: int
    ) -> Iterable[tuple[int, JsonValue]]:
        """Leave out the parts of a long list that fit, which the compiled schema tells much faster."""
        if count < _LONG:
            return parts
        compiled = compile_checked(cut_out(self.references, as_schema(schema)))
        return ((index, part) for index, part in parts if not compiled.is_valid(part))

    def _contains_faults(self, schema: dict[str, JsonValue], value: list[JsonValue], path: Path) -> _Faults:
        found = sum(self.fits(schema["contains"], part) for part in value)
        least, most = schema.get("minContains", 1), schema.get("maxContains", len(value))
        if not number(least) <= found <= number(most):
            wanted = f"at least {least}" if found < number(least) else f"at most {most}"
            message = f"expected {wanted} elements that are {_shown(schema['contains'])}, found {found}"
            yield ValueFault(path, message, "contains")

    def _combined_faults(self, schema: dict[str, JsonValue], value: JsonValue, path: Path) -> _Faults:
        for below in listed(schema, "allOf"):
            yield from self.faults(below, value, path)
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                yield from self._alternative_faults(keyword, listed(schema, keyword), value, path)
        if "not" in schema and self.fits(schema["not"], value):
            message = f"expected anything but {_shown(schema['not'])}, found {show_value(value)}"
            yield ValueFault(path, message, "not")
        if "if" in schema and ("then" in schema or "else" in schema):
            branch = "then" if self.fits(schema["if"], value) else "else"
            yield from self.faults(schema.get(branch, True), value, path)

    def _alternative_faults(self, keyword: str, alternatives: list[JsonValue], value: JsonValue, path: Path) -> _Faults:
        fitting = [index for index, below in enumerate(alternatives) if self.fits(below, value)]
        if fitting and (keyword == "anyOf" or len(fitting) == 1):
            return
        if fitting:
            message = f"expected exactly one of the alternatives to fit, but those numbered {_numbers(fitting)} all do"
            yield ValueFault(path, message, keyword)
            return
        meant = [below for below in alternatives if self._is_meant(below, value)]
        if len(meant) == 1:
            yield from self.faults(meant[0], value, path)
        else:
            message = f"expected {_shown({'anyOf': alternatives})}, found {show_value(value)}"
            yield ValueFault(path, message, keyword)

    def _is_meant(self, schema: JsonValue, value: JsonValue) -> bool:
        """Say whether a value looks as if it should fit: its type is right, and so are the constants in it."""
        key = (id(schema), id(value))
        if key not in self.meant:
            level = self.level
            self.meant[key] = not any(_is_another_kind(fault) for fault in self.faults(schema, value, ()))
            self.level = level
        return self.meant[key]


def _is_another_kind(fault: ValueFault) -> bool:
    if not fault.path:
        return fault.keyword in ("type", "const", "enum", "false")
    return len(fault.path) == 1 and fault.keyword in ("const", "enum")


def _not_allowed(name: str, properties: dict[str, JsonValue]) -> str:
    near = closest(name, properties)
    if near is not None:
        return f"the property {show_value(name)} is not allowed; did you mean {show_value(near)}?"
    known = ", ".join(list(properties)[:8]) or "none"
    return f"the property {show_value(name)} is not allowed; allowed are {known}"


def _numbers(indexes: list[int]) -> str:
    return ", ".join(str(index + 1) for index in indexes[:5])


def _shown(schema: JsonValue) -> str:
    return describe(as_schema(schema))
