"""How many runs of a project go at a time (RES-6), and snapshots of them."""

import asyncio
from typing import Any

import pytest

from support.definitions import update
from support.systems import (
    bundle,
    calls,
    event_types,
    line,
    no_run_in_memory,
    open_item,
    running,
    settle,
    status_of,
    until,
    waits,
)
from wonder.coordinator import admission
from wonder.storage.runs.listing import RunFilter, list_runs
from wonder.storage.runs.reconciling import queued_runs
from wonder.storage.runs.snapshots import load_oldest_snapshot, load_snapshot


class Gate:
    """A function that waits for its turn, and counts how many wait at once."""

    def __init__(self) -> None:
        self.open = asyncio.Semaphore(0)
        self.inside = self.most = 0
        self.order: list[int] = []

    async def __call__(self, n: int) -> dict[str, int]:
        self.order.append(n)
        self.inside += 1
        self.most = max(self.most, self.inside)
        await self.open.acquire()
        self.inside -= 1
        return {}


GATED = bundle("gated", {"only": calls("gate", input_mapping={"n": "$.input.n"})})


async def test_further_runs_queue_in_order(store_url: str) -> None:
    """RES-6, `max_concurrent_runs`."""
    gate = Gate()
    async with running(store_url, gate=gate) as wonder:
        await settle(wonder, rate_limits={"max_concurrent_runs": 2})
        workflow = await wonder.deploy(GATED)
        runs = [await wonder.start(workflow, {"n": n}) for n in range(7)]
        await until(lambda: _is(gate.inside == 2))
        assert (await event_types(wonder, runs[6])) == ["workflow_queued"]
        queued = await list_runs(wonder.store, wonder.home.project_id, RunFilter(status="queued"))
        assert {header.id for header in queued.items} == {run.id for run in runs[2:]}
        for _ in runs:
            gate.open.release()
        for run in runs:
            assert (await run.wait()).status == "completed"
        # Two go at a time, and which of them comes first to its action is not promised.
        assert all(abs(place - n) <= 1 for place, n in enumerate(gate.order))
        assert gate.most == 2
        await no_run_in_memory(wonder)


