"""Random workflows under random facts: nothing gets stuck, and rows, decisions and events each tell the whole run."""

from random import Random

import msgspec
import pytest

from support.engine_runs import Player
from support.random_runs import INPUT, random_fact, random_workflow
from wonder.engine.decide import decide
from wonder.engine.evolve import evolve
from wonder.engine.limits import Limits
from wonder.engine.replay import comparable, fold
from wonder.engine.restore import Snapshot, restore, take_snapshot
from wonder.engine.state import RunState

STEPS = 250
SEEDS = range(200)


def _limits(seed: int) -> Limits:
    # Every other run has more tasks than its workers may have at a time.
    tasks_max = 3 if seed % 2 else 2_000
    return Limits(foreach_limit=200, pure_nodes_max=20, nesting_max=4, singly_max=4, tasks_max=tasks_max)


def _play(seed: int, steps: int = STEPS) -> tuple[Player, Random]:
    random = Random(seed)
    player = Player(random_workflow(random), _limits(seed))
    player.start(INPUT)
    for _ in range(steps):
        if not _step(player, random):
            break
    return player, random


def _step(player: Player, random: Random) -> bool:
    if player.run.ended or len(player.run.tokens) > 400:
        return False
    player.now_ms += random.randint(0, 3)
    fact = random_fact(random, player.run, player.now_ms)
    if fact is None:
        return False
    player.bring(fact)
    return True


@pytest.mark.parametrize("seed", SEEDS)
def test_ctl_9a_no_run_gets_stuck_and_each_ends_once(seed: int) -> None:
    player, _ = _play(seed)
    assert player.error != "RUN_STUCK"
    ends = player.events("workflow_completed", "workflow_failed", "workflow_cancelled")
    assert len(ends) == (1 if player.run.ended else 0)
    if player.run.ended:
        assert not player.run.tokens
        assert not player.run.groups
        assert not player.run.timers
        assert player.events()[-1].type in ("workflow_completed", "workflow_failed", "workflow_cancelled")


@pytest.mark.parametrize("seed", SEEDS)
def test_evt_1_sequence_numbers_have_no_gaps(seed: int) -> None:
    player, _ = _play(seed)
    assert [event.sequence for event in player.events()] == list(range(1, player.run.sequence + 1))


@pytest.mark.parametrize("seed", SEEDS)
def test_evt_2_folding_the_events_gives_tokens_and_context_at_any_time(seed: int) -> None:
    random = Random(seed)
    player = Player(random_workflow(random), _limits(seed))
    player.start(INPUT)
    for _ in range(STEPS):
        assert fold(player.events()) == comparable(take_snapshot(player.run))
        if not _step(player, random):
            break
    assert fold(player.events()) == comparable(take_snapshot(player.run))


@pytest.mark.parametrize("seed", SEEDS)
def test_replaying_the_decisions_gives_the_same_state(seed: int) -> None:
    player, _ = _play(seed)
    again = RunState("run", player.compiled, _limits(seed))
    for decision in player.decisions:
        evolve(again, decision)
    assert take_snapshot(again) == take_snapshot(player.run)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_restored_run_decides_the_same_from_any_moment_on(seed: int) -> None:
    moment = Random(seed).randint(0, 30)
    player, random = _play(seed, moment)
    stored = msgspec.json.encode(take_snapshot(player.run))
    twin = restore(player.compiled, msgspec.json.decode(stored, type=Snapshot), _limits(seed))
    for _ in range(60):
        if player.run.ended or len(player.run.tokens) > 400:
            break
        player.now_ms += random.randint(0, 3)
        fact = random_fact(random, player.run, player.now_ms)
        if fact is None:
            break
        ids = [player.new_id() for _ in range(600)]
        made = [decide(run, fact, now_ms=player.now_ms, new_id=iter(ids).__next__) for run in (player.run, twin)]
        assert made[0] == made[1]
    assert take_snapshot(twin) == take_snapshot(player.run)


def test_random_runs_reach_every_kind_of_event() -> None:
    """The generator is worth something only if it gets everywhere."""
    seen = {event.type for seed in range(300) for event in _play(seed)[0].events()}
    expected = {
        *("workflow_started", "workflow_completed", "workflow_failed", "workflow_cancelled", "workflow_paused"),
        *("workflow_resumed", "workflow_waiting", "workflow_timed_out", "workflow_extended"),
        *("token_spawned", "token_dispatched", "token_completed", "token_failed", "token_cancelled"),
        *("token_timed_out", "token_suspended", "token_resumed", "node_started", "node_completed", "node_failed"),
        *("context_updated", "transitions_evaluated", "fan_out_started", "fan_in_waiting", "fan_in_completed"),
        *("fan_in_failed", "human_input_requested", "human_input_answered", "human_input_withdrawn"),
        *("timer_set", "timer_fired", "tokens_ended"),
    }
    assert expected <= seen
