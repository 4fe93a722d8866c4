"""Limits: loops, attempts and dispatches are counted, and stay within what the definition allows (CTL-14, TSK-5)."""

from collections.abc import Iterator

from wonder.checker.definitions import LOSSES_MAX, Definition
from wonder.checker.fold import history
from wonder.checker.stored import Event, StoredRun
from wonder.checker.violations import Violation


def check_loops(run: StoredRun, definition: Definition) -> Iterator[Violation]:
    """Count the limited transitions that were taken anew, and compare with what the events and the limits say."""
    limited = {t.id: t for t in definition.transitions.values() if t.is_limited}
    if not limited:
        return
    for event, state in history(run):
        token = state.tokens.get(event.token_id or "")
        if event.type != "transitions_evaluated" or token is None:
            continue
        taken = _taken(event)
        counted = {id: count for id, count, _ in event.metadata.get("loops", ())}
        before = state.loops.get(token.scope, {})
        for transition in limited.values():
            if transition.from_node != token.node:
                continue
            old = before.get(transition.id, (0, 0))[0]
            new = old + 1 if transition.name in taken else (0 if taken else old)
            told = counted.get(transition.id, old)
            if told != new:
                message = f"event {event.sequence} counts {transition.name} {told} times, instead of {new}"
                yield Violation("loops", run.id, message)
            if transition.max_iterations is not None and new > transition.max_iterations:
                most = transition.max_iterations
                message = f"{transition.name} was taken {new} times at event {event.sequence}, and its limit is {most}"
                yield Violation("loops", run.id, message)


def _taken(event: Event) -> set[str]:
    return {c["transition"] for tier in event.metadata["tiers"] for c in tier["candidates"] if c["matched"]}


def check_attempts(run: StoredRun, definition: Definition) -> Iterator[Violation]:
    """Look for tasks and actions that were tried too often, and for tasks that were dispatched too often."""
    dispatches: dict[str, int] = {}
    for event in run.events:
        id = event.token_id or ""
        if event.type == "token_dispatched":
            losses = event.metadata.get("losses", 0)
            if losses == -1 and id not in dispatches:
                continue  # left to a process that runs it: no worker has it yet
            number = dispatches.get(id, 0) + 1
            if losses != number - 1:
                message = f"event {event.sequence} is dispatch {number} of token {id}, and counts {losses} losses"
                yield Violation("attempts", run.id, message)
            dispatches[id] = number
            # One that is lost with its process runs again however often that happens.
            if losses > LOSSES_MAX and event.metadata.get("lost_with") != "process":
                message = (
                    f"event {event.sequence} dispatches token {id} after {losses} losses, not at most {LOSSES_MAX}"
                )
                yield Violation("attempts", run.id, message)
        elif event.type == "token_suspended":
            # Whatever a person says to a budget that stopped it, it begins anew.
            dispatches.pop(id, None)
        elif event.type in ("node_completed", "node_failed"):
            yield from _check_tries(run, definition, event, dispatches.get(id, 1) - 1)
        elif event.type == "context_snapshot":
            dispatches = {}


def _check_tries(run: StoredRun, definition: Definition, event: Event, losses: int) -> Iterator[Violation]:
    node = definition.nodes.get(event.node_id or "")
    error = event.metadata.get("error", {})
    attempts = event.metadata.get("attempts", error.get("attempts") or 1)
    if node is None or error.get("code") == "WORKER_LOST":
        return
    most = node.attempts_max * max(node.action_attempts_max.values(), default=1) + losses
    if attempts > most:
        message = f"the task of {node.ref} was tried {attempts} times by event {event.sequence}, not at most {most}"
        yield Violation("attempts", run.id, message)
    for step in event.metadata.get("steps") or ():
        most = node.action_attempts_max.get(step.get("ref"), 1)
        if step.get("attempts", 1) > most or step.get("attempt", 1) > node.attempts_max:
            where = f"the step {step.get('ref')} of {node.ref}"
            message = f"{where} was tried {step.get('attempts')} times by event {event.sequence}, not at most {most}"
            yield Violation("attempts", run.id, message)
