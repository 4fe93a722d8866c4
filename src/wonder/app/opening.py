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

from wonder.app.application import Application
from wonder.app.callers import Caller, local_caller
from wonder.app.given_modules import folder_paths, module_names
from wonder.app.ids import new_ulid
from wonder.app.objects import objects_of
from wonder.app.private import private_places
from wonder.errors import WonderError
from wonder.garbage import seldom_collected
from wonder.storage.clock import utc_now
from wonder.storage.errors import DatabaseUnreachable as DatabaseUnreachable
from wonder.storage.opening import open_store
from wonder.storage.store import NewId, Store, UtcNow

if TYPE_CHECKING:
    from types import ModuleType

    from wonder.actions.functions.functions import FunctionRegistry
    from wonder.app.engine import Runs
    from wonder.coordinator.news import EngineNews
    from wonder.objects.store import Objects
    from wonder.storage.secret_keys import KeySource

# Between two of these the loop has a turn, so that none should take much longer than 10 ms.
_NEEDED = (
    "pydantic",
    "annotated_types",
    "pydantic.types",
    "wonder.definitions.records.tenancy",
    "wonder.definitions.records.resources",
    "wonder.storage.tenancy",
    "wonder.actions.functions.functions",
    "wonder.engine.state",
    "wonder.actions.resources",
    "wonder.engine.compiling",
    "wonder.coordinator.coordinator",
    "wonder.app.local_worker",
    "wonder.app.engine",
)
# Into a database that is being made, something is going to be deployed.
_NEXT = ("wonder.definitions.checks.lookup", "wonder.definitions.loading", "wonder.storage.deploying")


@asynccontextmanager
async def open_wonder(
    url: str,
    *,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    modules: "Sequence[str | ModuleType]" = (),
    module_folders: "Sequence[str | Path]" = (),
    import_roots: "Sequence[str | Path]" = (),
    runs: "Runs" = "all",
    lease_ms: int | None = None,
    objects: str | None = None,
    workspace: str | None = None,
    project: str | None = None,
    application: type[Application] = Application,
    news: "EngineNews | None" = None,
    caller: Caller | None = None,
) -> AsyncIterator[Application]:
    """Open a project of a database, and run the database's engine in this process unless another one does.

    `workspace` and `project` choose the project by name or id; without them it is `default` in `default`. All that is
    deployed, started and found belongs to it. The engine runs the runs of all projects.

    `python` actions may call `functions`, by their names, and the functions of `modules` that are marked
    `@wonder.function` or listed in `__all__`; a module is named or given itself, and named ones are looked for in
    `module_folders` first. `import_roots` are folders all of whose modules may be imported, which only a process that
    runs its own runs may have. `runs` says whose tasks run here: those of `all` runs, of the `own` ones that are
    started here, or `none`. When a process that runs the engine ends, another one that has the database open takes
    over: on PostgreSQL after `lease_ms` at the latest, on SQLite within a second. `objects` is where the content of
    artifacts is, file:///folder or s3://bucket/prefix; if it is not said, in a folder beside the database.
    `application` is what a door has added methods to. `news` is told when runs start and end, and when the engine
    begins and stops in this process. `caller` is who asks for everything (KEY-3); a program that gives none is neither
    checked nor audited.
    """
    names = module_names(modules)
    roots, folders = folder_paths("import_roots", import_roots), folder_paths("module_folders", module_folders)
    if roots and runs != "own":
        raise ImportRootsRefused(roots)
    contents = objects_of(url, objects)
    with seldom_collected():
        async with _opening(url) as opening:
            await _import_engine(opening)
            # What was imported above.
            from wonder.actions.files.private_places import kept_private

            registry = _registry(functions or {}, names, roots, folders)
            store = await opening
            with kept_private(private_places(url, contents), [*roots, *folders]):
                async with (
                    app_on(
                        store,
                        url,
                        objects=objects,
                        workspace=workspace,
                        project=project,
                        local=runs == "own",
                        application=application,
                        caller=caller,
                    ) as app,
                    _claimed(app, registry, contents, runs, lease_ms, news),
                ):
                    yield app


