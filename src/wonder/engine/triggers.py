"""Triggers: what follows when a run has completed: which of them fire, with what, and how often (PHS-6)."""

from collections.abc import Sequence
from typing import assert_never

from wonder.definitions.records.workflows import Trigger
from wonder.engine.compiled import CompiledTrigger
from wonder.engine.decisions import FireTriggers, Firing, FiringEnd, FiringStatus, MoveTrigger
from wonder.engine.events import TRIGGER_FAILED, TRIGGER_FIRED, TRIGGER_SKIPPED, TriggerFired
from wonder.engine.facts import TriggerAdvanced
from wonder.engine.failure import Failure
from wonder.engine.state import RunState
from wonder.engine.turn import Turn
from wonder.language.paths import MISSING, Missing, Path
from wonder.language.paths.getters import Getter, getter
from wonder.language.refs import compile_refs, parse_ref, refs_in
from wonder.language.values import JsonValue

_OF_ITEM = ("item", "index")


def compile_triggers(triggers: Sequence[Trigger]) -> tuple[CompiledTrigger, ...]:
    """Make triggers ready to fire, in the order written."""
    return tuple(_compile(trigger) for trigger in sorted(triggers, key=lambda trigger: trigger.ordinal))


def _compile(trigger: Trigger) -> CompiledTrigger:
    inputs: JsonValue = dict(trigger.inputs)
    shared = [text for _, text in refs_in(inputs) if parse_ref(text)[0] not in _OF_ITEM]
    return CompiledTrigger(
        trigger.id,
        trigger.ordinal,
        trigger.workflow_id,
        compile_refs(inputs, _find),
        tuple((text, _find(parse_ref(text))) for text in dict.fromkeys(shared)),
        None if trigger.for_each is None else (trigger.for_each, _find(parse_ref(trigger.for_each))),
        trigger.workflow_timeout_ms,
        trigger.on_timeout,
        trigger.max_retries or 0,
    )


def _find(path: Path) -> Getter:
    root = path[0]
    if root in ("input", "output") or root in _OF_ITEM:
        return getter(path)
    # PHS-1: the outputs of the steps of a phase workflow are kept there. `S.output` is the output of S.
    return getter(("state", "steps", root, *path[2:]))


def fire_triggers(turn: Turn) -> None:
    """Decide which triggers of a run that has completed fire; those that do are turned into runs afterwards."""
    run = turn.run
    root = _context(run)
    firings = tuple(_firing(trigger, root) for trigger in run.workflow.triggers)
    turn.emit(FireTriggers(firings))
    for firing in firings:
        if firing.status != "pending":
            _tell(turn, firing.ordinal, firing.workflow_id, firing.status, 0, 0, firing.failure)


def _firing(trigger: CompiledTrigger, root: JsonValue) -> Firing:
    def decided(status: FiringStatus, failure: Failure | None = None, items: int = 0) -> Firing:
        return Firing(trigger.ordinal, trigger.id, trigger.workflow_id, status, items, failure)

    for text, find in trigger.shared_refs:
        if find(root) is MISSING:
            return decided("skipped", _missing(text))
    if trigger.for_each is None:
        return decided("pending", items=1)
    text, find = trigger.for_each
    items = find(root)
    if items is MISSING:
        return decided("skipped", _missing(text))
    if not isinstance(items, list):
        message = f"forEach needs a list, and {text} is {_kind(items)}; give it a list, or leave forEach out"
        return decided("failed", Failure("TRIGGER_NOT_A_LIST", message))
    return decided("pending" if items else "triggered", items=len(items))


def items_of(trigger: CompiledTrigger, run: RunState) -> list[JsonValue] | None:
    """Give what a trigger fires for, one by one; None if it fires once."""
    if trigger.for_each is None:
        return None
    items = trigger.for_each[1](_context(run))
    assert isinstance(items, list), "it was looked at when the run completed"
    return items


def input_for(
    trigger: CompiledTrigger, run: RunState, items: list[JsonValue] | None, index: int
) -> JsonValue | Missing:
    """Give the input of one execution that a trigger starts; MISSING if a ref of its item is missing."""
    root = _context(run)
    if items is not None:
        root |= {"item": items[index], "index": index}
    return trigger.inputs(root)


def advance_trigger(turn: Turn, fact: TriggerAdvanced) -> None:
    """Note how far a trigger is, in the same commit as the runs that it has started, and tell when it is done."""
    status: FiringStatus = "pending"
    if fact.upto >= fact.items:
        nothing = not fact.started and fact.skipped
        status = "failed" if fact.failure else "skipped" if nothing else "triggered"
    turn.emit(MoveTrigger(fact.ordinal, status, fact.upto, fact.started, fact.skipped, fact.failure))
    if status != "pending":
        _tell(turn, fact.ordinal, fact.workflow_id, status, fact.started, fact.skipped, fact.failure)


def _tell(
    turn: Turn, ordinal: int, workflow_id: str, status: FiringEnd, started: int, skipped: int, failure: Failure | None
) -> None:
    told: TriggerFired = {"trigger": ordinal, "workflow_id": workflow_id, "runs": started}
    if skipped:
        told["skipped"] = skipped
    if failure is not None:
        told["error"] = {"code": failure.code, "message": failure.message}
    match status:
        case "triggered":
            turn.record(TRIGGER_FIRED(told))
        case "skipped":
            turn.record(TRIGGER_SKIPPED(told))
        case "failed":
            turn.record(TRIGGER_FAILED(told))
        case _:
            assert_never(status)


def _context(run: RunState) -> dict[str, JsonValue]:
    return {"input": run.input, "state": run.state, "output": run.output}


def _missing(text: str) -> Failure:
    return Failure("TRIGGER_REF_MISSING", f"{text} is not there, so this trigger does not fire")


def _kind(value: JsonValue | Missing) -> str:
    if value is None:
        return "null"
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string", dict: "an object"}
    return names[type(value)]
