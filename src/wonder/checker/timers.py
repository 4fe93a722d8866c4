"""Timers: set, fired once and never early; what they cause is not caused without them (INV-6, RET-3)."""

from collections.abc import Iterator

from wonder.checker.definitions import Definition
from wonder.checker.fold import history
from wonder.checker.state import State
from wonder.checker.stored import Event, StoredRun
from wonder.checker.violations import Violation


def check_timers(run: StoredRun, definition: Definition) -> Iterator[Violation]:
    """Look for timers that fired early, twice or unasked, that were set wrong, and for time-outs without one."""
    fired: dict[str, int] = {}
    before: Event | None = None
    for event, state in history(run):
        match event.type:
            case "timer_fired":
                key = event.metadata["key"]
                due_ms = state.timers.get(key)
                if due_ms is None:
                    message = f"the timer {key} fired at event {event.sequence}, and was not set"
                    yield Violation("timers", run.id, message)
                elif event.at_ms < due_ms:
                    message = f"the timer {key} fired at event {event.sequence}, {due_ms - event.at_ms} ms early"
                    yield Violation("timers", run.id, message)
                fired[key] = event.step
            case "timer_set":
                yield from _check_length(run, definition, state, event, before)
            case "token_resumed" if event.metadata["by"] in ("timer", "HUMAN_INPUT_DEADLINE"):
                if not {f"sleep:{event.token_id}", f"deadline:{event.token_id}"} & fired.keys():
                    message = (
                        f"token {event.token_id} is woken by a timer at event {event.sequence}, and none has fired"
                    )
                    yield Violation("timers", run.id, message)
            case "workflow_timed_out":
                answered = before is not None and before.type == "human_input_answered"
                if not answered and fired.get("workflow") != event.step:
                    message = f"the run times out at event {event.sequence}, and its timer has not fired"
                    yield Violation("timers", run.id, message)
        before = event


def _check_length(
    run: StoredRun, definition: Definition, state: State, event: Event, before: Event | None
) -> Iterator[Violation]:
    """Compare the due time of a timer with what the definition, or the wait, says."""
    key, due_ms = event.metadata["key"], event.metadata["due_ms"]
    kind, _, rest = key.partition(":")
    wanted: int | None = None
    token = state.tokens.get(rest)
    if kind == "workflow" and before is not None and before.type == "workflow_started":
        # What its trigger says counts instead of what the definition says.
        own = (run.origin or {}).get("trigger_timeout_ms")
        timeout_ms = definition.timeout_ms if own is None else own
        wanted = None if timeout_ms is None else event.at_ms + timeout_ms
    elif kind == "sleep" and token is not None and token.wait is not None:
        wanted = token.wait.get("due_ms")
    elif kind == "join" and (join := definition.joins.get(rest.partition(":")[2])) is not None:
        wanted = None if join.timeout_ms is None else event.at_ms + join.timeout_ms
    if wanted is not None and due_ms < wanted:
        message = f"event {event.sequence} sets the timer {key} {wanted - due_ms} ms too early"
        yield Violation("timers", run.id, message)
