"""Runs that are watched (ACT-1): what actions tell comes while they run, and nothing of it is stored."""

import asyncio
import threading
import time
from typing import Any

import pytest

from support.systems import bundle, calls, running
from support.tasks import until
from wonder.actions.python.kind import current_context
from wonder.observe.watching import Progress
from wonder.storage.resource_errors import NotFound
from wonder.storage.store import Store

SECONDS = 60.0
CANARY = "canary-of-progress"


async def everything(store: Store) -> str:
    """All that a database holds, as one text."""
    postgres = "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()"
    sqlite = "SELECT name FROM sqlite_master WHERE type = 'table'"
    names = await store.query(postgres if "Postgres" in type(store).__name__ else sqlite)
    rows = [await store.query(f'SELECT * FROM "{name}"') for (name,) in names]  # of our own tables
    assert any(rows)
    return repr(rows)


async def test_what_a_run_tells_comes_to_whoever_watches_it_and_is_not_stored(store_url: str) -> None:
    """From functions of the loop and of threads."""
    watched = asyncio.Event()
    told_in_thread = threading.Event()

    async def speak() -> str:
        await watched.wait()
        current_context().report_progress({"text": CANARY, "offset": 0})
        await asyncio.sleep(0)
        return "spoken"

    def shout() -> str:
        current_context().report_progress({"progress": 1, "total": 2, "message": CANARY})
        told_in_thread.set()
        return "shouted"

    nodes = {"speak": calls("speak"), "shout": calls("shout", output_mapping={"state.said": "$"})}
    async with running(store_url, speak=speak, shout=shout) as wonder, asyncio.timeout(SECONDS):
        await wonder.deploy(bundle("talk", nodes, [{"from": "speak", "to": "shout"}]))
        run = await wonder.start("talk")
        seen: list[Progress] = []
        assert wonder.engine

        async def look() -> None:
            async for message in wonder.watch(run.id):
                seen.append(message)

        looking = asyncio.create_task(look())
        watchers = wonder.engine.watchers
        await until(lambda: len(watchers))
        watched.set()
        assert (await run.wait()).status == "completed"
        await looking
        assert [(message.node, message.progress) for message in seen] == [
            ("speak", {"text": CANARY, "offset": 0}),
            ("shout", {"progress": 1, "total": 2, "message": CANARY}),
        ]
        assert told_in_thread.is_set()
        assert len(wonder.engine.watchers) == 0
        held = await everything(wonder.store)
        assert "shouted" in held
        assert CANARY not in held


async def test_a_slow_watcher_holds_nothing_up(store_url: str) -> None:
    watched = asyncio.Event()

    async def speak() -> int:
        await watched.wait()
        for i in range(5_000):
            current_context().report_progress(i)
        return 5_000

    async with running(store_url, speak=speak) as wonder, asyncio.timeout(SECONDS):
        await wonder.deploy(bundle("talk", {"speak": calls("speak")}))
        run = await wonder.start("talk")
        assert wonder.engine
        seen: list[Any] = []

        async def look() -> None:
            async for message in wonder.watch(run.id):
                seen.append(message.progress)
                await asyncio.sleep(3_600)

        looking = asyncio.create_task(look())
        watchers = wonder.engine.watchers
        await until(lambda: len(watchers))
        watched.set()
        began = time.monotonic()
        assert (await run.wait()).status == "completed"
        assert time.monotonic() - began < SECONDS / 2
        looking.cancel()
        await asyncio.wait([looking])
        assert len(seen) <= 1
        assert len(wonder.engine.watchers) == 0


async def test_to_watch_a_run_that_has_ended_ends_and_one_that_never_was_is_told(store_url: str) -> None:
    async with running(store_url, work=lambda: 1) as wonder, asyncio.timeout(SECONDS):
        await wonder.deploy(bundle("talk", {"work": calls("work")}))
        run = await wonder.start("talk")
        await run.wait()
        assert [message async for message in wonder.watch(run.id)] == []
        with pytest.raises(NotFound):
            [message async for message in wonder.watch("01NEVER")]
