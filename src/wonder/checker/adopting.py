"""Adopting: a run becomes what a snapshot says, as a fork does, or one whose older events have gone (CTL-19, EVT-2)."""

from wonder.checker.state import ROOT, Group, State, Token
from wonder.checker.stored import Fields, Scope


def adopt(state: State, run: Fields, tokens: list[Fields], groups: list[Fields], branches: list[Fields]) -> None:
    """Become what a snapshot says."""
    state.status, state.paused, state.gate_item = run["status"], run.get("paused"), run.get("gate_item_id")
    state.left_ms, state.timers = run.get("timeout_left_ms"), dict(run.get("timers") or {})
    state.input, state.state, state.output = run["input"], run["state"], run["output"]
    state.loops = {ROOT: _loops(run)}
    state.tokens, state.groups, state.tokens_in, state.groups_in = {}, {}, {}, {}
    state.closable = {}
    for row in groups:
        outer: Scope = (row["outer_group_id"], row["outer_index"]) if row["outer_group_id"] else ROOT
        segments = [(id, count, items) for id, count, items in row["segments"]]
        state.open(Group(row["id"], row["node_id"], row["path_id"], outer, segments, fired=list(row["fired"])))
    for row in branches:
        group = state.groups[row["group_id"]]
        branch = group.change(row["index"])
        branch.entered, branch.arrived = row.get("entered"), row.get("status") == "arrived"
        branch.arrived_as, branch.abandoned = row.get("arrived_as", 0), row.get("abandoned", False)
        branch.output, branch.replaced = row.get("output", {}), row.get("replaced", {})
        group.arrivals += branch.arrived
        for transition_id, (count, first_ms) in _loops(row).items():
            set_loop(state, (group.id, row["index"]), transition_id, count, first_ms)
    for row in tokens:
        state.add(_adopted(row))


def _adopted(row: Fields) -> Token:
    scope: Scope = (row["group_id"], row["branch_index"]) if row["group_id"] else ROOT
    token = Token(row["id"], row["node_id"], row["path_id"], row["parent_id"], scope, row["born"], row["status"])
    token.held, token.losses = row.get("held", False), row.get("losses", 0)
    token.last_error, token.wait = row.get("last_error"), row.get("wait")
    if row.get("waits_at") is not None:
        token.place = (row["waits_at"], row["waits_group_id"], row["waits_index"])
    return token


def _loops(row: Fields) -> dict[str, tuple[int, int]]:
    return {id: (count, first_ms) for id, (count, first_ms) in (row.get("loops") or {}).items()}


def set_loop(state: State, scope: Scope, transition_id: str, count: int, first_ms: int) -> None:
    """Count a loop in a scope; 0 is no count at all."""
    counts = state.loops.setdefault(scope, {})
    counts[transition_id] = (count, first_ms)
    if not count:
        del counts[transition_id]
    if scope[0] is not None and scope[0] in state.groups:
        state.groups[scope[0]].looping.add(scope[1])
