"""Opening Wonder: while the database is being opened, what runs the engine is imported.

A new database on a server gets its tables meanwhile, which takes the server nearly as long as we take to import.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wonder.app import app_on
from wonder.app.ids import new_ulid
from wonder.app.objects import objects_of
from wonder.app.private import private_places
from wonder.garbage import seldom_collected
from wonder.storage.opening import open_store
from wonder.storage.store import Store

if TYPE_CHECKING:
    from wonder.app.api import Wonder
    from wonder.app.engine import Runs

# Between two of these the loop has a turn, so that none should take much longer than 10 ms.
_NEEDED = (
    "pydantic",
    "annotated_types",
    "pydantic.types",
    "wonder.definitions.records.tenancy",
    "wonder.definitions.records.resources",
    "wonder.storage.tenancy",
    "wonder.actions.functions",
    "wonder.engine.state",
    "wonder.actions.resources",
    "wonder.engine.compiling",
    "wonder.coordinator.coordinator",
    "wonder.app.local_worker",
    "wonder.app.engine",
    "wonder.app.api",
)
# Into a database that is being made, something is going to be deployed.
_NEXT = ("wonder.definitions.checks.lookup", "wonder.definitions.loading", "wonder.storage.deploying")


@asynccontextmanager
async def open_wonder(
    url: str,
    *,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    modules: Sequence[str] = (),
    import_roots: Sequence[Path] = (),
    runs: "Runs" = "all",
    lease_ms: int | None = None,
    objects: str | None = None,
) -> "AsyncIterator[Wonder]":
    """Open a database, and run its engine in this process unless another one does.

    `python` actions may call `functions`, by their names, and everything in `modules`; `import_roots` are folders whose
    modules may be imported as well. `runs` says whose tasks run here: those of `all` runs, of the `own` ones that are
    started here, or `none`. When a process that runs the engine ends, another one that has the database open takes
    over: on PostgreSQL after `lease_ms` at the latest, on SQLite within a second. `objects` is where the content of
    artifacts is, file:///folder or s3://bucket/prefix; if it is not said, in a folder beside the database.
    """
    contents = objects_of(url, objects)
    with seldom_collected():
        async with _opening(url) as opening:
            await _import_engine(opening)
            # What was imported above.
            from wonder.actions.functions import FunctionRegistry
            from wonder.actions.private_places import kept_private
            from wonder.app.api import Wonder
            from wonder.app.seat import take_seat
            from wonder.app.vectors import vectors_of
            from wonder.storage.runs.leases import LEASE_MS

            registry = FunctionRegistry(modules, import_roots)
            for name, function in (functions or {}).items():
                registry.register(name, function)
            store = await opening
            with kept_private(private_places(url, contents)):
                async with (
                    app_on(store, url) as app,
                    take_seat(
                        store,
                        registry,
                        new_ulid,
                        runs=runs,
                        lease_ms=LEASE_MS if lease_ms is None else lease_ms,
                        keys=app.keys,
                        objects=contents,
                        vectors=vectors_of(url, store),
                    ) as seat,
                ):
                    yield Wonder(app, seat)


@asynccontextmanager
async def _opening(url: str) -> "AsyncIterator[asyncio.Task[Store]]":
    """Open a database up to where that takes some time, and let it go on; in the end it is closed, wherever it is."""
    waits = asyncio.get_running_loop().create_future()

    def tell() -> None:
        if not waits.done():
            waits.set_result(None)

    opening = asyncio.create_task(open_store(url, on_migration=tell))
    try:
        await asyncio.wait((opening, waits), return_when=asyncio.FIRST_COMPLETED)
        yield opening
    finally:
        opening.cancel()
        (store,) = await asyncio.gather(opening, return_exceptions=True)
        if not isinstance(store, BaseException):
            await store.close()


async def _import_engine(opening: "asyncio.Task[Store]") -> None:
    """Import all that is needed once the database is open, in turns with those who open it."""
    if _NEEDED[-1] in sys.modules:
        return
    for name in _NEEDED:
        await asyncio.sleep(0)
        import_module(name)
    for name in _NEXT:
        await asyncio.sleep(0)
        if opening.done():
            break
        import_module(name)
