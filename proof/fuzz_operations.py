"""The target for what is asked of an open database: every operation with any input, beside a running engine."""

import asyncio
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

from proof.fuzz_streams import loop, result
from wonder.app.application import Application
from wonder.app.opening import open_wonder
from wonder.errors import WonderError
from wonder.language.values import encode_json, parse_json
from wonder.operations.declaring import Operation, Stream
from wonder.operations.inbox import ListInbox, list_inbox
from wonder.operations.outputs import as_json

# Those have targets of their own (files), start programs, or wait for something that does not come here.
_LEFT_OUT: Final = (
    "definitions.deploy",
    "definitions.validate",
    "mcp.tools",
    "runs.wait_for_triggered",
    "secrets.rotate",
)
_SECONDS: Final = 30
_ITEMS_MAX: Final = 50
# So many inputs are given to one database: each may have changed it.
_INPUTS_MAX: Final = 5_000
_DEFINITION: Final[Any] = {
    "workflow": {
        "name": "asks",
        "input_schema": {"type": "object", "properties": {"n": {"type": "integer"}}},
        "context_schema": {"type": "object", "properties": {"n": {"type": "integer"}}},
        "initial_node": "ask",
        "nodes": {
            "ask": {
                "action": {"kind": "human_input", "implementation": {"prompt": "?", "schema": {"type": "integer"}}},
                "output_mapping": {"state.n": "$"},
            },
            "wait": {"action": {"kind": "wait_for_event", "implementation": {"event": "paid", "key": "1"}}},
        },
        "transitions": [{"from": "ask", "to": "wait"}],
    },
    "schedules": {"nightly": {"cron": "30 2 * * *"}},
    "mcp_servers": {"tools": {"transport": "stdio", "command": ["/bin/false"]}},
}


def operations(data: bytes) -> None:
    """Ask for the operation of the first line, with the JSON behind it; `RUN` and `ITEM` are ids that there are."""
    first, _, rest = data.partition(b"\n")
    asked = _operations().get(first.decode("utf-8", "replace"))
    if asked is None:
        return
    world = _World.current()
    for word, id in world.ids.items():
        rest = rest.replace(word, id)
    given = asked.read(parse_json(rest))
    result(world.ask(asked, given))


@cache
def _operations() -> dict[str, Any]:
    # Not when this is imported: for most targets it is not needed, and takes seconds.
    from wonder.operations.catalogue import all_operations

    return {
        name: one
        for name, one in all_operations().items()
        if isinstance(one, Operation | Stream) and name not in _LEFT_OUT and not name.startswith("system.")
    }


def close() -> None:
    """Close the database that is open."""
    if _World.now:
        _World.now.end()
    _World.now = None


class _World:
    """A database with a workflow, a run that waits, a question, a schedule and a server; its engine runs."""

    now: "_World | None" = None

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="wonder-fuzz-operations-")
        self._ready: asyncio.Future[Application] = loop().create_future()
        self._over = asyncio.Event()
        self._life = loop().create_task(self._live())
        self.app = loop().run_until_complete(self._ready)
        self.ids: dict[bytes, bytes] = {}
        self.left = _INPUTS_MAX
        result(self._furnish())

    @classmethod
    def current(cls) -> "_World":
        """Give the world of now; a new one where that has seen enough."""
        if cls.now and cls.now.left <= 0:
            close()
        cls.now = cls.now or cls()
        cls.now.left -= 1
        return cls.now

    async def ask(self, asked: Any, given: Any) -> None:
        """Ask for an operation; a WonderError is an answer, and an engine that ends is none."""
        asking = asyncio.ensure_future(_asked(asked, self.app, given))
        done, _ = await asyncio.wait((asking, self._life), timeout=_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        assert done, f"{asked.name} does not answer"
        assert self._life not in done, f"the engine has ended: {self._life}"
        with suppress(WonderError):
            encode_json(as_json(await asking))

    def end(self) -> None:
        """Close the database and remove it."""
        loop().call_soon(self._over.set)
        loop().run_until_complete(self._life)
        self._folder.cleanup()

    async def _live(self) -> None:
        async with open_wonder(f"sqlite:///{Path(self._folder.name) / 'fuzz.db'}", runs="none") as app:
            self._ready.set_result(app)
            await self._over.wait()

    async def _furnish(self) -> None:
        await self.app.deploy(_DEFINITION)
        started = await self.app.start("asks", {"n": 1})
        inbox: Any = []
        while not inbox:
            inbox = (await list_inbox(self.app, ListInbox())).items
        self.ids = {b"RUN": started.id.encode(), b"ITEM": inbox[0].id.encode()}


async def _asked(asked: Any, app: Application, given: Any) -> Any:
    if isinstance(asked, Operation):
        return await asked(app, given)
    found = []
    async for item in asked(app, given):
        found.append(item)
        if len(found) >= _ITEMS_MAX:
            break
    return found
