"""CTL-4 to CTL-16, sentence by sentence: what the other tests of the engine leave open."""

from typing import Any

import pytest

from support.engine_runs import Player, append, workflow
from wonder.engine.decide import decide
from wonder.engine.decisions import ContinueLater, DispatchTask
from wonder.engine.facts import EventArrived, InputGiven, PauseRequested, ResumeRequested, RunStarted
from wonder.engine.limits import Limits

TASK: dict[str, Any] = {}
WRITES = {"output": {"state.x": "$.x"}}


def test_ctl_4_every_condition_of_every_tier_is_told_when_none_matches() -> None:
    compiled = workflow(
        {"a": {"output": {"state.n": "$.n"}}, "b": TASK, "c": TASK},
        [
            {"from": "a", "to": "b", "if": "state.n > 2"},
            {"from": "a", "to": "c", "if": "state.n = 'x'", "priority": 4},
        ],
    )
    player = Player(compiled).start()
    player.complete("a", {"n": 1})
    assert player.run.error is not None
    assert "state.n > 2 is false (to 'b'); state.n = 'x' is false (to 'c')" in player.run.error.message


def test_ctl_5_a_condition_of_a_foreach_is_evaluated_once_and_without_the_item() -> None:
    compiled = workflow(
        {"a": TASK, "b": TASK},
        [{"from": "a", "to": "b", "if": "_branch IS NULL AND item IS NULL", "foreach": {"collection": "input.xs"}}],
    )
    player = Player(compiled).start({"xs": [1, 2, 3]})
    player.complete("a")
    assert len(player.tokens("b")) == 3
    (tier,) = player.events("transitions_evaluated")[0].metadata["tiers"]
    assert len(tier["candidates"]) == 1


def test_ctl_5_a_group_is_known_by_the_token_that_fanned_out() -> None:
    compiled = workflow({"a": TASK, "b": TASK}, [{"from": "a", "to": "b", "spawn_count": 2}])
    player = Player(compiled).start()
    fanned_out = player.token("a").id
    player.complete("a")
    assert list(player.run.groups) == [fanned_out]
    assert [(t.parent_id, t.scope.key) for t in player.tokens("b")] == [
        (fanned_out, (fanned_out, 0)),
        (fanned_out, (fanned_out, 1)),
    ]


def test_ctl_5a_without_max_parallel_all_branches_are_under_way_at_once() -> None:
    compiled = workflow({"a": TASK, "b": TASK}, [{"from": "a", "to": "b", "foreach": {"collection": "input.xs"}}])
    player = Player(compiled).start({"xs": list(range(200))})
    player.complete("a")
    assert len(player.inputs("b")) == 200


def test_ctl_5a_max_parallel_counts_a_branch_until_it_has_ended_or_arrived() -> None:
    """Not only its first node: a branch that goes on is still under way."""
    compiled = workflow(
        {"a": TASK, "b": TASK, "c": TASK, "d": TASK},
        [
            {"from": "a", "to": "b", "foreach": {"collection": "input.xs", "max_parallel": 1}},
            {"from": "b", "to": "c"},
            {"from": "c", "to": "d", "join": {"sibling_group": "a"}},
        ],
    )
    player = Player(compiled).start({"xs": [1, 2]})
    player.complete("a")
    player.complete("b@0.0")
    assert player.live() == ["b@0.1 pending", "c@0.0 dispatched"]
    player.complete("c@0.0")
    assert "b@0.1 dispatched" in player.live()


