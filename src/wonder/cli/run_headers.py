"""What lists and details of runs share: their times as people read them."""

from datetime import UTC, datetime

from wonder.operations.run_records import RunSummary


def shown_status(run: RunSummary) -> str:
    """Give a run's status for a person, who should see at once that it was set aside."""
    return "quarantined" if run.is_quarantined else run.status


def shown_time(ms: int) -> str:
    """Write a time of day, in UTC."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def shown_clock(ms: int) -> str:
    """Write a time of day with its milliseconds, in UTC."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%H:%M:%S.%f")[:-3]


def shown_took(run: RunSummary) -> str:
    """Write how long a run took."""
    return shown_length(run.created_ms, run.completed_ms)


def shown_length(begin_ms: int, end_ms: int | None) -> str:
    """Write the time between two times."""
    return "under way" if end_ms is None else f"{(end_ms - begin_ms) / 1000:.3f} s"
