"""Fan-in: each fires once, when its rule is met, and not before (CTL-8 to CTL-13)."""

from collections.abc import Iterator
from typing import Any

from wonder.checker.definitions import ALL, Definition, Join
from wonder.checker.fold import history
from wonder.checker.state import WAITING_FOR_SIBLINGS, Group, State
from wonder.checker.stored import Event, StoredRun
from wonder.checker.values import same, shown
from wonder.checker.violations import Violation


def check_joins(run: StoredRun, definition: Definition) -> Iterator[Violation]:
    """Look for fan-ins that fired twice, too early, of the wrong branches, or not at all."""
    timed_out: set[str] = set()
    completed: set[tuple[str, str]] = set()
    last: State | None = None
    for event, state in history(run):
        last = state
        told = event.metadata
        if event.type == "timer_fired":
            timed_out.add(told["key"])
        elif event.type in ("fan_in_completed", "fan_in_failed"):
            yield from _check_firing(run, definition, event, state, timed_out)
            if event.type == "fan_in_completed":
                completed.add((told["group"], told["join"]))
        elif event.type == "token_completed":
            token = state.tokens.get(event.token_id or "")
            if token and token.place and not _goes_on(state, token.place, completed):
                message = f"token {token.id} waits for its siblings, and completes at event {event.sequence} alone"
                yield Violation("fan-in", run.id, message)
    if last is not None and not run.has_ended:
        last.close_groups()
        yield from _check_overdue(run, definition, last)


def _goes_on(state: State, place: tuple[str, str, int], completed: set[tuple[str, str]]) -> bool:
    """Say whether the join that a token waits at has fired, or has abandoned the branch that it waits for (CTL-10)."""
    join, group_id, index = place
    group = state.groups.get(group_id)
    return (group_id, join) in completed or (group is not None and group.branch(index).abandoned)


def _check_firing(
    run: StoredRun, definition: Definition, event: Event, state: State, timed_out: set[str]
) -> Iterator[Violation]:
    told = event.metadata
    group, join = state.groups.get(told["group"]), definition.joins.get(told["join"])
    where = f"the fan-in at event {event.sequence} into {told['join']}"
    if group is None or join is None:
        yield Violation("fan-in", run.id, f"{where} is of a group or a join that is not there")
        return
    if join.node in group.fired:
        yield Violation("fan-in", run.id, f"{where} of group {group.id} had fired before")
        return
    members = _members(group, join)
    arrived = [index for index in members if _has_arrived(group, index, join)]
    if event.type == "fan_in_completed" and (told["arrived"], told["total"]) != (len(arrived), len(members)):
        numbers = f"{told['arrived']} of {told['total']}, and it is {len(arrived)} of {len(members)}"
        yield Violation("fan-in", run.id, f"{where} says that there arrived {numbers}")
    code = told.get("error", {}).get("code")
    in_time = f"join:{group.id}:{join.node}" not in timed_out
    if code == "FAN_IN_TIMEOUT" or (code is None and not in_time and join.on_timeout == "proceed_with_available"):
        if in_time:
            yield Violation("fan-in", run.id, f"{where} timed out, and its timer has not fired")
        return
    reason = _reason_against(definition, state, group, join, arrived, failed=code == "FAN_IN_UNSATISFIABLE")
    if reason is not None:
        yield Violation("fan-in", run.id, f"{where} fired although {reason}")


def _members(group: Group, join: Join) -> range:
    return range(group.total) if join.of_node == group.node else group.indexes_of(join.of_transition or "")


def _has_arrived(group: Group, index: int, join: Join) -> bool:
    branch = group.branch(index)
    return branch.arrived and branch.entered == join.node


def _reason_against(
    definition: Definition, state: State, group: Group, join: Join, arrived: list[int], *, failed: bool
) -> str | None:
    """Say why a join must not go on now, or must not fail; None if it may."""
    members = _members(group, join)
    if not failed and join.needed != ALL and len(arrived) >= join.needed:
        return None
    coming = len(list(state.under_way(group, members)))
    nobody = not coming and not any(group.branch(index).arrived for index in members)
    if failed:
        if join.needed == ALL:
            return "a join of all branches can always be met"
        return None if len(arrived) + coming < join.needed else f"{len(arrived)} arrived and {coming} can still come"
    if join.needed != ALL:
        return f"{len(arrived)} arrived, and it needs {join.needed}"
    if coming:
        return f"{coming} of its branches are under way"
    if arrived:
        return None
    pool = [j for j in definition.joins_of(group.node, [join.of_transition or ""]) if j.of_node == join.of_node]
    return None if nobody and pool[0] is join else "no branch arrived at it"


