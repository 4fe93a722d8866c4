"""Retrying: triggered runs that have failed begin again as new runs, as often as their trigger says (PHS-6)."""

import logging
from collections.abc import Awaitable, Callable
from typing import Final

from msgspec.structs import replace

from wonder.backoff import doubled_ms
from wonder.coordinator.background import Background
from wonder.coordinator.coordinator import Coordinator
from wonder.coordinator.errors import EngineStopped
from wonder.coordinator.forking import Forker
from wonder.coordinator.live import LiveRun
from wonder.coordinator.starting import Starter
from wonder.coordinator.timers import RETRY_TIMER
from wonder.coordinator.trigger_families import TriggerFamilies, too_many
from wonder.engine.decisions import RetryRun
from wonder.engine.fork import ForkRefused
from wonder.storage.runs.headers import load_header
from wonder.storage.runs.triggering import retries_due

# The pause before the first retry; before each further one it is twice as long, up to the longest.
_FIRST_PAUSE_MS: Final = 1_000
_LONGEST_PAUSE_MS: Final = 60_000

log = logging.getLogger("wonder.coordinator")


class Insistence:
    """Does something for a run until the database lets it be done, and for each run once at a time."""

    def __init__(self, background: Background) -> None:
        self._background = background
        self._under_way: set[str] = set()

    async def on(self, run_id: str, what: str, work: Callable[[], Awaitable[None]]) -> None:
        """Do it, unless it is being done."""
        if run_id in self._under_way:
            return
        self._under_way.add(run_id)
        try:
            await self._background.insist(what, work)
        except EngineStopped:
            raise
        except Exception:
            # A fault of ours, with this run: those that come after it are done all the same.
            log.exception("%s", what)
        finally:
            self._under_way.discard(run_id)


class Retries:
    """Retries what triggers started: that one is due is stored with the failure, that it is made with the new run."""

    def __init__(self, coordinator: Coordinator, starter: Starter, forker: Forker, families: TriggerFamilies) -> None:
        self._coordinator, self._starter, self._forker = coordinator, starter, forker
        self._families = families
        self._insistence = Insistence(coordinator.background)

    async def set_all(self) -> None:
        """Set the timers of all retries that are to be made; those that are overdue are made at once.

        The time of each follows from its row, so that a process that ended, or a commit that failed, loses none.
        """
        after = ""
        while page := await retries_due(self._coordinator.store, after=after):
            for after, attempt, failed_ms in page:
                self._set(after, attempt, failed_ms)

    def begin(self, run: LiveRun, _: RetryRun) -> None:
        """Retry a run that has just failed, after a pause."""
        assert run.origin is not None
        self._set(run.id, run.origin.attempt, self._coordinator.clock.now_ms())

    def make(self, run_id: str) -> None:
        """Make a retry whose pause is over."""
        self._coordinator.spawn(self._make(run_id))

    def _set(self, run_id: str, attempt: int, failed_ms: int) -> None:
        pause_ms = min(round(doubled_ms(_FIRST_PAUSE_MS, attempt)), _LONGEST_PAUSE_MS)
        # If the clock was set back meanwhile, it is not waited for.
        failed_ms = min(failed_ms, self._coordinator.clock.now_ms())
        self._coordinator.timers.set(run_id, RETRY_TIMER, failed_ms + pause_ms)

    async def _make(self, run_id: str) -> None:
        await self._insistence.on(run_id, f"run {run_id} can't be retried", lambda: self._make_if_due(run_id))

    async def _make_if_due(self, run_id: str) -> None:
        coordinator = self._coordinator
        header = await load_header(coordinator.store, run_id)
        if header.origin is None or not header.retry_due:
            return
        again = replace(header.origin, attempt=header.origin.attempt + 1)
        family_id = header.origin.family_id
        await self._families.know(family_id)
        limits = (await self._starter.settings(header.project_id)).run_limits
        most = limits.triggered_runs
        if not self._families.room(family_id, most):
            await self._give_up(run_id, too_many(family_id, most, 0).message)
            return
        if too_much := await self._families.too_much_written(family_id, limits.bytes_written):
            await self._give_up(run_id, too_much.message)
            return
        self._families.add(family_id, 1)
        try:
            is_ours = self._starter.was_ours(run_id)
            await self._forker.retry(
                run_id, also=lambda batch, _: batch.note_retry_made(run_id), origin=again, is_ours=is_ours
            )
        except ForkRefused as refused:
            await self._give_up(run_id, str(refused))
        except BaseException:
            self._families.forget(family_id)
            raise

    async def _give_up(self, run_id: str, reason: str) -> None:
        log.warning("run %s, which a trigger started, can't be retried: %s", run_id, reason, extra={"run_id": run_id})
        self._coordinator.commits.batch.note_retry_made(run_id)
        self._coordinator.commits.touch()
        await self._coordinator.durable()
