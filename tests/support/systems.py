"""The whole system for tests: a database with its engine, and a look at every run when it is closed."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

from wonder.app.application import Application
from wonder.app.opening import open_app, open_wonder
from wonder.app.results import Run
from wonder.checker.checking import Count, check_runs
from wonder.definitions.records.tenancy import ProjectSettings, WorkspaceSettings
from wonder.observe.verify import verify_run
from wonder.storage.opening import open_store
from wonder.storage.runs.headers import RunHeader, load_header
from wonder.storage.runs.reading import InboxItem, events_of_run, inbox_of_run, live_runs
from wonder.storage.store import Store
from wonder.storage.tenancy import put_project_settings, put_workspace_settings

SECONDS = 60.0


def calls(name: str, **fields: Any) -> dict[str, Any]:
    """Make a node that calls a function of the tests, with its whole input, and takes its whole output."""
    return {"action": {"kind": "python", "implementation": {"function": f"tests:{name}"}}, **fields}


def waits(kind: str, implementation: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Make a node that waits."""
    return {"action": {"kind": kind, "implementation": implementation}, **fields}


def line(*names: str) -> list[dict[str, Any]]:
    """Make transitions from each node to the next."""
    return [{"from": left, "to": right} for left, right in pairwise(names)]


def bundle(
    name: str, nodes: dict[str, Any], transitions: list[dict[str, Any]] | None = None, **fields: Any
) -> dict[str, Any]:
    """Make a definition of one workflow; its first node is the initial one."""
    graph = {"initial_node": next(iter(nodes)), "nodes": nodes, "transitions": transitions or []}
    return {"workflow": {"name": name, **graph, **fields}}


@asynccontextmanager
async def running(url: str, **functions: Callable[..., Any]) -> AsyncIterator[Application]:
    """Open a database with its engine; when it is closed, each of its runs is what its events say (EVT-2)."""
    named = {f"tests:{name}": function for name, function in functions.items()}
    async with open_wonder(url, functions=named) as wonder:
        assert wonder.engine
        yield wonder
        await verify_all(wonder.store)
    await assert_sound(url)


async def assert_sound(url: str) -> None:
    """Look at every run of a database that nobody writes to."""
    store = await open_store(url)
    try:
        await verify_all(store)
        found = [str(violation) async for violation in check_runs(store, Count())]
        assert found == []
    finally:
        await store.close()


async def verify_all(store: Store) -> None:
    """Look at every run."""
    for (run_id,) in await store.query("SELECT id FROM runs ORDER BY id"):
        assert await verify_run(store, str(run_id)) == [], f"run {run_id!s}"


async def until(look: Callable[[], Awaitable[Any]], seconds: float = SECONDS) -> Any:
    """Wait until something is there or true, and give it."""
    async with asyncio.timeout(seconds):
        while True:
            if found := await look():
                return found
            await asyncio.sleep(0.005)


async def status_of(wonder: Application, run: Run | str, *wanted: str) -> RunHeader:
    """Wait until a run has one of these statuses."""
    run_id = run if isinstance(run, str) else run.id

    async def look() -> RunHeader | None:
        header = await load_header(wonder.store, run_id)
        return header if header.status in wanted else None

    found: RunHeader = await until(look)
    return found


async def open_item(wonder: Application, run: Run) -> InboxItem:
    """Wait for a question of a run, and give it."""

    async def look() -> InboxItem | None:
        items = await inbox_of_run(wonder.store, run.id)
        return next((item for item in items if item.status == "open"), None)

    found: InboxItem = await until(look)
    return found


async def event_types(wonder: Application, run: Run | str) -> list[str]:
    """Give the types of all events of a run, in order."""
    run_id = run if isinstance(run, str) else run.id
    return [event.type for event in await events_of_run(wonder.store, run_id, limit=100_000)]


async def no_run_in_memory(wonder: Application) -> None:
    """Wait until the engine has nothing in memory."""

    async def look() -> bool:
        assert wonder.engine
        return wonder.engine.coordinator.is_idle

    await until(look)


async def settle(wonder: Application, **settings: Any) -> None:
    """Give the project settings of its own; those that an engine knows may be a second old, so this comes first."""
    project_id = wonder.home.project_id
    async with wonder.store.transaction() as transaction:
        await put_project_settings(transaction, project_id, ProjectSettings.model_validate(settings))


async def settle_workspace(wonder: Application, **settings: Any) -> None:
    """Give the workspace settings of its own."""
    async with wonder.store.transaction() as transaction:
        given = WorkspaceSettings.model_validate(settings)
        await put_workspace_settings(transaction, wonder.home.workspace_id, given)


async def never_quarantine(url: str) -> None:
    """Have no run of a database set aside, however often its processes are killed."""
    async with open_app(url) as app:
        settings = ProjectSettings.model_validate({"run_limits": {"deaths": None}})
        async with app.store.transaction() as transaction:
            await put_project_settings(transaction, app.home.project_id, settings)


async def live_run_ids(store: Store) -> list[str]:
    """List the runs that have not ended."""
    return [run.id for run in await live_runs(store)]
