"""Waiting tasks: the task around a sole step that waits durably, which the engine carries out itself (LAY-3)."""

from typing import Any, TypeAlias

from wonder.definitions.kinds import KINDS
from wonder.definitions.records.actions import ActionDef, Idempotency
from wonder.definitions.records.fields import FromContext
from wonder.definitions.records.tasks import Step, StepOutcome, TaskDef
from wonder.engine.failure import Failure, misfit
from wonder.engine.idempotency_keys import render_key
from wonder.engine.moments import moment_ms
from wonder.engine.quorums import QuorumRule
from wonder.engine.writing import Writes
from wonder.language.expressions import Expression, Names, compile_expression
from wonder.language.mappings import compile_mapping
from wonder.language.paths import MISSING, Path, parse_dotted
from wonder.language.paths.getters import getter
from wonder.language.schemas import Schema, Validator, compile_validator
from wonder.language.schemas.faults import show_value
from wonder.language.targets import write
from wonder.language.templates import Template, compile_template
from wonder.language.values import JsonValue, show_path

TASK_NAMES = Names(frozenset({"input", "state", "output"}))


class HumanWait:
    """A question to a person or several, and who may answer it: `names`, those with at least a `role`, and `models`."""

    kind = "human_input"

    def __init__(self, implementation: Any) -> None:
        self.prompt: Template = compile_template(implementation.prompt)
        self.schema: Schema = implementation.schema_
        self.validator = compile_validator(implementation.schema_)
        self.evidence = [(name, path, getter(parse_dotted(path))) for name, path in implementation.evidence.items()]
        assignee = implementation.assignee
        self.assignee: Template | None = None if assignee is None else compile_template(assignee)
        self.assigned_role: str | None = implementation.role
        allowed, quorum = implementation.answerable_by, implementation.quorum
        self.names: list[str] | None = allowed.names if allowed else None
        self.role: str | None = allowed.role if allowed else None
        self.models: bool = bool(allowed and allowed.models)
        self.quorum: QuorumRule | None = None if quorum is None else QuorumRule(quorum)
        self.rules = _told_rules(implementation)
        self.remind_ms: int | None = implementation.remind_ms
        self.deadline_ms = implementation.deadline_ms
        on_deadline = implementation.on_deadline
        self.has_default: bool = on_deadline != "fail"
        self.default: JsonValue = on_deadline.default if self.has_default else None


class SleepWait:
    """A wait for a time; `ms` or `until` in the action's input goes before those of the definition."""

    kind = "sleep"

    def __init__(self, implementation: Any) -> None:
        self.ms = implementation.ms
        self.until_ms = None if implementation.until is None else moment_ms(implementation.until)

    def due_ms(self, action_input: JsonValue, now_ms: int) -> int:
        """Say when the wait is over."""
        given = action_input if isinstance(action_input, dict) else {}
        until, length = given.get("until"), given.get("ms")
        if isinstance(until, str):
            return max(now_ms, moment_ms(until))
        if isinstance(length, int) and not isinstance(length, bool):
            return now_ms + max(0, length)
        return max(now_ms, self.until_ms) if self.until_ms is not None else now_ms + (self.ms or 0)


class EventWait:
    """A wait for an event from outside."""

    kind = "wait_for_event"

    def __init__(self, implementation: Any) -> None:
        self.event = implementation.event
        self.key: Template | None = None if implementation.key is None else compile_template(implementation.key)
        self.timeout_ms = implementation.timeout_ms


class CallWait:
    """A call of a sub-workflow."""

    kind = "workflow_call"

    def __init__(self, implementation: Any) -> None:
        self.workflow_def_id = _constant_or_path(implementation.workflow_def_id)
        self.version = _constant_or_path(implementation.version)
        self.by_name = isinstance(implementation.workflow_def_id, FromContext)
        """Whether a name may be there, which a definition's own reference never has once it is stored."""
        self.inherit_artifacts = implementation.inherit_artifacts
        self.catch = implementation.on_failure == "catch"

    def resolve(self, view: dict[str, Any]) -> tuple[str, int | None] | Failure:
        """Say which workflow is called, reading the context where the definition says so."""
        workflow, version = _read(self.workflow_def_id, view), _read(self.version, view)
        if not isinstance(workflow, str):
            return _unreadable(self.workflow_def_id, "the id or name of a workflow", workflow)
        if version is not None and (isinstance(version, bool) or not isinstance(version, int)):
            return _unreadable(self.version, "a version, which is a number", version)
        return workflow, version


Wait: TypeAlias = HumanWait | SleepWait | EventWait | CallWait


