"""What is old goes in small steps while an engine runs: logs to the archive, runs that ended long ago (EVT-5)."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final

from wonder.actions.artifacts.storing import Artifacts
from wonder.actions.embedding.texts import collection_of
from wonder.app.log_archive import archive_records
from wonder.objects.store import Objects
from wonder.objects.vectors import Vectors, VectorsUnavailable
from wonder.storage.indexable import live_vector_indexes
from wonder.storage.retention import (
    DAY_MS,
    ROWS_AT_ONCE,
    ProjectRetention,
    clean_removed,
    family_of,
    forget_unready,
    remove_family,
    retention_of_projects,
)
from wonder.storage.runs.cells import text
from wonder.storage.runs.leases import Lease, check_lease
from wonder.storage.spending import month_of
from wonder.storage.store import Store
from wonder.storage.ulids import ulid_of

_LOOK_SECONDS: Final = 600.0
# Between two steps everything else has its turn.
_STEP_SECONDS: Final = 0.1
_CANDIDATES: Final = 100
_FAMILIES_AT_ONCE: Final = 20
_CONTENTS_AT_ONCE: Final = 20
# A backup that is being made may still copy content whose row it has seen.
CONTENT_MS: Final = 3_600_000


class Retention:
    """Looks for what is older than the settings of its project say, and does one step at a time about it."""

    def __init__(
        self,
        store: Store,
        lease: Lease,
        objects: Objects | None,
        now_ms: Callable[[], int],
        *,
        artifacts: Artifacts | None = None,
        vectors: Vectors | None = None,
    ) -> None:
        self._store, self._lease, self._objects, self.now_ms = store, lease, objects, now_ms
        self._artifacts, self._vectors = artifacts, vectors
        self.removed_runs = self.archived_records = self.deleted_contents = self.deleted_audit_records = 0
        """What was done so far."""
        self._has_begun = False
        # By project, up to where its runs were looked at in this round, and the runs that are kept for their family.
        self._after: dict[str, str] = {}
        self._kept: set[str] = set()

    async def look(self) -> float:
        """Do one step, and say after how many seconds to look again."""
        return _STEP_SECONDS if await self.step() else _LOOK_SECONDS

    async def step(self) -> bool:
        """Do one step; False if there is nothing left to do."""
        if not self._has_begun:
            await forget_unready(self._store, self._lease)
            self._has_begun = True
        projects = await retention_of_projects(self._store.unsettled)
        return (
            await self._clean()
            or await self._archive_logs(projects)
            or await self._remove_runs(projects)
            or await self._remove_sums(projects)
            or await self._delete_audit_records(projects)
            or await self._delete_contents()
        )

    async def _archive_logs(self, projects: list[ProjectRetention]) -> bool:
        if self._objects is None:
            return False
        days: dict[str | None, int] = {one.project_id: one.logs_days for one in projects}
        if days:
            # What belongs to no project is kept as long as what is kept longest.
            days[None] = max(days.values())
        for project_id, kept_days in days.items():
            before = ulid_of(self.now_ms() - kept_days * DAY_MS)
            if moved := await archive_records(self._store, self._objects, self._lease, project_id, before):
                self.archived_records += moved
                return True
        return False

    async def _remove_runs(self, projects: list[ProjectRetention]) -> bool:
        """Look at the next runs that ended long ago, and remove some families that nothing needs."""
        reader, removed = self._store.unsettled, 0
        for project_id, before_ms in self._limited(projects):
            after = self._after.get(project_id, "")
            rows = await reader.fetch("old_runs", project_id, after, ulid_of(before_ms), before_ms, _CANDIDATES)
            for (id,) in rows:
                run_id = self._after[project_id] = text(id)
                if run_id in self._kept:
                    continue
                family = await family_of(reader, run_id, before_ms)
                if not family.members and family.is_over:
                    continue  # it has just gone with another one
                if family.is_over and await remove_family(self._store, self._lease, family):
                    self.removed_runs += len(family.members)
                    removed += 1
                    if removed >= _FAMILIES_AT_ONCE:
                        return True
                    continue
                self._kept |= family.run_ids
            if rows:
                return True
        self._after.clear()
        self._kept.clear()
        return False

    async def _clean(self) -> bool:
        cleaned = await clean_removed(self._store, self._lease, self.now_ms())
        if cleaned.artifact_ids and self._vectors:
            # What is left of them after a crash here is taken out by the next search that finds it.
            with suppress(VectorsUnavailable):
                for index in await live_vector_indexes(self._store.unsettled):
                    await self._vectors.remove(collection_of(index), cleaned.artifact_ids)
        return not cleaned.is_done

    async def _remove_sums(self, projects: list[ProjectRetention]) -> bool:
        """Delete old minutes of metrics and old months of spending."""
        deleted = 0
        for project_id, before_ms in self._limited(projects):
            async with self._store.transaction() as transaction:
                await check_lease(transaction, self._lease.fence)
                deleted += await transaction.execute("delete_old_metrics", project_id, before_ms, ROWS_AT_ONCE)
                deleted += await transaction.execute("delete_old_spending", project_id, month_of(before_ms))
        for workspace_id, before_ms in await self._limited_workspaces(projects):
            async with self._store.transaction() as transaction:
                await check_lease(transaction, self._lease.fence)
                deleted += await transaction.execute("delete_old_spending", workspace_id, month_of(before_ms))
        return deleted > 0

    def _limited(self, projects: list[ProjectRetention]) -> Iterator[tuple[str, int]]:
        """Give the projects that don't keep their runs for ever, and the time before which these go."""
        for one in projects:
            if one.events_days is not None:
                yield one.project_id, self.now_ms() - one.events_days * DAY_MS

    async def _delete_audit_records(self, projects: list[ProjectRetention]) -> bool:
        """Delete old records of the audit log; those of no project are kept as long as what is kept longest."""
        before = {one.project_id: ulid_of(self.now_ms() - one.audit_days * DAY_MS) for one in projects}
        if not before:
            return False
        deleted = 0
        async with self._store.transaction() as transaction:
            await check_lease(transaction, self._lease.fence)
            for project_id, id in before.items():
                deleted += await transaction.execute("delete_old_audit_records", project_id, id, ROWS_AT_ONCE)
            deleted += await transaction.execute("delete_old_audit_records_of_none", min(before.values()), ROWS_AT_ONCE)
        self.deleted_audit_records += deleted
        return deleted > 0

    async def _limited_workspaces(self, projects: list[ProjectRetention]) -> list[tuple[str, int]]:
        """Give the workspaces of which every project has a limit, with the longest of them."""
        days = {one.project_id: one.events_days for one in projects}
        longest: dict[str, int | None] = {}
        for project_id, workspace_id in await self._store.unsettled.fetch("workspaces_of_projects"):
            own, known = days.get(text(project_id)), longest.get(text(workspace_id), 0)
            longest[text(workspace_id)] = None if own is None or known is None else max(own, known)
        return [(id, self.now_ms() - kept * DAY_MS) for id, kept in longest.items() if kept is not None]

    async def _delete_contents(self) -> bool:
        """Delete what removed artifacts had in the object store, unless others have the same content."""
        if self._artifacts is None:
            return False
        reader, before_ms = self._store.unsettled, self.now_ms() - CONTENT_MS
        for (key,) in await reader.fetch("removed_contents", before_ms, _CONTENTS_AT_ONCE):
            async with self._artifacts.gate.deleting() as may_delete:
                if not may_delete:
                    return False
                if not await reader.fetch("content_is_used", key):
                    await self._artifacts.objects.delete(text(key))
                    self.deleted_contents += 1
                async with self._store.transaction() as transaction:
                    await check_lease(transaction, self._lease.fence)
                    await transaction.execute("delete_removed_content", key)
        return bool(await reader.fetch("removed_contents", before_ms, 1))
