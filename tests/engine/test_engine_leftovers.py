"""Nothing is counted twice and nothing is left behind: results that come again, places, timers and tokens at joins."""

import pytest

from support.engine_runs import Player, append, workflow
from wonder.engine.decide import redispatch
from wonder.engine.decisions import DispatchTask, RecordEvent
from wonder.engine.facts import CancelRequested, TaskCompleted, TaskFailed, TaskStarted
from wonder.engine.failure import Failure
from wonder.engine.restore import restore, take_snapshot

TASK: dict[str, object] = {}


def each(count: int, strategy: object = "all", **foreach: object) -> Player:
    """Play a foreach over so many items up to its branches, which are joined into `c`."""
    join = {"sibling_group": "a", "strategy": strategy, "merge": append("state.all")}
    compiled = workflow(
        {"a": TASK, "b": {"output": {"state.x": "$.x"}}, "c": TASK},
        [
            {"from": "a", "to": "b", "foreach": {"collection": "input.xs", **foreach}},
            {"from": "b", "to": "c", "join": join},
        ],
    )
    player = Player(compiled).start({"xs": list(range(count))})
    player.complete("a")
    return player


@pytest.mark.parametrize("fails", [False, True])
def test_inv_4_a_second_result_for_a_token_that_waits_at_its_join_is_late(fails: bool) -> None:
    player = each(2)
    token = player.token("b@0.0")
    player.complete("b@0.0", {"x": 1})
    again = TaskFailed(token.id, Failure("BROKEN", "")) if fails else TaskCompleted(token.id, {"x": 2})
    assert [decision.type for decision in player.bring(again)] == ["late_result_ignored"]  # type: ignore[union-attr]
    player.complete("b@0.1", {"x": 3})
    assert player.run.state == {"all": [1, 3]}
    assert len(player.tokens("c")) == 1


def test_inv_4_a_task_that_is_seen_as_executing_is_dispatched_again_too() -> None:
    player = Player(workflow({"a": {"input": {"n": "$.input.n"}}}, [])).start({"n": 3})
    player.bring(TaskStarted(player.token("a").id, 1_000))
    assert redispatch(player.run) == player.of(DispatchTask)


def test_ctl_5a_a_branch_that_failed_lets_the_next_one_begin() -> None:
    player = each(3, {"m_of_n": 2}, max_parallel=1)
    player.fail("b@0.0")
    assert "b@0.1 dispatched" in player.live()
    player.complete("b@0.1", {"x": 1})
    player.complete("b@0.2", {"x": 2})
    player.complete("c")
    assert player.run.status == "completed"


def test_ctl_11_last_wins_is_the_last_that_arrived_also_after_a_restart() -> None:
    """The join goes on when the branch that is missing ends elsewhere, and so arrives after nobody."""
    merge = append("state.last") | {"strategy": "last_wins"}
    compiled = workflow(
        {"a": TASK, "b": {"output": {"state.x": "$.x"}}, "elsewhere": TASK, "c": TASK},
        [
            {"from": "a", "to": "b", "spawn_count": 3},
            {"from": "b", "to": "elsewhere", "if": "_branch.index = 1"},
            {"from": "b", "to": "c", "priority": 1, "join": {"sibling_group": "a", "merge": merge}},
        ],
    )
    player = Player(compiled).start()
    player.complete("a")
    for index in (2, 0, 1):
        player.complete(f"b@0.{index}", {"x": index})
    player.run = restore(compiled, take_snapshot(player.run))
    player.complete("elsewhere")
    assert player.run.state == {"last": 0}


def test_evt_1_a_late_result_has_a_number_of_its_own() -> None:
    player = Player(workflow({"a": TASK, "b": TASK}, [{"from": "a", "to": "b"}])).start()
    token = player.token("a")
    player.complete("a")
    for _ in range(2):
        player.bring(TaskCompleted(token.id, {}))
    player.complete("b")
    player.bring(TaskCompleted(token.id, {}))
    numbers = [decision.sequence for decision in player.decisions if isinstance(decision, RecordEvent)]
    assert numbers == list(range(1, player.run.sequence + 1))


def test_act_4_a_wait_for_an_event_that_is_cancelled_leaves_no_timer() -> None:
    waits = {"kind": "wait_for_event", "event": "go", "timeout_ms": 100}
    any_of = {"from": "w", "to": "c", "join": {"sibling_group": "a", "strategy": "any"}}
    compiled = workflow(
        {"a": TASK, "w": waits, "b": TASK, "c": TASK},
        [{"from": "a", "to": "w"}, {"from": "a", "to": "b"}, any_of, {**any_of, "from": "b"}],
    )
    player = Player(compiled).start()
    player.complete("a")
    assert len(player.run.timers) == 1
    player.complete("b")
    assert player.live() == ["c@0.fanin dispatched"]
    assert player.run.timers == {}


def test_ctl_10_a_token_of_an_abandoned_branch_that_was_at_the_join_before_the_others_ends_with_it() -> None:
    """A branch with two tokens, of which one has come to the join when that goes on without the branch."""
    any_of = {"sibling_group": "a", "strategy": "any", "on_early_complete": "abandon"}
    compiled = workflow(
        {"a": TASK, "b": TASK, "p": TASK, "q": TASK, "c": TASK},
        [
            {"from": "a", "to": "b", "foreach": {"collection": "input.xs"}},
            {"from": "b", "to": "p", "if": "_branch.index = 0"},
            {"from": "b", "to": "q", "if": "_branch.index = 0"},
            {"from": "b", "to": "c", "priority": 1, "join": any_of},
            {"from": "p", "to": "c", "join": any_of},
            {"from": "q", "to": "c", "join": any_of},
        ],
    )
    player = Player(compiled).start({"xs": [1, 2]})
    player.complete("a")
    player.complete("b@0.0")
    player.complete("p")
    assert len(player.tokens("p")) == 1  # It waits for its sibling, which is under way.
    player.complete("b@0.1")
    assert player.tokens("p") == []
    player.complete("c")
    player.complete("q")
    assert player.run.status == "completed"


def test_ctl_16_a_cancelled_run_leaves_neither_tokens_nor_timers() -> None:
    player = Player(workflow({"a": {"kind": "wait_for_event", "event": "go", "timeout_ms": 9}}, [])).start()
    player.bring(CancelRequested())
    assert (player.run.tokens, player.run.timers) == ({}, {})


def test_ctl_9_a_join_that_has_fired_does_not_fire_again_after_a_restart() -> None:
    """Its group is still open then, because another transition's branches are under way."""
    compiled = workflow(
        {"a": TASK, "b": TASK, "side": TASK, "c": TASK, "d": TASK},
        [
            {"from": "a", "to": "b", "spawn_count": 2, "ref": "pair"},
            {"from": "a", "to": "side", "spawn_count": 2, "ref": "sides"},
            {"from": "b", "to": "c", "join": {"sibling_group": "pair"}},
            {"from": "side", "to": "d", "join": {"sibling_group": "sides"}},
        ],
    )
    player = Player(compiled).start()
    player.complete("a")
    player.complete("b@0.0")
    player.complete("b@0.1")
    player.run = restore(compiled, take_snapshot(player.run))
    player.complete("side@0.2")
    assert len(player.tokens("c")) == 1
    player.complete("side@0.3")
    assert sorted(player.live()) == ["c@0.fanin dispatched", "d@0.fanin dispatched"]