def test_ctl_7_a_nested_branch_reads_the_state_overlaid_from_the_outside_in() -> None:
    compiled = workflow(
        {
            "a": {"output": {"state": {"o": {"run": 1, "outer": 1, "inner": 1}, "list": [1, 2], "n": 0}}},
            "b": {"output": {"state.o.outer": 2, "state.o.inner": 2, "state.list": [3]}},
            "c": {"output": {"state.o.inner": 3}},
            "d": {"input": "$.state"},
        },
        [
            {"from": "a", "to": "b", "spawn_count": 2},
            {"from": "b", "to": "c", "spawn_count": 2},
            {"from": "c", "to": "d"},
        ],
    )
    player = Player(compiled).start()
    player.complete("a")
    player.complete("b@0.0")
    player.complete("c@0.0.1")
    # Objects merge by key, anything else replaces.
    assert player.inputs("d") == [{"o": {"run": 1, "outer": 2, "inner": 3}, "list": [3], "n": 0}]


def test_ctl_7_siblings_never_see_one_another() -> None:
    compiled = workflow(
        {"a": TASK, "b": WRITES, "c": {"input": {"state": "$.state", "own": "$._branch.output"}}},
        [{"from": "a", "to": "b", "spawn_count": 2}, {"from": "b", "to": "c"}],
    )
    player = Player(compiled).start()
    player.complete("a")
    player.complete("b@0.0", {"x": "first"})
    player.complete("b@0.1")
    assert player.inputs("c") == [{"state": {"x": "first"}, "own": {"x": "first"}}, {"state": {}, "own": {}}]


def test_ctl_7_a_branch_reads_the_state_of_the_run_as_it_is_now() -> None:
    """An abandoned branch runs on while the run goes on behind its join, and writes."""
    compiled = workflow(
        {"a": TASK, "b": TASK, "c": {"output": {"state.new": "$.new"}}, "late": {"input": "$.state.new"}},
        [
            {"from": "a", "to": "b", "spawn_count": 2},
            {"from": "b", "to": "late", "if": "_branch.index = 1"},
            {
                "from": "b",
                "to": "c",
                "priority": 1,
                "join": {"strategy": "any", "sibling_group": "a", "on_early_complete": "abandon"},
            },
        ],
    )
    player = Player(compiled).start()
    player.complete("a")
    player.complete("b@0.0")
    player.complete("c", {"new": 7})
    player.complete("b@0.1")
    assert player.inputs("late") == [7]


def test_ctl_7a_behind_the_outermost_join_there_is_no_branch() -> None:
    compiled = workflow(
        {"a": TASK, "b": WRITES, "c": {"input": {"whole": "$", "item": "$.item"}}},
        [
            {"from": "a", "to": "b", "foreach": {"collection": "input.xs"}},
            {"from": "b", "to": "c", "join": {"sibling_group": "a"}},
        ],
    )
    player = Player(compiled).start({"xs": [1]})
    player.complete("a")
    player.complete("b", {"x": 1})
    (seen,) = player.inputs("c")
    assert "item" not in seen
    assert sorted(seen["whole"]) == ["input", "output", "state"]


def test_ctl_7a_what_branches_wrote_that_are_never_joined_is_dropped() -> None:
    compiled = workflow({"a": TASK, "b": WRITES}, [{"from": "a", "to": "b", "spawn_count": 2}])
    player = Player(compiled).start()
    player.complete("a")
    player.complete("b@0.0", {"x": 1})
    player.complete("b@0.1", {"x": 2})
    assert player.run.status == "completed"
    assert (player.run.state, player.run.groups) == ({}, {})


@pytest.mark.parametrize("name", ["pair", "pair-id"])
def test_ctl_8_a_group_is_named_by_ref_or_id(name: str) -> None:
    compiled = workflow(
        {"a": TASK, "b": TASK, "side": TASK, "c": TASK},
        [
            {"from": "a", "to": "b", "spawn_count": 2, "ref": "pair"},
            {"from": "a", "to": "side"},
            {"from": "b", "to": "c", "join": {"sibling_group": name}},
        ],
    )
    player = Player(compiled).start()
    player.complete("a")
    player.complete("b@0.0")
    assert not player.tokens("c")
    player.complete("b@0.1")
    assert player.tokens("c")


