"""CTL-16, RES-6: a run can be paused at any time, also while it waits for its start."""

import asyncio
from typing import Any

import pytest

from support.systems import bundle, calls, event_types, no_run_in_memory, running, settle, status_of, until
from wonder.storage.runs.reading import active_run_counts


class Gate:
    """A function that waits for its turn."""

    def __init__(self) -> None:
        self.open = asyncio.Semaphore(0)
        self.order: list[int] = []

    async def __call__(self, n: int) -> dict[str, int]:
        self.order.append(n)
        await self.open.acquire()
        return {}


GATED: Any = bundle("gated", {"only": calls("gate", input_mapping={"n": "$.input.n"})})


@pytest.mark.parametrize("restart", [False, True])
async def test_ctl_16_a_run_that_is_paused_in_the_queue_lets_others_go_first(store_url: str, restart: bool) -> None:
    gate = Gate()
    async with running(store_url, gate=gate) as wonder:
        await settle(wonder, rate_limits={"max_concurrent_runs": 1})
        workflow = await wonder.deploy(GATED)
        runs = [await wonder.start(workflow, {"n": n}) for n in range(4)]
        await until(lambda: _is(gate.order == [0]))
        await wonder.pause(runs[1].id)
        assert (await status_of(wonder, runs[1], "queued", "paused")).status == "paused"
        # It takes no place: the one that goes is the only one that counts.
        assert await active_run_counts(wonder.store) == {wonder.home.project_id: 1}
        if not restart:
            gate.open.release()
            await runs[0].wait()
            await until(lambda: _is(gate.order == [0, 2]))
            assert (await status_of(wonder, runs[1], "paused")).status == "paused"
            await wonder.resume(runs[1].id)
            assert (await status_of(wonder, runs[1], "queued")).status == "queued"
            for _ in range(3):
                gate.open.release()
            for run in runs:
                assert (await run.wait()).status == "completed"
            assert gate.order == [0, 2, 1, 3]
            types = await event_types(wonder, runs[1])
            begin = ["workflow_queued", "workflow_paused", "workflow_resumed", "workflow_queued", "workflow_started"]
            assert types[:5] == begin
            await no_run_in_memory(wonder)
            return
    second = Gate()
    async with running(store_url, gate=second) as wonder:
        for _ in range(4):
            second.open.release()
        for run in (runs[0], runs[2], runs[3]):
            assert (await wonder.wait(run.id)).status == "completed"
        assert (await status_of(wonder, runs[1], "paused")).status == "paused"
        await wonder.resume(runs[1].id)
        assert (await wonder.wait(runs[1].id)).status == "completed"
        assert second.order == [0, 2, 3, 1]


async def test_ctl_16_a_run_that_is_paused_in_the_queue_can_be_cancelled(store_url: str) -> None:
    gate = Gate()
    async with running(store_url, gate=gate) as wonder:
        await settle(wonder, rate_limits={"max_concurrent_runs": 1})
        workflow = await wonder.deploy(GATED)
        runs = [await wonder.start(workflow, {"n": n}) for n in range(2)]
        await wonder.pause(runs[1].id)
        await wonder.cancel(runs[1].id)
        assert (await runs[1].wait()).status == "cancelled"
        gate.open.release()
        assert (await runs[0].wait()).status == "completed"
        assert gate.order == [0]


async def _is(fact: bool) -> bool:
    return fact