def _check_overdue(run: StoredRun, definition: Definition, state: State) -> Iterator[Violation]:
    """Between turns no join is left whose rule is met."""
    for group in state.groups.values():
        for join in definition.joins_of(group.node, [id for id, _, _ in group.segments]):
            if join.node in group.fired:
                continue
            arrived = [index for index in _members(group, join) if _has_arrived(group, index, join)]
            if arrived and _reason_against(definition, state, group, join, arrived, failed=False) is None:
                message = f"the join into {join.node} of group {group.id} is met, and has not fired"
                yield Violation("fan-in", run.id, message)
    for token in state.tokens.values():
        if token.status == WAITING_FOR_SIBLINGS and (token.place is None or token.place[1] not in state.groups):
            yield Violation("fan-in", run.id, f"token {token.id} waits for siblings of a group that is not there")


def check_merges(run: StoredRun, definition: Definition) -> Iterator[Violation]:
    """Look for fan-ins that wrote something else than what their branches brought (CTL-11)."""
    written: Event | None = None
    for event, state in history(run):
        if event.type == "context_updated" and event.token_id is None:
            written = event
            continue
        if event.type == "fan_in_completed":
            group, join = state.groups.get(event.metadata["group"]), definition.joins.get(event.metadata["join"])
            if group is not None and join is not None and join.node not in group.fired:
                yield from _check_merge(run, group, join, event, written)
        written = None


def _check_merge(run: StoredRun, group: Group, join: Join, event: Event, written: Event | None) -> Iterator[Violation]:
    source = (join.merge or {}).get("source", "").removeprefix("$.").split(".")
    if join.merge is None:
        if written is not None:
            yield Violation("merge", run.id, f"the fan-in at event {event.sequence} has no merge, and writes one")
        return
    if source[:2] != ["_branch", "output"] or not all(part.isidentifier() for part in source):
        return
    wanted = _merged(group, join, source[2:])
    if wanted is _NOTHING and written is not None:
        yield Violation("merge", run.id, f"the fan-in at event {event.sequence} has nothing to write, and does")
    elif wanted is not _NOTHING and (written is None or not _wrote(written, wanted)):
        found = "nothing" if written is None else shown(written.metadata["changes"])
        message = f"the fan-in at event {event.sequence} should write {shown(wanted)}, and wrote {found}"
        yield Violation("merge", run.id, message)


_NOTHING = object()


def _wrote(event: Event, wanted: Any) -> bool:
    """Say whether a change is this value, or what was made around it."""
    _, value = event.metadata["changes"][-1]
    while not same(value, wanted):
        inside = list(value.values()) if isinstance(value, dict) else value
        if not isinstance(inside, list) or len(inside) != 1:
            return False
        (value,) = inside
    return True


def _merged(group: Group, join: Join, path: list[str]) -> Any:
    assert join.merge is not None
    arrived = [index for index in _members(group, join) if _has_arrived(group, index, join)]
    found = {index: _found(group.branch(index).output, path) for index in arrived}
    values = {index: None if value is _NOTHING else value for index, value in found.items()}
    match join.merge["strategy"]:
        case "append":
            return list(values.values())
        case "keyed_by_branch":
            return {str(index): value for index, value in values.items()}
        case "merge_object":
            whole: dict[str, Any] = {}
            for value in found.values():
                whole |= value if isinstance(value, dict) else {}
            return whole
        case "last_wins":
            last = max(arrived, key=lambda index: group.branch(index).arrived_as, default=None)
            return _NOTHING if last is None else values[last]
        case strategy:
            raise ValueError(f"the merge into {join.node} has the unknown strategy {strategy!r}")


def _found(value: Any, path: list[str]) -> Any:
    for key in path:
        if not isinstance(value, dict) or key not in value:
            return _NOTHING
        value = value[key]
    return value