def test_ctl_8_the_innermost_group_of_a_name_counts() -> None:
    """A node that fans out inside a branch that it made itself."""
    compiled = workflow(
        {"a": TASK, "b": {"input": "$._branch"}, "c": TASK},
        [
            {"from": "a", "to": "b", "spawn_count": 2},
            {"from": "b", "to": "a", "if": "_branch.parent IS NULL AND _branch.index = 0"},
            {"from": "b", "to": "c", "priority": 1, "join": {"sibling_group": "a"}},
        ],
    )
    player = Player(compiled).start()
    player.complete("a")
    player.complete("b@0.0")
    player.complete("a")
    player.complete("b@0.0.0")
    player.complete("b@0.0.1")
    # The inner two have joined among themselves, and the outer two have not.
    assert player.live() == ["b@0.1 dispatched", "c@0.0.fanin dispatched"]
    player.complete("b@0.1")
    player.complete("c")
    assert player.live() == ["c@0.fanin dispatched"]


def test_ctl_9_of_several_joins_the_first_one_written_fires_when_nobody_came_to_any() -> None:
    compiled = workflow(
        {"a": TASK, "b": TASK, "first": TASK, "second": TASK, "away": TASK},
        [
            {"from": "a", "to": "b", "spawn_count": 2},
            {"from": "b", "to": "away"},
            {"from": "b", "to": "first", "priority": 1, "join": {"sibling_group": "a", "merge": append("state.all")}},
            {"from": "b", "to": "second", "priority": 2, "join": {"sibling_group": "a", "strategy": "any"}},
        ],
    )
    player = Player(compiled).start()
    player.complete("a")
    for path in ("0.0", "0.1"):
        player.complete(f"b@{path}")
        player.complete(f"away@{path}")
    assert player.live() == ["first@0.fanin dispatched"]
    assert player.run.state == {"all": []}


def test_ctl_9a_a_run_in_which_nothing_can_move_fails_and_names_its_joins() -> None:
    """Reaching it is a bug of ours, so one has to be made: a branch is lost from memory."""
    compiled = workflow(
        {"a": TASK, "b": TASK, "c": TASK},
        [
            {"from": "a", "to": "b", "spawn_count": 2},
            {"from": "b", "to": "c", "join": {"sibling_group": "a"}},
        ],
    )
    player = Player(compiled).start()
    player.complete("a")
    player.complete("b@0.0")
    player.run.moving = 0
    player.go_on()
    assert player.error == "RUN_STUCK"
    assert player.run.error is not None
    assert "'c'" in player.run.error.message


def test_ctl_11_a_merge_replaces_what_its_target_held() -> None:
    compiled = workflow(
        {"a": {"output": {"state.all": ["old"]}}, "b": WRITES, "c": {"input": "$.state.all"}},
        [
            {"from": "a", "to": "b", "spawn_count": 1},
            {"from": "b", "to": "c", "join": {"sibling_group": "a", "merge": append("state.all")}},
        ],
    )
    player = Player(compiled).start()
    player.complete("a")
    player.complete("b", {"x": "new"})
    assert player.inputs("c") == [["new"]]


def test_ctl_15_a_token_that_failed_on_its_way_does_not_lend_its_error_to_others() -> None:
    compiled = workflow(
        {"a": TASK, "b": TASK, "fix": {"input": "$._last_error.code"}, "other": {"input": "$"}},
        [
            {"from": "a", "to": "b", "spawn_count": 2},
            {"from": "b", "to": "fix", "if": "_last_error IS NOT NULL"},
            {"from": "b", "to": "other", "priority": 1},
        ],
    )
    player = Player(compiled).start()
    player.complete("a")
    player.fail("b@0.0")
    player.complete("b@0.1")
    assert player.inputs("fix") == ["BROKEN"]
    (seen,) = player.inputs("other")
    assert "_last_error" not in seen
    assert "_last_error" not in seen["state"]


