"""The check of a phase workflow: every ref against what it reads and what it flows into, all errors at once (PHS-4)."""

from dataclasses import dataclass, replace

from pydantic import TypeAdapter, ValidationError

from wonder.definitions.faults import Path
from wonder.definitions.records.implementation_fields import Moment
from wonder.language.refs import is_ref, refs_in
from wonder.language.schemas import Schema, describe, disjoint, schema_faults
from wonder.language.schemas.composing import list_schema, object_schema
from wonder.language.schemas.defaults import filled_schema
from wonder.phases.errors import PhaseError
from wonder.phases.flow import Flow
from wonder.phases.inference import InputUses
from wonder.phases.known import Known
from wonder.phases.records import PhaseStep, PhaseTrigger, PhaseWorkflow
from wonder.phases.refs import plain_text
from wonder.phases.signatures import Signature, signature_of
from wonder.phases.sources import ANYTHING, Sight, Source, Unreadable
from wonder.phases.structure import structure_errors

ERRORS_MAX = 1_000
"""More than anyone fixes in one go."""

_LIST: Schema = {"type": "array"}
_MOMENT: Schema = {"type": "string", "format": "date-time"}
_MOMENT_FORM: TypeAdapter[str] = TypeAdapter(Moment)


@dataclass(frozen=True, slots=True)
class StepSchemas:
    """What a step takes and gives; `each` is what one execution gives, of which a forEach step gives a list."""

    input: Schema
    output: Schema
    each: Schema


@dataclass(frozen=True, slots=True)
class Checked:
    """All errors in the order of the file or, without any, the schemas of a workflow that is sound."""

    errors: tuple[PhaseError, ...]
    schemas: dict[str, StepSchemas]
    input_schema: Schema
    output_schema: Schema

    def cached(self) -> dict[str, dict[str, Schema]]:
        """Give the schemas of all steps as they are kept with the workflow (`_schemas`)."""
        return {name: {"input": step.input, "output": step.output} for name, step in self.schemas.items()}


def check(workflow: PhaseWorkflow, known: Known) -> Checked:
    """Check a whole workflow with what is known of its tools and transforms."""
    checking = _Checking(workflow, known)
    checking.check()
    errors = sorted(checking.errors, key=lambda error: _in_order(error.path))[:ERRORS_MAX]
    return Checked(tuple(errors), checking.schemas, checking.input_schema(), checking.output().schema)


