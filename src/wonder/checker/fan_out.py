"""Fan-out: each firing makes the branches that it announces, and no more of them at a time than it may (CTL-5)."""

from collections.abc import Iterator

from wonder.checker.definitions import Definition, Transition
from wonder.checker.fold import history
from wonder.checker.state import Group, State
from wonder.checker.stored import Event, StoredRun
from wonder.checker.violations import Violation


def check_fan_outs(run: StoredRun, definition: Definition) -> Iterator[Violation]:
    """Look for branches that are missing, doubled, in the wrong place or of the wrong number."""
    firings = {event.token_id: event for event in run.events if event.type == "fan_out_started"}
    made: dict[str | None, list[Event]] = {id: [] for id in firings}
    for event in run.events:
        parent = event.metadata.get("parent")
        if event.type == "token_spawned" and parent in made and event.metadata.get("group") == parent:
            made[parent].append(event)
    for id, firing in firings.items():
        yield from _check_firing(run, definition, firing, made[id])


def _check_firing(run: StoredRun, definition: Definition, firing: Event, made: list[Event]) -> Iterator[Violation]:
    targets: list[str | None] = []
    for part in firing.metadata["branches"]:
        transition = definition.transitions.get(part["transition"])
        targets += [transition.to_node if transition else None] * part["count"]
        count = _expected_count(transition, part.get("items"))
        if count != part["count"]:
            message = (
                f"event {firing.sequence} makes {part['count']} branches of {part['transition']}, instead of {count}"
            )
            yield Violation("fan-out", run.id, message)
    if firing.metadata["total"] != len(targets):
        message = f"event {firing.sequence} says {firing.metadata['total']} branches, and lists {len(targets)}"
        yield Violation("fan-out", run.id, message)
    found = sorted((event.metadata["branch"], event.path_id, event.node_id, event.metadata["of"]) for event in made)
    wanted = [(index, f"{firing.path_id}.{index}", node, len(targets)) for index, node in enumerate(targets)]
    if found != wanted:
        wrong = next((f"{one} instead of {other}" for one, other in zip(found, wanted) if one != other), None)  # noqa: B905
        message = f"the fan-out at event {firing.sequence} made {len(found)} of {len(wanted)} branches: {wrong or ''}"
        yield Violation("fan-out", run.id, message)


def _expected_count(transition: Transition | None, items: list[object] | None) -> int | None:
    if transition is None:
        return None
    if transition.is_foreach:
        return None if items is None else len(items)
    return transition.spawn_count or 1


def check_max_parallel(run: StoredRun, definition: Definition) -> Iterator[Violation]:
    """Look for a foreach that has more branches under way than max_parallel allows."""
    limits = {t.id: t.max_parallel for t in definition.transitions.values() if t.max_parallel is not None}
    if not limits:
        return
    begun: dict[tuple[str, str], set[int]] = {}
    for event, state in history(run):
        token = state.tokens.get(event.token_id or "")
        begins = event.type in ("token_dispatched", "token_suspended", "node_completed", "node_failed")
        if token is None or not begins or not token.held:
            continue
        group = state.groups.get(token.scope[0] or "")
        transition_id = group.transition_of(token.scope[1]) if group else None
        if group is None or transition_id not in limits:
            continue
        running = begun.setdefault((group.id, transition_id), set())
        running -= {index for index in running if not _is_begun(state, group, index)}
        running.add(token.scope[1])
        if len(running) > limits[transition_id]:
            most = limits[transition_id]
            message = f"{len(running)} branches of {transition_id} are under way at event {event.sequence}, not {most}"
            yield Violation("max-parallel", run.id, message)


def _is_begun(state: State, group: Group, index: int) -> bool:
    return state.is_active((group.id, index)) and not group.branch(index).abandoned
