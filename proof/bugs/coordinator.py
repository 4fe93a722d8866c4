"""Bugs in the one writer: what is durable before what acts, what follows a commit that failed, and who hears of it."""

from proof.bugs.bug import Bug

COMMITS = "tests/coordinator/test_commit_order.py"
DURABLE = "tests/coordinator/test_durable_first.py"
FAILING = "tests/coordinator/test_failing_commits.py"
WAITING = "tests/coordinator/test_waiting_runs.py"
KEPT = "tests/coordinator/test_kept_events.py"
QUEUED = "tests/coordinator/test_queued_runs.py"
TOKENS = "tests/coordinator/test_tokens_of_runs.py"
TRIGGERS = "tests/coordinator/test_interrupted_triggers.py"
LOGGED = "tests/coordinator/test_logged_facts.py"
SIMULATION = "simulation --seeds 0-60 --processes 1"
PLAYS = "simulation --patterns 40 --processes 1"

BUGS = (
    Bug(
        "acts-before-the-commit",
        "coordinator/commits.py",
        "        try:\n            await batch.commit(",
        "        self._release(decided)\n        try:\n            await batch.commit(",
        "tasks are dispatched and ends are told before they are durable",
        (DURABLE,),
    ),
    Bug(
        "fence-dropped",
        "coordinator/commits.py",
        "await batch.commit(self._store, fence=self._lease.fence, settles=settles)",
        "await batch.commit(self._store, settles=settles)",
        "an engine that was replaced goes on writing",
        (f"{FAILING}::test_an_engine_whose_lease_is_anothers_writes_nothing_and_says_so",),
    ),
    Bug(
        "two-commits-at-a-time",
        "coordinator/commits.py",
        "if self._committing is not None or self._stopped is not None or",
        "if self._stopped is not None or",
        "what is decided later can be stored before what it stands on",
        (COMMITS,),
    ),
    Bug(
        "durable-too-early",
        "coordinator/commits.py",
        "        elif self._committing is not None:\n            self._committing_for.append(future)\n",
        "",
        "who waits for the commit under way is told that it is durable",
        (DURABLE,),
    ),
    Bug(
        "later-decisions-survive-a-failed-commit",
        "coordinator/commits.py",
        "lost, unheard, facts = runs | self._runs, waiting + self._waiting, facts + self._logged",
        "lost, unheard, facts = runs, waiting + self._waiting, facts + self._logged",
        "runs go on in memory with decisions that went with the commit before",
        (DURABLE,),
    ),
    Bug(
        "facts-not-taken-again",
        "coordinator/facts_log.py",
        "        for logged in facts:\n            self._untaken",
        "        for logged in facts[:0]:\n            self._untaken",
        "what was logged is forgotten when the commit fails that was to bring it to the tables",
        (f"{LOGGED}::test_a_run_survives_a_log_or_a_commit_that_fails_at_any_moment",),
    ),
    Bug(
        "facts-of-the-owner-before-left-alone",
        "coordinator/facts_log.py",
        "        self._untaken = decode_facts(lease.inherited)\n",
        "        self._untaken = decode_facts([])\n",
        "facts that a process logged before it ended count for nothing",
        (f"{LOGGED}::test_inv_2_what_a_process_left_in_the_journal_is_taken_by_the_next_one",),
    ),
    Bug(
        "task-begun-too-far-ahead",
        "executor/running.py",
        "                    await ahead.leave()\n",
        "                    pass\n",
        "the next task acts while the result of the one before is on its way to the disk",
        (f"{LOGGED}::test_inv_3_no_task_acts_before_the_fact_that_leads_to_it_is_durable",),
    ),
    Bug(
        "engine-goes-on-without-its-lease",
        "coordinator/coordinator.py",
        "        if isinstance(error, LeaseLost):\n            self.stop(error)\n            return\n",
        "",
        "an engine that lost its lease takes it for a passing fault and tries again",
        (DURABLE,),
    ),
    Bug(
        "task-dispatched-twice",
        "coordinator/coordinator.py",
        "token is None or run.dropped or order.token_id in run.tasks:",
        "token is None or run.dropped:",
        "a task that a worker has is given to one again",
        (DURABLE,),
    ),
    Bug(
        "nothing-dispatched-again",
        "coordinator/coordinator.py",
        "        for dispatch in redispatch(run.state):\n            self._dispatch(run, dispatch)\n",
        "",
        "what workers had when their process died is never run again",
        (SIMULATION, f"{TOKENS}::test_ctl_5a_all_tokens_are_made_and_so_many_are_under_way_also_after_a_restart"),
    ),
    Bug(
        "parked-before-its-commit",
        "coordinator/live.py",
        "return not (self.uncommitted or self.tasks or self.pins)",
        "return not (self.tasks or self.pins)",
        "a run is let out of memory while its rows are not durable, and is loaded again as it was before",
        (DURABLE,),
    ),
    Bug(
        "timers-not-armed-again",
        "coordinator/timers.py",
        "                self._fire(run_id, key)\n        self._arm()\n",
        "                self._fire(run_id, key)\n",
        "after one timer has fired, the next ones are swallowed",
        ("tests/coordinator/test_near_timers.py",),
    ),
    Bug(
        "overdue-timers-not-loaded",
        "coordinator/recovery.py",
        "        await self._outside.reconcile()\n        await self.load_timers()\n",
        "        await self._outside.reconcile()\n",
        "timers whose commit was stored and not acknowledged are in nobody's memory",
        (COMMITS,),
    ),
    Bug(
        "ended-child-not-told-after-a-crash",
        "coordinator/calls.py",
        "            await self._tell(child)\n",
        "            pass\n",
        "a caller waits for ever for a sub-workflow that ended just before the process died",
        (f"{FAILING}::test_a_run_survives_a_commit_that_fails_at_any_moment", FAILING),
    ),
    Bug(
        "lost-call-not-started-again",
        "coordinator/calls.py",
        "            await self.ensure(call.run_id, call.token_id)\n",
        "            pass\n",
        "a sub-workflow whose start got lost is never started",
        (f"{FAILING}::test_a_run_survives_a_commit_that_fails_at_any_moment", FAILING),
    ),
    Bug(
        "child-starts-while-its-caller-is-paused",
        "coordinator/calls.py",
        "if caller is None or token is None or caller.state.paused is not None:",
        "if caller is None or token is None:",
        "a sub-workflow starts although its caller was paused before it",
        ("tests/coordinator/test_paused_callers.py",),
    ),
    Bug(
        "kept-event-given-twice",
        "coordinator/kept_events.py",
        "        coordinator.commits.batch.use_event(kept.id, coordinator.clock.now_ms())\n",
        "",
        "an event that was kept is given to everybody who comes",
        (f"{KEPT}::test_each_kept_event_goes_to_one_run_the_oldest_first",),
    ),
    Bug(
        "event-and-wait-miss-each-other",
        "coordinator/kept_events.py",
        "        async with self.lock:\n            # Whoever sent an event",
        "        async with asyncio.Lock():\n            # Whoever sent an event",
        "a token that comes to wait looks beside an event that is just being kept, and neither hears of the other",
        (f"{KEPT}::test_a_run_that_comes_to_wait_while_an_event_is_being_kept_is_given_it", KEPT),
    ),
    Bug(
        "kept-events-not-given-out-again",
        "coordinator/kept_events.py",
        "            await self._give_out_apart(waits[first : first + _AT_ONCE])\n",
        "            pass\n",
        "a token whose commit was stored and not acknowledged waits for ever for an event that had come before",
        (f"{PLAYS} --pattern 33", f"{PLAYS} --pattern 24"),
    ),
    Bug(
        "a-failed-commit-takes-all-runs-along",
        "coordinator/coordinator.py",
        "lost = [run for run in runs if self._drop(run)]",
        "lost = [run for run in {*runs, *self._live.values()} if self._drop(run)]",
        "tasks of runs that had nothing in a commit that failed are done again",
        ("simulation --seeds 80-130 --processes 1", "simulation --seeds 130-230 --processes 1"),
    ),
    Bug(
        "one-run-too-many",
        "coordinator/admission.py",
        "full = limit is not None and len(self._counted.get(project_id, ())) >= limit",
        "full = limit is not None and len(self._counted.get(project_id, ())) > limit",
        "a project has one run more going than max_concurrent_runs",
        (f"{QUEUED}::test_further_runs_queue_in_order",),
    ),
    Bug(
        "triggers-not-fired-after-a-crash",
        "coordinator/recovery.py",
        "        await self._triggers.reconcile()\n",
        "",
        "what triggers were to start when a process ended is never started",
        (f"{TRIGGERS}::test_triggers_of_a_run_whose_process_ended_fire_in_the_next_one",),
    ),
    Bug(
        "trigger-goes-on-from-its-beginning",
        "coordinator/triggering.py",
        "for index in range(firing.upto, upto):",
        "for index in range(upto):",
        "each commit of a trigger starts the runs of all items before it once more",
        (f"{TRIGGERS}::test_a_commit_that_fails_while_a_trigger_fires_loses_nothing_and_doubles_nothing",),
    ),
)