def _registry(
    functions: Mapping[str, Callable[..., Any]], modules: Sequence[str], roots: Sequence[Path], folders: Sequence[Path]
) -> "FunctionRegistry":
    from wonder.actions.functions.functions import FunctionRegistry  # imported by now, as the engine is

    registry = FunctionRegistry(modules, roots, folders)
    for name, function in functions.items():
        registry.register(name, function)
    return registry


@asynccontextmanager
async def _claimed(
    app: Application,
    registry: "FunctionRegistry",
    contents: "Objects",
    runs: "Runs",
    lease_ms: int | None,
    news: "EngineNews | None",
) -> AsyncIterator[None]:
    """Run the engine in this process, or as soon as the one that runs it ends."""
    # What `open_wonder` has imported.
    from wonder.app.engine_claim import claim_engine
    from wonder.app.log_writing import kept_logs
    from wonder.app.vectors import vectors_of
    from wonder.storage.runs.leases import LEASE_MS

    async with (
        kept_logs(app.store, new_ulid) as logs,
        claim_engine(
            app.store,
            registry,
            new_ulid,
            runs=runs,
            lease_ms=LEASE_MS if lease_ms is None else lease_ms,
            keys=app.keys,
            objects=contents,
            vectors=vectors_of(app.url, app.store),
            logs=logs,
            news=news,
        ) as app.claim,
    ):
        yield


@asynccontextmanager
async def open_app(
    url: str,
    *,
    create: bool = True,
    objects: str | None = None,
    workspace: str | None = None,
    project: str | None = None,
    fleeting: bool = False,
    clock: UtcNow = utc_now,
    new_id: NewId = new_ulid,
) -> AsyncIterator[Application]:
    """Open a database for a command that a person runs and that needs no engine, brought up to date.

    A `fleeting` one is gone with the command, and is not remembered as this user's.
    """
    store = await open_store(url, create=create, clock=clock)
    try:
        async with app_on(
            store,
            url,
            objects=objects,
            workspace=workspace,
            project=project,
            clock=clock,
            new_id=new_id,
            local=True,
            fleeting=fleeting,
            caller=local_caller(),
        ) as app:
            yield app
    finally:
        await store.close()


@asynccontextmanager
async def app_on(
    store: Store,
    url: str,
    *,
    objects: str | None = None,
    workspace: str | None = None,
    project: str | None = None,
    clock: UtcNow = utc_now,
    new_id: NewId = new_ulid,
    local: bool = False,
    fleeting: bool = False,
    application: type[Application] = Application,
    caller: Caller | None = None,
) -> AsyncIterator[Application]:
    """Use a database that is open, in the project that is chosen; raises NotFound."""
    # Imported here, because it takes long, and a database can be opened meanwhile.
    from wonder.storage.tenancy import ensure_default, find_home

    default = await ensure_default(store, clock=clock, new_id=new_id, fleeting=fleeting)
    home = await find_home(store, default, workspace, project)
    app = application(store, home, clock, new_id, lambda: _keys(url), local=local, url=url, objects_url=objects)
    app.caller = caller
    try:
        yield app
    finally:
        await app.close()


def _keys(url: str) -> "KeySource":
    # Imported here, because most processes use no secrets.
    from wonder.storage.secret_keys import key_source

    return key_source(url)


class ImportRootsRefused(WonderError):
    """A process that runs the runs of others was given folders all of whose modules could be imported."""

    code = "IMPORT_ROOTS_REFUSED"

    def __init__(self, import_roots: Sequence[Path]) -> None:
        shown = ", ".join(map(str, import_roots))
        super().__init__(
            f"import_roots ({shown}) are for a process that runs its own runs only (runs='own'), because whoever can "
            "store a definition could have any module there imported; name the modules instead: modules=['orders'], "
            "and module_folders=[...] where they are not on Python's path"
        )


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
