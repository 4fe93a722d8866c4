"""Retention: what is older than projects keep, and having it removed now (EVT-5)."""

from typing import TYPE_CHECKING

from wonder.app.application import Application
from wonder.clock import SYSTEM_CLOCK
from wonder.errors import WonderError
from wonder.operations.declaring import NoInput, operation
from wonder.operations.outputs import Output
from wonder.storage.retention import old_rows

if TYPE_CHECKING:
    from wonder.app.retention import Retention  # brings the engine


class OldData(Output, frozen=True):
    """What a project has that is older than its settings say."""

    project_id: str
    project: str
    events_days: int | None
    """How long runs are kept after their end; null for ever."""
    logs_days: int
    audit_days: int
    runs: int
    """Runs that ended before that. Those of a family that a live run needs stay."""
    log_records: int
    """Log records that move to the object store."""
    audit_records: int
    """Records of the audit log that are deleted."""


class Preview(Output, frozen=True):
    """What is older than the settings say, by project."""

    projects: list[OldData]


class Removed(Output, frozen=True):
    """What was done."""

    runs: int
    """Runs that were removed, with all that they had."""
    log_records: int
    """Log records that were moved to the object store."""
    contents: int
    """Contents of artifacts that were deleted; those of artifacts that were removed now follow after an hour."""
    audit_records: int
    """Records of the audit log that were deleted."""


class EngineElsewhere(WonderError):
    """Another process runs the engine, and removes what is old by itself."""

    code = "ENGINE_ELSEWHERE"

    def __init__(self) -> None:
        super().__init__(
            "another process runs the engine of this database, and removes what is old by itself, within minutes; "
            "--dry-run shows what there is"
        )


@operation("retention.preview", role="admin")
async def preview_retention(application: Application, given: NoInput) -> Preview:
    """Count what the project has that is older than its settings say."""
    found = await old_rows(application.store, SYSTEM_CLOCK.now_ms())
    own = [one for one in found if one.project_id == application.home.project_id]
    return Preview(projects=[OldData(**one._asdict()) for one in own])


@operation("retention.apply", role="admin", changes=True, needs_engine=True, reach="server")
async def apply_retention(application: Application, given: NoInput) -> Removed:
    """Remove now what is older than the settings of its project say, in all projects of the database."""
    if application.engine is None:
        raise EngineElsewhere
    retention = application.engine.retention
    before = _done(retention)
    while await retention.step():
        pass
    runs, log_records, contents, audited = (now - then for now, then in zip(_done(retention), before, strict=True))
    return Removed(runs=runs, log_records=log_records, contents=contents, audit_records=audited)


def _done(retention: "Retention") -> tuple[int, ...]:
    counts = (retention.removed_runs, retention.archived_records, retention.deleted_contents)
    return (*counts, retention.deleted_audit_records)
