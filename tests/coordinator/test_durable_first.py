"""INV-3: what was decided is durable before anybody acts on it or hears of it, and is in memory until then."""

import asyncio
import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from support.faulty_stores import FaultyStore, wonder_on
from support.systems import assert_sound, bundle, calls, event_types, line, no_run_in_memory, status_of, until, waits
from wonder.coordinator.errors import EngineStopped
from wonder.errors import WonderError
from wonder.storage.errors import ConnectionLost, LeaseLost
from wonder.storage.store import Entry, Fence, Store


class HeldStore(FaultyStore):
    """A store whose commits wait as long as they are held."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.free = asyncio.Event()
        self.free.set()
        self.held = asyncio.Event()

    async def commit(self, batch: Iterable[Entry], *, fence: Fence | None = None, **options: Any) -> None:
        """Commit, once that is not held any more."""
        if not self.free.is_set():
            self.held.set()
        await self.free.wait()
        await super().commit(batch, fence=fence, **options)

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Let commits wait, until `free` is set or this is left."""
        self.free.clear()
        self.held.clear()
        try:
            yield
        finally:
            self.free.set()


def held_store() -> tuple[list[HeldStore], Any]:
    """Give a list that will hold the store, and what wraps it."""
    stores: list[HeldStore] = []

    def wrap(real: Store) -> HeldStore:
        stores.append(HeldStore(real))
        return stores[0]

    return stores, wrap


async def test_inv_3_nothing_acts_and_nobody_hears_before_the_commit_is_durable(store_url: str) -> None:
    stores, wrap = held_store()
    worked = 0

    async def work() -> None:
        nonlocal worked
        worked += 1

    async with wonder_on(store_url, wrap, {"work": work}) as wonder:
        assert wonder.engine
        coordinator = wonder.engine.coordinator
        workflow = await wonder.deploy(bundle("works", {"only": calls("work")}))
        with stores[0].hold():
            starting = asyncio.create_task(wonder.start(workflow))
            async with asyncio.timeout(60):
                await stores[0].held.wait()
            # The batch is closed and under way, so that who asks now waits for that very commit.
            assert coordinator.commits.batch.is_empty
            durable = asyncio.ensure_future(coordinator.durable())
            await asyncio.sleep(0.05)
            assert (worked, starting.done(), durable.done()) == (0, False, False)
            stores[0].free.set()
            await durable
            assert (await (await starting).wait()).status == "completed"
            assert worked == 1
    await assert_sound(store_url)


async def test_inv_3_a_run_stays_in_memory_until_its_rows_say_all(store_url: str) -> None:
    """An order that comes while the one before is being stored finds the run as that left it."""
    stores, wrap = held_store()
    async with wonder_on(store_url, wrap) as wonder:
        assert wonder.engine
        ask = waits("human_input", {"prompt": "?"})
        run = await wonder.start(await wonder.deploy(bundle("asks", {"ask": ask})))
        await status_of(wonder, run, "waiting")
        await no_run_in_memory(wonder)
        with stores[0].hold():
            pausing = asyncio.create_task(wonder.pause(run.id))
            async with asyncio.timeout(60):
                await stores[0].held.wait()
            assert wonder.engine.coordinator.residency.has(run.id)
            cancelling = asyncio.create_task(wonder.cancel(run.id))
            await asyncio.sleep(0.05)
            assert not pausing.done()
            stores[0].free.set()
            await asyncio.gather(pausing, cancelling)
            assert (await run.wait()).status == "cancelled"
            assert [type for type in await event_types(wonder, run) if type.startswith("workflow_")] == [
                "workflow_started",
                "workflow_waiting",
                "workflow_paused",
                "workflow_cancelled",
            ]
            await no_run_in_memory(wonder)
    await assert_sound(store_url)


async def test_inv_2_what_was_decided_while_a_commit_was_under_way_goes_with_it_when_it_fails(
    store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Both runs are loaded again, and go on from what is durable; none is forgotten in memory."""
    caplog.set_level(logging.CRITICAL)
    stores, wrap = held_store()
    gates = {"one": asyncio.Event(), "two": asyncio.Event()}

    async def work(name: str) -> None:
        await gates[name].wait()

    async with wonder_on(store_url, wrap, {"work": work}) as wonder:
        assert wonder.engine
        commits = wonder.engine.coordinator.commits

        async def has_decided() -> bool:
            return not commits.batch.is_empty

        nodes = {"first": calls("work", input_mapping="$.input"), "then": calls("work", input_mapping="$.input")}
        workflow = await wonder.deploy(bundle("works", nodes, line(*nodes)))
        runs = {name: await wonder.start(workflow, {"name": name}) for name in gates}
        with stores[0].hold():
            stores[0].fail(1, ConnectionLost("commit"))
            gates["one"].set()
            async with asyncio.timeout(60):
                await stores[0].held.wait()
                gates["two"].set()
                await until(has_decided)
                stores[0].free.set()
                for run in runs.values():
                    assert (await run.wait()).status == "completed"
            assert stores[0].hits == 1
            await no_run_in_memory(wonder)
    await assert_sound(store_url)


async def test_inv_5_an_engine_whose_commit_the_fence_refuses_takes_nothing_any_more(
    store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It does not wait until it would have renewed its lease."""
    caplog.set_level(logging.CRITICAL)
    stores, wrap = held_store()
    async with wonder_on(store_url, wrap) as wonder:
        assert wonder.engine
        coordinator = wonder.engine.coordinator
        workflow = await wonder.deploy(bundle("asks", {"ask": waits("human_input", {"prompt": "?"})}))
        stores[0].fail(1, LeaseLost())
        # Whoever starts a run is told, or served by the engine that takes its place.
        with suppress(WonderError):
            await wonder.start(workflow)
        with pytest.raises(EngineStopped):
            coordinator.check_running()


async def test_inv_4_a_task_that_a_worker_has_is_not_given_to_one_again(store_url: str) -> None:
    """However often its run is told to go on here."""
    gate, begun = asyncio.Event(), 0

    async def work() -> None:
        nonlocal begun
        begun += 1
        await gate.wait()

    async with wonder_on(store_url, lambda store: store, {"work": work}) as wonder:
        assert wonder.engine
        nodes = {"first": calls("work"), "then": calls("work")}
        run = await wonder.start(await wonder.deploy(bundle("works", nodes, line(*nodes))))
        for _ in range(3):
            await wonder.engine.collaborators.recovery.resume(run.id)
        await asyncio.sleep(0.05)
        assert begun == 1
        gate.set()
        assert (await run.wait()).status == "completed"
        assert begun == 2
    await assert_sound(store_url)
