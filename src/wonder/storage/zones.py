"""Time zones of the IANA database, as the machine has it, or the package tzdata."""

from datetime import UTC as UTC_ZONE
from datetime import datetime, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from wonder.language.schedules import UTC, ZONES, Zone

# What machines keep beside the zones: those that count leap seconds, their own, and one that says that none was set.
_NO_ZONES = ("right/", "posix/", "posixrules", "localtime", "Factory")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC_ZONE)


class IanaZone:
    """A zone that was read."""

    def __init__(self, name: str, zone: tzinfo) -> None:
        self.name, self._zone = name, zone

    def offset(self, seconds: int) -> int:
        """Say by how many seconds local time is ahead at a time, in seconds since 1970."""
        try:
            offset = (_EPOCH + timedelta(seconds=seconds)).astimezone(self._zone).utcoffset()
        except OverflowError:
            return 0  # beyond the years that can be counted
        assert offset is not None
        # Before there were standard times, offsets had seconds; no schedule reaches there.
        return int(offset.total_seconds())


@lru_cache(maxsize=1024)
def find_zone(name: str) -> Zone | None:
    """Find a zone by its name, such as Europe/Berlin; None if there is none of that name."""
    if name in ("UTC", "Etc/UTC"):
        return UTC
    if name.startswith(_NO_ZONES):
        return None
    try:
        return IanaZone(name, ZoneInfo(name))
    except (KeyError, ValueError, OSError):
        return None  # unknown, a folder, or a path out of the database


def zone_names() -> list[str]:
    """List the zones that are known."""
    return sorted(name for name in available_timezones() if not name.startswith(_NO_ZONES))


def announce_zones() -> None:
    """Let definitions of this process name all zones that the machine knows."""
    ZONES.known_by(find_zone, zone_names)
