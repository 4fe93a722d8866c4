"""Executor: many tasks at once, a bounded number of them under way, the rest in line."""

import asyncio
from collections import deque
from collections.abc import Callable
from contextvars import copy_context

from msgspec.structs import replace

from wonder.actions.exceptions import message_of
from wonder.actions.protocol import Origin
from wonder.clock import Timer
from wonder.executor.assignment import Assignment
from wonder.executor.compiled import CompiledTask
from wonder.executor.large_outputs import cut, is_large
from wonder.executor.results import TaskFailure, TaskResult
from wonder.executor.running import TaskExecution
from wonder.executor.services import Services
from wonder.language.values import JsonValue

TASKS_MAX = 1_000
# Tasks that begin in the same turn of the loop, and compute without waiting, leave the loop its turns this often.
_TURN_MS = 50.0


class Executor:
    """Runs tasks in the current loop, first come, first served, each in an asyncio task of its own.

    A task whose action ignores its cancellation is abandoned: its result is given and its place is free, while it
    counts as `abandoned` for as long as it goes on.
    """

    def __init__(self, services: Services, tasks_max: int = TASKS_MAX) -> None:
        self.services, self.tasks_max = services, tasks_max
        self._abandoned: set[TaskUnderWay] = set()
        self._under_way: set[TaskUnderWay] = set()
        self._line: deque[TaskUnderWay] = deque()
        # Each task gets a copy of its creator's context variables: none sees what another sets.
        self._variables = copy_context()
        self._turn_ends_ms: float | None = None
        """When tasks have begun for long enough in this turn of the loop; None if none has begun in it."""

    @property
    def under_way(self) -> int:
        """How many tasks have a place."""
        return len(self._under_way)

    @property
    def abandoned(self) -> int:
        """How many tasks go on though their result was given."""
        return len(self._abandoned)

    def start(
        self, task: CompiledTask, input: JsonValue, origin: Origin, on_done: Callable[[TaskResult], None]
    ) -> "TaskUnderWay":
        """Take a task on; `on_done` is called in the loop, exactly once, and never before this returns."""
        taken = TaskUnderWay(self, task, input, origin, on_done)
        if len(self._under_way) < self.tasks_max:
            self._begin(taken)
        else:
            self._line.append(taken)
        return taken

    async def run(self, task: CompiledTask, input: JsonValue, origin: Origin) -> TaskResult:
        """Run a task and return its result; cancelled, it cancels the task and waits for its end, the grace at most."""
        result: asyncio.Future[TaskResult] = asyncio.get_running_loop().create_future()

        def on_done(given: TaskResult) -> None:
            if not result.done():
                result.set_result(given)

        taken = self.start(task, input, origin, on_done)
        try:
            return await asyncio.shield(result)
        except asyncio.CancelledError:
            taken.cancel()
            await result
            raise

    async def close(self) -> None:
        """Cancel all tasks and wait until they have ended or are abandoned."""
        taken = [*self._line, *self._under_way]
        ended = [under_way.ended() for under_way in taken]
        for under_way in taken:
            under_way.cancel()
        if ended:
            await asyncio.wait(ended)

    def _begin(self, taken: "TaskUnderWay") -> None:
        self._under_way.add(taken)
        taken.worker = asyncio.get_running_loop().create_task(taken.run(), context=self._variables.copy())

    def has_kept_the_loop(self) -> bool:
        """Say whether tasks have begun for long in this turn of the loop: timers and the lease have to come through."""
        if len(self._under_way) == 1:
            return False  # Nothing has begun before it in this turn that is still under way, nor waits behind it.
        now_ms = self.services.environment.monotonic_ms()
        if self._turn_ends_ms is None:
            self._turn_ends_ms = now_ms + _TURN_MS
            asyncio.get_running_loop().call_soon(self._end_turn)
        return now_ms > self._turn_ends_ms

    def _end_turn(self) -> None:
        self._turn_ends_ms = None

    def _ended(self, taken: "TaskUnderWay") -> None:
        """Give its place to the next in line."""
        self._under_way.discard(taken)
        while self._line and len(self._under_way) < self.tasks_max:
            following = self._line.popleft()
            if not following.is_done:
                self._begin(following)


