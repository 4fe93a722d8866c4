"""Clock, waiting and chance, as arguments: a simulation gives its own."""

import asyncio
import random
import time
from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """Something that will be called later."""

    def cancel(self) -> None:
        """Let it not be called."""


class Environment(Protocol):
    """What an executor takes from outside."""

    def now_ms(self) -> int:
        """Return the time of day, in milliseconds since 1970."""

    def monotonic_ms(self) -> float:
        """Return a time that never goes back, to measure with."""

    async def sleep(self, milliseconds: float) -> None:
        """Wait."""

    def after(self, milliseconds: float, call: Callable[[], None]) -> Timer:
        """Have something called in the loop later."""

    def random(self) -> float:
        """Return a number from 0 to below 1."""


class SystemEnvironment:
    """The real clock, and chance from a seed if there is one."""

    def __init__(self, seed: int | None = None) -> None:
        self._random = random.Random(seed)  # noqa: S311  # spreads retries, guards nothing

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

    def random(self) -> float:
        """Return a number from 0 to below 1."""
        return self._random.random()
