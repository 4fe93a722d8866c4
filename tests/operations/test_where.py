"""CMD-10: a list of runs by their contexts holds few of them in memory, and stops nothing else."""

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest

import wonder
from support.definitions import workflow
from wonder.app.application import Application
from wonder.context.plan import Context
from wonder.operations import run_lists
from wonder.operations.run_lists import ListRuns, WhereFailed, list_project_runs
from wonder.storage.runs.headers import RunHeader
from wonder.storage.runs.loading import load_contexts

NOTED = workflow(
    {"done": {"action": {"kind": "update_context", "implementation": {"updates": []}}}},
    input_schema={"type": "object", "properties": {"n": {"type": "integer"}, "text": {"type": "string"}}},
)


@pytest.fixture
def portions(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many contexts were read at a time."""
    read: list[int] = []
    load = load_contexts

    async def counted(reader: Any, dialect: Any, headers: Iterable[RunHeader], plans: Any) -> dict[str, Context]:
        contexts = await load(reader, dialect, headers, plans)
        read.append(len(contexts))
        return contexts

    monkeypatch.setattr(run_lists, "load_contexts", counted)
    return read


async def started(app: Application, texts: list[str]) -> list[str]:
    """Give the ids of runs with these texts, newest first, as lists have them."""
    deployed, ids = await app.deploy(NOTED), []
    for n, text in enumerate(texts):
        run = await app.start(deployed, {"n": n, "text": text})
        await run.wait()
        ids.append(run.id)
    return ids[::-1]


async def test_cmd_10_few_contexts_are_read_at_a_time_and_large_ones_alone(store_url: str, portions: list[int]) -> None:
    async with wonder.open(store_url) as app:
        await started(app, ["small"] * 12 + ["x" * 600_000] * 3)
        page = await list_project_runs(app, ListRuns(where="1 = 2", limit=1))
    assert (page.runs, page.cursor) == ([], None)
    assert portions == [1, 1, 1, 1, 10, 1]


async def test_cmd_10_others_get_their_turn_between_any_two_runs(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    seen: list[int] = []
    matches = run_lists._Where.matches

    def noted(self: Any, header: RunHeader, context: Context | None) -> bool:
        seen.append(turns)
        return matches(self, header, context)

    monkeypatch.setattr(run_lists._Where, "matches", noted)
    async with wonder.open(store_url) as app:
        await started(app, ["small"] * 8)
        task = asyncio.create_task(others())
        await list_project_runs(app, ListRuns(where="1 = 2"))
        task.cancel()
    assert len(seen) == len(set(seen)) == 8


async def test_cmd_10_a_list_that_takes_too_long_ends_after_any_run_and_goes_on(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_lists, "_WHERE_SECONDS", -1.0)
    async with wonder.open(store_url) as app:
        ids = await started(app, ["small"] * 4)
        found: list[str] = []
        cursor, pages = None, 0
        while pages == 0 or cursor is not None:
            page = await list_project_runs(app, ListRuns(where="input.n <> 2", cursor=cursor))
            found += [run.run_id for run in page.runs]
            cursor, pages = page.cursor, pages + 1
    assert found == [ids[0], *ids[2:]]
    assert pages == 4


async def test_cmd_10_a_condition_that_does_very_much_for_a_run_is_rejected(store_url: str) -> None:
    async with wonder.open(store_url) as app:
        await started(app, ["x" * 600_000])
        condition = " OR ".join(["input.text LIKE '%y%'"] * 40)
        with pytest.raises(WhereFailed, match=r"takes more than 200,000 steps; let it read less"):
            await list_project_runs(app, ListRuns(where=condition))
