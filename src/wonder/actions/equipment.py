"""What kinds of action are made with: all that they need of the process that they run in."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from wonder.actions.artifacts import Artifacts
from wonder.actions.embedding.searching import Searching
from wonder.actions.functions import FunctionRegistry
from wonder.actions.resources import Resources
from wonder.actions.spending import StoredSpending
from wonder.actions.threads import Threads


@dataclass(frozen=True, slots=True)
class Equipment:
    """Clock, waiting and chance are arguments, as everywhere: a simulation gives its own."""

    functions: FunctionRegistry
    threads: Threads
    resources: Resources
    now_ms: Callable[[], int]
    sleep: Callable[[float], Awaitable[None]]
    """Waits for milliseconds."""
    random: Callable[[], float]
    """Gives a number from 0 to below 1."""
    spending: StoredSpending | None = None
    """None where nothing limits what models cost."""
    artifacts: Artifacts | None = None
    """None where nothing can be stored for good."""
    searching: Searching | None = None
    """None where there are no vectors."""
