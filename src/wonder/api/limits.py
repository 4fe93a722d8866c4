"""How much one caller may ask for, and all of them together: bytes, requests at once, requests per second."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil

from wonder.api.problems import Problem


@dataclass(frozen=True)
class Limits:
    """Limits of a server; each is documented in docs/reference/http.md."""

    body_bytes: int = 4_000_000
    """Of one body."""
    bytes_in_flight: int = 128_000_000
    """Of all bodies that are being read or carried out."""
    requests_at_once: int = 1_000
    """Of one caller; those that wait or stream count as well."""
    requests_per_second: int = 5_000
    """Of one caller, over a second on average."""
    body_seconds: float = 30.0
    """For a body to arrive."""
    header_seconds: float = 10.0
    """For the headers of a request to arrive, and for a connection on which nothing is asked."""
    header_bytes: int = 32_000
    """Of the first line and all headers of a request."""


class Usage:
    """Counts what callers use. One process counts for itself."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.bytes_in_flight = 0
        self.at_once: dict[str, int] = {}
        self._allowed: dict[str, tuple[float, float]] = {}

    @contextmanager
    def request(self, caller: str, now: float) -> Iterator[None]:
        """Count a request while it is carried out; raises Problem if that is too many."""
        self._check_rate(caller, now)
        count = self.at_once.get(caller, 0)
        if count >= self.limits.requests_at_once:
            raise _too_many(f"more than {self.limits.requests_at_once:,} requests of this caller at once", 1)
        self.at_once[caller] = count + 1
        try:
            yield
        finally:
            if self.at_once[caller] == 1:
                del self.at_once[caller]
            else:
                self.at_once[caller] -= 1

    def take_bytes(self, count: int) -> None:
        """Count bytes that arrive; raises Problem if there are too many of all callers. Given back by `give_bytes`."""
        if self.bytes_in_flight + count > self.limits.bytes_in_flight:
            headers = {"retry-after": "1", "connection": "close"}
            raise Problem(503, "OVERLOADED", "too many large requests at once; try again", headers=headers)
        self.bytes_in_flight += count

    def give_bytes(self, count: int) -> None:
        """Count bytes no more."""
        self.bytes_in_flight -= count

    def _check_rate(self, caller: str, now: float) -> None:
        """Take one from what the caller may ask for, which grows with time, up to what a second allows."""
        rate = float(self.limits.requests_per_second)
        left, at = self._allowed.get(caller, (rate, now))
        left = min(rate, left + (now - at) * rate)
        if left < 1:
            raise _too_many(f"more than {rate:,.0f} requests of this caller in a second", ceil((1 - left) / rate))
        if len(self._allowed) > 10_000:  # of keys that come and go
            self._allowed.clear()
        self._allowed[caller] = (left - 1, now)


def _too_many(what: str, seconds: int) -> Problem:
    message = f"{what}; wait, and send fewer"
    return Problem(429, "TOO_MANY_REQUESTS", message, headers={"retry-after": str(max(1, seconds))})
