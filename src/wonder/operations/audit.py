"""The audit log: what callers have changed, listed and never changed (KEY-5)."""

from datetime import UTC, datetime
from typing import Any

from wonder.app.application import Application
from wonder.operations.declaring import Input, operation
from wonder.operations.outputs import Output
from wonder.storage.audit import AuditRecord as StoredRecord
from wonder.storage.audit import WhichRecords, list_records
from wonder.storage.pages import LIMIT


class SettingChange(Output, frozen=True):
    """A setting as it was, and as it is now."""

    before: Any
    after: Any


class AuditRecord(Output, frozen=True):
    """What a caller has changed, or has tried to change."""

    id: str
    at: str
    who: str
    """The name of the key, the person, or the user account on the machine."""
    who_kind: str
    """`key`, `person`, or `local` for somebody on the machine itself."""
    key_id: str | None
    role: str
    operation: str
    workspace_id: str | None
    project_id: str | None
    """Null for what is of a workspace, or of the whole server."""
    input: Any
    """Bounded, and without secrets."""
    ids: list[str]
    """What the answer named: of a start, its run."""
    settings: SettingChange | None
    """Where a setting was changed."""
    outcome: str
    """`ok`, or the code of the error."""


class AuditPage(Output, frozen=True):
    """Some records by time; `cursor` gets the next page, or is null at the end."""

    records: list[AuditRecord]
    cursor: str | None


class ListAudit(Input, frozen=True):
    """Which records, and which page of them."""

    who: str | None = None
    """A name, or the id of a key."""
    operation: str | None = None
    """One operation, such as `runs.start`, or all of one noun: `runs`."""
    since_ms: int | None = None
    until_ms: int | None = None
    """Before this time, which does not belong to it."""
    oldest_first: bool = False
    limit: int = LIMIT
    cursor: str | None = None


@operation("audit.list", role="admin")
async def list_audit(application: Application, given: ListAudit) -> AuditPage:
    """List what callers have changed within the caller's scope: who, when, what, and how it ended."""
    caller = application.caller
    scope = (caller.workspace_id, caller.project_id) if caller else (None, None)
    which = WhichRecords(*scope, given.who, given.operation, given.since_ms, given.until_ms)
    page = await list_records(
        application.store, which, oldest_first=given.oldest_first, limit=given.limit, cursor=given.cursor
    )
    return AuditPage(records=[_record(one) for one in page.items], cursor=page.cursor)


def _record(stored: StoredRecord) -> AuditRecord:
    shown = stored._asdict()
    at, change = datetime.fromtimestamp(shown.pop("at_ms") / 1000, UTC), shown.pop("change")
    return AuditRecord(
        **shown,
        at=at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        settings=None if change is None else SettingChange(before=change.before, after=change.after),
    )
