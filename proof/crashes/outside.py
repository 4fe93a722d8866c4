"""What stays when a process ends: the outside log, and the world in which actions act."""

import asyncio
import json
import os
import time
from pathlib import Path
from typing import Any

from wonder.actions.functions.functions import FunctionRegistry
from wonder.actions.protocol import ActionFailed
from wonder.actions.python.kind import current_context

_LONG_SECONDS = 60.0


class Outside:
    """A log in a file, each line of it written at once, and functions that leave a line when they act."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._mended = path.with_suffix(".mended")
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def note(self, kind: str, **fields: Any) -> None:
        """Write down what was seen."""
        line = {"kind": kind, "at": time.time_ns() // 1_000_000, **fields}
        os.write(self._file, json.dumps(line).encode() + b"\n")

    def lines(self) -> list[dict[str, Any]]:
        """Read all that was seen so far, by whichever process."""
        return [json.loads(line) for line in self.path.read_text("utf-8").splitlines()]

    def mend(self) -> None:
        """Mend what `mendable` needs."""
        self._mended.touch()

    def functions(self) -> FunctionRegistry:
        """Give what the scenarios' actions call."""
        registry = FunctionRegistry()
        registry.register("functions:work", self._work)
        registry.register("functions:use_machine", self._work)
        registry.register("functions:take_long", self._take_long)
        registry.register("proof:unsteady", self._unsteady)
        registry.register("proof:broken", self._broken)
        registry.register("proof:mendable", self._mendable)
        registry.register("proof:charge", self._charge)
        return registry

    def _act(self, **fields: Any) -> None:
        origin = current_context().origin
        self.note("effect", run=origin.run_id, token=origin.token_id, node=origin.node, **fields)

    async def _work(self, what: Any = None) -> Any:
        self._act()
        return what

    async def _take_long(self, what: Any = None) -> Any:
        self._act()
        await asyncio.sleep(_LONG_SECONDS)
        return what

    async def _unsteady(self) -> int:
        self._act()
        if current_context().attempt < 3:
            raise ConnectionError("not yet")
        return current_context().attempt

    async def _broken(self) -> None:
        self._act()
        raise ActionFailed("BROKEN", "it broke for good")

    async def _mendable(self, n: int) -> int:
        self._act()
        if n == 1 and not self._mended.exists():
            raise ActionFailed("BROKEN", "it is not mended yet")
        return n * 10

    async def _charge(self, order: int) -> int:
        self._act(order=order)
        await asyncio.sleep(0)
        return order
