"""What flows into a step: its `input`, with every ref in it, against what its tool or transform takes (PHS-4)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from wonder.definitions.faults import Path
from wonder.language.mappings import LITERAL
from wonder.language.refs import is_ref, refs_in
from wonder.language.schemas import (
    BadSchema,
    Mismatch,
    Schema,
    assignable,
    closest,
    compile_validator,
    describe,
    disjoint,
    shape_at,
)
from wonder.language.schemas.composing import Composer, either_schema, object_schema
from wonder.language.schemas.faults import show_value
from wonder.language.schemas.narrowing import narrowed
from wonder.language.schemas.presence import required_names
from wonder.language.values import JsonValue
from wonder.phases.errors import ErrorType, PhaseError
from wonder.phases.inference import InputUses
from wonder.phases.refs import plain_value
from wonder.phases.sources import Sight, Source, Unreadable

# Of the differences between two schemas, how many are told: the others mostly come from these.
_TOLD = 10

_PLAIN = frozenset({"type", "properties", "required", "additionalProperties", "title", "description", "default"})
_PLAIN |= {"$schema", "$id", "$comment", "$defs", "definitions", "examples", "deprecated", "format"}


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of an input with its schema: a ref, a value without refs, or what holds such."""

    schema: Schema
    ref: str | None = None
    source: Source | None = None
    value: JsonValue = None
    members: "dict[str, _Part] | None" = None
    elements: "list[_Part] | None" = None

    @property
    def optional(self) -> bool:
        return self.source is not None and self.source.optional


