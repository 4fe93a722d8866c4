"""The real time, as the text in which Wonder stores it."""

from datetime import UTC, datetime


def utc_now() -> str:
    """Give the time as ISO 8601 in UTC, always 27 characters, so that text order is time order."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
