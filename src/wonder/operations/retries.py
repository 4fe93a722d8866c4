"""Retries of many runs at once: which they would be, and doing it (CTL-19, CMD-10)."""

from collections.abc import AsyncIterator

from msgspec.structs import replace

from wonder.app.application import Application
from wonder.coordinator.orders import RetryVersion
from wonder.errors import WonderError
from wonder.operations.declaring import InputNotAccepted, operation
from wonder.operations.outputs import Output
from wonder.operations.run_lists import WhichRuns, every_run
from wonder.operations.run_records import RunSummary
from wonder.operations.runs import summary
from wonder.storage.runs.headers import RunHeader

_SHOWN = 20


class RunsToRetry(Output, frozen=True):
    """Failed runs that were not retried yet."""

    total: int
    first: list[RunSummary]
    """The newest of them."""


class RetriedRun(Output, frozen=True):
    """A run, and the new one that it was retried as."""

    run_id: str
    retried_as: str


class RefusedRetry(Output, frozen=True):
    """A run that could not be retried."""

    run_id: str
    code: str
    reason: str


class RetriedRuns(Output, frozen=True):
    """What became of the runs that were to be retried."""

    retried: list[RetriedRun]
    refused: list[RefusedRetry]


class RetryRuns(WhichRuns, frozen=True):
    """Which failed runs to retry, and with which version of their workflow."""

    version: RetryVersion = None


@operation("runs.to_retry", role="viewer")
async def runs_to_retry(application: Application, given: WhichRuns) -> RunsToRetry:
    """Say which runs a retry with this choice would retry: failed ones that were not retried yet."""
    total = 0
    first: list[RunSummary] = []
    async for header in _to_retry(application, given):
        total += 1
        if len(first) < _SHOWN:
            first.append(await summary(application, header))
    return RunsToRetry(total=total, first=first)


@operation("runs.retry_all", role="operator", changes=True, needs_engine=True)
async def retry_runs(application: Application, given: RetryRuns) -> RetriedRuns:
    """Retry all failed runs of a choice that were not retried yet; one that is refused does not stop the others."""
    # All are found first: a run that fails again meanwhile is not retried twice.
    found = [header.id async for header in _to_retry(application, given)]
    done = RetriedRuns(retried=[], refused=[])
    for run_id in reversed(found):
        try:
            new = await application.retry(run_id, version=given.version)
        except WonderError as error:
            done.refused.append(RefusedRetry(run_id=run_id, code=error.code, reason=str(error)))
        else:
            done.retried.append(RetriedRun(run_id=run_id, retried_as=new.id))
    return done


async def _to_retry(application: Application, given: WhichRuns) -> AsyncIterator[RunHeader]:
    async for header in every_run(application, _failed(given)):
        # A sub-workflow begins again with the run that called it, and one that its trigger retries by itself.
        if header.parent_run_id is None and not header.retry_due:
            yield header


def _failed(given: WhichRuns) -> WhichRuns:
    if given.status not in (None, "failed"):
        raise InputNotAccepted(
            "runs.retry_all", f"only failed runs can be retried, and not those that are {given.status}"
        )
    return replace(given, status="failed", retried=False)
