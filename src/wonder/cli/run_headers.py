"""What lists and details of runs share: a run as JSON, and its times as people read them."""

from datetime import UTC, datetime
from typing import Any

from wonder.cli.run_triggers import origin_json
from wonder.storage.runs.headers import RunHeader


def header_json(header: RunHeader) -> dict[str, Any]:
    """Give a run for a program."""
    return {
        "run_id": header.id,
        "status": header.status,
        "workflow_def_id": header.workflow_def_id,
        "workflow_version": header.workflow_version,
        "parent_run_id": header.parent_run_id,
        "triggered_by": origin_json(header.origin),
        "output": header.output,
        "error": header.error.as_json() if header.error else None,
        "created_ms": header.created_ms,
        "completed_ms": header.completed_ms,
    }


def shown_time(ms: int) -> str:
    """Write a time of day, in UTC."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def shown_took(header: RunHeader) -> str:
    """Write how long a run took."""
    return shown_length(header.created_ms, header.completed_ms)


def shown_length(begin_ms: int, end_ms: int | None) -> str:
    """Write the time between two times."""
    return "under way" if end_ms is None else f"{(end_ms - begin_ms) / 1000:.3f} s"