class Flow:
    """The check of one step, or trigger; its errors go where all are collected."""

    def __init__(
        self, step: str, where: Path, sight: Sight, uses: InputUses, note: Callable[[PhaseError], None]
    ) -> None:
        self.step, self.where, self.sight, self.uses, self._note = step, where, sight, uses, note
        self._found = 0
        self._part_by_part = True
        """Whether what was looked at part by part has been seen as a whole."""

    def check_input(self, template: JsonValue, target: Schema, taker: str) -> None:
        """Check a whole input; `taker` is what takes it, in words."""
        whole = self._part(template, ())
        before = self._found
        self._fit(whole, target, (), taker, required=True)
        if self._found > before or self._part_by_part:
            return
        # Alternatives of the whole, and what holds between its members.
        if next(refs_in(template), None) is None:
            self._fit_value(plain_value(template), target, ())
        else:
            for mismatch in assignable(whole.schema, target, declared=True)[:_TOLD]:
                self._mismatch(mismatch, (), None)

    def check_ref(self, text: str, target: Schema, field: str, *, required: bool) -> Source | None:
        """Check one ref that stands in another field than `input`; gives what is known of it, None if nothing is."""
        path: Path = tuple(field.split("."))
        source = self._resolve(text, path, field)
        if source is None:
            return None
        if source.unknown is not None:
            self._error("missing_schema", path, source.unknown, ref=text, field=field)
        elif source.input_path is not None:
            self.uses.note(source.input_path, target, self._place(path, text, field), required=required)
        else:
            for mismatch in assignable(source.schema, target, declared=True)[:_TOLD]:
                self._mismatch(mismatch, path, text, field)
        return source

    def _part(self, value: JsonValue, path: Path) -> _Part:
        if isinstance(value, str) and is_ref(value):
            source = self._resolve(value, path)
            return _Part(source.schema, value, source) if source else _Part({})
        # What is an object is looked at name by name, so that one that is not known is found.
        if isinstance(value, dict):
            if LITERAL in value and next(refs_in(value), None) is not None:
                message = f"An object with the key '{LITERAL}' can't hold refs; make it in a transform"
                self._error("invalid_step", path, message)
                return _Part({})
            members = {key: self._part(part, (*path, key)) for key, part in value.items()}
            there = [key for key, part in members.items() if not part.optional]
            return _Part(object_schema({key: part.schema for key, part in members.items()}, there), members=members)
        if not isinstance(value, list) or next(refs_in(value), None) is None:
            plain = plain_value(value)
            return _Part({"const": plain}, value=plain)
        elements = [self._part(part, (*path, index)) for index, part in enumerate(value)]
        return _Part(_tuple_schema(elements), elements=elements)

    def _resolve(self, text: str, path: Path, field: str | None = None) -> Source | None:
        source = self.sight.resolve(text)
        if isinstance(source, Unreadable):
            self._error(source.type, path, source.message, ref=text, field=field)
            return None
        return source

    def _fit(self, part: _Part, target: Schema, path: Path, taker: str, *, required: bool) -> None:
        if part.source is not None:
            self._fit_source(part.source, part.ref or "", target, path, required=required)
        elif part.members is None and part.elements is None:
            if part.schema != {}:  # A ref that can't be read was told.
                self._fit_value(part.value, target, path)
        elif (refusal := disjoint({"type": "array" if part.members is None else "object"}, target)) is not None:
            message = f"Expected {describe(refusal.expected)} but got {describe(part.schema)}"
            self._error("type_mismatch", path, message, expected=refusal.expected, actual=part.schema)
        elif part.members is not None:
            self._part_by_part = self._part_by_part and _is_plain(target)
            self._fit_members(part.members, narrowed(target, _known_of(part.members)), path, taker)
        else:
            self._part_by_part = self._part_by_part and _is_open(target)
            for index, element in enumerate(part.elements or ()):
                # What is missing is null in a list, which may be taken there.
                needed = bool(assignable({"const": None}, shape_at(target, (index,)).schema))
                self._fit_below(_in_list(element), target, (*path, index), taker, required=needed)

    def _fit_members(self, members: dict[str, _Part], target: Schema, path: Path, taker: str) -> None:
        needed = required_names(target)
        for key, part in members.items():
            self._fit_below(part, target, (*path, key), taker, required=key in needed)
        for name in needed:
            if name not in members:
                expected = shape_at(target, (name,)).schema
                message = f"Expected {describe(expected)} but 'input' does not give it: t{taker[1:]} needs '{name}'"
                self._error("type_mismatch", (*path, name), message, expected=expected, at=path)

    def _fit_below(self, part: _Part, target: Schema, path: Path, taker: str, *, required: bool) -> None:
        shape = shape_at(target, path[-1:])
        if shape.kind != "absent":
            self._fit(part, shape.schema, path, taker, required=required)
            return
        near = closest(str(path[-1]), shape.available)
        hint = f"; did you mean '{near}'?" if near else ""
        self._error("type_mismatch", path, f"{taker} takes no '{path[-1]}'{hint}", ref=part.ref)

    def _fit_source(self, source: Source, ref: str, target: Schema, path: Path, *, required: bool) -> None:
        if source.unknown is not None:
            if source.inside or not _is_open(target):
                self._error("missing_schema", path, source.unknown, ref=ref)
            return
        if source.input_path is not None:
            self.uses.note(source.input_path, target, self._place(path, ref), required=required)
            return
        mismatches = assignable(source.schema, target, declared=True)[:_TOLD]
        for mismatch in mismatches:
            self._mismatch(mismatch, path, ref)
        if source.optional and required and not mismatches:
            message = f"Expected {describe(target)} but it may be missing"
            self._error("type_mismatch", path, message, ref=ref, expected=target, actual=source.schema)

    def _fit_value(self, value: JsonValue, target: Schema, path: Path) -> None:
        if _is_open(target):
            return
        try:
            faults = compile_validator(target).faults(value)
        except BadSchema:  # A part that was cut out may be over a limit that the whole kept to.
            return
        for fault in faults[:_TOLD]:
            expected, actual = shape_at(target, fault.path), _value_at(value, fault.path)
            message = f"Expected {describe(expected.schema)} but got {show_value(actual)}"
            if describe(expected.schema) in ("any", describe({"const": actual})) or fault.keyword != "type":
                message = fault.message[:1].upper() + fault.message[1:].replace(", found ", " but got ", 1)
            place = (*path, *fault.path)
            self._error("type_mismatch", place, message, expected=expected.schema, actual={"const": actual})

    def _mismatch(self, mismatch: Mismatch, path: Path, ref: str | None, field: str | None = None) -> None:
        expected, actual = mismatch.expected, mismatch.actual
        self._error(
            "type_mismatch",
            (*path, *mismatch.path),
            mismatch.message,
            ref=ref,
            expected=expected,
            actual=None if actual is True else actual,
            at=path,
            field=None if field is None else ".".join([field, *map(str, mismatch.path)]),
        )

    def _place(self, path: Path, ref: str, field: str | None = None) -> PhaseError:
        where = (*self.where, *(("input", *path) if field is None else path))
        return PhaseError("type_mismatch", self.step, field or _dotted(path), ref, path=where)

    def _error(
        self,
        type: ErrorType,
        path: Path,
        message: str,
        *,
        ref: str | None = None,
        expected: Schema | None = None,
        actual: Schema | None = None,
        field: str | None = None,
        at: Path | None = None,
    ) -> None:
        """Note an error; `at` is the place in the file, where that ends before the path in what flows."""
        self._found += 1
        place = path if at is None else at
        where = (*self.where, *(("input", *place) if field is None else place))
        name = _dotted(path) if field is None else field
        self._note(PhaseError(type, self.step, name, ref, expected, actual, message, path=where))


def _dotted(path: Sequence[str | int]) -> str:
    return ".".join(map(str, path)) or "input"


def _is_open(schema: Schema) -> bool:
    return schema is True or schema == {}


def _is_plain(schema: Schema) -> bool:
    """Say whether an object fits as soon as its members do and all are there."""
    return schema is True or (isinstance(schema, dict) and schema.keys() <= _PLAIN)


def _known_of(members: dict[str, _Part]) -> Schema:
    """Describe what is known of members already; those of the input may be anything still, and there are no others."""
    parts = {key: part.schema if part.source is None or part.source.is_known else {} for key, part in members.items()}
    return object_schema(parts, [key for key, part in members.items() if not part.optional])


def _in_list(part: _Part) -> _Part:
    """Give an element of a list: one that is missing at run time is null there (CTX-5)."""
    if part.source is None or not part.optional:
        return part
    schema = either_schema([part.schema, {"type": "null"}])
    return replace(part, schema=schema, source=Source(schema))


def _tuple_schema(elements: list[_Part]) -> Schema:
    """Describe a list of such elements."""
    composer = Composer()
    parts = [composer.part(_in_list(part).schema) for part in elements]
    return composer.whole({"type": "array", "prefixItems": parts, "items": False, "minItems": len(parts)})


def _value_at(value: JsonValue, path: Path) -> JsonValue:
    for segment in path:
        value = value[segment]  # type: ignore[index]  # the path was found in it
    return value
