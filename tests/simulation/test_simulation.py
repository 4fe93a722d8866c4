"""The simulation: the engine keeps its rules whatever goes wrong, and a fault that is planted in it is found."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any
from unittest import mock

import pytest
from simulation.__main__ import main
from simulation.databases import CONSTRUCTS
from simulation.faults import KINDS
from simulation.many import Totals, play, simulate, simulator
from simulation.plays import PLAYS
from simulation.scenario import OF_RUNS, SCHEDULED, TRIGGERED, Scenario, Simulator, play_of, scenario_of
from simulation.shrinking import replay_command, shrink

from support.depth import tries
from wonder.coordinator import scheduling
from wonder.coordinator.commits import GroupCommit
from wonder.coordinator.failures import Failures
from wonder.coordinator.kept_events import KeptEvents
from wonder.coordinator.kept_tasks import KeptTasks
from wonder.coordinator.resuming import Resuming
from wonder.coordinator.triggering import Triggers
from wonder.engine.decisions import FireJoin
from wonder.engine.evolve import EVOLVERS
from wonder.storage.schedules import LiveFiring
from wonder.storage.sqlite import jobs as sqlite_jobs

SEEDS = tries(300, 2_000)
FOUND_WITHIN = 200
# Seeds in which a commit may fail while another run has a task under way: which, changes with every operation more.
LOSE = (812, 1297, 1322, 2359, 2432, 2698, 2764, 3508, 4217)
ROUNDS = tries(2, 20)


@pytest.fixture(scope="module")
def totals() -> Totals:
    return simulate(0, SEEDS)


@pytest.fixture
def simulation() -> Iterator[Simulator]:
    with simulator() as made:
        yield made


def test_no_seed_breaks_a_rule(totals: Totals) -> None:
    assert totals.failures == []


@pytest.mark.parametrize("pattern", sorted(PLAYS), ids=lambda pattern: f"wcp-{pattern}")
def test_a_pattern_comes_to_what_it_should_whatever_goes_wrong(pattern: int) -> None:
    played = play(pattern, ROUNDS)
    assert played.failures == []
    # Where the clock jumps or a task is given up, what comes of it is not determined.
    assert played.happened["played"] >= 1


def test_every_kind_of_fault_comes_to_pass(totals: Totals) -> None:
    assert [kind for kind in KINDS if not totals.happened[kind]] == []


def test_the_runs_get_everywhere(totals: Totals) -> None:
    expected = {
        *("workflow_started", "workflow_completed", "workflow_failed", "workflow_cancelled", "workflow_paused"),
        *("workflow_resumed", "workflow_waiting", "workflow_timed_out", "workflow_extended", "workflow_queued"),
        *("token_spawned", "token_dispatched", "token_completed", "token_failed", "token_cancelled"),
        *("token_timed_out", "token_suspended", "token_resumed", "node_started", "node_completed", "node_failed"),
        *("context_updated", "context_snapshot", "transitions_evaluated", "fan_out_started", "fan_in_waiting"),
        *("fan_in_completed", "fan_in_failed", "human_input_requested", "human_input_answered"),
        *("human_input_withdrawn", "timer_set", "timer_fired", "late_result_ignored"),
        *("trigger_fired", "trigger_skipped", "trigger_failed"),
    }
    assert expected - set(totals.seen) == set()


def test_hardly_any_run_is_cut_short(totals: Totals) -> None:
    assert totals.happened["cut short"] <= SEEDS // 50


def test_the_definitions_have_every_construct(totals: Totals) -> None:
    assert [name for name in (*CONSTRUCTS, *OF_RUNS, *TRIGGERED, *SCHEDULED) if not totals.constructs[name]] == []


def test_a_seed_replays_to_the_letter(simulation: Simulator) -> None:
    for seed in (2, 19, 28, 45):
        traces: list[list[str]] = [[], [], []]
        for trace in traces:
            simulation.run(scenario_of(seed), trace.append)
        assert len(traces[0]) > 10
        assert traces[0] == traces[1] == traces[2]


def _no_fence() -> AbstractContextManager[Any]:
    """INV-5: a process that was replaced goes on writing."""
    return mock.patch.object(sqlite_jobs, "_check_fence", return_value=None)


def _joins_fire_twice() -> AbstractContextManager[Any]:
    """CTL-9: nobody remembers that a join has fired."""
    return mock.patch.dict(EVOLVERS, {FireJoin: lambda run, decision: None})


def _act_before_commit() -> AbstractContextManager[Any]:
    """INV-3: what was decided is carried out before it is durable."""
    add = GroupCommit.add

    def add_and_release(self: GroupCommit, run: Any, decisions: Any, now_ms: int) -> None:
        add(self, run, decisions, now_ms)
        self._release([(run, decisions)])

    return mock.patch.object(GroupCommit, "add", add_and_release)


def _forget_tasks() -> AbstractContextManager[Any]:
    """INV-4: what a process had under way when it ended is not begun again."""
    return mock.patch.object(Resuming, "resume_work", return_value=None)


def _trust_memory() -> AbstractContextManager[Any]:
    """A run whose commit failed goes on as if it had not."""
    return mock.patch.object(Failures, "_drop", return_value=False)


def _forget_triggers() -> AbstractContextManager[Any]:
    """PHS-6: what triggers were to start when a process ended is never started."""

    async def nothing(self: Triggers) -> None: ...

    return mock.patch.object(Triggers, "reconcile", nothing)


def _forget_overlap() -> AbstractContextManager[Any]:
    """A schedule does not know which of its runs go on."""

    async def none(*given: Any, **named: Any) -> list[LiveFiring]:
        return []

    return mock.patch.object(scheduling, "live_firings", none)


@pytest.mark.parametrize(
    "plant",
    [
        _no_fence,
        _joins_fire_twice,
        _act_before_commit,
        _forget_tasks,
        _trust_memory,
        _forget_triggers,
        _forget_overlap,
    ],
)
def test_a_planted_bug_is_found(plant: Callable[[], AbstractContextManager[Any]], simulation: Simulator) -> None:
    with plant():
        assert _first_failure(simulation) is not None


def test_inv_4_work_that_is_done_again_without_need_is_found(simulation: Simulator) -> None:
    """INV-4: only a crash is a reason to execute a task again, and not a commit that failed."""
    scenarios = [scenario_of(seed) for seed in LOSE]
    assert not any(simulation.run(scenario).violations for scenario in scenarios)
    with mock.patch.object(KeptTasks, "give_back", return_value={}):
        assert any(simulation.run(scenario).violations for scenario in scenarios)


def test_a_kept_event_that_nobody_gives_out_again_is_found(simulation: Simulator) -> None:
    """A token comes to wait, its commit is stored but not acknowledged, and the event had come before."""

    async def nothing(self: KeptEvents) -> None: ...

    plays = [play_of(pattern, seed) for pattern in (24, 33) for seed in range(40)]
    with mock.patch.object(KeptEvents, "reconcile", nothing):
        assert any(simulation.run(scenario).violations for scenario in plays)


def test_a_failure_is_made_smaller_and_its_command_replays_it(simulation: Simulator) -> None:
    with _no_fence():
        found = _first_failure(simulation)
        assert found is not None
        smallest = shrink(found, lambda smaller: bool(simulation.run(smaller).violations))
        assert len(smallest.faults) <= len(found.faults)
        assert len(smallest.wishes) <= len(found.wishes)
        arguments = replay_command(smallest).split()[3:]
        assert main(arguments) == 1
    assert main(arguments) == 0


def _first_failure(simulation: Simulator) -> Scenario | None:
    scenarios = map(scenario_of, range(FOUND_WITHIN))
    return next((scenario for scenario in scenarios if simulation.run(scenario).violations), None)
