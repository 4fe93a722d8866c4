"""Ends: who waits for which run to end."""

import asyncio

from wonder.engine.decisions import EndRun
from wonder.errors import WonderError

End = asyncio.Future[EndRun | None]


class Ends:
    """Futures of how runs end."""

    def __init__(self) -> None:
        self._futures: dict[str, set[End]] = {}

    def of(self, run_id: str) -> End:
        """Give a future of how a run ends; whoever no longer waits says so (`forget`).

        It is done when that is durable, or fails when this process runs the engine no more. None says that the run has
        ended, or is none, and only its rows know.
        """
        future: End = asyncio.get_running_loop().create_future()
        self._futures.setdefault(run_id, set()).add(future)
        return future

    def tell(self, run_id: str, end: EndRun | None) -> None:
        """Tell all who wait that a run has ended."""
        for future in self._futures.pop(run_id, ()):
            if not future.done():
                future.set_result(end)

    def fail(self, error: WonderError) -> None:
        """Tell all who wait that they will not hear it from here."""
        waiting, self._futures = self._futures, {}
        for future in [future for futures in waiting.values() for future in futures]:
            if not future.done():
                future.set_exception(error)

    def forget(self, run_id: str, future: End) -> None:
        """Let go of somebody who waits no longer."""
        future.cancel()
        futures = self._futures.get(run_id)
        if futures is not None:
            futures.discard(future)
            if not futures:
                del self._futures[run_id]
