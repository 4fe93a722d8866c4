"""What kinds of action are made with: all that they need of the process that they run in."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from wonder.actions.artifacts.storing import Artifacts
from wonder.actions.embedding.searching import Searching
from wonder.actions.functions.functions import FunctionRegistry
from wonder.actions.money.spending import StoredSpending
from wonder.actions.resources import Resources
from wonder.actions.threads import Threads

if TYPE_CHECKING:
    from wonder.sandbox.typescript import CompiledTransform


class Transforms(Protocol):
    """What compiles transforms, each once."""

    async def compiled(self, source: str) -> "CompiledTransform":
        """Give what a source is compiled to; raises InvalidTypeScript with all that is wrong with it."""


class Equipment(Struct, frozen=True):
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
    transforms: Transforms | None = None
    """None where no TypeScript can be compiled."""
