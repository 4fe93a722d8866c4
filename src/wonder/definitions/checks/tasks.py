"""Checks of a task: its steps, what they may be next to each other (LAY-3), and what flows between them."""

from wonder.definitions.checks.flow import ANYTHING, Sight, check_expression_reads, check_fit, check_mapping
from wonder.definitions.checks.functions import check_arguments
from wonder.definitions.checks.lookup import ActionView, Lookup, StepView, TaskView
from wonder.definitions.checks.signatures import action_gives, action_takes
from wonder.definitions.checks.texts import TASK_ROOTS, WORKFLOW_ROOTS, a_kind, read_expression, read_target
from wonder.definitions.checks.updates import check_scoped_action
from wonder.definitions.drafts import TaskDraft
from wonder.definitions.faults import Path
from wonder.definitions.findings import Findings
from wonder.definitions.kinds import KINDS
from wonder.language.schemas import Schema, closest, shape_at
from wonder.language.targets import Target
from wonder.language.values import show_path


def check_task(task: TaskDraft, lookup: Lookup, findings: Findings) -> None:
    """Note all that is wrong with a task wherever it is used."""
    _check_refs(task, findings)
    steps = [StepView(step.body, lookup.action(step.action)) for step in task.steps]
    view = TaskView(task.name, task.body, tuple(steps))
    _check_neighbours(task, view, findings)
    roots = {"input": task.body.input_schema, "state": ANYTHING, "output": task.body.output_schema}
    outside = dict.fromkeys(WORKFLOW_ROOTS - TASK_ROOTS, "a step sees its task only, not the node around it")
    sight = Sight(roots, elsewhere=outside)
    for draft, step in zip(task.steps, steps, strict=True):
        lookup.check(draft.action, findings)
        _check_step(step, draft.path, sight, task, lookup, findings)


def _check_refs(task: TaskDraft, findings: Findings) -> None:
    seen: set[str] = set()
    for step in task.steps:
        if step.body.ref in seen:
            message = f"the task has two steps called '{step.body.ref}'"
            findings.error("duplicate_ref", (*step.path, "ref"), message, "rename one of them")
        seen.add(step.body.ref)


def _check_neighbours(task: TaskDraft, view: TaskView, findings: Findings) -> None:
    for draft, step in zip(task.steps, view.steps, strict=True):
        if step.action is None:
            continue
        kind = step.action.body.kind
        if KINDS.waits(kind) and len(view.steps) > 1:
            message = f"{a_kind(kind)} waits durably, so it must be the only step of its task"
            findings.error("waiting_step", (*draft.path, "action"), message, "give it a node of its own (LAY-3)")
        elif getattr(step.action.implementation, "scope", None) == "workflow" and len(view.steps) > 1:
            message = f"{a_kind(kind)} on the workflow's context must be the only step of its task"
            hint = "write 'scope: task', or give it a node of its own (FIL-2)"
            findings.error("workflow_scope_step", (*draft.path, "action"), message, hint)
    if task.body.queue is not None:
        message = f"queues have no workers yet, so the queue '{task.body.queue}' would have no effect"
        hint = "leave queue out: every task runs in the process that runs the engine (TSK-7)"
        findings.error("queue_without_workers", (*task.path, "queue"), message, hint)
    if view.on_workflow_context:
        _check_on_workflow_context(task, view, findings)
    if view.waits and task.body.retry:
        waiting = view.sole_action.body.kind if view.sole_action else ""
        message = f"the task waits durably ({waiting}) and is never retried"
        findings.error("retry_on_waiting", (*task.path, "retry"), message, "leave retry out (LAY-3)")


def _check_on_workflow_context(task: TaskDraft, view: TaskView, findings: Findings) -> None:
    """Note what can't mean anything on a task that the engine carries out at once (TSK-7)."""
    kind = view.on_workflow_context.body.kind if view.on_workflow_context else ""
    step = task.steps[0]
    found: list[tuple[Path, str, str]] = []
    for field, why in (("input_schema", "takes no input"), ("output_schema", "gives no output")):
        if getattr(task.body, field) not in ({}, True):
            found.append(((*task.path, field), why, "leave it out, or write 'scope: task'"))
    if task.body.retry:
        found.append(((*task.path, "retry"), "is never tried again", "leave it out: it would fail again"))
    if task.body.timeout_ms is not None:
        found.append(((*task.path, "timeout_ms"), "takes no time", "leave it out"))
    if step.body.condition:
        hint = "put the condition on the transition that leads to its node"
        found.append(((*step.path, "condition"), "has no context of its task to ask", hint))
    if step.body.input_mapping not in (None, "$.input"):
        found.append(((*step.path, "input_mapping"), "takes no input", "leave it out: it reads the workflow's context"))
    if step.body.output_mapping not in (None, {}, {"output": "$"}):
        hint = "leave it out: it writes to the workflow's context"
        found.append(((*step.path, "output_mapping"), "gives no output", hint))
    for where, why, hint in found:
        message = f"{where[-1]} would have no effect: {a_kind(kind)} on the workflow's context {why}"
        findings.error("without_effect", where, message, hint)


