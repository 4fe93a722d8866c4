"""Executor: many tasks at once, a bounded number of them under way, the rest in line."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from typing import Any

from wonder.actions.exceptions import message_of
from wonder.actions.protocol import Origin
from wonder.executor import ahead
from wonder.executor.assignment import Assignment
from wonder.executor.compiled import CompiledTask
from wonder.executor.environment import Timer
from wonder.executor.results import Failure, TaskResult
from wonder.executor.running import TaskExecution
from wonder.executor.services import Services
from wonder.language.values import JsonValue

TASKS_MAX = 1_000
# How long tasks may follow upon each other at once before all else in the loop has its turn; and those that came
# together, whose results lead on together.
_TURN_MS = 5.0
_LONGEST_TURN_MS = 50.0
# Where one task had to wait, others may have to as well: so many hands take on the rest, and each calls as many again.
_MORE_HANDS = 8


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
        self._begun: deque[TaskUnderWay] = deque()
        """Those that have a place, and that nobody carries out yet."""
        self._called: set[asyncio.Task[None]] = set()
        """The hands that carry those out, or are about to."""
        self._is_calling = False
        self._free_hand: _Hand | None = None
        """The one whose task's result is being told just now."""
        # Of whoever made this: what a function leaves in its variables, no other may see.
        self._variables = copy_context()

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

    def prepare(
        self, task: CompiledTask, input: JsonValue, origin: Origin, on_done: Callable[[TaskResult], None]
    ) -> "TaskUnderWay | None":
        """Begin a task as far as nobody can tell; None if that can't be now. `begin` or `discard` has to follow."""
        hand = self._free_hand
        if hand is None or self._under_way or not hand.may_go_on(self.services.environment.monotonic_ms()):
            return None
        if task.timeout_ms is not None:
            return None  # Its time must not pass before it has begun.
        taken = TaskUnderWay(self, task, input, origin, on_done)
        return taken if taken.begin_ahead(hand.worker) else None

    def begin(self, prepared: "TaskUnderWay") -> bool:
        """Go on with a task that was prepared; False if it was too long ago, and it has to be started anew."""
        hand = self._free_hand
        if hand is None or hand.following is not None or hand.worker is not prepared.worker or self._under_way:
            prepared.discard()
            return False
        self._under_way.add(prepared)
        hand.following = prepared
        return True

    async def run(self, task: CompiledTask, input: JsonValue, origin: Origin) -> TaskResult:
        """Run a task and return its result; cancelled, it cancels the task and waits for its end, the grace at most."""
        result: asyncio.Future[TaskResult] = asyncio.get_running_loop().create_future()

        def on_done(given: TaskResult) -> None:
            if not result.done():
                result.set_result(given)

        taken = self.start(task, input, origin, on_done)
        try:
            return await asyncio.shield(result)
        except asyncio.CancelledError as cancellation:
            taken.cancel()
            cancelled = cancellation
        # Not where it is caught: see hatch_build.py.
        await result
        raise cancelled

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
        hand = self._free_hand
        if hand is not None and hand.may_go_on(self.services.environment.monotonic_ms()):
            hand.following = taken
        else:
            self._begun.append(taken)
            self._call_hands(1)

    def _call_hands(self, count: int) -> None:
        """See to it that so many hands carry out what has begun, or one for each task if there are less."""
        if self._called and next(iter(self._called)).done():
            # Somebody has cancelled it before it had begun.
            self._called = {hand for hand in self._called if not hand.done()}
        for _ in range(min(count, len(self._begun)) - len(self._called)):
            loop = asyncio.get_running_loop()
            self._is_calling = True
            self._called.add(loop.create_task(self._carry_out(), context=self._variables.copy()))
            self._is_calling = False

    async def _carry_out(self) -> None:
        """Run the tasks that have begun by now, and what follows upon a lone one at once.

        None of them needs a turn of the loop or an asyncio task of its own, as long as none has to wait for anything.
        One that had to may have left something with its asyncio task: it is the last in it.
        """
        if self._is_calling:
            # The loop's tasks are eager, and nobody expects to be told inside their own call.
            await asyncio.sleep(0)
        hand = _Hand(self.services.environment.monotonic_ms())
        left = len(self._begun)
        try:
            while left and self._begun and self._may_take_another(hand):
                left -= 1
                taken: TaskUnderWay | None = self._begun.popleft()
                while taken:
                    work = taken.run(hand.worker)
                    try:
                        waits_for = work.send(None)
                    except StopIteration as end:
                        taken = self._tell(hand, taken, end.value)
                        continue
                    self._called.discard(hand.worker)
                    self._call_hands(len(self._called) + _MORE_HANDS)
                    result = await ahead.rest(work, waits_for)
                    if result is not None:
                        taken.deliver(result)
                    return
        finally:
            self._called.discard(hand.worker)
            self._call_hands(1)

    def _may_take_another(self, hand: "_Hand") -> bool:
        now_ms = self.services.environment.monotonic_ms()
        return now_ms < hand.began_ms + _LONGEST_TURN_MS and hand.finds_all_as_it_was()

    def _tell(self, hand: "_Hand", taken: "TaskUnderWay", result: TaskResult | None) -> "TaskUnderWay | None":
        """Tell the result of a task; gives the next one, if one has come with that."""
        if result is None:
            return None
        if len(self._under_way) > 1:
            # Many results lead on together, and not each at once.
            taken.deliver(result)
            return None
        self._free_hand = hand if hand.finds_all_as_it_was() else None
        try:
            taken.deliver(result)
        except BaseException:
            if hand.following:
                self._begun.appendleft(hand.following)
                hand.following = None
            raise
        finally:
            self._free_hand = None
        following, hand.following = hand.following, None
        return following

    def _ended(self, taken: "TaskUnderWay") -> None:
        """Give its place to the next in line."""
        self._under_way.discard(taken)
        while self._line and len(self._under_way) < self.tasks_max:
            following = self._line.popleft()
            if not following.is_done:
                self._begin(following)