class _Checking:
    def __init__(self, workflow: PhaseWorkflow, known: Known) -> None:
        self.workflow, self.known = workflow, known
        self.errors: list[PhaseError] = []
        self.schemas: dict[str, StepSchemas] = {}
        self.uses = InputUses()
        self._outputs: dict[str, Source] = {}
        self._input = Source(input_path=())
        self._places = {step.name: index for index, phase in enumerate(workflow.steps) for step in phase}

    def check(self) -> None:
        self.errors += structure_errors(self.workflow)
        if self.workflow.input_schema is not None:
            sound = self._schema_is_sound(self.workflow.input_schema, "", "input_schema", ("input_schema",))
            self._input = Source(filled_schema(self.workflow.input_schema) if sound else ANYTHING)
        for index, phase in enumerate(self.workflow.steps):
            given, sight = {}, self._sight(index)
            for position, step in enumerate(phase):
                given[step.name] = self._step(step, sight, ("steps", index, position))
            self._outputs |= given
        at_end = replace(self._sight(-1), output=self.output())
        for index, trigger in enumerate(self.workflow.triggers):
            self._trigger(trigger, at_end, f"triggers[{index}]", ("triggers", index))
        self.errors += self.uses.conflicts()

    def input_schema(self) -> Schema:
        given: Schema | None = self.workflow.input_schema
        return self.uses.schema() if given is None else given

    def output(self) -> Source:
        """Say what the workflow gives: the output of its last phase (PHS-3)."""
        last = self.workflow.steps[-1] if self.workflow.steps else []
        if len(last) == 1:
            return replace(self._outputs.get(last[0].name, Source()), unknown=None)
        members = {step.name: self._outputs[step.name].schema for step in last}
        return Source(object_schema(members, members))

    def _step(self, step: PhaseStep, sight: Sight, where: Path) -> Source:
        signature = signature_of(step, self.known)
        self.errors += [replace(error, step=step.name, path=(*where, *error.path)) for error in signature.errors]
        if step.for_each is not None:
            flow = Flow(step.name, where, sight, self.uses, self.errors.append)
            list_source = self._list(step.for_each, flow)
            item = list_source.each() if list_source else Source()
            sight = replace(sight, item=item, item_name=step.as_)
        flow = Flow(step.name, where, sight, self.uses, self.errors.append)
        flow.check_input(step.input or {}, signature.takes, signature.taker)
        if step.sleep and step.sleep.until is not None:
            self._until(step.sleep.until, flow)
        return self._given(step, signature)

    def _given(self, step: PhaseStep, signature: Signature) -> Source:
        each = ANYTHING if signature.gives is None else signature.gives
        output = each if step.for_each is None else list_schema(each)
        self.schemas.setdefault(step.name, StepSchemas(signature.takes, output, each))
        return Source(output, unknown=signature.unknown)

    def _sight(self, phase: int) -> Sight:
        elsewhere = {
            name: "the same phase" if place == phase else f"phase {place}, which comes later"
            for name, place in self._places.items()
            if name not in self._outputs
        }
        return Sight(self._outputs, self._input, elsewhere)

    def _list(self, text: str, flow: Flow) -> Source | None:
        """Check a forEach, whose list has to be there when the step begins (PHS-2)."""
        if is_ref(text):
            return flow.check_ref(text, _LIST, "forEach", required=True)
        self._note(flow, "forEach", f"'{text[:200]}' is not a ref; write a ref to a list, as in @fetch.output.items")
        return None

    def _until(self, text: str, flow: Flow) -> None:
        if is_ref(text):
            flow.check_ref(text, {"type": "string"}, "sleep.until", required=True)
            return
        try:
            _MOMENT_FORM.validate_python(plain_text(text))
        except ValidationError:
            message = f"Expected a moment, as in 2030-01-31T08:00:00Z, or a ref, but got '{text[:200]}'"
            actual: Schema = {"const": text}
            path = (*flow.where, "sleep", "until")
            self.errors.append(
                PhaseError("type_mismatch", flow.step, "sleep.until", None, _MOMENT, actual, message, path=path)
            )

    def _trigger(self, trigger: PhaseTrigger, sight: Sight, name: str, where: Path) -> None:
        """Check that what a trigger reads can be there; that it need not be is what skips it (PHS-6)."""
        flow = Flow(name, where, sight, self.uses, self.errors.append)
        if trigger.for_each is not None:
            source = self._trigger_ref(trigger.for_each, ("forEach",), sight, flow)
            if source and (refusal := disjoint(source.schema, _LIST, declared=True)):
                message = f"Expected any[] but got {describe(refusal.actual)}"
                self.errors.append(
                    PhaseError(
                        "type_mismatch",
                        name,
                        "forEach",
                        trigger.for_each,
                        _LIST,
                        refusal.actual,
                        message,
                        path=(*where, "forEach"),
                    )
                )
            sight = replace(sight, item=source.each() if source else Source())
        for path, text in refs_in(trigger.inputs):
            self._trigger_ref(text, ("inputs", *path), sight, flow)

    def _trigger_ref(self, text: str, path: Path, sight: Sight, flow: Flow) -> Source | None:
        field = ".".join(map(str, path))
        if not is_ref(text):
            self._note(flow, field, f"'{text[:200]}' is not a ref; write a ref to a list, as in @output.items")
            return None
        source = sight.resolve(text)
        if isinstance(source, Unreadable):
            error = PhaseError(source.type, flow.step, field, text, message=source.message, path=(*flow.where, *path))
            self.errors.append(error)
            return None
        if source.input_path is not None:
            place = PhaseError("type_mismatch", flow.step, field, text, path=(*flow.where, *path))
            self.uses.note(source.input_path, _LIST if field == "forEach" else ANYTHING, place, required=False)
        return source

    def _note(self, flow: Flow, field: str, message: str) -> None:
        path = (*flow.where, *field.split("."))
        self.errors.append(PhaseError("missing_ref", flow.step, field, message=message, path=path))

    def _schema_is_sound(self, schema: Schema, step: str, field: str, path: Path) -> bool:
        faults = schema_faults(schema)
        for fault in faults:
            message = f"{fault.message}; {fault.hint}"
            self.errors.append(PhaseError("missing_schema", step, field, message=message, path=(*path, *fault.path)))
        return not faults


def _in_order(path: Path) -> tuple[tuple[int, int], ...]:
    """Order by the places of steps; within one, errors stay as they were found."""
    first = (
        {"name": -3, "description": -2, "input_schema": -1, "steps": 0, "triggers": 1}.get(str(path[0]), 2)
        if path
        else -4
    )
    return ((first, 0), *((0, segment) for segment in path[1:3] if isinstance(segment, int)))
