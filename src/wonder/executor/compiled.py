"""CompiledTask: a task made ready to run, once per version of its definition."""

from collections.abc import Mapping as MappingOf
from typing import Literal, cast

from msgspec import Struct

from wonder.actions.errors import NotExecutable
from wonder.actions.foreign import compile_foreign, is_foreign
from wonder.actions.protocol import TASK_NAMES, CompiledAction, ContextAction, TaskContext, Use
from wonder.actions.registry import ActionRegistry
from wonder.definitions.records.actions import ActionDef, Idempotency
from wonder.definitions.records.fields import Retry
from wonder.definitions.records.tasks import Step, StepCondition, StepOutcome, TaskDef
from wonder.executor.errors import ActionMissing
from wonder.executor.retries import InfrastructureRetry
from wonder.language.expressions import Expression, compile_expression
from wonder.language.mappings import Mapping, compile_mapping
from wonder.language.paths import Path
from wonder.language.schemas import Schema, Validator, compile_validator
from wonder.language.targets import parse_target
from wonder.language.templates import Template, compile_template

_QUERIES_OF_PLAIN = 16


class CompiledCondition(Struct, frozen=True):
    """The condition of a step."""

    expression: Expression
    then: StepOutcome
    otherwise: StepOutcome


class CompiledAct(Struct, frozen=True):
    """An action of the world, with all that is around its attempts."""

    id: str
    name: str
    action: CompiledAction
    requires: Validator | None
    produces: Validator | None
    timeout_ms: int | None
    retry: InfrastructureRetry | None
    key_template: Template | None
    key_ttl_seconds: int | None
    evaluates: bool
    """Whether it may have templates, mappings or queries of its own."""


class CompiledStep(Struct, frozen=True):
    """A step: exactly one of `act` and `on_context` is there."""

    ref: str
    on_failure: Literal["abort", "retry", "continue"]
    condition: CompiledCondition | None
    act: CompiledAct | None
    on_context: ContextAction | None
    input_mapping: Mapping
    output_mapping: Mapping | None
    targets: MappingOf[str, Path]
    is_plain: bool
    """Whether its mappings only pass a few values on, which takes less time than to count it."""


class CompiledTask(Struct, frozen=True):
    """A task that can be run any number of times, many at once."""

    id: str
    version: int
    name: str
    steps: tuple[CompiledStep, ...]
    input_validator: Validator | None
    output_validator: Validator | None
    retry: Retry | None
    timeout_ms: int | None


def compile_task(
    task: TaskDef, actions: MappingOf[tuple[str, int], ActionDef], registry: ActionRegistry
) -> CompiledTask:
    """Compile a task with its actions, by id and version.

    Raises what its parts raise (they were checked at creation), ActionMissing, UnknownKind, or NotExecutable for what
    the coordinator carries out.
    """
    steps = sorted(task.steps, key=lambda step: step.ordinal)
    return CompiledTask(
        id=task.id,
        version=task.version,
        name=task.name,
        steps=tuple(_step(step, task, actions, registry) for step in steps),
        input_validator=_validator(task.input_schema),
        output_validator=_validator(task.output_schema),
        retry=task.retry,
        timeout_ms=task.timeout_ms,
    )


def _step(
    step: Step, task: TaskDef, actions: MappingOf[tuple[str, int], ActionDef], registry: ActionRegistry
) -> CompiledStep:
    action = actions.get((step.action_id, step.action_version))
    if action is None:
        raise ActionMissing(task.name, step.ref, step.action_id, step.action_version)
    kind = registry.kind(action.kind)
    use = Use(task.output_schema)
    foreign = is_foreign(kind)
    compiled = compile_foreign(kind, action, use, registry.secrets) if foreign else kind.compile(action, use)
    on_context = kind.carried_out == "on_context"
    if on_context and getattr(kind.read(action), "scope", "task") == "workflow":
        reason = "it works on the workflow's context, so the coordinator carries it out (FIL-2)"
        raise NotExecutable(action.name, action.kind, reason)
    acting, applied = cast(CompiledAction, compiled), cast(ContextAction, compiled)
    targets = {target: parse_target(target).path for target in step.output_mapping or {}}
    input_mapping = compile_mapping(step.input_mapping)
    # As one template: a query that finds nothing leaves its key out (CTX-5), and so writes nothing.
    output_mapping = compile_mapping(step.output_mapping) if step.output_mapping else None
    return CompiledStep(
        ref=step.ref,
        on_failure=step.on_failure,
        condition=_condition(step.condition) if step.condition else None,
        act=None if on_context else _act(action, acting, evaluates=kind.evaluates),
        on_context=applied if on_context else None,
        input_mapping=input_mapping,
        output_mapping=output_mapping,
        targets=targets,
        is_plain=all(_is_plain(mapping) for mapping in (input_mapping, output_mapping)),
    )


def _is_plain(mapping: Mapping | None) -> bool:
    queries = () if mapping is None else mapping.queries
    return len(queries) <= _QUERIES_OF_PLAIN and all(query.path is not None for _, query in queries)


def _condition(condition: StepCondition) -> CompiledCondition:
    return CompiledCondition(compile_expression(condition.if_, TASK_NAMES), condition.then, condition.else_)


def _act(action: ActionDef, compiled: CompiledAction, *, evaluates: bool) -> CompiledAct:
    execution, idempotency = action.execution, action.idempotency
    policy = execution.retry_policy if execution else None
    return CompiledAct(
        id=action.id,
        name=action.name,
        action=compiled,
        requires=_validator(action.requires),
        produces=_validator(action.produces),
        timeout_ms=execution.timeout_ms if execution else None,
        retry=InfrastructureRetry(policy) if policy else None,
        key_template=_key_template(idempotency),
        key_ttl_seconds=idempotency.ttl_seconds if idempotency else None,
        evaluates=evaluates,
    )


def _key_template(idempotency: Idempotency | None) -> Template | None:
    return compile_template(idempotency.key_template, strict=True) if idempotency else None


def _validator(schema: Schema | None) -> Validator | None:
    """Compile a schema, or return None if it takes anything."""
    return None if schema is None or schema is True or schema == {} else compile_validator(schema)


def chosen_outcome(step: CompiledStep, context: TaskContext) -> tuple[StepOutcome, bool]:
    """Return what the condition of a step says over a context, and whether it matched; NULL takes `else`."""
    condition = step.condition
    assert condition
    matched = condition.expression.matches(context)
    return (condition.then if matched else condition.otherwise), matched
