"""Times as people write them on a command line: a length before now, or a date with or without a time."""

import re
from argparse import ArgumentTypeError
from datetime import UTC, datetime

from wonder.clock import SYSTEM_CLOCK

_UNITS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def duration(text: str) -> int:
    """Read a length of time, such as `30m`, `12h` or `90d`, in seconds."""
    if found := re.fullmatch(r"([0-9]{1,6})([smhd])", text.strip()):
        return int(found[1]) * _UNITS[found[2]] // 1_000
    raise ArgumentTypeError(f"{text!r} is not a length of time; write 30m, 12h or 90d")


def moment(text: str) -> int:
    """Read `30m`, `2h` or `7d` (before now), `2026-11-18` or `2026-11-18T09:30` (UTC unless it says otherwise)."""
    if found := re.fullmatch(r"([0-9]{1,6})([smhd])", text.strip()):
        return max(0, SYSTEM_CLOCK.now_ms() - int(found[1]) * _UNITS[found[2]])
    try:
        read = datetime.fromisoformat(text.strip())
    except ValueError:
        message = f"{text!r} is not a time; write a length before now (30m, 2h, 7d) or a date (2026-11-18T09:30)"
        raise ArgumentTypeError(message) from None
    return max(0, int((read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp() * 1000))
