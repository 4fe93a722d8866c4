"""Bugs in what is decided: joins, loops, failures, limits of parallel branches, results that come twice."""

from proof.bugs.bug import Bug

FAN_IN = "tests/engine/test_engine_fan_in.py"
ROUTING = "tests/engine/test_engine_routing.py"
FAILURES = "tests/engine/test_engine_failures.py"
SCOPES = "tests/engine/test_engine_scopes.py"
CONTROL = "tests/engine/test_engine_control.py"
WAITS = "tests/engine/test_engine_waits.py"
FORKS = "tests/engine/test_engine_forks.py"
RANDOM = "tests/engine/test_engine_random_runs.py"
TRIGGERS = "tests/engine/test_engine_triggers.py"
LEFTOVERS = "tests/engine/test_engine_leftovers.py"
MANY_BRANCHES = "tests/engine/test_engine_many_branches.py"

BUGS = (
    Bug(
        "join-fires-twice",
        "engine/joins.py",
        "        if state.fired:\n            continue",
        "        if state.fired and join.needed == ALL:\n            continue",
        "a join that needs some of its branches fires again with each one that comes later",
        (FAN_IN, RANDOM),
    ),
    Bug(
        "join-one-too-early",
        "engine/joins.py",
        "elif state.arrived >= join.needed:",
        "elif state.arrived >= join.needed - 1:",
        "a join goes on with one branch less than it needs",
        (FAN_IN,),
    ),
    Bug(
        "restored-join-has-not-fired",
        "engine/restore.py",
        "    for node_id in row.fired:\n",
        "    for node_id in row.fired[1:]:\n",
        "after a restart a join has forgotten that it has fired",
        (LEFTOVERS,),
    ),
    Bug(
        "merge-in-order-of-arrival",
        "engine/joins.py",
        "    members = _members(group, join)\n",
        "    members = sorted(_members(group, join), key=lambda branch: branch.arrived_as)\n",
        "what branches bring is merged in the order in which they happened to end",
        (FAN_IN,),
    ),
    Bug(
        "loop-limit-off-by-one",
        "engine/routing.py",
        "count >= transition.max_iterations",
        "count > transition.max_iterations",
        "a loop is taken once more than it may be",
        (ROUTING,),
    ),
    Bug(
        "loop-not-reset",
        "engine/routing.py",
        "            elif count:\n                count = first_ms = 0\n",
        "",
        "a loop that was left goes on counting when it is entered again",
        (ROUTING, RANDOM),
    ),
    Bug(
        "max-parallel-off-by-one",
        "engine/fan_out.py",
        "segment.running >= foreach.max_parallel",
        "segment.running > foreach.max_parallel",
        "one branch more than max_parallel is under way",
        (ROUTING,),
    ),
    Bug(
        "slot-of-a-failed-branch-kept",
        "engine/ending.py",
        "            free_slot(turn, scope)\n",
        "",
        "a branch that fails keeps its place, and those that are held wait for ever",
        (RANDOM,),
    ),
    Bug(
        "any-join-forgives-a-failure",
        "engine/ending.py",
        "tolerant = bool(joins) and all(",
        "tolerant = bool(joins) and any(",
        "a failed branch is forgiven though a join needs all",
        (FAILURES, SCOPES),
    ),
    Bug(
        "abandoned-token-stays-at-its-join",
        "engine/joins.py",
        "            _end_waiting(turn, branch)  # one of its tokens may have been there before the others\n",
        "",
        "a token of an abandoned branch waits at a join that is done with",
        (LEFTOVERS,),
    ),
    Bug(
        "result-counts-twice",
        "engine/decide.py",
        "def _task_completed(turn: Turn, fact: TaskCompleted) -> None:\n"
        "    token = turn.run.tokens.get(fact.token_id)\n"
        "    if token is None or token.status not in _WORKING:\n",
        "def _task_completed(turn: Turn, fact: TaskCompleted) -> None:\n"
        "    token = turn.run.tokens.get(fact.token_id)\n"
        "    if token is None:\n",
        "a result that comes a second time is applied again while its token waits for its siblings",
        (LEFTOVERS,),
    ),
    Bug(
        "paused-run-dispatches",
        "engine/advance.py",
        "        elif run.paused is not None:\n",
        '        elif run.paused == "timeout":\n',
        "a run that was paused by a person goes on dispatching",
        (CONTROL,),
    ),
    Bug(
        "timer-fires-early",
        "engine/decide.py",
        "if turn.now_ms < due_ms:",
        "if turn.now_ms < due_ms - 1_000:",
        "a timer that rings a second too early is believed",
        (CONTROL,),
    ),
    Bug(
        "time-out-runs-while-paused",
        "engine/control.py",
        "    turn.cancel_timer(WORKFLOW_TIMER)\n",
        "",
        "the time-out of a workflow goes on while it is paused",
        (CONTROL,),
    ),
    Bug(
        "executing-task-not-dispatched-again",
        "engine/decide.py",
        "        if token.status in _WORKING\n    ]",
        "        if token.status == DISPATCHED\n    ]",
        "a task that was seen as executing is forgotten when its process dies",
        (LEFTOVERS,),
    ),
    Bug(
        "one-lost-worker-too-few",
        "engine/decide.py",
        "if losses > turn.run.limits.dispatches_max:",
        "if losses >= turn.run.limits.dispatches_max:",
        "a task is given up one lost worker too early",
        (FAILURES,),
    ),
    Bug(
        "losses-forgotten-after-a-restart",
        "engine/restore.py",
        "row.last_error, row.wait, row.input, row.losses",
        "row.last_error, row.wait, row.input, 0",
        "a task that loses its worker again and again is never given up, if processes die in between",
        ("simulation --seeds 250-350 --processes 1", "simulation --seeds 400-700 --processes 1"),
    ),
    Bug(
        "cancelled-task-not-aborted",
        "engine/ending.py",
        "    if token.status in (DISPATCHED, EXECUTING):\n        turn.emit(AbortTask",
        "    if token.status == EXECUTING:\n        turn.emit(AbortTask",
        "a task that was only just dispatched goes on after its run was cancelled",
        (CONTROL,),
    ),
    Bug(
        "event-timer-left-behind",
        "engine/ending.py",
        '            turn.cancel_timer(f"event:{token.id}")\n',
        "",
        "a token that waits for an event no longer leaves its timer behind",
        (LEFTOVERS,),
    ),
    Bug(
        "deadline-left-behind",
        "engine/waits.py",
        '    turn.cancel_timer(f"deadline:{token.id}")\n',
        "",
        "a question that was answered leaves its deadline behind",
        (WAITS, RANDOM),
    ),
    Bug(
        "late-result-takes-a-number-twice",
        "engine/decide.py",
        "    sequence = turn.run.sequence + 1\n",
        "    sequence = turn.run.sequence\n",
        "a late result is recorded under the number of another event",
        (LEFTOVERS,),
    ),
    Bug(
        "step-is-the-whole-turn",
        "engine/advance.py",
        "    turn.step = run.sequence + 1\n",
        "",
        "a retry repeats pure nodes that were done already",
        (FORKS,),
    ),
    Bug(
        "workers-get-all-tasks-at-once",
        "engine/advance.py",
        '    if kind == "task" and not run.has_room:\n',
        "    if len(run.queued) < 0:\n",
        "all tasks of a large fan-out are in memory at once",
        (MANY_BRANCHES,),
    ),
    Bug(
        "tasks-that-waited-for-a-worker-forgotten",
        "engine/state.py",
        "(self.has_room and bool(self.queued or self.startable))",
        "(self.has_room and bool(self.startable))",
        "tasks beyond those that workers may have at a time never begin",
        (MANY_BRANCHES,),
    ),
    Bug(
        "last-arrival-is-the-highest-branch",
        "engine/restore.py",
        "        if branch.arrived_as > group.branches[join.last_index].arrived_as or join.arrived == 1:\n"
        "            join.last_index = branch.index",
        "        join.last_index = branch.index",
        "after a restart last_wins takes the branch with the highest number",
        (LEFTOVERS,),
    ),
    Bug(
        "null-skips-a-trigger",
        "engine/triggers.py",
        "        if find(root) is MISSING:\n",
        "        if find(root) in (MISSING, None):\n",
        "a trigger does not fire because a value that is there is null",
        (TRIGGERS,),
    ),
    Bug(
        "limit-of-the-run-forgiven",
        "engine/ending.py",
        "    while scope.group is not None and not is_run_limit(failure):",
        "    while scope.group is not None:",
        "a run that reaches a limit goes on without the branch that reached it",
        ("tests/engine/test_engine_limits.py",),
    ),
    Bug(
        "tokens-made-forgotten-after-a-restart",
        "engine/restore.py",
        "run.timers, run.tokens_made = dict(row.timers), row.tokens_made",
        "run.timers, run.tokens_made = dict(row.timers), len(snapshot.tokens)",
        "the limit on tokens in all begins anew with each process",
        ("tests/coordinator/test_limits_of_runs.py",),
    ),
)
