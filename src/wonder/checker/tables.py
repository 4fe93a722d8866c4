"""Tables: the fold of a run's events, row for row, against what the tables have (EVT-2)."""

from collections.abc import Iterator
from typing import Any

from wonder.checker.fold import beginning, fold, history
from wonder.checker.state import PENDING, WAITING_FOR_SIBLINGS, Group, State, Token
from wonder.checker.stored import Event, Fields, StoredRun
from wonder.checker.values import same, shown
from wonder.checker.violations import Violation


def check_tables(run: StoredRun) -> Iterator[Violation]:
    """Compare the run's status, tokens, groups, branches, loops, timers, questions and waits."""
    state = fold(run)
    yield from _check_run(run, state)
    yield from _check_live_tokens(run, state)
    yield from _check_ended_tokens(run)
    yield from _check_count(run)
    yield from _check_groups(run, state)
    yield from _differences(run, "fold", "timer", run.timers, state.timers)
    yield from _differences(run, "fold", "loop", _stored_loops(run), _folded_loops(state))
    yield from _check_items(run, state)
    waits = {row["token_id"]: [row["event"], row["key"]] for row in run.event_waits}
    yield from _differences(run, "fold", "wait for an event of token", waits, _folded_waits(state))


def _check_run(run: StoredRun, state: State) -> Iterator[Violation]:
    row = run.row
    if not run.events:
        return
    stored = (row["status"], row["paused_reason"], row["gate_item_id"], row["timeout_left_ms"])
    folded = (state.resting_status, state.paused, state.gate_item, state.left_ms)
    if stored != folded:
        yield Violation("fold", run.id, f"the run is {shown(stored)}, and by its events {shown(folded)}")


def _check_live_tokens(run: StoredRun, state: State) -> Iterator[Violation]:
    live = {row["id"]: _comparable_row(row) for row in run.tokens if row["ended_ms"] is None}
    folded = {token.id: _comparable_token(token, state) for token in state.tokens.values()}
    yield from _differences(run, "fold", "token", live, folded)


def _comparable_row(row: Fields) -> Fields:
    kept: tuple[str, ...] = (
        "node_id",
        "path_id",
        "parent_token_id",
        "group_id",
        "branch_index",
        "status",
        "born",
        "losses",
    )
    kept += ("branch_total", "fan_out_transition_id", "state_data", "last_error")
    return {name: row[name] for name in kept} | {"held": bool(row["held"])}


def _comparable_token(token: Token, state: State) -> Fields:
    group = state.groups.get(token.scope[0] or "")
    state_data: Any = None
    if token.status == "suspended":
        state_data = token.wait
    elif token.status == WAITING_FOR_SIBLINGS and token.place is not None:
        state_data = {"join": token.place[0], "group": token.place[1], "branch": token.place[2]}
    return {
        "node_id": token.node,
        "path_id": token.path,
        "parent_token_id": token.parent,
        "group_id": token.scope[0],
        "branch_index": token.scope[1],
        "status": token.status,
        "born": token.born,
        "losses": token.losses,
        "branch_total": group.total if group else 1,
        "fan_out_transition_id": group.transition_of(token.scope[1]) if group else None,
        "state_data": state_data,
        "last_error": token.last_error,
        "held": token.held and token.status == PENDING,
    }


