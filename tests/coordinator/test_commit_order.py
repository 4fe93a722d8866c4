"""What holds between commits: one at a time (INV-2), and what was to follow from one whose answer was lost (RET-3)."""

import asyncio
import logging

import pytest

from support.faulty_stores import FaultyStore, wonder_on
from support.systems import assert_sound, bundle, calls, no_run_in_memory, waits
from wonder.coordinator.live import LiveRun
from wonder.engine.facts import PauseRequested, ResumeRequested
from wonder.storage.errors import ConnectionLost
from wonder.storage.store import Store


async def test_inv_2_a_commit_that_was_asked_for_does_not_begin_while_another_is_under_way(store_url: str) -> None:
    """Asked for in the moment when one has ended, which begins the next by itself."""
    stores: list[FaultyStore] = []

    def wrap(real: Store) -> FaultyStore:
        stores.append(FaultyStore(real))
        return stores[0]

    gate = asyncio.Event()

    async def work() -> None:
        await gate.wait()

    async with wonder_on(store_url, wrap, {"work": work}) as wonder:
        assert wonder.engine
        coordinator, loop = wonder.engine.coordinator, asyncio.get_running_loop()
        workflow = await wonder.deploy(bundle("works", {"only": calls("work")}))
        runs = [await wonder.start(workflow) for _ in range(2)]
        first, second = [await coordinator.residency.get(run.id) for run in runs]
        assert first
        assert second
        admission, resumed = wonder.engine.collaborators.starter.admission, 0
        note_status = admission.note_status

        def interfere(run: LiveRun, status: str) -> None:
            """When a pause is durable: resume, which asks for a commit, and let another fact come before it begins."""
            nonlocal resumed
            note_status(run, status)
            if run is first and status == "paused":
                resumed += 1
                loop.call_soon(coordinator.take, second, PauseRequested() if resumed % 2 else ResumeRequested())
                coordinator.take(run, ResumeRequested())

        admission.note_status = interfere  # type: ignore[method-assign]
        for _ in range(10):
            await wonder.pause(runs[0].id)
            await coordinator.durable()
        assert resumed == 10
        assert stores[0].most_inside == 1
        gate.set()
        for run in runs:
            assert (await run.wait()).status == "completed"
    await assert_sound(store_url)


async def test_ret_3_a_timer_whose_commit_was_stored_but_not_acknowledged_fires_in_time(
    store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Its run is loaded again, and with it the timer: it does not wait for the next look, seconds later."""
    caplog.set_level(logging.CRITICAL)
    stores: list[FaultyStore] = []

    def wrap(real: Store) -> FaultyStore:
        stores.append(FaultyStore(real))
        return stores[0]

    async with wonder_on(store_url, wrap, {"nothing": dict}) as wonder:
        definition = bundle(
            "sleeps",
            {"first": calls("nothing"), "sleep": waits("sleep", {"ms": 10})},
            [{"from": "first", "to": "sleep"}],
        )
        workflow = await wonder.deploy(definition)
        # The commit of the start is the first, that of the sleep the second.
        stores[0].fail(2, ConnectionLost("commit"), "after")
        run = await wonder.start(workflow)
        async with asyncio.timeout(15):
            assert (await run.wait()).status == "completed"
        assert stores[0].hits == 1
        await no_run_in_memory(wonder)
    await assert_sound(store_url)