def _check_step(step: StepView, path: Path, sight: Sight, task: TaskDraft, lookup: Lookup, findings: Findings) -> None:
    if step.body.condition:
        where = (*path, "condition", "if")
        if expression := read_expression(step.body.condition.if_, WORKFLOW_ROOTS, where, findings):
            check_expression_reads(expression, sight, where, findings)
    if step.body.on_failure == "retry" and task.body.retry is None:
        message = "on_failure is 'retry', but the task has no retry: a failure aborts it"
        findings.warning(
            "retry_without_policy", (*path, "on_failure"), message, "add retry to the task, or write 'abort'"
        )
    # A step that stands in line in a node has mappings of ours, whose places are not in the document.
    where = (*path, "input_mapping")
    kind = step.action.kind if step.action else None
    if kind and kind.carried_out == "on_context" and step.body.input_mapping not in (None, "$.input"):
        if getattr(step.action.implementation if step.action else None, "scope", None) == "task":
            message = f"input_mapping would have no effect: {a_kind(kind.kind)} takes no input"
            hint = "leave it out: it reads the context of its task"
            findings.error("without_effect", where, message, hint)
    elif check_mapping(step.body.input_mapping, sight, where, findings) and step.action:
        taker = f"the action '{step.action.name}'"
        mapping = {} if step.body.input_mapping is None else step.body.input_mapping
        check_fit(mapping, sight, action_takes(step.action, lookup), taker, where, findings)
        check_arguments(mapping, sight, step.action, lookup, where, findings)
    gives = action_gives(step.action, lookup) if step.action else ANYTHING
    _check_output_mapping(step, gives, task, (*path, "output_mapping"), findings)
    if step.action:
        _check_timeout(step.action, task, path, findings)
        if getattr(step.action.implementation, "scope", None) == "task":
            check_scoped_action(step.action, sight, WORKFLOW_ROOTS, step.action.path or path, findings)
            _check_updates(step.action, task, step.action.path or path, findings)


def _check_output_mapping(step: StepView, gives: Schema, task: TaskDraft, path: Path, findings: Findings) -> None:
    for key, template in (step.body.output_mapping or {}).items():
        where = (*path, key)
        sight = Sight({}, whole=gives)
        target = read_target(key, where, findings, in_workflow=False)
        sound = check_mapping(template, sight, where, findings)
        schema = _check_target(target, task, where, findings)
        if sound and schema is not None:
            check_fit(template, sight, schema, f"'{key}' of the task", where, findings)


def _check_updates(action: ActionView, task: TaskDraft, path: Path, findings: Findings) -> None:
    for place, target, _ in action.assignments():
        where = (*path, "implementation", *place, "path")
        # A path that can't be read was noted where the action stands.
        _check_target(read_target(target, where, Findings(), in_workflow=False), task, where, findings)


def _check_target(target: Target | None, task: TaskDraft, where: Path, findings: Findings) -> Schema | None:
    """Check that the task's output has a target; give its schema where that is known."""
    if target is None or target.path[0] != "output":
        return None
    shape = shape_at(task.body.output_schema, target.path[1:])
    if shape.kind == "absent":
        assert shape.at is not None
        near = closest(str(target.path[shape.at + 1]), shape.available)
        hint = f"did you mean '{near}'?" if near else "add it to output_schema, or correct the target"
        message = f"output_schema of '{task.name}' has no field for '{show_path(target.path)}'"
        findings.error("unknown_target", where, message, hint)
    return shape.schema if shape.kind == "known" else None


def _check_timeout(action: ActionView, task: TaskDraft, path: Path, findings: Findings) -> None:
    limit = action.body.execution.timeout_ms if action.body.execution else None
    kind, implementation = action.kind, action.implementation
    lasts_ms = kind.lasts_ms(implementation) if kind and implementation is not None else None
    if lasts_ms and (task.body.timeout_ms or 0) < lasts_ms:
        limit = lasts_ms
    if limit and task.body.timeout_ms and limit > task.body.timeout_ms:
        message = (
            f"the action '{action.name}' may take {limit:,} ms, but its task '{task.name}' only "
            f"{task.body.timeout_ms:,} ms"
        )
        findings.warning("timeout_order", path, message, "raise the task's timeout_ms, or lower the action's")
