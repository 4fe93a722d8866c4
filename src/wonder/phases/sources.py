"""Sources: what is known of the value that a ref reads, or why it can't be read."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, assert_never

from wonder.language.schemas import Schema, closest, describe, shape_at
from wonder.language.schemas.composing import either_schema
from wonder.language.schemas.elements import element_meant
from wonder.language.schemas.positions import all_positions
from wonder.language.schemas.presence import may_be_missing
from wonder.language.values import show_path
from wonder.phases.refs import BadRef, Ref, parse_ref

InputPath: TypeAlias = tuple[str | int | None, ...]
"""A place in the workflow's input; None stands for each element of a list."""

ANYTHING: Schema = {}
_ELEMENTS_TOLD_APART = 1_000


@dataclass(frozen=True, slots=True)
class Source:
    """What is known of a value: its schema, and whether it may be missing.

    `input_path` is its place in the workflow's input, where the schema of that is still to be inferred (PHS-3).
    `unknown` says why nothing is known of it, if that has to be fixed.
    """

    schema: Schema = field(default_factory=dict)
    optional: bool = False
    input_path: InputPath | None = None
    unknown: str | None = None
    inside: bool = False
    """Whether something inside of it is read, and not it as a whole."""

    @property
    def is_known(self) -> bool:
        """Whether its schema says what it is."""
        return self.input_path is None and self.unknown is None

    def at(self, path: tuple[str | int, ...], text: str, name: str) -> "Source | Unreadable":
        """Give what is known of the value at a path below; `text` is the ref, `name` what it begins with."""
        if not path:
            return self
        if self.unknown is not None:
            return replace(self, inside=True)
        if self.input_path is not None:
            return Source(input_path=(*self.input_path, *path))
        shape = shape_at(self.schema, path)
        if shape.kind == "absent":
            assert shape.at is not None
            return Unreadable("missing_ref", _why_absent(self.schema, path, shape.at, shape.available, text, name))
        return Source(shape.schema, self.optional or may_be_missing(self.schema, path))

    def each(self) -> "Source":
        """Give what is known of the elements of this list."""
        if self.input_path is not None:
            return Source(input_path=(*self.input_path, None))
        if self.unknown is not None:
            return Source()
        lengths = [
            len(first)
            for part in all_positions(self.schema).values()
            if isinstance(part, dict) and isinstance(first := part.get("prefixItems"), list)
        ]
        shapes = [shape_at(self.schema, (i,)) for i in range(min(max(lengths, default=0), _ELEMENTS_TOLD_APART) + 1)]
        possible = [shape.schema for shape in shapes if shape.kind != "absent"]
        return Source(ANYTHING if True in possible or not possible else either_schema(possible))


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why a ref can't be read."""

    type: Literal["missing_ref", "missing_schema"]
    message: str


@dataclass(frozen=True, slots=True)
class Sight:
    """What refs can read at one place."""

    steps: Mapping[str, Source]
    """The outputs of the steps of phases before."""
    input: Source
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    """The other steps, with where they are."""
    output: Source | None = None
    """The workflow's own output, which only its triggers can read."""
    item: Source | None = None
    item_name: str | None = None

    def resolve(self, text: str) -> Source | Unreadable:
        """Say what is known of the value that a ref reads."""
        try:
            ref = parse_ref(text, [*self.steps, *self.elsewhere], self.item_name)
        except BadRef as error:
            return Unreadable("missing_ref", str(error))
        match ref.root:
            case "input":
                return self.input.at(ref.path, text, "the input")
            case "output":
                return self._output(ref)
            case "item":
                return self._item(ref)
            case "index":
                return Source({"type": "integer", "minimum": 0}) if self.item is not None else _no_item(text)
            case "step":
                return self._step(ref)
            case _:
                assert_never(ref.root)

    def _step(self, ref: Ref) -> Source | Unreadable:
        if ref.step in self.steps:
            return self.steps[ref.step].at(ref.path, ref.text, f"the output of '{ref.step}'")
        message = f"Step '{ref.step}' not found in previous phases"
        if ref.step in self.elsewhere:
            message += f": it is in {self.elsewhere[ref.step]}"
        elif near := closest(ref.step, [*self.steps, "input"]):
            message += f"; did you mean '{near}'?"
        return Unreadable("missing_ref", message)

    def _output(self, ref: Ref) -> Source | Unreadable:
        if self.output is None:
            message = "'@output' is the output of the workflow, which only its triggers can read; write @STEP.output"
            return Unreadable("missing_ref", message)
        return self.output.at(ref.path, ref.text, "the workflow's output")

    def _item(self, ref: Ref) -> Source | Unreadable:
        return _no_item(ref.text) if self.item is None else self.item.at(ref.path, ref.text, "the item")


def _no_item(text: str) -> Unreadable:
    return Unreadable("missing_ref", f"'{text}' exists only with forEach; add forEach, or write another ref")


def _why_absent(
    schema: Schema, path: tuple[str | int, ...], at: int, available: tuple[str, ...], text: str, name: str
) -> str:
    above = f"'{show_path(path[:at])}' of {name}" if at else name
    said = f"'{text}' does not exist: {above}"
    if meant := element_meant(text, schema, path, at):
        return f"{said} is a list; write {meant}"
    if near := closest(str(path[at]), available):
        return f"{said} has no '{path[at]}'; did you mean '{near}'?"
    if available:
        listed = ", ".join(f"'{one}'" for one in available[:12])
        return f"{said} has no '{path[at]}'; it has {listed}"
    return f"{said} is {describe(shape_at(schema, path[:at]).schema)}, which has no '{path[at]}'"
