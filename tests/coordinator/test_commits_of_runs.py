"""A lone run does not wait for others to share its commits with, while those of many runs go together."""

import asyncio
from pathlib import Path

import pytest

from support.faulty_stores import FaultyStore, wonder_on
from support.systems import assert_sound, bundle, calls, line
from wonder.storage import run_writer
from wonder.storage.sqlite import commits as sqlite_commits
from wonder.storage.store import Store

NODES = [f"node-{number}" for number in range(20)]


@pytest.fixture
def fast_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A database on a disk that is taken for fast."""
    monkeypatch.setattr(sqlite_commits, "FAST_SECONDS", 60.0)
    monkeypatch.setattr(run_writer, "UNSETTLED_MS", 60_000)
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


async def test_a_lone_run_needs_one_commit_and_one_turn_of_the_loop_for_each_node(fast_url: str) -> None:
    # What the engine does now and then, beside, may come between; not each time.
    turns, commits = min([await turns_and_commits(fast_url, 1) for _ in range(3)])
    assert commits == 1 + len(NODES)
    assert turns <= len(NODES) + 2


async def test_many_runs_still_share_their_commits(fast_url: str) -> None:
    _, commits = await turns_and_commits(fast_url, 50)
    assert commits < 10 * len(NODES)