class WaitingTask:
    """A task whose sole step waits: what goes in, and what comes out of it."""

    def __init__(self, task: TaskDef, step: Step, action: ActionDef) -> None:
        implementation = KINDS.own[action.kind].configuration.model_validate(action.implementation)
        self.wait: Wait = _WAITS[action.kind](implementation)
        self.timeout_ms = task.timeout_ms
        self.action_timeout_ms = action.execution.timeout_ms if action.execution else None
        self.idempotency = _Idempotency(action, action.idempotency) if action.idempotency else None
        self.action_name = action.name
        self.step_ref = step.ref
        self._condition: Expression | None = None
        if step.condition:
            self._condition = compile_expression(step.condition.if_, TASK_NAMES)
            self._then, self._else = step.condition.then, step.condition.else_
        self._input = compile_mapping(step.input_mapping)
        self._writes = Writes(step.output_mapping) if step.output_mapping else None
        self._input_check = _validator(task.input_schema)
        self._output_check = _validator(task.output_schema)
        self._requires = _validator(action.requires)
        self._produces = _validator(action.produces)

    def outcome(self, task_input: JsonValue) -> StepOutcome:
        """Say what the step's condition makes of it: continue, skip, succeed or fail (TSK-2)."""
        if self._condition is None:
            return "continue"
        return self._then if self._condition.matches(_context(task_input)) else self._else

    def input_failure(self, task_input: JsonValue) -> Failure | None:
        """Say why the task's input is refused, before any step (TSK-4)."""
        if self._input_check and (faults := self._input_check.faults(task_input)):
            return misfit("TASK_INPUT_SCHEMA", "the task's input", faults)
        return None

    def action_input(self, task_input: JsonValue) -> JsonValue | Failure:
        """Give the action's input, or why it is refused (TSK-4)."""
        value = self._input.apply(_context(task_input))
        if self._requires and (faults := self._requires.faults(value)):
            return misfit("ACTION_INPUT_SCHEMA", "the action's input", faults)
        return value

    def output(self, task_input: JsonValue, action_output: JsonValue) -> tuple[JsonValue, Failure | None]:
        """Give the task's output for what the action gave."""
        if self._produces and (faults := self._produces.faults(action_output)):
            return None, misfit("ACTION_OUTPUT_SCHEMA", "the action's output", faults)
        context = _context(task_input)
        for target, value in self._writes.values(action_output) if self._writes else ():
            context, _ = write(context, target.in_run or (), value)
        return self.ended(context["output"])

    def ended(self, output: JsonValue) -> tuple[JsonValue, Failure | None]:
        """Give the output of a task that has ended, checked."""
        if self._output_check and (faults := self._output_check.faults(output)):
            return None, misfit("TASK_OUTPUT_SCHEMA", "the task's output", faults)
        return output, None


class _Idempotency:
    """How the key of an execution is made, and how long its result counts (RET-4)."""

    def __init__(self, action: ActionDef, idempotency: Idempotency) -> None:
        self._action_id, self._action_name = action.id, action.name
        self._template: Template = compile_template(idempotency.key_template, strict=True)
        self.ttl_seconds = idempotency.ttl_seconds

    def key(self, action_input: JsonValue, run_id: str, node: str, branch: str) -> str:
        """Give the key within the project, which names the action too; raises KeyUnknown or KeyRefused."""
        return f"{self._action_id} {render_key(self._template, self._action_name, action_input, run_id, node, branch)}"


_WAITS: dict[str, Any] = {
    "human_input": HumanWait,
    "sleep": SleepWait,
    "wait_for_event": EventWait,
    "workflow_call": CallWait,
}


def _told_rules(implementation: Any) -> dict[str, JsonValue] | None:
    """Give who may answer and how many must agree, as their author wrote it; None where nothing is said."""
    allowed, quorum = implementation.answerable_by, implementation.quorum
    told: dict[str, JsonValue] = {}
    if allowed is not None:
        told["answerable_by"] = {"names": allowed.names, "role": allowed.role, "models": allowed.models}
    if quorum is not None:
        told["quorum"] = quorum.model_dump(mode="json", exclude_none=True)
    if implementation.remind_ms is not None:
        told["remind_ms"] = implementation.remind_ms
    return told or None


def _context(task_input: JsonValue) -> dict[str, JsonValue]:
    return {"input": task_input, "state": {}, "output": {}}


def _validator(schema: Schema | None) -> Validator | None:
    return None if schema is None or schema is True or schema == {} else compile_validator(schema)


def _constant_or_path(value: str | int | FromContext | None) -> str | int | Path | None:
    return parse_dotted(value.from_context) if isinstance(value, FromContext) else value


def _read(value: str | int | Path | None, view: dict[str, Any]) -> JsonValue:
    if not isinstance(value, tuple):
        return value
    found = getter(value)(view)
    return None if found is MISSING else found


def _unreadable(place: object, wanted: str, found: JsonValue) -> Failure:
    shown = show_path(place) if isinstance(place, tuple) else str(place)
    message = f"workflow_call needs {wanted} at {shown}, and found {show_value(found)}; correct what is there"
    return Failure("BAD_WORKFLOW_CALL", message)
