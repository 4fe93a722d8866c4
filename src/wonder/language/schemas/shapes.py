"""What a schema tells about the value at a path: its schema, that anything may be there, or that nothing can be.

For this question an object schema that lists `properties` is closed unless it says `additionalProperties` itself
(CTX-5b), so that a name which nobody declared is found when a definition is created.
"""

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Literal

from msgspec import Struct

from wonder.language.schemas.equality import key_of
from wonder.language.schemas.limits import listed, named, number
from wonder.language.schemas.positions import Schema, as_schema
from wonder.language.schemas.references import References, cut_out
from wonder.language.schemas.regexes import pattern_matches
from wonder.language.values import JsonValue


class Shape(Struct, frozen=True):
    """What is known of the value at a path.

    `known`: it fits `schema`, which stands alone. `open`: nothing is said, `schema` is true. `absent`: no value has
    it; `at` is the index of the segment that is not there, `available` the names that are.
    """

    kind: Literal["known", "open", "absent"]
    schema: Schema = True
    at: int | None = None
    available: tuple[str, ...] = ()


def shape_at(schema: Schema, path: Sequence[str | int]) -> Shape:
    """Say what a schema tells about the value at a path; "absent" only when no alternative has it."""
    references = References(schema)
    here = schema
    for index, segment in enumerate(path):
        answer = _Question(references, segment).ask(here)
        if answer.verdict in (_Verdict.NOT_LISTED, _Verdict.REFUSED):
            names = _Question(references, segment).names(here) if isinstance(segment, str) else []
            return Shape("absent", False, index, tuple(names))
        if not answer.schemas:
            return Shape("open")
        here = answer.together()
    return Shape("known", cut_out(references, references.meant(here)))


class _Verdict(IntEnum):
    """What one schema says about a name; of several that hold together, the highest decides."""

    SILENT = 0
    NOT_LISTED = 1  # others are listed: closed by our convention, so a schema that says more about it wins
    SOMETIMES = 2  # known in some alternatives, not listed in others, for which someone else may know it
    OPEN = 3
    KNOWN = 4
    REFUSED = 5  # JSON Schema itself says that it can't be there


class _Answer(Struct, frozen=True):
    verdict: _Verdict
    schemas: tuple[Schema, ...] = ()

    def together(self) -> Schema:
        return self.schemas[0] if len(self.schemas) == 1 else {"allOf": list(self.schemas)}


_SILENT = _Answer(_Verdict.SILENT)
_OPEN = _Answer(_Verdict.OPEN)
_NOT_LISTED = _Answer(_Verdict.NOT_LISTED)
_REFUSED = _Answer(_Verdict.REFUSED)


class _Question:
    """What do schemas say about one segment below the value that they look at?"""

    def __init__(self, references: References, segment: str | int) -> None:
        self.references = references
        self.segment = segment
        self.answers: dict[int, _Answer] = {}

    def ask(self, schema: Schema) -> _Answer:
        if isinstance(schema, bool):
            return _SILENT if schema else _REFUSED
        if id(schema) not in self.answers:
            self.answers[id(schema)] = _SILENT  # A circle of references says nothing more than what it holds.
            self.answers[id(schema)] = _all_of(self._parts(schema))
        return self.answers[id(schema)]

    def names(self, schema: Schema) -> list[str]:
        """Give the names that are declared for the value, in any alternative."""
        found: dict[str, None] = {}
        seen: set[int] = set()
        waiting = [schema]
        while waiting:
            here = waiting.pop()
            if not isinstance(here, dict) or id(here) in seen:
                continue
            seen.add(id(here))
            found.update(dict.fromkeys(name for name, part in named(here, "properties").items() if part is not False))
            beside = [part for keyword in ("allOf", "anyOf", "oneOf") for part in listed(here, keyword)]
            beside += [here[keyword] for keyword in ("if", "then", "else") if keyword in here]
            beside += named(here, "dependentSchemas").values()
            waiting.extend(reversed([*map(as_schema, beside), *self.references.targets(here)]))
        return list(found)

    def _parts(self, schema: dict[str, JsonValue]) -> Iterable[_Answer]:
        yield self._types(schema)
        yield self._values(schema)
        if isinstance(self.segment, str):
            yield _property(schema, self.segment)
        else:
            yield _element(schema, self.segment)
        for part in [*self.references.targets(schema), *listed(schema, "allOf")]:
            yield self.ask(as_schema(part))
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                yield _one_of([self.ask(as_schema(part)) for part in listed(schema, keyword)])
        yield from self._conditional(schema)

    def _types(self, schema: dict[str, JsonValue]) -> _Answer:
        held = schema.get("type")
        wanted = "object" if isinstance(self.segment, str) else "array"
        types = held if isinstance(held, list) else [held]
        return _SILENT if held is None or wanted in types else _REFUSED

    def _values(self, schema: dict[str, JsonValue]) -> _Answer:
        if "const" not in schema and "enum" not in schema:
            return _SILENT
        values = [schema["const"]] if "const" in schema else listed(schema, "enum")
        inside = [part for value in values for part in _inside(value, self.segment)]
        different = list({key_of(part): part for part in inside}.values())
        return _Answer(_Verdict.KNOWN, ({"enum": different},)) if different else _REFUSED

    def _conditional(self, schema: dict[str, JsonValue]) -> Iterable[_Answer]:
        """Schemas that hold for some values only: what they mention may be there, what they leave out too."""
        if "if" in schema:
            yield _mentioned(self.ask(as_schema(schema["if"])))
            branches = [self.ask(as_schema(schema.get(keyword, True))) for keyword in ("then", "else")]
            yield _one_of(branches)
        for part in named(schema, "dependentSchemas").values():
            yield _mentioned(self.ask(as_schema(part)))


