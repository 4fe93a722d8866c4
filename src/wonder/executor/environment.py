"""The clock and chance, as arguments: a simulation gives its own."""

import random
from typing import Protocol

from wonder.clock import Clock, SystemClock


class Environment(Clock, Protocol):
    """What an executor takes from outside."""

    def random(self) -> float:
        """Return a number from 0 to below 1."""


class SystemEnvironment(SystemClock):
    """The real clock, and chance from a seed if there is one."""

    def __init__(self, seed: int | None = None) -> None:
        self._random = random.Random(seed)  # noqa: S311  # spreads retries, guards nothing

    def random(self) -> float:
        """Return a number from 0 to below 1."""
        return self._random.random()
