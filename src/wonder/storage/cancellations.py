"""Cancellations that a failing database hides: what is raised while a transaction ends comes in their place."""

import asyncio


class Cancellations:
    """Tells whether the current asyncio task was cancelled since this was made, for loops that try again after errors.

    Without it, one that is cancelled in the very moment when the database fails would go on for ever.
    """

    __slots__ = ("_before", "_task")

    def __init__(self) -> None:
        self._task = asyncio.current_task()
        self._before = self._task.cancelling() if self._task else 0

    def check(self) -> None:
        """Raise CancelledError if a cancellation has come, and something else was raised for it."""
        task = asyncio.current_task()
        # Work may begin in one asyncio task and go on in another of its own.
        before = self._before if task is self._task else 0
        if task is not None and task.cancelling() > before:
            raise asyncio.CancelledError