def _property(schema: dict[str, JsonValue], name: str) -> _Answer:
    properties = named(schema, "properties")
    found = [properties[name]] if name in properties else []
    found += [part for pattern, part in named(schema, "patternProperties").items() if pattern_matches(pattern, name)]
    if found:
        return _known(found)
    if "additionalProperties" in schema:
        others = schema["additionalProperties"]
        return _known([others]) if others is False or (isinstance(others, dict) and others) else _OPEN
    if name in listed(schema, "required") or any(
        name in names for names in named(schema, "dependentRequired").values() if isinstance(names, list)
    ):
        return _OPEN
    if schema.get("unevaluatedProperties", False) is not False:
        return _OPEN
    return _NOT_LISTED if properties else _SILENT


def _element(schema: dict[str, JsonValue], index: int) -> _Answer:
    first = listed(schema, "prefixItems")
    most = schema.get("maxItems")
    if most is not None and (index if index >= 0 else -index - 1) >= number(most):
        return _REFUSED
    if index < 0 and first:
        return _OPEN  # Which element is counted from the end depends on how many there are.
    if 0 <= index < len(first):
        return _known([first[index]])
    return _known([schema["items"]]) if "items" in schema else _SILENT


def _inside(value: JsonValue, segment: str | int) -> list[JsonValue]:
    if isinstance(segment, str):
        return [value[segment]] if isinstance(value, dict) and segment in value else []
    return [value[segment]] if isinstance(value, list) and -len(value) <= segment < len(value) else []


def _known(schemas: list[JsonValue]) -> _Answer:
    if any(schema is False for schema in schemas):
        return _REFUSED
    return _Answer(_Verdict.KNOWN, tuple(map(as_schema, schemas)))


def _mentioned(answer: _Answer) -> _Answer:
    return _OPEN if answer.verdict in (_Verdict.SOMETIMES, _Verdict.OPEN, _Verdict.KNOWN) else _SILENT


def _all_of(answers: Iterable[_Answer]) -> _Answer:
    """Join what schemas say that hold together."""
    told = list(answers)
    verdict = max((answer.verdict for answer in told), default=_Verdict.SILENT)
    schemas = _once([schema for answer in told if answer.verdict is verdict for schema in answer.schemas])
    # Each of these holds for some values only, so for any one value it is one of them.
    return _Answer(verdict, _either(schemas) if verdict is _Verdict.SOMETIMES else schemas)


def _one_of(answers: list[_Answer]) -> _Answer:
    """Join what alternatives say, of which at least one holds."""
    possible = {answer.verdict for answer in answers} - {_Verdict.REFUSED}
    if not possible:
        return _REFUSED
    known = possible & {_Verdict.KNOWN, _Verdict.SOMETIMES}
    if _Verdict.OPEN in possible or (known and _Verdict.SILENT in possible):
        return _OPEN
    if known:
        schemas = _either(_once([answer.together() for answer in answers if answer.verdict in known]))
        return _Answer(_Verdict.KNOWN if possible == {_Verdict.KNOWN} else _Verdict.SOMETIMES, schemas)
    return _SILENT if _Verdict.SILENT in possible else _NOT_LISTED


def _either(schemas: tuple[Schema, ...]) -> tuple[Schema, ...]:
    return schemas if len(schemas) == 1 else ({"anyOf": list(schemas)},)


def _once(schemas: list[Schema]) -> tuple[Schema, ...]:
    return tuple({id(schema): schema for schema in schemas}.values())
