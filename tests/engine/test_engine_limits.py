"""RES-6: a run that reaches one of its limits fails with the limit's name, before it takes the machine with it."""

from typing import Any

import pytest

from support.engine_runs import Player, append, workflow
from wonder.engine.context_size import measure
from wonder.engine.decisions import AbortTask, ContinueLater, ControlChild, CreateToken, EndLive, MoveToken
from wonder.engine.facts import CancelRequested, Fact, LimitReached
from wonder.engine.limits import Limits
from wonder.engine.replay import comparable, fold
from wonder.engine.restore import restore, take_snapshot

Graph = tuple[dict[str, Any], list[dict[str, Any]]]
SPIN: Graph = ({"a": {"updates": [("state.n", "coalesce(state.n, 0) + 1")]}}, [{"from": "a", "to": "a"}])
# Every round copies what is there into two places: values are shared in memory, and the text doubles.
SWELL: Graph = (
    {"a": {"updates": [("state.b[0]", "state.a"), ("state.b[1]", "state.a"), ("state.a", "state.b")]}},
    [{"from": "a", "to": "a"}],
)


def _doubling(levels: int) -> Graph:
    nodes: dict[str, Any] = {f"n{level}": {"updates": []} for level in range(levels + 1)}
    ways = [{"from": f"n{n}", "to": f"n{n + 1}", "ref": f"{way}{n}"} for n in range(levels) for way in ("one", "other")]
    return nodes, ways


def _play_out(player: Player, turns: int = 10_000) -> int:
    """Go on until the run ends or waits; gives the most tokens that were live at the end of a turn."""
    most = 0
    while turns and not player.run.ended and type(player.last[-1]) is ContinueLater:
        player.go_on()
        most, turns = max(most, len(player.run.tokens)), turns - 1
    return most


@pytest.mark.parametrize(
    ("graph", "limits", "name"),
    [
        (_doubling(40), {"live_tokens": 500}, "live_tokens"),
        (_doubling(40), {"tokens": 500}, "tokens"),
        (SPIN, {"tokens": 500}, "tokens"),
        (SPIN, {"events": 500}, "events"),
        (SPIN, {"pure_steps": 500}, "pure_steps"),
        (SWELL, {"context_bytes": 100_000}, "context_bytes"),
    ],
)
def test_res_6_a_run_fails_with_the_name_of_the_limit_that_it_reaches(
    graph: Graph, limits: dict[str, int], name: str
) -> None:
    player = Player(workflow(*graph), Limits(nesting_max=100, pure_nodes_max=100, **limits)).start()
    most = _play_out(player)
    assert player.error == f"RUN_LIMIT_{name.upper()}"
    assert player.run.error is not None
    assert f"wonder project set run_limits.{name} N" in player.run.error.message
    assert f"{limits[name]:,}" in player.run.error.message
    assert most <= 600
    assert not player.run.tokens


def test_twice_foreach_limit_is_how_many_tokens_may_be_live_unless_the_project_says_otherwise() -> None:
    assert Limits(foreach_limit=7).live_tokens == 14
    assert Limits(foreach_limit=7, live_tokens=3).live_tokens == 3


def test_doubling_pure_nodes_yield_often_and_fail_before_they_take_memory() -> None:
    """The reproduction of the report: 2^40 tokens, and no turn makes more than its share."""
    player = Player(workflow(*_doubling(40)), Limits(foreach_limit=1_000, nesting_max=100, pure_nodes_max=50)).start()
    largest = 0
    while not player.run.ended:
        player.go_on()
        largest = max(largest, sum(type(one) is CreateToken for one in player.last))
    assert player.error == "RUN_LIMIT_LIVE_TOKENS"
    assert largest <= 200
    assert player.run.tokens_made < 5_000


def test_a_limit_of_the_run_fails_it_even_where_joins_do_without_a_branch() -> None:
    join = {"join": {"sibling_group": "fan", "strategy": "any", "merge": append("state.all")}}
    nodes = {"a": {}, "b": {"updates": []}, "c": {"updates": []}, "d": {}}
    ways = [
        {"from": "a", "to": "b", "spawn_count": 2, "ref": "fan"},
        {"from": "b", "to": "c", "spawn_count": 50},
        {"from": "c", "to": "d", **join},
    ]
    compiled = workflow(nodes, ways)
    player = Player(compiled, Limits(live_tokens=20)).start()
    player.complete("a")
    assert player.error == "RUN_LIMIT_LIVE_TOKENS"


