"""The loop of one simulated process: asyncio on simulated time, run one callback at a time by the world."""

import asyncio
from asyncio import events
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import Context
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulation.world import World


class _Task(asyncio.Task[Any]):
    """A task that has the same place in a set each time: addresses would put it at another."""

    def __hash__(self) -> int:
        return 0


class _Future(asyncio.Future[Any]):
    """A future that has the same place in a set each time."""

    def __hash__(self) -> int:
        return 0


class SimulatedLoop(asyncio.AbstractEventLoop):
    """What is ready runs in the order in which it became ready, as in asyncio; when it does is for the world to say."""

    def __init__(self, world: "World", name: str) -> None:
        self.world, self.name = world, name
        self.ready: deque[asyncio.Handle] = deque()
        self.is_dead = False
        self.is_paused = False
        self._backlog: list[asyncio.Handle] = []
        self.tasks: list[asyncio.Task[Any]] = []
        """All that were ever made here: those of a dead process must not be collected, which would run their ends."""
        self.on_error: Callable[[dict[str, Any]], None] = lambda context: None

    def run_one(self) -> None:
        """Run the callback that has been ready for longest."""
        handle = self.ready.popleft()
        if handle.cancelled():
            return
        events._set_running_loop(self)
        try:
            handle._run()
        finally:
            events._set_running_loop(None)

    def wake(self, handle: asyncio.Handle) -> None:
        """Make a callback ready, now or when the process goes on."""
        if self.is_dead or handle.cancelled():
            return
        (self._backlog if self.is_paused else self.ready).append(handle)

    def go_on(self) -> None:
        """End the pause; all that came meanwhile is ready at once."""
        self.is_paused = False
        backlog, self._backlog = self._backlog, []
        for handle in backlog:
            self.wake(handle)

    def die(self) -> None:
        """Run nothing any more."""
        self.is_dead = True
        self.ready.clear()
        self._backlog.clear()

    def bury(self) -> None:
        """Close what a dead process has left, now that nobody looks any more."""
        self.die()
        # As if it ran: without a loop, what tries something again and again would fail at once, each time, for ever.
        events._set_running_loop(self)
        try:
            for task in self.tasks:
                task._log_traceback = False
                if not task.done():
                    # What a death leaves undone is no slip of the program, of which asyncio would warn.
                    task._log_destroy_pending = False  # type: ignore[attr-defined]
                    coroutine = task.get_coro()
                    assert isinstance(coroutine, Coroutine)
                    _close(coroutine)
        finally:
            events._set_running_loop(None)
        self.tasks.clear()

    def call_soon(self, callback: Callable[..., Any], *args: Any, context: Context | None = None) -> asyncio.Handle:  # type: ignore[override]
        """Have something called after what is ready already."""
        handle = asyncio.Handle(callback, args, self, context)
        if not self.is_dead:
            self.ready.append(handle)
        return handle

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """There are no threads."""
        return self.call_soon(callback, *args, context=context)

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Have something called later."""
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Have something called at a time of this loop."""
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        if not self.is_dead:
            self.world.wake_at(when * 1_000, self, handle)
        return handle

    def time(self) -> float:
        """Return the simulated time, in seconds."""
        return self.world.now_ms / 1_000

    def create_future(self) -> "asyncio.Future[Any]":
        """Make a future of this loop."""
        return _Future(loop=self)

    def create_task(self, coro: Any, *, name: str | None = None, context: Context | None = None) -> "asyncio.Task[Any]":
        """Make a task of this loop."""
        task = _Task(coro, loop=self, name=name, context=context)
        self.tasks.append(task)
        return task

    def run_in_executor(  # type: ignore[override]
        self, executor: None, func: Callable[..., Any], *args: Any
    ) -> "asyncio.Future[Any]":
        """There are no threads: it is called when its turn comes."""
        future = self.create_future()

        def call() -> None:
            if not future.done():
                try:
                    future.set_result(func(*args))
                except Exception as error:
                    future.set_exception(error)

        self.call_soon(call)
        return future

    def get_debug(self) -> bool:
        """Return False: there is no debug mode."""
        return False

    def is_running(self) -> bool:
        """Return True: nobody asks but from inside."""
        return True

    def is_closed(self) -> bool:
        """Return whether the process is dead."""
        return self.is_dead

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Tell of an error that nobody has taken."""
        if not self.is_dead:
            self.on_error(context)

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Leave it in the heap: it is passed over when its time comes."""


def _close(coroutine: Coroutine[Any, Any, Any]) -> None:
    # What the dead would still say is of no interest.
    with suppress(BaseException):
        coroutine.close()
