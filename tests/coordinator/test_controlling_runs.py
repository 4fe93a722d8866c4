"""Cancelling, pausing and resuming runs, down to their sub-workflows and the actions under way (CTL-16)."""

import asyncio
from contextlib import suppress
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
    status_of,
    until,
    waits,
)
from wonder.app.application import Application
from wonder.app.results import Run
from wonder.coordinator.errors import ItemClosed, RunNotLive
from wonder.engine.facts import TaskCompleted
from wonder.storage.resource_errors import NotFound
from wonder.storage.runs.headers import RunHeader, children_of_run
from wonder.storage.runs.reading import tokens_of_run

ASK = waits("human_input", {"prompt": "go on?", "schema": {}})


class Slow:
    """A function that waits to be let go, and knows whether it was aborted."""

    def __init__(self) -> None:
        self.began, self.gate, self.aborted = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.calls = 0

    async def __call__(self) -> dict[str, int]:
        self.calls += 1
        self.began.set()
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.aborted.set()
            raise
        return {"calls": self.calls}


async def start(wonder: Application, definition: dict[str, Any]) -> Run:
    return await wonder.start(await wonder.deploy(definition))


def family(child: dict[str, Any]) -> dict[str, Any]:
    """Make a workflow that calls another one, which calls a third."""
    call = waits("workflow_call", {"workflow_def_id": "child"})
    inner = bundle("grandchild", child)["workflow"]
    del inner["name"]
    middle = bundle("child", {"call": waits("workflow_call", {"workflow_def_id": "grandchild"})})["workflow"]
    del middle["name"]
    return {**bundle("parent", {"call": call}), "workflows": {"child": middle, "grandchild": inner}}


async def descendants(wonder: Application, run: Run) -> list[RunHeader]:
    """Wait until a run has a child with a child, and give both."""

    async def look() -> list[RunHeader]:
        children = await children_of_run(wonder.store, run.id)
        inner = [one for child in children for one in await children_of_run(wonder.store, child.id)]
        return children + inner if inner else []

    found: list[RunHeader] = await until(look)
    return found


async def test_a_cancelled_run_aborts_the_action_under_way_and_its_result_is_late(store_url: str) -> None:
    """CTL-16."""
    slow = Slow()
    async with running(store_url, slow=slow) as wonder:
        run = await start(wonder, bundle("slow", {"only": calls("slow")}))
        await slow.began.wait()
        (token,) = await tokens_of_run(wonder.store, run.id)
        await wonder.cancel(run.id, "enough")
        assert (await run.wait()).status == "cancelled"
        async with asyncio.timeout(60):
            await slow.aborted.wait()
        # A worker that did not hear of it in time.
        before = await event_types(wonder, run)
        wonder.engine.coordinator.bring(run.id, TaskCompleted(token.id, {"late": True}))
        await no_run_in_memory(wonder)
        assert await event_types(wonder, run) == before
        assert [one.status for one in await tokens_of_run(wonder.store, run.id)] == ["cancelled"]


async def test_a_result_for_a_token_that_has_ended_is_recorded_and_changes_nothing(store_url: str) -> None:
    """CTL-16."""
    async with running(store_url, quick=dict) as wonder:
        run = await start(wonder, bundle("late", {"first": calls("quick"), "ask": ASK}, line("first", "ask")))
        item = await open_item(wonder, run)
        first = (await tokens_of_run(wonder.store, run.id))[0]
        wonder.engine.coordinator.bring(run.id, TaskCompleted(first.id, {"late": True}, tokens=7, cost_usd=0.5))
        await no_run_in_memory(wonder)
        assert (await event_types(wonder, run))[-1] == "late_result_ignored"
        await wonder.answer(item.id, {})
        assert (await run.wait()).status == "completed"


async def test_a_run_that_has_ended_or_never_was_can_not_be_changed(store_url: str) -> None:
    """CTL-16, CTL-18."""
    async with running(store_url) as wonder:
        run = await start(wonder, bundle("quick", {"only": update()}))
        await run.wait()
        for order in (wonder.cancel, wonder.pause, wonder.resume):
            with pytest.raises(RunNotLive):
                await order(run.id)
            with pytest.raises(NotFound):
                await order("nothing")


async def test_a_paused_run_takes_results_and_dispatches_nothing(store_url: str) -> None:
    """CTL-16."""
    first, second = Slow(), Slow()
    definition = bundle("two", {"first": calls("first"), "second": calls("second")}, line("first", "second"))
    async with running(store_url, first=first, second=second) as wonder:
        run = await start(wonder, definition)
        await first.began.wait()
        await wonder.pause(run.id)
        first.gate.set()

        async def routed() -> bool:
            return "node_completed" in await event_types(wonder, run)

        await until(routed)
        await no_run_in_memory(wonder)
        assert (await status_of(wonder, run, "paused")).status == "paused"
        assert not second.began.is_set()
        second.gate.set()
        await wonder.resume(run.id)
        assert (await run.wait()).status == "completed"
        assert second.calls == 1