async def test_a_run_that_is_queued_with_an_earlier_id_while_others_start_is_not_forgotten(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RES-6: ids are made before a start is stored, and another one may overtake it."""
    gate, late = Gate(), list[str]()
    async with running(store_url, gate=gate) as wonder:
        await settle(wonder, rate_limits={"max_concurrent_runs": 1})
        engine = wonder.engine
        assert engine
        first = await wonder.start(await wonder.deploy(GATED), {"n": 1})
        sleeper = await wonder.deploy(bundle("sleeper", {"only": waits("sleep", {"ms": 3_600_000})}))
        second = await wonder.start(sleeper)

        async def look(*of: Any, **page: Any) -> list[str]:
            found = await queued_runs(*of, **page)
            if found == [second.id] and not late:
                monkeypatch.setattr(engine.coordinator, "new_id", lambda: "0" * 26)
                late.append((await engine.collaborators.starter.start(sleeper, {})).run_id)
            return found

        monkeypatch.setattr(admission, "queued_runs", look)
        gate.open.release()
        await first.wait()
        await status_of(wonder, second, "waiting")
        assert late == ["0" * 26]
        await status_of(wonder, late[0], "waiting")


async def test_queued_runs_go_on_in_the_next_process(store_url: str) -> None:
    """RES-6, INV-1."""
    gate = Gate()
    async with running(store_url, gate=gate) as wonder:
        await settle(wonder, rate_limits={"max_concurrent_runs": 1})
        workflow = await wonder.deploy(GATED)
        runs = [await wonder.start(workflow, {"n": n}) for n in range(4)]
        await until(lambda: _is(gate.inside == 1))
    second = Gate()
    async with running(store_url, gate=second) as wonder:
        for _ in runs:
            second.open.release()
        for run in runs:
            assert (await wonder.wait(run.id)).status == "completed"
        assert second.order == list(range(4))
        assert second.most == 1


async def test_a_queued_run_can_be_cancelled(store_url: str) -> None:
    """CTL-16, RES-6."""
    gate = Gate()
    async with running(store_url, gate=gate) as wonder:
        await settle(wonder, rate_limits={"max_concurrent_runs": 1})
        workflow = await wonder.deploy(GATED)
        runs = [await wonder.start(workflow, {"n": n}) for n in range(3)]
        await wonder.cancel(runs[1].id)
        assert (await runs[1].wait()).status == "cancelled"
        for _ in runs:
            gate.open.release()
        assert (await runs[2].wait()).status == "completed"
        assert gate.order == [0, 2]


async def test_a_run_that_waits_is_not_counted_and_neither_is_a_sub_workflow(store_url: str) -> None:
    """RES-6."""
    async with running(store_url) as wonder:
        await settle(wonder, rate_limits={"max_concurrent_runs": 1})
        ask = await wonder.deploy(bundle("asks", {"ask": waits("human_input", {"prompt": "?", "schema": {}})}))
        waiting = [await wonder.start(ask) for _ in range(3)]
        for run in waiting:
            await status_of(wonder, run, "waiting")
        parent = bundle("parent", {"call": waits("workflow_call", {"workflow_def_id": "child"})})
        child = bundle("child", {"only": update()})["workflow"]
        del child["name"]
        workflow = await wonder.deploy({**parent, "workflows": {"child": child}})
        assert (await (await wonder.start(workflow)).wait()).status == "completed"
        for run in waiting:
            await wonder.answer((await open_item(wonder, run)).id, {})
            assert (await run.wait()).status == "completed"


async def test_queued_runs_start_when_the_limit_is_raised(store_url: str) -> None:
    """RES-6: a setting counts as soon as it is known."""
    gate = Gate()
    async with running(store_url, gate=gate) as wonder:
        await settle(wonder, rate_limits={"max_concurrent_runs": 1})
        workflow = await wonder.deploy(GATED)
        runs = [await wonder.start(workflow, {"n": n}) for n in range(3)]
        await until(lambda: _is(gate.inside == 1))
        await settle(wonder)
        await until(lambda: _is(gate.inside == 3))
        for _ in runs:
            gate.open.release()
        await asyncio.gather(*(run.wait() for run in runs))


async def _is(fact: bool) -> bool:
    return fact


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({"every_events": 20, "at_end": True}, "several"),
        ({"every_events": None, "at_end": True}, "one"),
        ({"every_events": None, "at_end": False}, "none"),
    ],
    ids=["every 20", "at end", "never"],
)
async def test_snapshots_are_taken_as_the_policy_says(store_url: str, policy: dict[str, Any], expected: str) -> None:
    """RES-6, `snapshot_policy`; that a snapshot is right is looked at by `verify_run`."""
    names = [f"n{number}" for number in range(12)]
    chain = bundle("chain", dict.fromkeys(names, calls("nothing")), line(*names))
    async with running(store_url, nothing=dict) as wonder:
        await settle(wonder, snapshot_policy=policy)
        run = await wonder.start(await wonder.deploy(chain))
        assert (await run.wait()).status == "completed"
        taken = await wonder.store.query("SELECT count(*) FROM snapshots")
        assert {"none": taken == [(0,)], "one": taken == [(1,)], "several": taken[0][0] >= 3}[expected]
        if expected == "several":
            oldest = await load_oldest_snapshot(wonder.store, run.id)
            newest = await load_snapshot(wonder.store, run.id)
            assert oldest
            assert newest
            assert 20 <= oldest.run.sequence < 40
            assert newest.run.status == "completed"


async def test_a_large_fan_out_is_not_snapshot_again_and_again(store_url: str) -> None:
    """RES-6: all snapshots of a run together cost no more than its events."""
    definition = bundle(
        "wide",
        {"start": update(), "each": calls("nothing")},
        [{"from": "start", "to": "each", "foreach": {"collection": "input.items"}}],
    )
    async with running(store_url, nothing=dict) as wonder:
        await settle(wonder, snapshot_policy={"every_events": 10, "at_end": False})
        run = await wonder.start(await wonder.deploy(definition), {"items": list(range(300))})
        assert (await run.wait()).status == "completed"
        (rows,) = await wonder.store.query("SELECT count(*), count(DISTINCT run_id) FROM snapshots")
        assert 1 <= int(rows[0]) < 30
