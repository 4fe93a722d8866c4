"""Checks of definitions beside the loop: a large one takes seconds, in which the engine of this process goes on."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from wonder.definitions.loading import Loaded

T = TypeVar("T")

LARGE_BYTES: Final = 100_000
LARGE_GRAPH: Final = 500
"""Nodes and transitions together: a graph with more is checked in a thread, which takes longer to ask than a few do."""


async def beside(check: Callable[[], T], *, is_large: bool) -> T:
    """Carry out a check, in a thread if it is a large one.

    It may run there: what reads and checks definitions has no state but caches, which threads share, and counts its
    steps by a context variable.
    """
    return await asyncio.to_thread(check) if is_large else check()


def is_large(loaded: "Loaded") -> bool:
    """Say whether a definition may take long to check."""
    if len(loaded.written) > LARGE_BYTES:
        return True
    bundle = loaded.reading.bundle
    everything = (bundle.definitions, *(library.definitions for library in bundle.libraries.values()))
    graphs = [workflow for one in everything for workflow in one.workflows.values()]
    return sum(len(graph.nodes) + len(graph.transitions) for graph in graphs) > LARGE_GRAPH
