"""Events that came before they were waited for: looked for once for many tokens, and given to each at most once."""

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from support.faulty_stores import FaultyStore, wonder_on
from support.systems import (
    assert_sound,
    bundle,
    event_types,
    line,
    no_run_in_memory,
    open_item,
    running,
    status_of,
    until,
    waits,
)
from wonder.app.application import Application
from wonder.app.results import Run
from wonder.errors import WonderError
from wonder.storage.errors import ConnectionLost, DatabaseFailed, DiskFull
from wonder.storage.runs.headers import load_header
from wonder.storage.runs.reconciling import waits_with_kept_event
from wonder.storage.store import Row, Store, Value

LOOK = "awaited_events_kept"
OUT = {"output.given": "$"}
LISTENS = bundle(
    "listens",
    {
        "wait": waits(
            "wait_for_event",
            {"event": "paid", "key": "{{input.order}}"},
            input_mapping={"order": "$.input.order"},
            output_mapping=OUT,
        )
    },
)


class WatchedStore(FaultyStore):
    """Counts readings, and does something before or after those of a name."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.reads: Counter[str] = Counter()
        self.before: dict[str, Callable[..., Awaitable[None]]] = {}
        self.after: dict[str, Callable[[], Awaitable[None]]] = {}

    async def fetch(self, name: str, *parameters: Value) -> list[Row]:
        """Read."""
        self.reads[name] += 1
        if name in self.before:
            await self.before[name](*parameters)
        rows: list[Row] = await self._store.fetch(name, *parameters)
        if name in self.after:
            await self.after.pop(name)()
        return rows


def watched(url: str, stores: list[WatchedStore]) -> AbstractAsyncContextManager[Application]:
    """Open a database whose readings are watched."""

    def wrap(real: Store) -> WatchedStore:
        stores.append(WatchedStore(real))
        return stores[-1]

    return wonder_on(url, wrap)


async def start_all(wonder: Application, workflow: Any, orders: list[str]) -> list[Run]:
    """Start runs in one commit, each of which comes to wait."""
    return list(await asyncio.gather(*(wonder.start(workflow, {"order": order}) for order in orders)))


async def given(run: Run) -> Any:
    """Wait for a run that is given its event, exactly once."""
    async with asyncio.timeout(60):
        result = await run.wait()
    assert result.status == "completed", result
    return result.output["given"]  # type: ignore[index,call-overload]


async def assert_nobody_was_missed(wonder: Application, runs: list[Run]) -> None:
    """No token waits for an event that is kept, and none was woken twice."""
    await no_run_in_memory(wonder)
    assert await waits_with_kept_event(wonder.store, 0) == []
    for run in runs:
        assert (await event_types(wonder, run)).count("token_resumed") <= 1


async def test_many_runs_that_come_to_wait_are_looked_for_at_once(store_url: str) -> None:
    """ACT-10; a parked run is rows only, and coming to rest costs it no reading and no task of its own."""
    stores: list[WatchedStore] = []
    most = 0

    async def count_tasks(*_: Value) -> None:
        nonlocal most
        assert wonder.engine
        most = max(most, len(wonder.engine.coordinator.background))

    async with watched(store_url, stores) as wonder:
        workflow = await wonder.deploy(LISTENS)
        store = stores[0]
        store.before[LOOK] = count_tasks
        await start_all(wonder, workflow, [str(number) for number in range(400)])
        await no_run_in_memory(wonder)
        assert 1 <= store.reads[LOOK] <= store.commits
        assert store.reads["next_kept_events"] == 0
        assert most == 1


@pytest.mark.parametrize(("kept", "waiting"), [(3, 8), (5, 5), (8, 3)])
async def test_each_kept_event_goes_to_one_run_the_oldest_first(store_url: str, kept: int, waiting: int) -> None:
    """ACT-10: it is kept for the first that comes."""
    async with running(store_url) as wonder:
        workflow = await wonder.deploy(LISTENS)
        for number in range(kept):
            await wonder.send_event("paid", "7", number)
        runs = await start_all(wonder, workflow, ["7"] * waiting)
        both = min(kept, waiting)

        async def ended() -> list[Run]:
            found = [run for run in runs if (await load_header(wonder.store, run.id)).has_ended]
            return found if len(found) == both else []

        served = await until(ended)
        assert sorted([await given(run) for run in served]) == list(range(both))
        unused = await wonder.store.query("SELECT count(*) FROM kept_events WHERE used_ms IS NULL")
        assert unused == [(kept - both,)]
        await assert_nobody_was_missed(wonder, runs)
        assert len(await ended()) == both


async def test_runs_and_events_that_come_in_any_order_miss_nobody(store_url: str) -> None:
    """ACT-10: whatever the order of commits and looks, nobody waits beside an event that is kept."""
    chance = random.Random(7)
    async with running(store_url) as wonder:
        workflow = await wonder.deploy(LISTENS)
        for _ in range(6):
            orders = [str(number) for number in range(8)] * 3

            async def start_later(order: str) -> Run:
                await asyncio.sleep(chance.random() * 0.02)
                return await wonder.start(workflow, {"order": order})

            async def send_later(order: str) -> None:
                await asyncio.sleep(chance.random() * 0.02)
                await wonder.send_event("paid", order, order)

            sending = [send_later(order) for order in orders]
            runs = list(await asyncio.gather(*map(start_later, orders), *sending))[: len(orders)]
            await assert_nobody_was_missed(wonder, [run for run in runs if run])
            for order in set(orders):
                await wonder.send_event("paid", order, order)
            for order, run in zip(orders, runs, strict=True):
                assert run
                assert await given(run) == order


async def test_a_look_that_fails_is_made_again(store_url: str, caplog: pytest.LogCaptureFixture) -> None:
    """ACT-10, INV-1."""
    caplog.set_level(logging.CRITICAL)
    stores: list[WatchedStore] = []

    async def fail(*_: Value) -> None:
        if stores[0].reads[LOOK] <= 3:
            raise ConnectionLost("read")

    async with watched(store_url, stores) as wonder:
        workflow = await wonder.deploy(LISTENS)
        stores[0].before[LOOK] = fail
        await wonder.send_event("paid", "7", 1)
        first, other = await start_all(wonder, workflow, ["7", "8"])
        assert await given(first) == 1
        assert stores[0].reads[LOOK] >= 4
        await wonder.send_event("paid", "8", 2)
        assert await given(other) == 2
        await assert_nobody_was_missed(wonder, [first, other])


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("error", [DiskFull("commit"), ConnectionLost("commit")], ids=lambda error: error.code)
async def test_events_whose_giving_could_not_be_stored_are_given_again_once(
    store_url: str, when: str, error: WonderError, caplog: pytest.LogCaptureFixture
) -> None:
    """ACT-10, INV-2: whether it was stored or not, when the connection breaks in the answer."""
    caplog.set_level(logging.CRITICAL)
    stores: list[WatchedStore] = []

    started = asyncio.Event()

    async def hold_up(*_: Value) -> None:
        await started.wait()

    async def fail_next_commit(*_: Value) -> None:
        del stores[0].before["next_kept_events"]
        stores[0].fail(1, error, when)

    async with watched(store_url, stores) as wonder:
        workflow = await wonder.deploy(LISTENS)
        orders = [str(number) for number in range(5)]
        for order in orders:
            await wonder.send_event("paid", order, order)
        stores[0].before = {LOOK: hold_up, "next_kept_events": fail_next_commit}
        runs = await start_all(wonder, workflow, orders)
        started.set()
        assert [await given(run) for run in runs] == orders
        assert stores[0].hits == 1
        await assert_nobody_was_missed(wonder, runs)
    await assert_sound(store_url)


async def test_a_run_that_cannot_be_loaded_holds_nobody_up(store_url: str, caplog: pytest.LogCaptureFixture) -> None:
    """ACT-10, INV-1."""
    caplog.set_level(logging.CRITICAL)
    stores: list[WatchedStore] = []
    broken: list[str] = []

    async def fail(ids: Value) -> None:
        if any(run_id in str(ids) for run_id in broken):
            raise DatabaseFailed("read")

    async def break_first(*_: Value) -> None:
        broken.append(str((await stores[0].query("SELECT min(run_id) FROM event_waits"))[0][0]))
        del stores[0].before[LOOK]

    async with watched(store_url, stores) as wonder:
        workflow = await wonder.deploy(LISTENS)
        orders = [str(number) for number in range(5)]
        for order in orders:
            await wonder.send_event("paid", order, order)
        stores[0].before = {LOOK: break_first, "live_tokens_of_runs": fail}
        runs = await start_all(wonder, workflow, orders)
        others = [run for run in runs if run.id not in await until_there(broken)]
        assert len(others) == 4
        for run in others:
            await given(run)
        broken.clear()
        assert [await given(run) for run in runs] == orders
        await assert_nobody_was_missed(wonder, runs)


async def until_there(run_ids: list[str]) -> list[str]:
    """Wait until a run is in the list, and give it."""

    async def look() -> list[str]:
        return list(run_ids)

    found: list[str] = await until(look)
    return found


async def test_a_run_that_waits_no_longer_leaves_its_event_to_the_next(store_url: str) -> None:
    """ACT-10: cancelled in the moment when its event was found."""
    stores: list[WatchedStore] = []
    gate = asyncio.Event()

    async def hold_up(*_: Value) -> None:
        await gate.wait()

    async def cancel_first(*_: Value) -> None:
        del stores[0].before["next_kept_events"]
        await wonder.cancel(first.id)

    async with watched(store_url, stores) as wonder:
        workflow = await wonder.deploy(LISTENS)
        stores[0].before = {LOOK: hold_up, "next_kept_events": cancel_first}
        await wonder.send_event("paid", "7", 1)
        # The look for this one is held up, so that the others are looked for at once, in their order.
        await wonder.start(workflow, {"order": "another"})
        first, second, third = [await wonder.start(workflow, {"order": "7"}) for _ in range(3)]
        gate.set()
        assert await given(second) == 1
        await assert_nobody_was_missed(wonder, [second, third])
        await wonder.send_event("paid", "7", 2)
        assert await given(third) == 2
        assert (await first.wait()).status == "cancelled"


async def test_a_run_that_goes_on_meanwhile_takes_no_second_event(store_url: str) -> None:
    """ACT-10: found by two looks, it is given its event by the first."""
    stores: list[WatchedStore] = []
    twice: list[asyncio.Task[None]] = []
    listens = LISTENS["workflow"]["nodes"]["wait"]
    asks = waits("human_input", {"prompt": "?", "schema": {}})

    async def look_twice() -> None:
        assert wonder.engine
        twice.append(asyncio.create_task(wonder.engine.collaborators.outside.reconcile()))
        await until_read(stores[0], "waits_with_kept_event")

    async with watched(store_url, stores) as wonder:
        workflow = await wonder.deploy(bundle("goes_on", {"wait": listens, "ask": asks}, line("wait", "ask")))
        for number in range(2):
            await wonder.send_event("paid", "7", number)
        stores[0].reads.clear()
        stores[0].after[LOOK] = look_twice
        run = await wonder.start(workflow, {"order": "7"})
        await open_item(wonder, run)
        await no_run_in_memory(wonder)
        await asyncio.gather(*twice)
        assert stores[0].reads["next_kept_events"] >= 2
        unused = await wonder.store.query("SELECT count(*) FROM kept_events WHERE used_ms IS NULL")
        assert unused == [(1,)]


async def test_a_run_that_comes_to_wait_while_an_event_is_being_kept_is_given_it(store_url: str) -> None:
    """ACT-10: it came too late to be seen by the sender, and looks before the event can be seen."""
    stores: list[WatchedStore] = []
    runs: list[Run] = []

    async def come_to_wait() -> None:
        runs.append(await wonder.start(workflow, {"order": "7"}))
        await status_of(wonder, runs[0], "waiting")
        await asyncio.sleep(0.1)

    async with watched(store_url, stores) as wonder:
        workflow = await wonder.deploy(LISTENS)
        stores[0].after["waiting_for_event"] = come_to_wait
        await wonder.send_event("paid", "7", 1)
        assert await given(runs[0]) == 1
        await assert_nobody_was_missed(wonder, runs)


@pytest.mark.parametrize("slow", [LOOK, "next_kept_events"])
@pytest.mark.parametrize("of", ["the wait", "the task"])
async def test_a_slow_look_takes_no_kept_event_from_a_wait_of_little_time(store_url: str, slow: str, of: str) -> None:
    """ACT-10: the event had come before the wait began, so that its time can't have been over."""
    stores: list[WatchedStore] = []
    limit = {"timeout_ms": 50}
    listens = {"event": "paid", "key": "7", **(limit if of == "the wait" else {})}
    action = {"kind": "wait_for_event", "implementation": listens}
    definition = bundle("hurries", {"wait": {"task": "listen"}})
    task = {"steps": [{"ref": "one", "action": "hear"}], **(limit if of == "the task" else {})}
    definition |= {"actions": {"hear": action}, "tasks": {"listen": task}}

    async def take_long(*_: Value) -> None:
        await asyncio.sleep(0.2)

    async with watched(store_url, stores) as wonder:
        workflow = await wonder.deploy(definition)
        stores[0].before[slow] = take_long
        await wonder.send_event("paid", "7", 1)
        runs = await asyncio.gather(*(wonder.start(workflow, {}) for _ in range(2)))
        async with asyncio.timeout(60):
            assert sorted([(await run.wait()).status for run in runs]) == ["completed", "failed"]
    await assert_sound(store_url)


async def until_read(store: WatchedStore, name: str) -> None:
    """Wait until a reading was made."""

    async def look() -> int:
        return store.reads[name]

    await until(look)
    await asyncio.sleep(0.05)


async def test_what_was_not_looked_for_when_an_engine_closes_is_given_by_the_next(store_url: str) -> None:
    """ACT-10, INV-4."""
    stores: list[WatchedStore] = []
    begun = asyncio.Event()

    async def never(*_: Value) -> None:
        begun.set()
        await asyncio.Event().wait()

    async with watched(store_url, stores) as wonder:
        workflow = await wonder.deploy(LISTENS)
        orders = [str(number) for number in range(3)]
        for order in orders:
            await wonder.send_event("paid", order, order)
        stores[0].before[LOOK] = never
        runs = await start_all(wonder, workflow, orders)
        await begun.wait()
    async with running(store_url) as wonder:
        assert [(await wonder.wait(run.id)).output for run in runs] == [{"given": order} for order in orders]
        await assert_nobody_was_missed(wonder, runs)
