"""Call trees: how many runs may be live at a time below one that nobody called, by calls of calls (RES-6, ACT-5).

The limits of a run bound what it calls itself. A workflow that calls itself for each of four items would be a million
runs ten levels further down, each of them small.
"""

from typing import Final

from wonder.coordinator.coordinator import Coordinator
from wonder.coordinator.live import LiveRun
from wonder.coordinator.sharing import SharedReads
from wonder.engine.failure import Failure
from wonder.engine.limits import CODE
from wonder.storage.runs.reconciling import count_live_called, root_of_run

# So many runs of a tree begin before they are counted for the first time: most trees never have as many.
_UNCOUNTED: Final = 1_000
_TREES_KEPT: Final = 10_000


class CallTrees:
    """Counts live runs of a tree by its rows, and again when as many have begun as there was room for."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator
        self._room: dict[str, int] = {}
        self._counts = SharedReads[tuple[str, int], None](self._count)

    async def admit(self, parent: LiveRun) -> Failure | None:
        """Let a run call one more; gives why it may not."""
        if not parent.depth:
            return None  # As many as it has tokens, and those have their own limit.
        if parent.root_id is None:
            parent.root_id = await root_of_run(self._coordinator.store.unsettled, parent.id)
        root_id, most = parent.root_id, parent.state.limits.live_tokens
        if len(self._room) >= _TREES_KEPT:
            self._room.clear()
        if self._room.setdefault(root_id, min(_UNCOUNTED, most)) <= 0:
            # All who wait for the same count share the room that it finds.
            await self._counts.get((root_id, most))
            if self._room.get(root_id, 0) <= 0:
                return _too_many(root_id, most)
        self._room[root_id] -= 1
        return None

    async def _count(self, tree: tuple[str, int]) -> None:
        root_id, most = tree
        self._room[root_id] = most - await count_live_called(self._coordinator.store.unsettled, root_id)


def _too_many(root_id: str, most: int) -> Failure:
    message = (
        f"the calls below the run {root_id} have made {most:,} live runs, and run_limits.live_tokens allows no more;"
        " end the recursion by a condition, or raise the limit with `wonder project set run_limits.live_tokens N` and"
        " retry the run"
    )
    details = {"limit": "run_limits.live_tokens", "most": most}
    return Failure(f"{CODE}LIVE_TOKENS", message, details=details)
