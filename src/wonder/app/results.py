"""What Wonder gives back to a program: how a run ended, and what its triggers have done."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from wonder.errors import WonderError
from wonder.language.values import JsonValue

if TYPE_CHECKING:
    from wonder.storage.runs.triggering import StoredFiring, TriggerStatus


class RequestRefused(WonderError):
    """The process that runs the engine refused a request; `reason_code` is its error's code."""

    code = "REQUEST_REFUSED"

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.reason_code = code


class NoEngineHere(WonderError):
    """Something was asked of an application that was opened for reading only."""

    code = "NO_ENGINE_HERE"

    def __init__(self, kind: str) -> None:
        super().__init__(f"{kind!r} needs an engine, and this database was opened for reading; use wonder.open")
        self.kind = kind


@dataclass(frozen=True)
class RunResult:
    """How a run ended."""

    run_id: str
    status: Literal["completed", "failed", "cancelled"]
    output: JsonValue
    error: dict[str, JsonValue] | None


@dataclass(frozen=True)
class Triggered:
    """What the triggers of a run do: `pending`, `triggered` or `failed`; None if it has none, or has not completed."""

    status: "TriggerStatus | None"
    run_ids: list[str]
    triggers: "list[StoredFiring]"


@dataclass(frozen=True)
class Run:
    """A run that was started."""

    id: str
    _wait: Callable[[str], Awaitable[RunResult]]

    async def wait(self) -> RunResult:
        """Wait until the run has ended."""
        return await self._wait(self.id)