def test_ctl_15a_a_loop_at_its_limit_is_never_routed() -> None:
    compiled = workflow(
        {"a": TASK, "fix": TASK},
        [
            {"from": "a", "to": "a", "loop_config": {"max_iterations": 1}},
            {"from": "a", "to": "fix", "if": "_last_error IS NOT NULL", "priority": 1},
        ],
    )
    player = Player(compiled).start()
    player.complete("a")
    player.complete("a")
    assert player.error == "LOOP_LIMIT_EXCEEDED"


def test_ctl_15a_one_join_that_needs_all_branches_lets_none_be_lost() -> None:
    compiled = workflow(
        {"a": TASK, "b": TASK, "c": TASK, "d": TASK},
        [
            {"from": "a", "to": "b", "spawn_count": 3},
            {"from": "b", "to": "c", "if": "_branch.index = 0", "join": {"strategy": "any", "sibling_group": "a"}},
            {"from": "b", "to": "d", "priority": 1, "join": {"strategy": "all", "sibling_group": "a"}},
        ],
    )
    player = Player(compiled).start()
    player.complete("a")
    player.fail("b@0.2")
    assert player.error == "BROKEN"


def test_ctl_16_paused_timers_answers_and_events_are_applied_and_routed() -> None:
    nodes = {
        "a": TASK,
        "nap": {"kind": "sleep", "ms": 5},
        "ask": {"kind": "human_input", "prompt": "?", "schema": {}},
        "hear": {"kind": "wait_for_event", "event": "e"},
    }
    after = {f"after_{name}": TASK for name in nodes if name != "a"}
    transitions = [{"from": "a", "to": name} for name in nodes if name != "a"]
    transitions += [{"from": name.removeprefix("after_"), "to": name} for name in after]
    player = Player(workflow({**nodes, **after}, transitions)).start()
    player.complete("a")
    player.bring(PauseRequested())
    player.fire("sleep:")
    ask, hear = player.token("ask"), player.token("hear")
    assert ask.wait is not None
    player.bring(InputGiven(ask.id, str(ask.wait["item_id"]), {}))
    player.bring(EventArrived(hear.id, {}))
    assert sorted(player.live()) == [
        "after_ask@0.1 pending",
        "after_hear@0.2 pending",
        "after_nap@0.0 pending",
    ]
    assert player.run.status == "paused"
    assert [d.node_id for d in player.of(DispatchTask)] == ["a"]
    player.bring(ResumeRequested())
    assert sorted(d.node_id for d in player.of(DispatchTask)) == ["a", "after_ask", "after_hear", "after_nap"]


def test_ctl_20_a_turn_ends_when_it_has_taken_long_enough() -> None:
    compiled = workflow({"a": {"updates": []}}, [{"from": "a", "to": "a"}])
    player, asked = Player(compiled), 0

    def over_time() -> bool:
        nonlocal asked
        asked += 1
        return asked > 3

    decisions = decide(player.run, RunStarted({}), now_ms=1, new_id=player.new_id, over_time=over_time)
    assert isinstance(decisions[-1], ContinueLater)
    assert asked == 4


def test_ctl_20_a_turn_is_a_thousand_pure_nodes_at_most() -> None:
    compiled = workflow({"a": {"updates": [("state.n", "coalesce(state.n, 0) + 1")]}}, [{"from": "a", "to": "a"}])
    assert Player(compiled).start().run.state == {"n": 1_000}
    assert Limits().pure_nodes_max == 1_000


def test_ret_3_the_time_out_of_a_workflow_counts_from_running_and_while_it_waits() -> None:
    compiled = workflow({"ask": {"kind": "human_input", "prompt": "?"}}, [], timeout_ms=100, on_timeout="fail")
    player = Player(compiled)
    player.now_ms = 9_000
    player.start()
    assert player.run.status == "waiting"
    assert player.run.timers == {"workflow": 9_100}
    player.fire("workflow")
    assert player.error == "WORKFLOW_TIMEOUT"
