"""Keyed calls: of several calls with one idempotency key, one starts a sub-workflow, and all get its output (RET-4)."""

import asyncio
from collections.abc import Callable
from typing import Final, NamedTuple

from wonder.coordinator.coordinator import Coordinator
from wonder.coordinator.ends import End
from wonder.coordinator.live import LiveRun
from wonder.engine.decisions import StartChild
from wonder.engine.facts import ChildEnded
from wonder.engine.failure import Failure
from wonder.storage.runs.headers import load_headers
from wonder.storage.runs.reading import called_with_key

_HELD_MIN: Final = 1_000


class WaitsFor(NamedTuple):
    """The sub-workflow that another call with the same key has started, or is about to."""

    run_id: str


class KeyedCalls:
    """Which sub-workflow answers a call with a key.

    The rows say so: a sub-workflow's row has the key of its call, so nothing is to be kept beside it. Only those that
    are not stored yet are remembered here.
    """

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator
        self._held: dict[tuple[str, str], str] = {}
        self._starting: dict[str, asyncio.Future[None]] = {}
        self._waiting: set[str] = set()

    def begin(self, child_id: str) -> None:
        """Note that a sub-workflow is about to be started, or that this is found out."""
        self._starting[child_id] = asyncio.get_running_loop().create_future()

    def end(self, child_id: str) -> None:
        """Note that a sub-workflow has been started, or is not going to be now."""
        if (starting := self._starting.pop(child_id, None)) and not starting.done():
            starting.set_result(None)

    async def find(self, parent: LiveRun, order: StartChild) -> ChildEnded | WaitsFor | Failure | None:
        """Find what answers a call; None if it is to start its own sub-workflow, which then holds the key."""
        assert order.key is not None
        held = (parent.project_id, order.key)
        holder = self._held.get(held)
        if holder is None or holder == order.child_run_id or not self._is_here(holder):
            now_ms = self._coordinator.clock.now_ms()
            after_ms = -1 if order.ttl_seconds is None else now_ms - order.ttl_seconds * 1_000
            found = await called_with_key(self._coordinator.store, parent.project_id, order.key, after_ms)
            if found is not None and found.has_completed:
                return ChildEnded(
                    order.token_id, order.child_run_id, "completed", found.output, None, of_run=found.run_id
                )
            holder = found.run_id if found is not None else None
            # Asked again: another call may have come while we looked.
            other = self._held.get(held)
            if other is not None and other != order.child_run_id and self._is_here(other):
                holder = other
        if holder is None or holder == order.child_run_id:
            self._hold(held, order.child_run_id)
            return None
        if await self._is_called_by(parent, holder):
            message = (
                f"the call waits for the sub-workflow {holder}, which has the same idempotency key and made this call "
                "itself; make the key_template say which call it is"
            )
            return Failure("BAD_WORKFLOW_CALL", message)
        return WaitsFor(holder)

    async def wait(self, holder_id: str, token_id: str, go_on: Callable[[], None]) -> None:
        """Have a call go on when the sub-workflow has ended that it waits for."""
        if token_id in self._waiting:
            return
        self._waiting.add(token_id)

        def done(future: "asyncio.Future[None] | End") -> None:
            self._waiting.discard(token_id)
            # With an error, this process no longer runs the engine: the next one goes on with the call.
            if not future.cancelled() and future.exception() is None:
                go_on()

        if (starting := self._starting.get(holder_id)) is not None:
            starting.add_done_callback(done)
            return
        # Asked for before looking, so that an end in between is not missed.
        end = self._coordinator.ends.of(holder_id)
        if not self._coordinator.will_tell_end(holder_id):
            headers = await load_headers(self._coordinator.store, [holder_id])
            if not headers or headers[0].has_ended:
                self._coordinator.ends.forget(holder_id, end)
                self._waiting.discard(token_id)
                go_on()
                return
        end.add_done_callback(done)

    def _is_here(self, child_id: str) -> bool:
        return child_id in self._starting or self._coordinator.residency.has(child_id)

    def _hold(self, held: tuple[str, str], child_id: str) -> None:
        if len(self._held) >= _HELD_MIN and len(self._held) >= 2 * len(self._coordinator.residency):
            # Of those that are parked or have ended the rows tell.
            self._held = {key: id for key, id in self._held.items() if self._is_here(id)}
        self._held[held] = child_id

    async def _is_called_by(self, run: LiveRun, holder_id: str) -> bool:
        """Say whether a run is a sub-workflow, or the caller's caller, that a call must not wait for."""
        above: str | None = run.id
        while above is not None:
            if above == holder_id:
                return True
            headers = await load_headers(self._coordinator.store, [above])
            above = headers[0].parent_run_id if headers else None
        return False
