"""What a server of tools may take of this process, and how fast it may talk."""

import asyncio
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on time, size and number, for every server alike."""

    answer_bytes: int = 4_000_000
    """The largest message: one line of a command, one response or event over HTTP.

    The SDK reads it in the loop, which stands still meanwhile: for one of many small values a second or so.
    """
    unread_bytes: int = 64_000_000
    """How much may wait to be read by a server before it counts as lost."""
    start_seconds: float = 30.0
    """From starting or reaching a server to knowing what it is; also for asking what tools it has."""
    call_seconds: float = 600.0
    """For a call whose action has no time-out of its own."""
    idle_seconds: float = 300.0
    """How long a session without calls is kept."""
    stop_seconds: float = 2.0
    """From the end of its input to being told to stop, and from there to being killed."""
    calls_max: int = 16
    """Calls of one session at once; more wait in line."""
    sessions_max: int = 64
    tools_max: int = 10_000
    tools_seconds: float = 300.0
    """How long a list of tools is believed without a word of the server that it has changed."""
    burst_bytes: int = 32_000_000
    bytes_per_second: int = 8_000_000
    """What is read of one server at full speed, and what after that."""
    noise_bytes: int = 8_000
    """What a message that answers nothing counts for besides its length: it costs time to be looked at."""


class Pace:
    """Slows down reading from a server that never stops sending, so that the loop has time for others."""

    def __init__(self, limits: Limits) -> None:
        self._burst, self._rate = limits.burst_bytes, limits.bytes_per_second
        self._left = float(self._burst)
        self._clock = asyncio.get_running_loop().time
        self._at = self._clock()

    async def take(self, amount: int) -> None:
        """Wait until so many bytes may be read."""
        wait = self.wait_seconds(amount)
        if wait > 0:
            await asyncio.sleep(wait)

    def wait_seconds(self, amount: int) -> float:
        """Count so many bytes, and say how long to wait before reading on."""
        now = self._clock()
        self._left = min(self._burst, self._left + (now - self._at) * self._rate) - amount
        self._at = now
        return -self._left / self._rate
