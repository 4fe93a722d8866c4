"""How much a run may log: beyond `run_limits.log_bytes` its messages are dropped, and its logs say so (RES-6).

Counted as records are written, and so away from the code that logs; a process that takes over begins at zero.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from wonder.definitions.records.tenancy import RunLimits
from wonder.errors import WonderError
from wonder.storage.logs import LogRecord
from wonder.storage.runs.cells import to_json
from wonder.storage.store import Reader
from wonder.storage.tenancy import load_project

RUNS_COUNTED: Final = 10_000
"""The counts of so many runs are kept, of those that logged last."""
# What a record takes besides its texts.
_RECORD_BYTES: Final = 300


class LogLimits:
    """What the runs of a database have logged in this process."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._logged: OrderedDict[str, int] = OrderedDict()

    async def admitted(self, records: Sequence[LogRecord]) -> list[LogRecord]:
        """Give the records that may be written; the first one that may not becomes a warning."""
        # First: nothing is counted yet if this is broken off.
        most = await self._load({one.project_id for one in records if one.run_id and one.project_id})
        return [found for one in records if (found := self._admit(one, most))]

    async def _load(self, project_ids: Iterable[str]) -> dict[str, int]:
        found = {}
        for project_id in sorted(project_ids):
            try:
                found[project_id] = (await load_project(self._reader, project_id)).settings.run_limits.log_bytes
            except WonderError:
                # The project is gone, or the database can't be read: it can't be written either, which is told there.
                found[project_id] = RunLimits().log_bytes
        return found

    def _admit(self, record: LogRecord, limits: dict[str, int]) -> LogRecord | None:
        if record.run_id is None or record.project_id is None:
            return record
        before, most = self._logged.pop(record.run_id, 0), limits[record.project_id]
        if before > most:
            self._logged[record.run_id] = before
            return None
        logged = before + _size(record)
        self._logged[record.run_id] = logged
        if len(self._logged) > RUNS_COUNTED:
            self._logged.popitem(last=False)
        return record if logged <= most else _warning(record, most)


def _size(record: LogRecord) -> int:
    texts = len(record.message.encode()) + len((record.error_stack or "").encode())
    return _RECORD_BYTES + texts + (len(to_json(record.metadata)) if record.metadata else 0)


def _warning(record: LogRecord, most: int) -> LogRecord:
    message = (
        f"the run has logged {most:,} bytes, its limit run_limits.log_bytes; this message and later ones are dropped. "
        "Log less, or raise the limit with `wonder project set run_limits.log_bytes N`"
    )
    return replace(
        record, level="warning", service="wonder.logs", message=message, metadata=None, error_stack=None, node=None
    )
