"""Many branches: workers have a bounded number of a run's tasks, and a long turn hands its decisions on in parts."""

from typing import Any

import pytest

from support.engine_runs import Player, append, workflow
from wonder.engine.compiled import CompiledWorkflow
from wonder.engine.decide import decide
from wonder.engine.decisions import Decision, DispatchTask
from wonder.engine.facts import CancelRequested, RunStarted, TaskCompleted
from wonder.engine.limits import TASKS_MAX, Limits
from wonder.engine.replay import comparable, fold
from wonder.engine.restore import restore, take_snapshot
from wonder.engine.state import PENDING, RunState
from wonder.engine.turn import PART


def _fan(foreach: dict[str, Any] | None = None) -> CompiledWorkflow:
    each = {"input": {"x": "$.item"}, "output": {"state.x": "$.x"}}
    return workflow(
        {"start": {"updates": []}, "each": each, "end": {"updates": [("output.all", "state.all")]}},
        [
            {
                "from": "start",
                "to": "each",
                "foreach": {"collection": "input.items", "item_var": "item", **(foreach or {})},
            },
            {"from": "each", "to": "end", "join": {"sibling_group": "start", "merge": append("state.all")}},
        ],
    )


def _dispatched(decisions: list[Decision]) -> list[Any]:
    return [one.input["x"] for one in decisions if isinstance(one, DispatchTask)]  # type: ignore[index, call-overload]


def test_workers_have_a_bounded_number_of_tasks_and_get_the_next_in_order() -> None:
    player = Player(_fan(), Limits(tasks_max=3)).start({"items": list(range(7))})
    assert _dispatched(player.decisions) == [0, 1, 2]
    assert [token.status for token in player.run.tokens.values()].count(PENDING) == 4
    assert _dispatched(player.complete("each@0.1", {"x": 1})) == [3]
    # A task that is lost and sent again keeps its place.
    assert player.run.working == 3
    for index in (0, 2, 3, 4, 5, 6):
        player.complete(f"each@0.{index}", {"x": index})
        assert player.run.working <= 3
    assert player.run.status == "completed"
    assert player.run.output == {"all": list(range(7))}


def test_nodes_that_need_no_worker_begin_while_tasks_wait_for_one() -> None:
    compiled = workflow(
        {"start": {"updates": []}, "task": {}, "pure": {"updates": [("output.done", "true")]}},
        [
            {"from": "start", "to": "task", "spawn_count": 3, "priority": 0},
            {"from": "start", "to": "pure", "priority": 0},
        ],
    )
    player = Player(compiled, Limits(tasks_max=1)).start()
    assert len(_tokens(player, "task")) == 3
    assert player.events("node_completed")[-1].node_id == "pure"


def _tokens(player: Player, ref: str) -> list[str]:
    return [token.status for token in player.tokens(ref)]


def test_a_restored_run_goes_on_with_the_tasks_that_waited_for_a_worker() -> None:
    player = Player(_fan(), Limits(tasks_max=2)).start({"items": list(range(5))})
    player.run = restore(player.compiled, take_snapshot(player.run), Limits(tasks_max=2))
    player.go_on()
    assert player.last == []  # Both places are taken.
    assert _dispatched(player.complete("each@0.0", {"x": 0})) == [2]


def test_a_run_that_has_more_tasks_under_way_than_it_may_dispatches_no_more() -> None:
    """One that an earlier Wonder has stored."""
    player = Player(_fan(), Limits(tasks_max=4)).start({"items": list(range(6))})
    player.run = restore(player.compiled, take_snapshot(player.run), Limits(tasks_max=2))
    assert [_dispatched(player.complete(f"each@0.{index}", {"x": index})) for index in range(4)] == [[], [], [4], [5]]


def test_ctl_5a_a_held_branch_is_let_go_only_when_a_worker_may_have_its_task() -> None:
    player = Player(_fan({"max_parallel": 3}), Limits(tasks_max=2)).start({"items": list(range(5))})
    assert [token.held for token in player.tokens("each")] == [False, False, True, True, True]
    assert fold(player.events()) == comparable(take_snapshot(player.run))
    assert _dispatched(player.complete("each@0.0", {"x": 0})) == [2]


def test_cancelling_ends_the_tasks_that_waited_for_a_worker() -> None:
    player = Player(_fan(), Limits(tasks_max=2)).start({"items": list(range(5))})
    player.bring(CancelRequested())
    assert player.run.status == "cancelled"
    assert not player.run.tokens
    assert not player.run.queued


@pytest.mark.parametrize("branches", [0, 1, PART, 2 * PART + 1])
def test_a_long_turn_hands_on_in_parts_what_it_would_have_given_at_once(branches: int) -> None:
    fact, whole, handed = RunStarted({"items": list(range(branches))}), Player(_fan()), Player(_fan())
    parts: list[list[Decision]] = []
    whole.bring(fact)
    rest = decide(handed.run, fact, now_ms=handed.now_ms, new_id=handed.new_id, hand_on=parts.append)
    assert [decision for part in [*parts, rest] for decision in part] == whole.last
    assert all(PART <= len(part) < PART + 10 for part in parts)
    assert len(rest) < PART + 10
    assert take_snapshot(handed.run) == take_snapshot(whole.run)


def test_the_join_of_many_branches_is_handed_on_in_parts() -> None:
    run, ids = RunState("run", _fan()), Player(_fan()).new_id
    parts: list[list[Decision]] = []
    rest = decide(run, RunStarted({"items": list(range(PART))}), now_ms=0, new_id=ids, hand_on=parts.append)
    tasks = [one for part in [*parts, rest] for one in part if isinstance(one, DispatchTask)]
    assert len(tasks) == TASKS_MAX == PART
    for task in tasks:
        parts.clear()
        decide(run, TaskCompleted(task.token_id, task.input), now_ms=0, new_id=ids, hand_on=parts.append)
    assert run.status == "completed"
    assert len(parts) == 2  # Each branch's token ends, with an event.
