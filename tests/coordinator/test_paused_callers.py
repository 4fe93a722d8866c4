"""A caller that is paused while its sub-workflow is being prepared starts it when it is resumed, and not before."""

import asyncio
from typing import Any

import pytest

from support.definitions import update
from support.systems import bundle, running, waits
from wonder.coordinator.starting import Starter
from wonder.storage.runs.headers import children_of_run


async def test_ctl_16_a_sub_workflow_does_not_start_while_its_caller_is_paused(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = bundle("inner", {"only": update()})["workflow"]
    del inner["name"]
    outer = bundle("outer", {"call": waits("workflow_call", {"workflow_def_id": "inner"})})
    prepares, gate, asked = asyncio.Event(), asyncio.Event(), 0
    program = Starter.program

    async def held(self: Starter, *arguments: Any) -> Any:
        """Hold the second that is asked for, which is the sub-workflow."""
        nonlocal asked
        asked += 1
        if asked == 2:
            prepares.set()
            await gate.wait()
        return await program(self, *arguments)

    async with running(store_url) as wonder, asyncio.timeout(60):
        workflow = await wonder.deploy({**outer, "workflows": {"inner": inner}})
        monkeypatch.setattr(Starter, "program", held)
        run = await wonder.start(workflow)
        await prepares.wait()
        await wonder.pause(run.id)
        gate.set()
        await asyncio.sleep(0.1)
        assert await children_of_run(wonder.store, run.id) == []
        await wonder.resume(run.id)
        assert (await run.wait()).status == "completed"
