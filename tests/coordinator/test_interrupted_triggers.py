"""Triggers whose process ended or whose commits failed: they go on from their rows, each run once (PHS-6)."""

from collections.abc import Iterable
from typing import Any

import pytest

from support.faulty_stores import PassingStore, wonder_on
from support.systems import assert_sound, bundle, calls, running, status_of, until
from support.triggers import fired, give, source, trigger, triggered
from wonder.actions.protocol import ActionFailed
from wonder.coordinator.retrying import Retries
from wonder.coordinator.triggering import Triggers
from wonder.storage.errors import ConnectionLost
from wonder.storage.runs.triggering import firings_of_run, trigger_status
from wonder.storage.store import Entry, Fence, Store

ITEMS = 250
EACH = source(trigger(inputs={"n": "@item"}, forEach="@output.items"))


async def test_triggers_of_a_run_whose_process_ended_fire_in_the_next_one(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PHS-6: what was to be triggered is stored with the completion."""
    with monkeypatch.context() as patch:
        patch.setattr(Triggers, "begin", lambda *_: None)
        async with running(store_url, give=give) as wonder:
            run = await wonder.start(await wonder.deploy(EACH), {"items": [1, 2]})
            assert (await run.wait()).status == "completed"
            assert trigger_status(await firings_of_run(wonder.store, run.id)) == "pending"
    async with running(store_url, give=give) as wonder:
        assert [header.output for header in await triggered(wonder, run.id)] == [{"got": {"n": n}} for n in (1, 2)]
    async with running(store_url, give=give) as wonder:
        assert len(await triggered(wonder, run.id)) == 2


class FailingStore(PassingStore):
    """Fails commits that move a trigger on, by their number: before they are stored, or after."""

    def __init__(self, store: Store, faults: dict[int, str]) -> None:
        super().__init__(store)
        self._faults, self.count = faults, 0

    async def commit(self, batch: Iterable[Entry], *, fence: Fence | None = None, **options: Any) -> None:
        entries = list(batch)
        self.count += any(query == "move_trigger_firing" for query, _ in entries)
        fault = self._faults.pop(self.count, None)
        if fault != "before":
            await self._store.commit(entries, fence=fence, **options)
        if fault:
            raise ConnectionLost("the connection broke")


@pytest.mark.parametrize("faults", [{1: "before", 3: "after"}, {2: "after", 3: "before"}], ids=str)
async def test_a_commit_that_fails_while_a_trigger_fires_loses_nothing_and_doubles_nothing(
    store_url: str, faults: dict[int, str]
) -> None:
    """PHS-6, INV-2: the runs, and that they were started, are one commit, acknowledged or not."""
    stores: list[FailingStore] = []

    def wrap(store: Store) -> FailingStore:
        stores.append(FailingStore(store, dict(faults)))
        return stores[0]

    async with wonder_on(store_url, wrap, {"give": give}) as wonder:
        run = await wonder.start(await wonder.deploy(EACH), {"items": list(range(ITEMS))})
        headers = await triggered(wonder, run)
        assert [header.output for header in headers] == [{"got": {"n": n}} for n in range(ITEMS)]
        assert stores[0]._faults == {}
        assert await wonder.store.query("SELECT count(*) FROM runs") == [(ITEMS + 1,)]
    await assert_sound(store_url)


async def test_a_retry_that_was_due_when_a_process_ended_is_made_once_by_the_next_one(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PHS-6, `max_retries`: durable as all else."""

    def fail() -> None:
        raise ActionFailed("BROKEN", "it broke")

    shaky = bundle("shaky", {"only": calls("fail")})["workflow"]
    del shaky["name"]
    count = "SELECT count(*) FROM runs"
    with monkeypatch.context() as patch:
        patch.setattr(Retries, "begin", lambda *_: None)
        async with running(store_url, give=give, fail=fail) as wonder:
            run = await wonder.start(await wonder.deploy(source(trigger("shaky", max_retries=1), shaky=shaky)))
            (first,) = await triggered(wonder, run)
            assert (first.status, first.retry_due) == ("failed", True)
    for _ in range(2):
        async with running(store_url, give=give, fail=fail) as wonder:

            async def again() -> list[Any]:
                return await wonder.store.query("SELECT run_id FROM triggered_runs WHERE attempt = 1")

            ((retry,),) = await until(again)
            header = await status_of(wonder, str(retry), "failed")
            assert (header.retry_of_run_id, header.retry_due) == (first.id, False)
            # The pause before it is that of the process that ended, neither cut nor begun anew.
            assert first.completed_ms
            assert header.created_ms - first.completed_ms >= 1_000
            assert await wonder.store.query(count) == [(3,)]


async def test_a_circle_of_triggers_ends_whichever_process_goes_on_with_it(store_url: str) -> None:
    """PHS-6: how deep a run was triggered is kept with it."""
    loops = bundle("loops", {"only": calls("give")}, triggers=[trigger("loops")])
    async with running(store_url, give=give) as wonder:
        await wonder.start(await wonder.deploy(loops))
    async with running(store_url, give=give) as wonder:

        async def deepest() -> list[Any]:
            return await wonder.store.query("SELECT run_id FROM triggered_runs WHERE trigger_depth = 10")

        ((last,),) = await until(deepest)
        assert trigger_status(await fired(wonder, str(last))) == "failed"
        assert await wonder.store.query("SELECT count(*) FROM runs") == [(11,)]
