"""What actions of the load do: each notes that it acts, and takes a while."""

import asyncio
import random
import time
from collections.abc import Callable
from typing import Any, Final

from proof.loads.measured import Latencies
from proof.outside_log import OutsideLog
from wonder.actions.protocol import ActionFailed
from wonder.actions.python.kind import current_context

_ACTION_SECONDS: Final = 0.01
# Half of the attempts fail, so that of eight tasks with three attempts one does.
_FAILS: Final = 0.5


class Functions:
    """The functions that `mixed.yaml` names."""

    def __init__(self, log: OutsideLog, latencies: Latencies, chance: random.Random) -> None:
        self.sent_at: dict[str, float] = {}
        """When the event with a key was sent, until somebody is woken by it."""
        self._log, self._latencies, self._random = log, latencies, chance

    def by_name(self) -> dict[str, Callable[..., Any]]:
        """Give them as `wonder.open` takes them."""
        functions = (self.act, self.charge, self.compute, self.flaky, self.hold, self.measure, self.woken)
        return {f"load:{function.__name__}": function for function in functions}

    async def act(self, name: str, key: str) -> dict[str, Any]:
        """Take a while, as what waits for a network does."""
        self._note(name)
        await asyncio.sleep(self._random.random() * _ACTION_SECONDS)
        return {"name": name}

    async def charge(self, key: str) -> dict[str, Any]:
        """Act once per key."""
        return await self.act("charge", key)

    def compute(self, n: int) -> dict[str, Any]:
        """Take a while in a thread."""
        self._note("compute")
        time.sleep(0.002)
        return {"n": n * n}

    async def flaky(self, key: str) -> dict[str, Any]:
        """Fail now and then."""
        self._note("flaky")
        if self._random.random() < _FAILS:
            raise ActionFailed("UNLUCKY", "not this time")
        return {"name": "flaky"}

    async def hold(self, key: str) -> dict[str, Any]:
        """Go on until cancelled."""
        self._note("hold")
        await asyncio.sleep(3_600)
        return {}

    def measure(self, text: str) -> dict[str, Any]:
        """Look at a long text, in a thread."""
        self._note("measure")
        return {"length": len(text)}

    async def woken(self, key: str) -> dict[str, Any]:
        """Note how long ago the event was sent."""
        self._note("woken")
        if (sent_at := self.sent_at.pop(key, None)) is not None:
            self._latencies.add("event to action", time.perf_counter() - sent_at)
        return {}

    def _note(self, name: str) -> None:
        origin = current_context().origin
        self._log.note("effect", run=origin.run_id, token=origin.token_id, name=name)
