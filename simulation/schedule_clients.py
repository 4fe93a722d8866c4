"""What clients want of schedules: pause, resume, change, and fire them by hand."""

from collections.abc import Awaitable, Callable
from typing import Any, Final, Literal

from simulation.schedules import changed
from wonder.app.application import Application
from wonder.app.results import Run
from wonder.app.schedules import create_schedule, pause, resume

ScheduleWish = Literal["pause_schedule", "resume_schedule", "change_schedule", "fire_schedule"]
SCHEDULE_WISHES: Final[tuple[ScheduleWish, ...]] = (
    *("pause_schedule", "resume_schedule", "resume_schedule", "change_schedule", "fire_schedule", "fire_schedule"),
)

Work = Callable[[], Awaitable[None]]
Accept = Callable[[Awaitable[Run]], Awaitable[None]]


class ScheduleClients:
    """Those who want something of the schedules of a database, given as its file has them."""

    def __init__(self, schedules: dict[str, Any]) -> None:
        self._schedules = schedules

    def work(self, kind: ScheduleWish, wonder: Application, chance: int, accept: Accept) -> Work | None:
        """Give what is to be done; None if there is no schedule. `accept` notes a run that somebody was told of."""
        if not self._schedules:
            return None
        name = sorted(self._schedules)[chance % len(self._schedules)]
        match kind:
            case "pause_schedule":
                return lambda: _pause(wonder, name)
            case "resume_schedule":
                return lambda: resume_schedule(wonder, name)
            case "change_schedule":
                return lambda: _change(wonder, name, changed(self._schedules[name], chance // 7))
            case "fire_schedule":
                return lambda: accept(wonder.fire_schedule(name))


async def resume_schedule(wonder: Application, name: str) -> None:
    """Let a schedule go on."""
    await resume(wonder, name)


async def _pause(wonder: Application, name: str) -> None:
    await pause(wonder, name)


async def _change(wonder: Application, name: str, fields: dict[str, Any]) -> None:
    await create_schedule(wonder, name, fields, replaces=True)
