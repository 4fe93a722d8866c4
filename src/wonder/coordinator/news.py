"""News of an engine, for a process that tells people what happens in it: runs that start and end, take-overs."""

from typing import NamedTuple, Protocol

from wonder.coordinator.live import LiveRun
from wonder.engine.failure import Failure


class RunNews(NamedTuple):
    """Something that has become of a run; durable when it is told."""

    run_id: str
    workflow: str
    version: int
    status: str
    """`started`, or how it has ended."""
    failure: Failure | None = None


class EngineNews(Protocol):
    """What is told of an engine; called in the loop, and must not wait."""

    def tell_run(self, news: RunNews) -> None:
        """Tell of a run that no other run has called."""

    def tell_beginning(self, *, took_over: bool, runs: int) -> None:
        """Tell that the engine begins in this process, with so many runs that were under way."""

    def tell_stop(self) -> None:
        """Tell that the engine has stopped in this process, because another one has its lease now."""


def news_of(run: LiveRun, status: str, failure: Failure | None = None) -> RunNews:
    """Make the news of a run."""
    definition = run.program.definition
    return RunNews(run.id, definition.name, definition.version, status, failure)