def _check_ended_tokens(run: StoredRun) -> Iterator[Violation]:
    """Ended tokens keep their rows, with the status of the event that ended them."""
    ends: dict[str, str] = {}
    made: dict[str, Event] = {}
    for event, state in history(run):
        if event.type == "token_spawned":
            made.setdefault(event.token_id or "", event)
        elif event.type == "tokens_ended":
            ends = dict.fromkeys(state.tokens, event.metadata["status"]) | ends
        elif event.type.startswith("token_") and event.type[6:] in ("completed", "failed", "timed_out", "cancelled"):
            ends.setdefault(event.token_id or "", event.type[6:])
    if not run.events or run.events[0].sequence > 1:
        # Older events have gone, and with them what became of the tokens of that time.
        known = made.keys() | beginning(run).tokens.keys()
        rows = {row["id"]: row for row in run.tokens if row["id"] in known}
    else:
        rows = {row["id"]: row for row in run.tokens}
    for id, event in made.items():
        row = rows.get(id)
        if row is None:
            yield Violation("fold", run.id, f"token {id} was made at event {event.sequence}, and has no row")
        elif (row["node_id"], row["path_id"], row["born"]) != (event.node_id, event.path_id, event.sequence):
            yield Violation("fold", run.id, f"the row of token {id} is not what event {event.sequence} made")
    for id, row in rows.items():
        status = row["status"] if row["ended_ms"] is not None else None
        if status != ends.get(id) and (row["ended_ms"] is not None or id in ends):
            message = (
                f"token {id} is {row['status']} (ended_ms {row['ended_ms']}), and by its events {ends.get(id, 'live')}"
            )
            yield Violation("fold", run.id, message)
        elif id not in made and row["born"] > 0 and run.events and run.events[0].sequence == 1:
            yield Violation("fold", run.id, f"token {id} has a row, and no event made it")


def _check_count(run: StoredRun) -> Iterator[Violation]:
    """The last row of events says how many tokens there are in all."""
    counted = run.event_rows[-1][2] if run.event_rows else None
    if counted is not None and counted != len(run.tokens):
        yield Violation("fold", run.id, f"the run counts {counted} tokens in all, and has {len(run.tokens)}")


def _check_groups(run: StoredRun, state: State) -> Iterator[Violation]:
    stored = {row["id"]: _comparable_group_row(row) for row in run.groups}
    folded = {group.id: _comparable_group(group) for group in state.groups.values()}
    yield from _differences(run, "fold", "group", stored, folded)
    rows = {(row["group_id"], row["branch_index"]): row for row in run.branches}
    for group in state.groups.values():
        for index in range(group.total):
            stored_branch = _comparable_branch_row(rows.pop((group.id, index), None))
            folded_branch = _comparable_branch(state, group, index)
            if not same(stored_branch, folded_branch):
                where = f"branch {index} of group {group.id}"
                message = f"{where} is {shown(stored_branch)}, and by its events {shown(folded_branch)}"
                yield Violation("fold", run.id, message)
    for group_id, index in rows:
        yield Violation("fold", run.id, f"branch {index} of group {group_id} has a row, and its group is over")


def _comparable_group_row(row: Fields) -> Fields:
    outer = [row["outer_group_id"], row["outer_index"]]
    return {"node": row["node_id"], "path": row["path_id"], "outer": outer, "segments": row["segments"]} | {
        "fired": sorted(row["fired"])
    }


def _comparable_group(group: Group) -> Fields:
    segments = [[id, count, items] for id, count, items in group.segments]
    return {"node": group.node, "path": group.path, "outer": list(group.outer), "segments": segments} | {
        "fired": sorted(group.fired)
    }


def _comparable_branch_row(row: Fields | None) -> Fields:
    if row is None:
        return {"status": "under_way", "abandoned": False, "entered": None, "arrived_as": 0, "output": {}} | {
            "replaced": {}
        }
    return {
        "status": row["status"],
        "abandoned": bool(row["abandoned"]),
        "entered": row["entered_node_id"],
        "arrived_as": row["arrived_as"],
        "output": row["output"],
        "replaced": row.get("replaced") or {},
    }


def _comparable_branch(state: State, group: Group, index: int) -> Fields:
    branch = group.branch(index)
    status = "under_way" if state.is_active((group.id, index)) else "gone"
    return {
        "status": "arrived" if branch.arrived else status,
        "abandoned": branch.abandoned,
        # What is gone is at no join any more, whatever one of its tokens had entered.
        "entered": branch.entered if branch.arrived or status == "under_way" else None,
        "arrived_as": branch.arrived_as,
        "output": branch.output,
        "replaced": branch.replaced,
    }


