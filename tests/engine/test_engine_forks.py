"""CTL-19: retries and forks are new runs that begin where the old one was."""

from random import Random
from typing import Any

import pytest

from support.engine_runs import Player, append, workflow
from support.random_runs import INPUT, random_fact, random_workflow
from wonder.engine.decisions import DispatchTask, RequestInput, StartChild
from wonder.engine.facts import TaskCompleted
from wonder.engine.fork import ForkRefused, fork, retry_point, snapshot_at
from wonder.engine.limits import Limits
from wonder.engine.replay import comparable, fold
from wonder.engine.restore import take_snapshot

TASK: dict[str, Any] = {}


def forked(player: Player, after: int, state: Any = None) -> Player:
    new = Player(player.compiled, player.run.limits)
    new.now_ms = player.now_ms
    new._ids = iter(range(500_000, 10_000_000))
    new.last = fork(new.run, snapshot_at(player.events(), after), now_ms=new.now_ms, new_id=new.new_id, state=state)
    new.decisions += new.last
    return new


def test_ctl_19_a_retry_keeps_the_results_of_completed_and_waiting_branches() -> None:
    compiled = workflow(
        {"a": TASK, "b": {"output": {"state.x": "$.x"}}, "c": {"input": "$.state.all"}},
        [
            {"from": "a", "to": "b", "spawn_count": 3},
            {"from": "b", "to": "c", "join": {"sibling_group": "a", "merge": append("state.all")}},
        ],
    )
    player = Player(compiled).start()
    player.complete("a")
    player.complete("b@0.0", {"x": "kept"})
    player.fail("b@0.1")
    before = take_snapshot(player.run)
    retry = forked(player, retry_point(player.events()))
    assert retry.live() == ["b@0.0 waiting_for_siblings", "b@0.1 dispatched", "b@0.2 dispatched"]
    retry.complete("b@0.1", {"x": "second"})
    retry.complete("b@0.2", {"x": "third"})
    assert retry.inputs("c") == [["kept", "second", "third"]]
    assert take_snapshot(player.run) == before


def test_ctl_19_a_retry_repeats_only_the_pure_node_that_failed() -> None:
    compiled = workflow(
        {
            "a": {"output": {"state.n": "$.n"}},
            "b": {"updates": [("state.m", "n + 1")]},
            "c": {"kind": "assert", "expr": "state.n = 2"},
        },
        [{"from": "a", "to": "b"}, {"from": "b", "to": "c"}],
    )
    player = Player(compiled).start()
    player.complete("a", {"n": 1})
    assert player.error == "ASSERTION_FAILED"
    assert forked(player, retry_point(player.events())).error == "ASSERTION_FAILED"
    fixed = forked(player, retry_point(player.events()), {"n": 2, "m": 2})
    assert fixed.run.status == "completed"
    assert not fixed.of(DispatchTask)


def test_ctl_19_gates_and_sub_workflows_begin_anew_and_timers_keep_their_due_time() -> None:
    nodes = {
        "a": TASK,
        "ask": {"kind": "human_input", "prompt": "?", "deadline_ms": 500},
        "nap": {"kind": "sleep", "ms": 700},
        "call": {"kind": "workflow_call", "workflow_def_id": "w"},
        "work": TASK,
    }
    player = Player(workflow(nodes, [{"from": "a", "to": name} for name in nodes if name != "a"])).start()
    player.complete("a")
    after = player.run.sequence
    player.complete("work")
    player.now_ms += 100
    new = forked(player, after)
    assert new.live() == ["ask@0.0 suspended", "nap@0.1 suspended", "call@0.2 suspended", "work@0.3 dispatched"]
    assert sorted(new.run.timers.values()) == sorted(player.run.timers.values()) == [1_500, 1_700]
    assert new.of(RequestInput)[0].item_id != player.of(RequestInput)[0].item_id
    assert new.of(StartChild)[0].child_run_id != player.of(StartChild)[0].child_run_id
    assert not set(new.run.tokens) & set(player.run.tokens)


def test_ctl_19_a_fork_may_change_the_state() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    compiled = workflow({"a": TASK, "b": {"input": "$.state.n"}}, [{"from": "a", "to": "b"}], context_schema=schema)
    player = Player(compiled).start()
    player.complete("a")
    player.complete("b")
    new = forked(player, 3, {"n": 5})
    assert new.live() == ["a@0 dispatched"]
    new.complete("a")
    assert new.inputs("b") == [5]
    with pytest.raises(ForkRefused, match="integer"):
        forked(player, 3, {"n": "x"})


def test_ctl_19_what_can_t_be_forked_or_retried_is_refused() -> None:
    player = Player(workflow({"a": TASK}, [])).start()
    with pytest.raises(ForkRefused, match="not failed"):
        retry_point(player.events())
    player.bring(TaskCompleted(player.token("a").id, {}))
    for after in (0, player.run.sequence):
        with pytest.raises(ForkRefused):
            forked(player, after)


@pytest.mark.parametrize("seed", range(200))
def test_ctl_19_a_fork_at_any_event_of_any_run_goes_on_to_an_end(seed: int) -> None:
    random = Random(seed)
    player = Player(random_workflow(random), Limits(foreach_limit=200, pure_nodes_max=20, nesting_max=4, singly_max=4))
    player.start(INPUT)
    _drive(player, random, 60)
    if player.run.sequence < 3:
        return
    try:
        new = forked(player, random.randint(1, player.run.sequence - 1))
    except ForkRefused:
        return
    for _ in range(60):
        assert fold(new.events()) == comparable(take_snapshot(new.run))
        if not _drive(new, random, 1):
            break
    assert new.error != "RUN_STUCK"


def _drive(player: Player, random: Random, steps: int) -> bool:
    for _ in range(steps):
        if player.run.ended or len(player.run.tokens) > 400:
            return False
        player.now_ms += random.randint(0, 3)
        fact = random_fact(random, player.run, player.now_ms)
        if fact is None:
            return False
        player.bring(fact)
    return True
