"""No token is lost at a join: not in what the check accepts, and nowhere without a word (CTL-12)."""

from random import Random
from typing import Any

from support.definitions import faults_in, noop
from support.definitions import workflow as definition
from support.engine_runs import Player, workflow
from support.random_joins import Transitions, random_joins
from support.random_runs import INPUT, random_fact
from wonder.engine.limits import Limits

SEEDS = range(300)
PLAYS = 6
STEPS = 200


def test_ctl_12_no_run_of_a_random_graph_that_is_accepted_loses_a_token_at_a_join() -> None:
    accepted = lost = 0
    for seed in SEEDS:
        random = Random(f"joins {seed}")
        transitions = random_joins(random)
        while refused := _unfit_joins(transitions):
            for number in refused:
                del transitions[number]["join"]
        codes = {fault.code for fault in faults_in(_as_file(transitions))}
        players = [_play(transitions, random) for _ in range(PLAYS)]
        came_to_two = any(player.error == "BRANCH_AT_TWO_JOINS" for player in players)
        for player in players:
            assert not _lost(player), f"seed {seed}"
        assert "two_joins" in codes or not came_to_two, f"seed {seed}"
        accepted += "two_joins" not in codes
        lost += came_to_two
    # The test is worth something only if there are many of both.
    assert accepted > 100
    assert lost > 20


def test_ctl_12_a_branch_that_comes_to_two_joins_fails_its_run_rather_than_losing_a_token() -> None:
    """The definition is refused today; one that was stored before says what is wrong with it."""
    ways = [{"from": a, "to": b, "join": {"sibling_group": "s"}} for a in "ab" for b in "xy"]
    nodes: dict[str, Any] = {name: {} for name in "sabxy"}
    player = Player(workflow(nodes, [{"from": "s", "to": "a"}, {"from": "s", "to": "b"}, *ways])).start()
    for name in "sab":
        player.complete(name)
    assert player.run.status == "failed"
    assert player.error == "BRANCH_AT_TWO_JOINS"
    assert player.run.error is not None
    assert player.run.error.message == (
        "branch 0 has tokens at the join into 'x' and at the join into 'y', and can arrive at one only; "
        "join once, then fan out"
    )
    assert not _lost(player)


def _unfit_joins(transitions: Transitions) -> set[Any]:
    """Find the transitions whose join has no fan-out, or too small a one: this test is not about them."""
    faults = faults_in(_as_file(transitions))
    return {fault.path[2] for fault in faults if fault.code in ("join_without_fan_out", "too_few_branches")}


def _as_file(transitions: Transitions) -> dict[str, Any]:
    renamed = {"if": "condition", "join": "synchronization"}
    nodes = {name: noop(output_mapping={"state.n": "$.n"}) for name in _names(transitions)}
    return definition(nodes, [{renamed.get(key, key): value for key, value in one.items()} for one in transitions])


def _names(transitions: Transitions) -> list[str]:
    return list(dict.fromkeys(one[end] for one in transitions for end in ("from", "to")))


def _play(transitions: Transitions, random: Random) -> Player:
    nodes = {name: {"output": {"state.n": "$.n"}} for name in _names(transitions)}
    limits = Limits(foreach_limit=200, nesting_max=4, tasks_max=random.choice([3, 2_000]))
    # Ids of transitions are the names that joins have for them.
    named = [{**one, "join": _by_id(one["join"])} if "join" in one else one for one in transitions]
    player = Player(workflow(nodes, named), limits).start(INPUT)
    for _ in range(STEPS):
        fact = random_fact(random, player.run, player.now_ms)
        if player.run.ended or fact is None or len(player.run.tokens) > 200:
            break
        player.now_ms += random.randint(0, 3)
        player.bring(fact)
    return player


def _by_id(join: dict[str, Any]) -> dict[str, Any]:
    return {**join, "sibling_group": "go-id"} if join["sibling_group"] == "go" else join


def _lost(player: Player) -> list[str]:
    """Give the tokens that waited at a join and completed, although that join did not go on."""
    waiting: dict[str, tuple[str, str, int]] = {}
    gone_on: set[tuple[str, str]] = set()
    abandoned: set[tuple[str, int]] = set()
    lost = []
    for event in player.events():
        told: Any = event.metadata
        if event.type == "fan_in_waiting" and event.token_id:
            waiting[event.token_id] = (told["group"], told["join"], told["branch"])
        elif event.type == "fan_in_completed":
            gone_on.add((told["group"], told["join"]))
            abandoned |= {(told["group"], index) for index in told.get("abandoned", ())}
        elif event.type == "token_completed" and event.token_id in waiting:
            group, join, branch = waiting[event.token_id]
            if (group, join) not in gone_on and (group, branch) not in abandoned:
                lost.append(event.token_id)
    return lost