def test_pure_nodes_are_counted_along_a_path_and_not_over_all_branches() -> None:
    """A hundred branches with three pure nodes each are three in a row, and a task between them begins anew."""
    nodes = {"a": {}, "b": {"updates": []}, "c": {"updates": []}, "d": {"updates": []}, "e": {}}
    ways = [{"from": "a", "to": "b", "spawn_count": 100}] + [
        {"from": one, "to": other} for one, other in (("b", "c"), ("c", "d"), ("d", "e"), ("e", "e"))
    ]
    player = Player(workflow(nodes, ways), Limits(pure_steps=3)).start()
    player.complete("a")
    _play_out(player)
    assert player.error is None
    assert len(player.tokens("e")) == 100


def test_one_node_that_copies_a_large_value_a_thousand_times_fails_before_it_is_written() -> None:
    updates = [(f"state.copies[{number}]", "input.text") for number in range(1_000)]
    player = Player(workflow({"a": {"updates": updates}}, []), Limits(context_bytes=1_000_000))
    player.start({"text": "x" * 100_000})
    assert player.error == "RUN_LIMIT_CONTEXT_BYTES"
    assert not player.events("context_updated")


def test_a_context_that_is_written_over_again_and_again_does_not_grow() -> None:
    nodes = {"a": {"updates": [("state.text", "input.text")]}, "b": {}}
    ways = [{"from": "a", "to": "a", "loop_config": {"max_iterations": 200}}, {"from": "a", "to": "b", "priority": 1}]
    player = Player(workflow(nodes, ways), Limits(context_bytes=2_000)).start({"text": "x" * 500})
    _play_out(player)
    assert player.error is None
    assert measure(player.run) < 2_000


def test_the_size_of_a_context_is_the_same_limit_after_the_run_was_loaded_again() -> None:
    compiled = workflow({"a": {"output": {"state.all": "$.all"}}}, [{"from": "a", "to": "a"}])

    def rounds(*, loaded: bool) -> int:
        player, count = Player(compiled, Limits(context_bytes=2_000)).start(), 0
        while not player.run.ended:
            player.complete("a", {"all": ["x" * 90] * count})
            count += 1
            if loaded and not player.run.ended:
                player.run = restore(compiled, take_snapshot(player.run), player.run.limits)
        assert player.error == "RUN_LIMIT_CONTEXT_BYTES"
        return count

    assert rounds(loaded=True) == rounds(loaded=False) > 10


def test_inputs_that_are_large_in_all_are_dispatched_in_several_turns() -> None:
    """A hundred branches that each take the whole state would else be one commit of all of them together."""
    nodes = {"a": {"output": {"state.text": "$"}}, "b": {"input": {"all": "$.state.text"}}}
    player = Player(workflow(nodes, [{"from": "a", "to": "b", "spawn_count": 100}]), Limits(turn_bytes_max=50_000))
    player.start().complete("a", "x" * 10_000)
    assert type(player.last[-1]) is ContinueLater
    assert len(player.inputs("b")) < 10
    _play_out(player)
    assert len(player.inputs("b")) == 100


@pytest.mark.parametrize("fact", [CancelRequested("enough"), LimitReached("bytes_written", 11, 10)])
def test_ctl_16_very_many_tokens_end_with_one_decision_and_one_event(fact: Fact) -> None:
    nodes: dict[str, Any] = {
        "a": {},
        "b": {},
        "ask": {"kind": "human_input", "prompt": "?"},
        "call": {"kind": "workflow_call", "workflow_def_id": "other", "version": 1},
    }
    ways = [{"from": "a", "to": to, "spawn_count": 10} for to in ("b", "ask", "call")]
    player = Player(workflow(nodes, ways), Limits(singly_max=20)).start()
    player.complete("a")
    before = player.run.sequence
    player.bring(fact)
    assert player.run.status == ("cancelled" if type(fact) is CancelRequested else "failed")
    assert [type(one) for one in player.last if type(one) in (EndLive, MoveToken)] == [EndLive]
    assert sum(type(one) is AbortTask for one in player.last) == 10
    assert sum(type(one) is ControlChild for one in player.last) == 10
    (ended,) = player.events("tokens_ended")
    assert ended.metadata == {"status": "cancelled", "count": 30}
    assert player.run.sequence == before + 2
    assert fold(player.events(), "run") == comparable(take_snapshot(player.run))


def test_ctl_19_a_run_that_reached_a_limit_is_retried_from_before_it_did() -> None:
    player = Player(workflow(*SPIN), Limits(pure_steps=50, pure_nodes_max=10)).start()
    _play_out(player)
    assert player.error == "RUN_LIMIT_PURE_STEPS"
    (failed,) = player.events("workflow_failed")
    kept = [event for event in player.events() if event.sequence < failed.step]
    assert len(fold(kept).tokens) == 1
