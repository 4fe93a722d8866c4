"""What is old, in small steps while an engine runs: logs go to the archive (EVT-4a)."""

from collections.abc import Callable
from typing import Final

from wonder.app.log_archive import archive_records
from wonder.objects.store import Objects
from wonder.storage.retention import DAY_MS, retention_of_projects
from wonder.storage.runs.leases import Lease
from wonder.storage.store import Store
from wonder.storage.ulids import ulid_of

_LOOK_SECONDS: Final = 600.0
# Between two steps everything else has its turn.
_STEP_SECONDS: Final = 0.1


class Retention:
    """Looks for what is older than the settings of its project say, and does one step at a time about it."""

    def __init__(self, store: Store, lease: Lease, objects: Objects | None, now_ms: Callable[[], int]) -> None:
        self._store, self._lease, self._objects, self._now_ms = store, lease, objects, now_ms

    async def look(self) -> float:
        """Do one step, and say after how many seconds to look again."""
        return _STEP_SECONDS if await self._archive_logs() else _LOOK_SECONDS

    async def _archive_logs(self) -> bool:
        if self._objects is None:
            return False
        projects = await retention_of_projects(self._store.unsettled)
        days = {one.project_id: one.logs_days for one in projects}
        # What belongs to no project is kept as long as what is kept longest.
        of_none = max(days.values(), default=None)
        for project_id, kept_days in [*days.items(), *([(None, of_none)] if of_none else [])]:
            before = ulid_of(self._now_ms() - kept_days * DAY_MS)
            if await archive_records(self._store, self._objects, self._lease, project_id, before):
                return True
        return False
