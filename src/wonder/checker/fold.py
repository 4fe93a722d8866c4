"""The fold: what a run's events say that its tokens, branches, timers and context are (EVT-2).

Written from the meaning of the events alone. An event about something that is not there changes nothing: that it is
there is for the rules to say.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

from wonder.checker.adopting import adopt, set_loop
from wonder.checker.state import PENDING, ROOT, WAITING_FOR_SIBLINGS, Group, State, Token
from wonder.checker.stored import ENDED, Event, Fields, Scope, StoredRun
from wonder.checker.values import written


def history(run: StoredRun) -> Iterator[tuple[Event, State]]:
    """Give each event with the run as it was before it."""
    state = beginning(run)
    for event in run.events:
        yield event, state
        apply(state, event)


def fold(run: StoredRun) -> State:
    """Give the run as it is after all its events, at rest."""
    state = beginning(run)
    for event in run.events:
        apply(state, event)
    state.close_groups()
    return state


def beginning(run: StoredRun) -> State:
    """Give the run as it was before its first event: nothing, or a snapshot where older events have gone."""
    state = State()
    first = run.events[0].sequence if run.events else None
    for row in run.snapshots:
        if first is None or (first > 1 and row["sequence"] == first - 1):
            state.sequence = row["sequence"]
            rest = row["rest"]
            adopt(state, {**row["context"], **rest}, row["tokens"], rest["groups"], rest["branches"])
    return state


def apply(state: State, event: Event) -> None:
    """Take one event in."""
    if event.step == event.sequence:
        # The run was at rest before: what was empty then is closed.
        state.close_groups()
    state.sequence = event.sequence
    take = TAKERS.get(event.type)
    if take is not None:
        take(state, event, event.metadata)


def scope_of(told: Fields) -> Scope:
    """Give the branch that an event names."""
    return (told["group"], told["branch"]) if told.get("group") is not None else ROOT


def _queued(state: State, event: Event, told: Fields) -> None:
    state.status = "queued"


def _started(state: State, event: Event, told: Fields) -> None:
    state.status, state.input, state.state, state.output = "running", told["input"], told["state"], {}


def _waiting(state: State, event: Event, told: Fields) -> None:
    state.status = "waiting"


def _paused(state: State, event: Event, told: Fields) -> None:
    state.status, state.paused, state.left_ms = "paused", told["reason"], told["left_ms"]
    state.timers.pop("workflow", None)


def _resumed(state: State, event: Event, told: Fields) -> None:
    state.status, state.paused, state.left_ms, state.gate_item = "running", None, None, None


def _ended(state: State, event: Event, told: Fields) -> None:
    state.status = event.type.removeprefix("workflow_")
    state.error = told.get("error")
    state.paused = state.left_ms = state.gate_item = None
    state.timers.clear()
    state.loops.clear()


def _spawned(state: State, event: Event, told: Fields) -> None:
    held, last_error = told.get("held", False), told.get("last_error")
    id, node, path = event.token_id or "", event.node_id or "", event.path_id or ""
    token = Token(id, node, path, told["parent"], scope_of(told), event.sequence, held=held, last_error=last_error)
    state.add(token)


def _dispatched(state: State, event: Event, told: Fields) -> None:
    if token := state.tokens.get(event.token_id or ""):
        token.status, token.held, token.losses = "dispatched", False, told.get("losses", token.losses)


def _node_started(state: State, event: Event, told: Fields) -> None:
    if token := state.tokens.get(event.token_id or ""):
        token.status = "executing"


def _suspended(state: State, event: Event, told: Fields) -> None:
    if token := state.tokens.get(event.token_id or ""):
        token.status, token.held, token.losses, token.wait = "suspended", False, 0, told["wait"]


def _token_resumed(state: State, event: Event, told: Fields) -> None:
    if token := state.tokens.get(event.token_id or ""):
        _drop_timers_of(state, token.id)
        if told.get("again"):
            token.status, token.wait = PENDING, None


def _token_ended(state: State, event: Event, told: Fields) -> None:
    if token := state.tokens.get(event.token_id or ""):
        _drop_timers_of(state, token.id)
        state.end(token)


def _all_ended(state: State, event: Event, told: Fields) -> None:
    """Very many tokens end with one event, and so does all that they waited for."""
    for token in list(state.tokens.values()):
        state.end(token)
    state.timers.clear()
    state.items |= {id: "withdrawn" for id, status in state.items.items() if status == "open"}


def _drop_timers_of(state: State, token_id: str) -> None:
    """A token that goes on needs none of the timers that it set for its wait."""
    for kind in ("sleep", "deadline", "remind", "event", "action", "task", "function"):
        state.timers.pop(f"{kind}:{token_id}", None)


def _fan_out(state: State, event: Event, told: Fields) -> None:
    segments = [(part["transition"], part["count"], part.get("items")) for part in told["branches"]]
    state.open(Group(event.token_id or "", event.node_id or "", event.path_id or "", scope_of(told), segments))


def _fan_in_waiting(state: State, event: Event, told: Fields) -> None:
    group, place = state.groups.get(told["group"]), (told["join"], told["group"], told["branch"])
    if token := state.tokens.get(event.token_id or ""):
        _drop_timers_of(state, token.id)
        token.status, token.place, token.held = WAITING_FOR_SIBLINGS, place, False
        token.last_error = token.wait = None
    if group is None:
        return
    branch = group.change(told["branch"])
    branch.entered = branch.entered or told["join"]
    if told["arrived"] and not branch.arrived:
        group.arrivals += 1
        branch.arrived, branch.arrived_as = True, group.arrivals


def _fan_in_over(state: State, event: Event, told: Fields) -> None:
    state.timers.pop(f"join:{told['group']}:{told['join']}", None)
    if group := state.groups.get(told["group"]):
        group.fired.append(told["join"])
        for index in told.get("abandoned", ()):
            branch = group.change(index)
            branch.abandoned, branch.entered = True, None


def _context(state: State, event: Event, told: Fields) -> None:
    if told.get("group") is not None:
        if group := state.groups.get(told["group"]):
            branch = group.change(told["branch"])
            for path, value in told["changes"]:
                branch.output = written(branch.output, path, value)
            branch.replaced = told.get("replaced", branch.replaced)
        return
    roots: Any = {"state": state.state, "output": state.output}
    for path, value in told["changes"]:
        roots = written(roots, path, value)
    state.state, state.output = roots["state"], roots["output"]


def _routed(state: State, event: Event, told: Fields) -> None:
    token = state.tokens.get(event.token_id or "")
    if token is None:
        return
    for transition_id, count, first_ms in told.get("loops", ()):
        set_loop(state, token.scope, transition_id, count, first_ms)


def _timer_set(state: State, event: Event, told: Fields) -> None:
    state.timers[told["key"]] = told["due_ms"]


def _timer_fired(state: State, event: Event, told: Fields) -> None:
    state.timers.pop(told["key"], None)


def _asked(state: State, event: Event, told: Fields) -> None:
    state.items[told["item_id"]] = "open"
    if event.token_id is None:
        state.gate_item = told["item_id"]


def _answered(state: State, event: Event, told: Fields) -> None:
    state.items[told["item_id"]] = "answered"
    if state.gate_item == told["item_id"]:
        state.gate_item = None


def _question_changed(state: State, event: Event, told: Fields) -> None:
    """Take in who has a question now, what approvers have answered, and how often people were reminded of it."""
    token = state.tokens.get(event.token_id or "")
    if token is None or token.wait is None:
        return
    wait: dict[str, Any] = dict(token.wait)
    match event.type:
        case "human_input_claimed":
            wait["claimed_by"], wait["claimed_ms"] = told["by"], event.at_ms
        case "human_input_reminded":
            wait["reminders"], wait["reminded_ms"] = told["reminders"], event.at_ms
        case "human_input_counted":
            wait["answers"] = [*wait["answers"], {"by": told["by"], "answer": told["answer"], "at_ms": event.at_ms}]
        case _:
            wait.pop("claimed_by", None)
            wait.pop("claimed_ms", None)
            if event.type == "human_input_delegated" and "approvers" in wait:
                places = wait["approvers"]
                wait["approvers"] = [told["to"] if name == told["by"] else name for name in places]
            elif event.type == "human_input_delegated":
                wait["assignee"] = told["to"]
    token.wait = wait


def _withdrawn(state: State, event: Event, told: Fields) -> None:
    state.items[told["item_id"]] = "withdrawn"


def _snapshot(state: State, event: Event, told: Fields) -> None:
    snapshot = told["snapshot"]
    adopt(state, snapshot["run"], snapshot["tokens"], snapshot["groups"], snapshot["branches"])


TAKERS: Final[dict[str, Callable[[State, Event, Fields], None]]] = {
    "workflow_queued": _queued,
    "workflow_started": _started,
    "workflow_waiting": _waiting,
    "workflow_paused": _paused,
    "workflow_resumed": _resumed,
    **{f"workflow_{status}": _ended for status in ENDED},
    "token_spawned": _spawned,
    "token_dispatched": _dispatched,
    "node_started": _node_started,
    "token_suspended": _suspended,
    "token_resumed": _token_resumed,
    **{f"token_{status}": _token_ended for status in ("completed", "failed", "timed_out", "cancelled")},
    "tokens_ended": _all_ended,
    "fan_out_started": _fan_out,
    "fan_in_waiting": _fan_in_waiting,
    "fan_in_completed": _fan_in_over,
    "fan_in_failed": _fan_in_over,
    "context_updated": _context,
    "transitions_evaluated": _routed,
    "timer_set": _timer_set,
    "timer_fired": _timer_fired,
    "human_input_requested": _asked,
    "human_input_claimed": _question_changed,
    "human_input_released": _question_changed,
    "human_input_delegated": _question_changed,
    "human_input_reminded": _question_changed,
    "human_input_counted": _question_changed,
    "human_input_answered": _answered,
    "human_input_withdrawn": _withdrawn,
    "context_snapshot": _snapshot,
}
UNCHANGING: Final = frozenset(
    {
        "workflow_timed_out",
        "workflow_extended",
        "trigger_fired",
        "trigger_skipped",
        "trigger_failed",
        "node_completed",
        "node_failed",
        "late_result_ignored",
        "artifact_written",
        "llm_call_completed",
        "budget_alert",
    }
)
"""The types of event that change nothing of what is folded."""
