"""Orders to runs: start, retry, fork, cancel, pause, resume; and events from outside.

The input of most is the order itself, the record that is handed to the process that runs the engine.
"""

from typing import Any

from wonder.app.application import Application
from wonder.coordinator.orders import EVENT_TTL_SECONDS as EVENT_TTL_SECONDS
from wonder.coordinator.orders import CancelRun as CancelRun
from wonder.coordinator.orders import ForkRun as ForkRun
from wonder.coordinator.orders import PauseRun as PauseRun
from wonder.coordinator.orders import ResumeRun as ResumeRun
from wonder.coordinator.orders import RetryRun as RetryRun
from wonder.coordinator.orders import RetryVersion as RetryVersion
from wonder.operations.auditing import note_of_start
from wonder.operations.declaring import Input, operation
from wonder.operations.outputs import Output
from wonder.operations.run_records import RunSummary
from wonder.operations.runs import find_run, summary


class StartedRun(Output, frozen=True):
    """A run that was started, or the first one with the same idempotency key."""

    run_id: str


class Start(Input, frozen=True):
    """What to start."""

    unaudited = frozenset({"input"})  # it is with the run

    workflow: str
    """Its name or id, or `library/name`, and optionally the version to run: orders@2, common/orders@2.

    Without one it is the pinned or the newest.
    """
    input: Any = None
    idempotency_key: str | None = None
    """The same key with the same input starts no second run."""


@operation("runs.start", role="operator", changes=True, needs_engine=True, notes_itself=True)
async def start_run(application: Application, given: Start) -> StartedRun:
    """Start a run of a workflow that is stored."""
    note = note_of_start(application, start_run, given)
    run = await application.start_noted(given.workflow, given.input, given.idempotency_key, None, note)
    return StartedRun(run_id=run.id)


@operation("runs.retry", role="operator", changes=True, needs_engine=True)
async def retry_run(application: Application, given: RetryRun) -> StartedRun:
    """Begin a failed run again, as a new one, just before its failure."""
    await find_run(application, given.run_id)
    return StartedRun(run_id=(await application.retry(given.run_id, version=given.version)).id)


@operation("runs.fork", role="operator", changes=True, needs_engine=True)
async def fork_run(application: Application, given: ForkRun) -> StartedRun:
    """Begin a new run as another was after an event, with another state if one is given."""
    await find_run(application, given.run_id)
    return StartedRun(run_id=(await application.fork(given.run_id, given.after, given.state)).id)


@operation("runs.cancel", role="operator", changes=True, needs_engine=True)
async def cancel_run(application: Application, given: CancelRun) -> RunSummary:
    """End a run with all that is live in it."""
    return await _ordered(application, given)


@operation("runs.pause", role="operator", changes=True, needs_engine=True)
async def pause_run(application: Application, given: PauseRun) -> RunSummary:
    """Let a run dispatch nothing more."""
    return await _ordered(application, given)


@operation("runs.resume", role="operator", changes=True, needs_engine=True)
async def resume_run(application: Application, given: ResumeRun) -> RunSummary:
    """Let a paused or quarantined run go on."""
    return await _ordered(application, given)


class OutsideEvent(Input, frozen=True):
    """An event from outside."""

    event: str
    key: str | None = None
    payload: Any = None
    id: str | None = None
    """An id of the sender's: the same one counts once."""
    ttl_seconds: int = EVENT_TTL_SECONDS
    """How long it is kept for the first that comes to wait for it."""


class SentEvent(Output, frozen=True):
    """An event that was sent, or had been sent before with the same id."""

    event: str
    key: str | None
    sent: bool
    needs_engine: bool
    """Whether what it wakes goes on only with another engine: this process decides, and runs no tasks."""


@operation("events.send", role="operator", changes=True, needs_engine=True)
async def send_event(application: Application, given: OutsideEvent) -> SentEvent:
    """Wake what waits for an event, or keep the event for the first that comes."""
    await application.send_event(given.event, given.key, given.payload, id=given.id, ttl_seconds=given.ttl_seconds)
    return SentEvent(event=given.event, key=given.key, sent=True, needs_engine=application.engine is not None)


async def _ordered(application: Application, order: CancelRun | PauseRun | ResumeRun) -> RunSummary:
    await find_run(application, order.run_id)
    await application.order(order)
    return await summary(application, await find_run(application, order.run_id))
