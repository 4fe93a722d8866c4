"""RES-6: which runs are to blame when a process dies, by what they did since the time before."""

import asyncio

import pytest

from support.systems import bundle, calls, running, settle
from wonder.storage.runs.deaths import RunDeaths, load_deaths, store_deaths
from wonder.storage.runs.headers import load_header

SLOW = bundle("slow", {"work": calls("work")})


@pytest.mark.parametrize(
    ("before", "most", "counted", "is_suspect"),
    [
        (None, 3, (1, 1), False),  # the first time
        ((2, 2, 0, 1_000), 3, (3, 3), True),  # nothing since: it was at this very task each time
        ((2, 2, 0, 1_000), None, None, False),  # the project wants none of it
        ((2, 2, 0, 120_000), 3, (3, 1), True),  # however long that took
        ((2, 2, -3, 1_000), 3, (1, 3), False),  # it went forward by a step
        ((1, 9, -3, 1_000), 3, (1, 10), True),  # in a process that never lives for a minute
        ((1, 9, -3, 120_000), 3, (1, 1), False),
        ((2, 2, 0, None), 3, None, False),  # it was held back when the process died
    ],
)
async def test_a_run_is_suspect_when_its_process_dies_again_before_it_goes_forward(
    store_url: str,
    before: tuple[int, int, int, int | None] | None,
    most: int | None,
    counted: tuple[int, int] | None,
    is_suspect: bool,
) -> None:
    """`before` has the deaths, the quick ones, the last event counted from now, and how long ago that was."""
    gate = asyncio.Event()

    async def work() -> dict[str, int]:
        await gate.wait()
        return {}

    async with running(store_url, work=work) as wonder:
        await settle(wonder, run_limits={"deaths": most})
        engine, store = wonder.engine, wonder.store
        run = await wonder.start(await wonder.deploy(SLOW))
        await engine.coordinator.durable()
        sequence = (await load_header(store, run.id)).sequence
        if before is not None:
            deaths, quick, since, ago_ms = before
            taken_ms = 0 if ago_ms is None else engine.environment.now_ms() - ago_ms
            row = RunDeaths(run.id, deaths, quick, sequence + since, taken_ms)
            await store_deaths(store, [row], engine._lease.fence)
        engine._lease.owner_died = True
        await engine.collaborators.quarantine.count()
        found = (await load_deaths(store)).get(run.id)
        assert (found and (found.deaths, found.quick)) == counted
        assert engine.coordinator.residency.set_aside == ({run.id} if is_suspect else set())
        engine._lease.owner_died = False
        await engine.collaborators.quarantine.count()
        assert not await load_deaths(store), "an engine that was closed leaves nothing to blame a run for"
        engine.coordinator.residency.set_aside.clear()
        gate.set()
        assert (await run.wait()).status == "completed"


@pytest.mark.parametrize(("ago_ms", "trial_ms"), [(1_000, 10_000), (40_000, 80_000), (86_400_000, 600_000)])
async def test_suspects_are_held_back_for_longer_than_the_process_before_lived(
    store_url: str, ago_ms: int, trial_ms: int
) -> None:
    """Or a task that kills after a while would be acquitted, and an honest run that was held back set aside."""
    gate = asyncio.Event()

    async def work() -> dict[str, int]:
        await gate.wait()
        return {}

    async with running(store_url, work=work) as wonder:
        engine, store = wonder.engine, wonder.store
        workflow = await wonder.deploy(SLOW)
        runs = [await wonder.start(workflow) for _ in range(2)]
        await engine.coordinator.durable()
        headers = [await load_header(store, run.id) for run in runs]
        taken_ms = engine.environment.now_ms() - ago_ms
        rows = [RunDeaths(header.id, 2, 2, header.sequence, taken_ms) for header in headers]
        await store_deaths(store, rows, engine._lease.fence)
        engine._lease.owner_died = True
        await engine.collaborators.quarantine.count()
        assert engine.coordinator.residency.held_back == {max(run.id for run in runs)}
        assert trial_ms <= engine.collaborators.quarantine.trial_ms <= trial_ms + 20_000
        engine.coordinator.residency.held_back.clear()
        gate.set()
        for run in runs:
            assert (await run.wait()).status == "completed"
