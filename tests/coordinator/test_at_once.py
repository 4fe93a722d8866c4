"""What need not wait is done at once: the commits of a lone run, while those of many runs go together."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from support.faulty_stores import FaultyStore, wonder_on
from support.systems import assert_sound, bundle, calls, line
from wonder.coordinator import at_once, facts_log
from wonder.storage import sqlite_commits
from wonder.storage.store import Store

NODES = [f"node-{number}" for number in range(20)]


@pytest.fixture
def fast_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A database on a disk that is taken for fast."""
    monkeypatch.setattr(sqlite_commits, "FAST_SECONDS", 60.0)
    monkeypatch.setattr(facts_log, "UNSETTLED_MS", 60_000)
    return f"sqlite:///{tmp_path / 'wonder.db'}"


async def turns_and_commits(url: str, runs: int) -> tuple[int, int]:
    """Let runs go through all nodes; gives the turns of the loop from the first to the last, and the commits."""
    stores: list[FaultyStore] = []
    turns = 0
    seen: list[int] = []

    def wrap(real: Store) -> FaultyStore:
        stores.append(FaultyStore(real))
        return stores[0]

    async def work() -> None:
        seen.append(turns)

    def count() -> None:
        nonlocal turns
        turns += 1
        if len(seen) < runs * len(NODES):
            asyncio.get_running_loop().call_soon(count)

    async with wonder_on(url, wrap, {"work": work}) as wonder:
        workflow = await wonder.deploy(bundle("works", {name: calls("work") for name in NODES}, line(*NODES)))
        await (await wonder.start(workflow)).wait()
        commits = stores[0].commits
        seen.clear()
        count()
        for run in await asyncio.gather(*[wonder.start(workflow) for _ in range(runs)]):
            assert (await run.wait()).status == "completed"
    await assert_sound(url)
    return seen[-1] - seen[0], stores[0].commits - commits


async def test_a_lone_run_needs_one_commit_and_no_turn_of_the_loop_for_each_node(fast_url: str) -> None:
    # What the engine does now and then, beside, may come between; not each time.
    turns, commits = min([await turns_and_commits(fast_url, 1) for _ in range(3)])
    assert commits == 1 + len(NODES)
    assert turns < len(NODES)  # three for each, if each went its own way


async def test_many_runs_still_share_their_commits(fast_url: str) -> None:
    _, commits = await turns_and_commits(fast_url, 50)
    assert commits < 10 * len(NODES)


async def test_work_that_waits_goes_on_in_a_task_and_hears_what_comes() -> None:
    heard: list[Any] = []
    futures = [asyncio.get_running_loop().create_future() for _ in range(3)]

    async def work() -> None:
        heard.append("begun")
        heard.append(await futures[0])
        try:
            await futures[1]
        except ValueError as error:
            heard.append(str(error))
        try:
            await futures[2]
        except asyncio.CancelledError:
            heard.append("cancelled")
            raise

    rest = at_once.begin(work())
    assert heard == ["begun"]
    assert rest
    task = asyncio.create_task(rest)
    await asyncio.sleep(0)
    futures[0].set_result("first")
    await asyncio.sleep(0.001)
    futures[1].set_exception(ValueError("second"))
    await asyncio.sleep(0.001)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert heard == ["begun", "first", "second", "cancelled"]


@pytest.mark.parametrize("is_cancelled", [False, True])
async def test_work_that_waits_can_be_cancelled_before_its_task_has_begun(is_cancelled: bool) -> None:
    ended: list[str] = []

    async def work() -> None:
        try:
            await asyncio.sleep(0.001)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise
        ended.append("done")

    rest = at_once.begin(work())
    assert rest
    task = asyncio.create_task(rest)
    await asyncio.sleep(0)
    if is_cancelled:
        task.cancel()
    await asyncio.wait([task])
    assert ended == ["cancelled" if is_cancelled else "done"]


async def test_work_that_never_waits_leaves_nothing_and_raises_what_it_raises() -> None:
    async def work(fails: bool) -> None:
        if fails:
            raise ValueError("no")

    assert at_once.begin(work(False)) is None
    with pytest.raises(ValueError, match="no"):
        at_once.begin(work(True))