class TaskUnderWay:
    """A task that an executor has taken on."""

    __slots__ = (
        "_ended",
        "_execution",
        "_executor",
        "_grace",
        "_has_begun",
        "_on_done",
        "_origin",
        "is_done",
        "worker",
    )

    def __init__(
        self,
        executor: Executor,
        task: CompiledTask,
        input: JsonValue,
        origin: Origin,
        on_done: Callable[[TaskResult], None],
    ) -> None:
        self._executor, self._origin = executor, origin
        self._on_done: Callable[[TaskResult], None] | None = on_done
        self._execution: TaskExecution | None = TaskExecution(task, input)
        self.worker: asyncio.Task[None] | None = None
        """Carries it out; kept here, because the loop does not keep it."""
        self._grace: Timer | None = None
        self._has_begun = False
        self._ended: asyncio.Future[None] | None = None
        self.is_done = False

    def cancel(self) -> None:
        """Abort the action under way; the result follows, after the grace at the latest."""
        if self.is_done or self._grace:
            return
        services = self._executor.services
        if self._has_begun:
            assert self._execution
            self._grace = services.environment.after(services.grace_ms, lambda: self._abandon(_CANCELLED))
            self._execution.cancel()
            return
        # Later, because nobody expects to be told inside their own call.
        self._grace = services.environment.after(0, lambda: self._deliver(TaskResult("cancelled", error=_CANCELLED)))

    def ended(self) -> "asyncio.Future[None]":
        """Return what is done when the result was given."""
        if self._ended is None:
            self._ended = asyncio.get_running_loop().create_future()
            if self.is_done:
                self._ended.set_result(None)
        return self._ended

    async def run(self) -> None:
        """Run it to its end, and give its result, unless that was given before. For its executor to call."""
        if self.worker is None:
            # The loop's tasks are eager, and nobody expects the result inside their own call of `start`.
            await asyncio.sleep(0)
        while self._executor.has_kept_the_loop():  # noqa: ASYNC110  # others have their turn, and nobody tells of it
            await asyncio.sleep(0)
        execution, worker = self._execution, self.worker
        if self._grace or not execution:
            return  # It was cancelled before it began.
        assert worker
        self._has_begun = True
        try:
            assignment = Assignment(self._executor.services, self._origin, self._abandon, worker)
            result = await execution.run(assignment)
            if self._origin.records_output and is_large(result.output):
                result = replace(
                    result, output_cut=await cut(result.output, self._origin, self._executor.services.outputs)
                )
        except asyncio.CancelledError:
            result = execution.result(_CANCELLED)
        except Exception as error:
            # A bug of ours, or of a kind that a package added: the task fails, the others go on.
            message = f"the executor failed: {type(error).__name__}: {message_of(error)}"
            result = execution.result(TaskFailure("EXECUTOR_BROKEN", message))
        # What leads back here is let go of: nothing of a task that has ended may be left to the garbage collector,
        # which looks at everything in memory to find it.
        self.worker = None
        if self.is_done:
            self._executor._abandoned.discard(self)
        else:
            self._deliver(result)

    def _abandon(self, failure: TaskFailure) -> None:
        if not self.is_done:
            assert self._execution
            self._executor._abandoned.add(self)
            self._deliver(self._execution.result(failure))

    def _deliver(self, result: TaskResult) -> None:
        """Give the result, once."""
        if self._grace:
            self._grace.cancel()
        self.is_done = True
        self._executor._ended(self)
        if self._ended and not self._ended.done():
            self._ended.set_result(None)
        on_done = self._on_done
        self._on_done = self._execution = None
        assert on_done
        on_done(result)


_CANCELLED = TaskFailure("TASK_CANCELLED", "the task was cancelled")