def _stored_loops(run: StoredRun) -> dict[str, Any]:
    return {
        f"{row['transition_id']} in {row['group_id'] or 'the run'} {row['branch_index']}": [
            row["count"],
            row["first_ms"],
        ]
        for row in run.loops
    }


def _folded_loops(state: State) -> dict[str, Any]:
    return {
        f"{id} in {group_id or 'the run'} {index}": list(count)
        for (group_id, index), counts in state.loops.items()
        for id, count in counts.items()
    }


def _folded_waits(state: State) -> dict[str, Any]:
    waits = {token.id: token.wait for token in state.tokens.values() if token.status == "suspended" and token.wait}
    return {id: [w["event"], w["key"] or ""] for id, w in waits.items() if w["kind"] == "wait_for_event"}


def _check_items(run: StoredRun, state: State) -> Iterator[Violation]:
    asked: dict[str, int] = {}
    for event, before in history(run):
        item = str(event.metadata.get("item_id"))
        if event.type == "human_input_requested":
            asked[item] = asked.get(item, 0) + 1
            if asked[item] > 1:
                yield Violation("inbox", run.id, f"item {item} is asked a second time at event {event.sequence}")
        elif event.type.startswith("human_input_") and before.items.get(item) != "open":
            message = f"event {event.sequence} ({event.type}) is about item {item}, which is {before.items.get(item)}"
            yield Violation("inbox", run.id, message)
    yield from _differences(run, "inbox", "item", {row["id"]: row["status"] for row in run.inbox_items}, state.items)
    yield from _check_progress(run, state)
    for row in run.inbox_items:
        if (row["status"] == "open") != (row["closed_ms"] is None):
            yield Violation("inbox", run.id, f"item {row['id']} is {row['status']}, and closed_ms {row['closed_ms']}")


def _check_progress(run: StoredRun, state: State) -> Iterator[Violation]:
    """Compare who has an open question, and what was answered so far, with what its events say."""
    asking = {str(t.wait["item_id"]): t.wait for t in state.tokens.values() if t.wait and "item_id" in t.wait}
    for row in run.inbox_items:
        wait = asking.get(row["id"])
        if row["status"] != "open" or row["kind"] != "human_input" or wait is None:
            continue
        told = {name: value for name, value in wait.items() if name not in ("kind", "item_id")}
        stored = row["progress"] or {}
        columns = [row["assignee"] or None, row["claimed_by"] or None]
        if not same(stored, told) or columns != [told.get("assignee"), told.get("claimed_by")]:
            message = f"item {row['id']} stands as {shown(stored)}, and by its events as {shown(told)}"
            yield Violation("inbox", run.id, message)
        names = [given["by"] for given in told.get("answers", ())]
        if len(names) != len(set(names)) or not set(names) <= set(told.get("approvers", names)):
            yield Violation(
                "inbox", run.id, f"item {row['id']} has answers of {shown(names)}, not one of each approver"
            )


def _differences(
    run: StoredRun, rule: str, what: str, stored: dict[str, Any], folded: dict[str, Any]
) -> Iterator[Violation]:
    for name in sorted(stored.keys() | folded.keys()):
        one, other = stored.get(name), folded.get(name)
        if name not in folded:
            yield Violation(rule, run.id, f"{what} {name} has a row ({shown(one)}), and by the events there is none")
        elif name not in stored:
            yield Violation(rule, run.id, f"{what} {name} has no row, and by the events it is {shown(other)}")
        elif not same(one, other):
            if isinstance(one, dict) and isinstance(other, dict):
                keys = [key for key in one if not same(one[key], other.get(key))]
                one, other = {key: one[key] for key in keys}, {key: other.get(key) for key in keys}
            yield Violation(rule, run.id, f"{what} {name} is {shown(one)}, and by the events {shown(other)}")
