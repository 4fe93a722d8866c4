"""Bugs in how tasks are carried out: attempts, time limits, places, and acting once per key."""

from proof.bugs.bug import Bug

RETRIES = "tests/executor/test_infrastructure_retries.py"
STEPS = "tests/executor/test_steps.py"
LIMITS = "tests/executor/test_time_limits.py"
ONCE = "tests/executor/test_idempotency.py"
GIVING_BACK = "tests/executor/test_giving_back.py"
STORED = "tests/executor/test_stored_idempotency.py"
TOGETHER = "tests/executor/test_tasks_together.py"

BUGS = (
    Bug(
        "one-attempt-too-many",
        "executor/retries.py",
        "if attempt >= self.policy.max_attempts:",
        "if attempt > self.policy.max_attempts:",
        "an action is tried once more than its policy allows",
        (RETRIES, STEPS),
    ),
    Bug(
        "one-task-attempt-too-many",
        "executor/running.py",
        "self._attempt >= task.retry.max_attempts",
        "self._attempt > task.retry.max_attempts",
        "a task is retried once more than it may be",
        (STEPS,),
    ),
    Bug(
        "retry-keeps-the-state",
        "executor/running.py",
        '"state": {}, "output": {}}',
        '"state": self._context.get("state", {}), "output": {}}',
        "a retried task begins with what the failed attempt has left",
        (STEPS,),
    ),
    Bug(
        "retry-after-ignored",
        "executor/retries.py",
        "return max(delay_ms(",
        "return min(delay_ms(",
        "an action is tried again before the time that the other side asked for",
        (RETRIES,),
    ),
    Bug(
        "place-not-given-back",
        "executor/executor.py",
        "        self._under_way.discard(taken)\n",
        "",
        "tasks that have ended keep their places, until none is left",
        (GIVING_BACK,),
    ),
    Bug(
        "variables-of-the-task-before",
        "executor/executor.py",
        "context=self._variables.copy()",
        "context=self._variables",
        "a function sees what another one has left in context variables",
        (f"{TOGETHER}::test_what_a_function_leaves_in_context_variables_no_other_sees_that_came_with_it",),
    ),
    Bug(
        "loop-kept-by-tasks",
        "executor/executor.py",
        "        return now_ms > self._turn_ends_ms\n",
        "        return False\n",
        "tasks that compute, and came together, keep timers and the lease waiting until all of them have ended",
        (f"{TOGETHER}::test_those_that_came_together_leave_the_loop_its_turns",),
    ),
    Bug(
        "turn-never-ends",
        "executor/executor.py",
        "    def _end_turn(self) -> None:\n        self._turn_ends_ms = None\n",
        "    def _end_turn(self) -> None:\n        pass\n",
        "when tasks have kept the loop for 50 ms, none begins any more",
        (f"{TOGETHER}::test_those_that_came_together_leave_the_loop_its_turns",),
    ),
    Bug(
        "cancellation-not-taken-back",
        "executor/limits.py",
        "            self._limited.uncancel()\n",
        "            pass\n",
        "an attempt that took too long ends the whole task as if somebody had cancelled it",
        (LIMITS,),
    ),
    Bug(
        "key-not-released",
        "executor/acting.py",
        "            store.release(key)\n            raise",
        "            raise",
        "after a failed action nobody with its key can ever act again",
        (GIVING_BACK,),
    ),
    Bug(
        "waiter-acts-as-well",
        "executor/idempotency.py",
        "            if kept := await asyncio.shield(held):\n                return kept\n",
        "            await asyncio.shield(held)\n",
        "one that waited for the holder of its key acts although that has succeeded",
        (ONCE,),
    ),
    Bug(
        "result-used-before-it-is-durable",
        "executor/stored_idempotency.py",
        "        await asyncio.shield(durable)\n",
        "",
        "a run goes on with the result of an action whose record may still be lost",
        (STORED,),
    ),
)