class _Hand:
    """An asyncio task that may take on another task when it has told the result of one."""

    __slots__ = ("_variables", "began_ms", "following", "worker")

    def __init__(self, began_ms: float) -> None:
        worker = asyncio.current_task()
        assert worker
        self.worker, self.began_ms = worker, began_ms
        self.following: TaskUnderWay | None = None
        self._variables = copy_context()

    def may_go_on(self, now_ms: float) -> bool:
        """Say whether another task can follow: nobody waits for too long, and it would not notice."""
        return self.following is None and now_ms < self.began_ms + _TURN_MS and self.finds_all_as_it_was()

    def finds_all_as_it_was(self) -> bool:
        """Say whether all is as at its beginning: what a function leaves in context variables, no other may see."""
        # The second is what is left of a cancellation that was taken back before it was heard.
        if self.worker.cancelling() or getattr(self.worker, "_must_cancel", False):
            return False
        found, before = copy_context(), self._variables
        if len(found) != len(before):
            return False
        for variable, value in found.items():  # noqa: SIM110  # a generator would take as long as all the rest
            # Not what it is equal to: a value of the user's own may compare as it likes.
            if before.get(variable, _NONE) is not value:
                return False
        return True


class TaskUnderWay:
    """A task that an executor has taken on."""

    __slots__ = (
        "_ahead",
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
        """Who carries it out; nobody before it has begun."""
        self._grace: Timer | None = None
        self._has_begun = False
        self._ahead: Coroutine[Any, Any, TaskResult | None] | None = None
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
        self._grace = services.environment.after(0, lambda: self.deliver(TaskResult("cancelled", error=_CANCELLED)))

    def ended(self) -> "asyncio.Future[None]":
        """Return what is done when the result was given."""
        if self._ended is None:
            self._ended = asyncio.get_running_loop().create_future()
            if self.is_done:
                self._ended.set_result(None)
        return self._ended

    def run(self, worker: "asyncio.Task[None]") -> Coroutine[Any, Any, TaskResult | None]:
        """Run it; gives the result to deliver, or None when nobody waits for it any more. For its executor to call."""
        begun, self._ahead = self._ahead, None
        return self._run(worker, is_ahead=False) if begun is None else begun

    def begin_ahead(self, worker: "asyncio.Task[None]") -> bool:
        """Run it as far as nobody can tell; False if it has to begin anew. For its executor to call."""
        self._ahead = self._run(worker, is_ahead=True)
        if ahead.begin(self._ahead):
            return True
        self._forget()
        return False

    def discard(self) -> None:
        """Give it up before it may have had any effect."""
        if self._ahead is not None:
            self._ahead.close()
        self._forget()

    async def _run(self, worker: "asyncio.Task[None]", *, is_ahead: bool) -> TaskResult | None:
        execution = self._execution
        if self._grace or not execution:
            return None  # It was cancelled before it began.
        self._has_begun, self.worker = True, worker
        try:
            assignment = Assignment(self._executor.services, self._origin, self._abandon, worker, is_ahead)
            result = await execution.run(assignment)
        except asyncio.CancelledError:
            result = execution.result(_CANCELLED)
        except Exception as error:
            # A bug of ours, or of a kind that a package added: the task fails, the others go on.
            message = f"the executor failed: {type(error).__name__}: {message_of(error)}"
            result = execution.result(Failure("EXECUTOR_BROKEN", message))
        if self.is_done:
            self._executor.abandoned -= 1
            return None
        return result

    def _abandon(self, failure: Failure) -> None:
        if not self.is_done:
            assert self._execution
            self._executor.abandoned += 1
            self.deliver(self._execution.result(failure))

    def deliver(self, result: TaskResult) -> None:
        """Tell the result, once."""
        if self._grace:
            self._grace.cancel()
        self.is_done = True
        self._executor._ended(self)
        if self._ended and not self._ended.done():
            self._ended.set_result(None)
        on_done = self._on_done
        self._forget()
        assert on_done
        on_done(result)

    def _forget(self) -> None:
        # Let go of all that leads back here: of a task that has ended nothing may be left to the garbage collector,
        # which looks at everything in memory to find it.
        self._on_done = self._execution = self.worker = self._ahead = None


_NONE = object()
_CANCELLED = Failure("TASK_CANCELLED", "the task was cancelled")
