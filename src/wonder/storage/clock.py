"""The real time, as the text in which Wonder stores it."""

from datetime import UTC, datetime, timedelta


def utc_now() -> str:
    """Give the time as ISO 8601 in UTC, always 27 characters, so that text order is time order."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def end_of_millisecond(ms: int) -> str:
    """Give the last moment of a millisecond since 1970 in the same form, to compare texts with."""
    moment = datetime.fromtimestamp(ms // 1_000, UTC) + timedelta(microseconds=ms % 1_000 * 1_000 + 999)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
