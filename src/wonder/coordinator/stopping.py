"""Stopping: whether a coordinator still takes facts, shared by its parts."""

from wonder.coordinator.errors import EngineStopped


class StopFlag:
    """Says whether the coordinator has stopped, and why."""

    __slots__ = ("error",)

    def __init__(self) -> None:
        self.error: EngineStopped | None = None

    def check(self) -> None:
        """Raise EngineStopped if the coordinator takes nothing any more."""
        if self.error is not None:
            raise self.error
