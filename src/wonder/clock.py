"""The clock: time, waiting, and calls later. It is an argument, so that a simulation can give its own."""

import asyncio
import time
from collections.abc import Callable
from typing import Final, Protocol


class Timer(Protocol):
    """Something that will be called later."""

    def cancel(self) -> None:
        """Let it not be called."""


class Clock(Protocol):
    """The only clock that there is; code that only needs the time of day takes the method `now_ms` of one."""

    def now_ms(self) -> int:
        """Return the time of day, in milliseconds since 1970."""

    def monotonic_ms(self) -> float:
        """Return a time that never goes back, to measure with."""

    async def sleep(self, milliseconds: float) -> None:
        """Wait."""

    def after(self, milliseconds: float, call: Callable[[], None]) -> Timer:
        """Have something called in the loop later."""


class SystemClock:
    """The clock of this machine."""

    def now_ms(self) -> int:
        """Return the time of day, in milliseconds since 1970."""
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> float:
        """Return a time that never goes back, to measure with."""
        return time.perf_counter() * 1_000

    async def sleep(self, milliseconds: float) -> None:
        """Wait."""
        await asyncio.sleep(milliseconds / 1_000)

    def after(self, milliseconds: float, call: Callable[[], None]) -> Timer:
        """Have something called in the loop later."""
        return asyncio.get_running_loop().call_later(milliseconds / 1_000, call)


SYSTEM_CLOCK: Final = SystemClock()
