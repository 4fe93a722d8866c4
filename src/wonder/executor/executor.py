"""Executor: many tasks at once, a bounded number of them under way, the rest in line."""

import asyncio
from collections import deque
from collections.abc import Callable

from wonder.actions.exceptions import message_of
from wonder.actions.protocol import Origin
from wonder.executor.assignment import Assignment, Services
from wonder.executor.compiled import CompiledTask
from wonder.executor.environment import Timer
from wonder.executor.results import Failure, TaskResult
from wonder.executor.running import TaskExecution
from wonder.language.values import JsonValue

TASKS_MAX = 1_000


class Executor:
    """Runs tasks in the current loop, first come, first served.

    A task whose action ignores its cancellation is abandoned: its result is given and its place is free, while its
    asyncio task counts as `abandoned` for as long as it goes on.
    """

    def __init__(self, services: Services, tasks_max: int = TASKS_MAX) -> None:
        self.services, self.tasks_max = services, tasks_max
        self.abandoned = 0
        self._under_way: set[TaskUnderWay] = set()
        self._line: deque[TaskUnderWay] = deque()

    @property
    def under_way(self) -> int:
        """How many tasks have a place."""
        return len(self._under_way)

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
        taken.begin()

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
        "_worker",
        "is_done",
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
        self._worker: asyncio.Task[None] | None = None
        self._grace: Timer | None = None
        self._has_begun = False
        self._ended: asyncio.Future[None] | None = None
        self.is_done = False

    def begin(self) -> None:
        """Run it; for its executor to call."""
        self._worker = asyncio.get_running_loop().create_task(self._run())

    def cancel(self) -> None:
        """Abort the action under way; the result follows, after the grace at the latest."""
        if self.is_done or self._grace:
            return
        services = self._executor.services
        if self._has_begun:
            assert self._worker
            self._grace = services.environment.after(services.grace_ms, lambda: self._abandon(_CANCELLED))
            self._worker.cancel()
            return
        if self._worker:
            self._worker.cancel()
        # Later, because nobody expects to be told inside their own call.
        self._grace = services.environment.after(0, lambda: self._deliver(TaskResult("cancelled", error=_CANCELLED)))

    def ended(self) -> "asyncio.Future[None]":
        """Return what is done when the result was given."""
        if self._ended is None:
            self._ended = asyncio.get_running_loop().create_future()
            if self.is_done:
                self._ended.set_result(None)
        return self._ended

    async def _run(self) -> None:
        self._has_begun = True
        execution = self._execution
        assert execution
        try:
            result = await execution.run(Assignment(self._executor.services, self._origin, self._abandon))
        except asyncio.CancelledError:
            result = execution.result(_CANCELLED)
        except Exception as error:
            # A bug of ours, or of a kind that a package added: the task fails, the others go on.
            message = f"the executor failed: {type(error).__name__}: {message_of(error)}"
            result = execution.result(Failure("EXECUTOR_BROKEN", message))
        if self.is_done:
            self._executor.abandoned -= 1
        else:
            self._deliver(result)

    def _abandon(self, failure: Failure) -> None:
        if not self.is_done:
            assert self._execution
            self._executor.abandoned += 1
            self._deliver(self._execution.result(failure))

    def _deliver(self, result: TaskResult) -> None:
        if self._grace:
            self._grace.cancel()
        self.is_done = True
        self._executor._ended(self)
        if self._ended and not self._ended.done():
            self._ended.set_result(None)
        on_done = self._on_done
        # Let go of all that leads back here: of a task that has ended nothing may be left to the garbage collector,
        # which looks at everything in memory to find it.
        self._on_done = self._execution = self._worker = None
        assert on_done
        on_done(result)


_CANCELLED = Failure("TASK_CANCELLED", "the task was cancelled")
