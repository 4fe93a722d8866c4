"""Bugs in schedules: what is planned starts twice, never, too early, beside another run, or against its policy."""

from proof.bugs.bug import Bug

SIMULATION = "simulation --seeds 20-36 --processes 1"
QUEUES = "simulation --seeds 96-100 --processes 1"
MISSED = "simulation --seeds 272-276 --processes 1"
ENGINE = "tests/engine/test_engine_schedules.py"
RUNS = "tests/coordinator/test_schedules.py"

BUGS = (
    Bug(
        "scheduled-run-in-two-commits",
        "coordinator/scheduling.py",
        "        starting = self._starter.start(workflow, run_input, idempotency_key=key, also=note, is_ours=is_ours)\n"
        "        return (await starting).run_id\n",
        "        started = await self._starter.start(workflow, run_input, also=also)\n"
        "        note(coordinator.commits.batch, started.run_id)\n"
        "        coordinator.commits.touch()\n"
        "        await coordinator.durable()\n"
        "        return started.run_id\n",
        "a crash between the start of a run and its schedule's move has the same time start a second run",
        (SIMULATION,),
    ),
    Bug(
        "times-come-again-when-the-clock-goes-back",
        "engine/schedules.py",
        "after_ms = state.after_ms if latest_ms is None else max(state.after_ms, latest_ms)",
        "after_ms = state.after_ms if latest_ms is None else latest_ms",
        "times that were dealt with come again when the clock is set back",
        (f"{ENGINE}::test_nothing_comes_again_when_the_clock_goes_back",),
    ),
    Bug(
        "time-comes-early",
        "engine/schedules.py",
        "    latest = times.before(now_ms + 1)\n",
        "    latest = times.before(now_ms + 1_501)\n",
        "a run is started a second before its time",
        (QUEUES,),
    ),
    Bug(
        "only-the-last-is-caught-up-with",
        "engine/schedules.py",
        '"all": schedule.catch_up_max}',
        '"all": 1}',
        "catch_up all is ignored: of all the times that were missed only the last is caught up with",
        (SIMULATION, ENGINE),
    ),
    Bug(
        "missed-time-caught-up-with-unasked",
        "engine/schedules.py",
        '{"none": 0, ',
        '{"none": 1, ',
        "catch_up none is ignored: the last time that was missed is caught up with",
        (MISSED, ENGINE),
    ),
    Bug(
        "overlap-forgotten-with-the-process",
        "coordinator/scheduling.py",
        "live = [firing for firing in firings if not firing.has_ended]",
        "live = [firing for firing in firings if firing.run_id in self._awaited]",
        "runs that this process does not wait for are no reason to skip or queue a time",
        (SIMULATION, RUNS),
    ),
    Bug(
        "queue-of-a-schedule-lost",
        "coordinator/scheduling.py",
        "            told = replace(\n                turn.state_after(place),\n",
        "            told = replace(\n                turn.state_after(place),\n                queued=(),\n",
        "with the start of a run, the times that wait for it to end are forgotten",
        (QUEUES, RUNS),
    ),
    Bug(
        "paused-schedule-goes-on-catching-up",
        "coordinator/scheduling.py",
        "            if place and not await self._is_as_read(stored):\n",
        "            if not place and not await self._is_as_read(stored):\n",
        "a schedule that is paused while it catches up starts all the rest nevertheless",
        (f"{RUNS}::test_a_schedule_that_is_changed_while_it_catches_up_does_nothing_more_as_it_was",),
    ),
)
