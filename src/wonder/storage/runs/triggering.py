"""Triggering: what the triggers of a run have done or are about to do, as programs and people ask for it (PHS-6)."""

from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any, Literal

from msgspec import Struct

from wonder.engine.failure import Failure
from wonder.language.values import JsonValue
from wonder.storage.runs.cells import failure_from, number, text
from wonder.storage.store import Reader, Value

TriggerStatus = Literal["pending", "triggered", "failed"]

_PAGE = 1_000


class StoredFiring(Struct, frozen=True, kw_only=True):
    """One trigger of a run that has completed: `pending`, `triggered`, `skipped` or `failed`."""

    run_id: str
    ordinal: int
    workflow_id: str
    status: str
    items: int
    upto: int
    """The item that comes next, while it is pending."""
    started: int
    skipped: int
    """Items of which a ref was missing."""
    failure: Failure | None

    def as_json(self) -> dict[str, JsonValue]:
        """Give it as programs see it."""
        told: dict[str, Any] = {"workflowId": self.workflow_id, "status": self.status, "runs": self.started}
        if self.skipped:
            told["skipped"] = self.skipped
        told["reason"] = {"code": self.failure.code, "message": self.failure.message} if self.failure else None
        return told


async def firings_of_run(reader: Reader, run_id: str) -> list[StoredFiring]:
    """List what the triggers of a run do, in the order written; empty until it has completed."""
    return [_firing(row) for row in await reader.fetch_named("firings_of_run", run_id)]


def trigger_status(firings: Iterable[StoredFiring]) -> TriggerStatus | None:
    """Sum up the triggers of a run: None if there are none; those that were skipped have done what they should."""
    found = {firing.status for firing in firings}
    if not found:
        return None
    if "pending" in found:
        return "pending"
    return "failed" if "failed" in found else "triggered"


async def runs_triggered_by(reader: Reader, run_id: str) -> AsyncIterator[str]:
    """Give the ids of the runs that a run's triggers have started, in the order of triggers, items and retries."""
    ordinal, index, attempt = -1, -1, -1
    while rows := await reader.fetch("runs_triggered_by", run_id, ordinal, index, attempt, _PAGE):
        for *_, triggered_id in rows:
            yield text(triggered_id)
        ordinal, index, attempt = (number(cell) for cell in rows[-1][:3])


async def unfinished_triggered_by(reader: Reader, run_id: str) -> list[str]:
    """List what a run has triggered, directly or not, that has not ended or has pending triggers of its own."""
    return [text(id) for (id,) in await reader.fetch("unfinished_triggered_by", run_id)]


async def count_triggered_below(reader: Reader, root_run_id: str) -> int:
    """Count all runs that triggers have started from one run on, retries included."""
    ((count,),) = await reader.fetch("count_triggered_below", root_run_id)
    return number(count)


async def runs_with_pending_firings(reader: Reader, *, after: str = "", limit: int = _PAGE) -> list[str]:
    """List the runs whose triggers have not started all that they should, by id."""
    return [text(run_id) for (run_id,) in await reader.fetch("runs_with_pending_firings", after, limit)]


async def retries_due(reader: Reader, *, after: str = "", limit: int = _PAGE) -> list[tuple[str, int, int]]:
    """List the triggered runs that have failed and are to be retried, by id: which try each was, and when it failed."""
    rows = await reader.fetch("retries_due", after, limit)
    return [(text(run_id), number(attempt), number(failed_ms)) for run_id, attempt, failed_ms in rows]


def _firing(row: Mapping[str, Value]) -> StoredFiring:
    return StoredFiring(
        run_id=text(row["run_id"]),
        ordinal=number(row["ordinal"]),
        workflow_id=text(row["workflow_id"]),
        status=text(row["status"]),
        items=number(row["items"]),
        upto=number(row["upto"]),
        started=number(row["started"]),
        skipped=number(row["skipped"]),
        failure=failure_from(row["error"]),
    )
