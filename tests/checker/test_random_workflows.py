"""The checker finds nothing in what random workflows leave behind, run by the real engine on both databases."""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from random import Random
from typing import Any

from simulation.clients import answer_to
from simulation.definitions import EVENTS, FUNCTION, INPUT, random_definition

from support.systems import live_run_ids, verify_all
from wonder.actions.protocol import ActionFailed
from wonder.app.application import Application
from wonder.app.opening import open_wonder
from wonder.checker.checking import Count, check_runs
from wonder.errors import WonderError
from wonder.storage.opening import open_store
from wonder.storage.runs.reading import open_inbox

DEFINITIONS = range(12)
RUNS_OF_EACH = 2
NODES_MAX = 8
SECONDS = 6.0


def acts(random: Random) -> Any:
    """Make a function that succeeds, fails for good or for now, or takes its time."""

    async def act(what: str = "", **given: Any) -> Any:
        chance = random.random()
        await asyncio.sleep(0.05 if chance < 0.2 else 0)
        if chance > 0.9:
            raise ActionFailed("BROKEN", "it broke for good")
        if chance > 0.8:
            raise ConnectionError("try again")
        return {"n": random.randint(0, 4), "what": what}

    return act


async def tend(wonder: Application, random: Random) -> None:
    """Do what people and programs do, until every run has ended, or for so long; then cancel what is left."""
    with suppress(TimeoutError):
        async with asyncio.timeout(SECONDS):
            while live := await live_run_ids(wonder.store):
                for item in (await open_inbox(wonder.store, wonder.home.project_id)).items:
                    await perhaps(wonder.answer(item.id, answer_to(item, random.randrange(100))))
                event, key = random.choice(EVENTS)
                await perhaps(wonder.send_event(event, key, {"n": 2}))
                if random.random() < 0.1:
                    await perhaps(wonder.pause(random.choice(live)))
                for run_id in live:
                    if random.random() < 0.2:
                        await perhaps(wonder.resume(run_id))
                await asyncio.sleep(0.02)
    for run_id in await live_run_ids(wonder.store):
        await perhaps(wonder.cancel(run_id))


async def perhaps(work: Awaitable[None]) -> None:
    """Do something that may come too late."""
    with suppress(WonderError):
        await work


async def test_random_workflows_leave_nothing_behind_that_the_checker_finds(store_url: str) -> None:
    random = Random(7)
    async with open_wonder(store_url, functions={FUNCTION: acts(random)}) as wonder:
        for seed in DEFINITIONS:
            deployed, _ = await wonder.deploy_loaded(random_definition(seed, NODES_MAX))
            assert deployed.main
            workflow = await wonder.workflow(deployed.main.name)
            for _ in range(RUNS_OF_EACH):
                await wonder.start(workflow, INPUT)
        await tend(wonder, random)
    store, count = await open_store(store_url), Count()
    assert [str(one) async for one in check_runs(store, count)] == []
    await verify_all(store)
    await store.close()
    assert count.runs >= len(DEFINITIONS) * RUNS_OF_EACH
    assert count.events > 200