async def test_cancelling_goes_down_to_the_children_and_withdraws_their_questions(store_url: str) -> None:
    """CTL-16, CTL-10, ACT-5."""
    async with running(store_url) as wonder:
        run = await start(wonder, family({"ask": ASK}))
        _, inner = await descendants(wonder, run)
        item = await open_item(wonder, Run(inner.id, wonder.wait))
        await no_run_in_memory(wonder)
        await wonder.cancel(run.id)
        assert (await run.wait()).status == "cancelled"
        for child in await descendants(wonder, run):
            await status_of(wonder, child.id, "cancelled")
        with pytest.raises(ItemClosed):
            await wonder.answer(item.id, {})
        await no_run_in_memory(wonder)


async def test_pausing_and_resuming_go_down_to_the_children(store_url: str) -> None:
    """CTL-16."""
    slow = Slow()
    nodes = {"ask": ASK, "slow": calls("slow")}
    definition = family(nodes)
    definition["workflows"]["grandchild"]["transitions"] = line("ask", "slow")
    async with running(store_url, slow=slow) as wonder:
        run = await start(wonder, definition)
        _, inner = await descendants(wonder, run)
        item = await open_item(wonder, Run(inner.id, wonder.wait))
        await wonder.pause(run.id)
        for child in await descendants(wonder, run):
            await status_of(wonder, child.id, "paused")
        await wonder.answer(item.id, {})
        await no_run_in_memory(wonder)
        assert not slow.began.is_set()
        slow.gate.set()
        await wonder.resume(run.id)
        assert (await run.wait()).status == "completed"
        for child in await descendants(wonder, run):
            assert child.status == "completed"


async def test_a_caller_that_is_paused_before_its_call_starts_it_when_it_is_resumed(store_url: str) -> None:
    """CTL-16: nothing is lost between the decision to call and the start of the child."""
    async with running(store_url) as wonder:
        workflow = await wonder.deploy(family({"only": update()}))
        run = await wonder.start(workflow)
        # At this moment the call is durable, and the child is being prepared.
        await wonder.pause(run.id)
        await wonder.resume(run.id)
        async with asyncio.timeout(20):
            assert (await run.wait()).status == "completed"


async def test_pausing_and_resuming_a_caller_at_any_moment_of_its_start_loses_no_sub_workflow(store_url: str) -> None:
    """CTL-16. An order that looked for a child before it was stored once made its start, or its end, get lost."""
    async with running(store_url) as wonder:
        workflow = await wonder.deploy(family({"only": update()}))
        for number in range(40):
            run = await wonder.start(workflow)
            if number % 3:
                await asyncio.sleep(0.0002 * (number % 7))
            with suppress(RunNotLive):  # it may have ended already
                await wonder.pause(run.id)
                await wonder.resume(run.id)
            async with asyncio.timeout(20):
                assert (await run.wait()).status == "completed"


async def test_a_caller_that_is_cancelled_before_its_call_leaves_no_orphan(store_url: str) -> None:
    """ACT-5: cancelling the parent cancels the child, also one that is only about to begin."""
    async with running(store_url) as wonder:
        workflow = await wonder.deploy(family({"ask": ASK}))
        runs = await asyncio.gather(*(wonder.start(workflow) for _ in range(10)))
        await asyncio.gather(*(wonder.cancel(run.id) for run in runs))
        await no_run_in_memory(wonder)
        assert await wonder.store.query("SELECT count(*) FROM runs WHERE completed_ms IS NULL") == [(0,)]


async def test_a_pure_endless_loop_can_be_cancelled_and_lets_others_run(store_url: str) -> None:
    """CTL-20."""
    loop = bundle(
        "endless",
        {"count": update(**{"state.n": "coalesce(state.n, 0) + 1"})},
        [{"from": "count", "to": "count"}],
        context_schema={"type": "object", "properties": {"n": {"type": "integer"}}},
    )
    async with running(store_url) as wonder:
        run = await start(wonder, loop)
        other = await start(wonder, bundle("quick", {"only": update()}))
        async with asyncio.timeout(20):
            assert (await other.wait()).status == "completed"
            await wonder.cancel(run.id)
            assert (await run.wait()).status == "cancelled"
        await no_run_in_memory(wonder)


async def test_ret_3_an_endless_loop_ends_at_the_time_out_of_its_workflow(store_url: str) -> None:
    """RET-3, CTL-20: every node of it succeeds."""
    loop = bundle("endless", {"count": update()}, [{"from": "count", "to": "count"}], timeout_ms=50, on_timeout="fail")
    async with running(store_url) as wonder:
        run = await start(wonder, loop)
        async with asyncio.timeout(20):
            result = await run.wait()
        assert result.error
        assert (result.status, result.error["code"]) == ("failed", "WORKFLOW_TIMEOUT")


async def test_a_task_that_takes_longer_is_seen_as_executing(store_url: str) -> None:
    """CTL-1."""
    slow = Slow()
    async with running(store_url, slow=slow) as wonder:
        run = await start(wonder, bundle("slow", {"only": calls("slow")}))

        async def executes() -> bool:
            return [token.status for token in await tokens_of_run(wonder.store, run.id)] == ["executing"]

        await until(executes, 5)
        slow.gate.set()
        assert (await run.wait()).status == "completed"
        assert (await event_types(wonder, run)).count("node_started") == 1
