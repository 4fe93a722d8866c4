"""Waits that the engine carries out itself: time limits of their actions, and calls with an idempotency key."""

import asyncio
from typing import Any

import pytest

from support.definitions import update
from support.systems import bundle, event_types, line, open_item, running, status_of, until, waits
from wonder.app.application import Application
from wonder.app.results import Run
from wonder.storage.runs.headers import RunHeader, children_of_run
from wonder.storage.runs.listing import list_runs
from wonder.storage.runs.reading import events_of_run, inbox_of_run

WAITS = {
    "sleep": {"ms": 60_000},
    "wait_for_event": {"event": "paid"},
    "human_input": {"prompt": "go on?"},
    "workflow_call": {"workflow_def_id": "child"},
}
GATE = waits("human_input", {"prompt": "how much?"}, output_mapping={"output.x": "$.x"})
GIVES_GIVEN = {"output_mapping": {"output.given": "$"}}


def limited(kind: str, timeout_ms: int, **step: Any) -> dict[str, Any]:
    """Make a workflow whose only node waits for a limited time, in a step with these fields."""
    action = {"kind": kind, "implementation": WAITS[kind], "execution": {"timeout_ms": timeout_ms}}
    task = {"steps": [{"ref": "wait", "action": action, **step}]}
    child = bundle("child", {"ask": GATE})["workflow"]
    return {**bundle("limited", {"only": {"task": task}}), "workflows": {"child": child}}


async def left_behind(wonder: Application, run: Run | str) -> list[str]:
    """List what a run still asks others for."""
    run_id = run if isinstance(run, str) else run.id
    items = [item.id for item in await inbox_of_run(wonder.store, run_id) if item.status == "open"]
    children = [child.id for child in await children_of_run(wonder.store, run_id) if not child.has_ended]
    return items + children


@pytest.mark.parametrize("kind", WAITS)
async def test_ret_3_an_action_that_waits_is_ended_by_its_timeout(store_url: str, kind: str) -> None:
    """RET-3, TSK-7: a sub-workflow is cancelled, a question withdrawn."""
    async with running(store_url) as wonder:
        run = await wonder.start(await wonder.deploy(limited(kind, 40)))
        result = await run.wait()
        assert result.error
        assert (result.error["code"], result.error["details"]) == ("ACTION_TIMEOUT", {"timeout_ms": 40})
        assert "took longer than 40 ms" in str(result.error["message"])
        await until(lambda: nothing_left(wonder, run))


async def nothing_left(wonder: Application, run: Run) -> bool:
    return await left_behind(wonder, run) == []


@pytest.mark.parametrize("kind", WAITS)
async def test_ret_3_the_timeout_of_a_wait_survives_a_restart(store_url: str, kind: str) -> None:
    """One that came due while no process ran fires when one does."""
    async with running(store_url) as wonder:
        run = await wonder.start(await wonder.deploy(limited(kind, 300)))
        await status_of(wonder, run, "waiting")
    await asyncio.sleep(0.3)
    async with running(store_url) as wonder:
        result = await wonder.wait(run.id)
        assert result.error
        assert result.error["code"] == "ACTION_TIMEOUT"
        await until(lambda: nothing_left(wonder, run))


@pytest.mark.parametrize("kind", WAITS)
async def test_tsk_3_a_step_that_continues_goes_on_after_its_wait_timed_out(store_url: str, kind: str) -> None:
    async with running(store_url) as wonder:
        run = await wonder.start(await wonder.deploy(limited(kind, 20, on_failure="continue")))
        assert (await run.wait()).status == "completed"
        (told,) = [e.metadata for e in await events_of_run(wonder.store, run.id) if e.type == "node_completed"]
        assert [(step["ref"], step["error"]["code"]) for step in told["steps"]] == [("wait", "ACTION_TIMEOUT")]


async def test_ret_3_a_wait_that_is_over_in_time_has_no_timer_left(store_url: str) -> None:
    async with running(store_url) as wonder:
        run = await wonder.start(await wonder.deploy(limited("human_input", 60_000)))
        await wonder.answer((await open_item(wonder, run)).id, {"x": 1})
        assert (await run.wait()).status == "completed"
        assert await wonder.store.query("SELECT key FROM timers") == []
        assert (await event_types(wonder, run)).count("timer_fired") == 0


def keyed(nodes: dict[str, Any], key: str = "{{order}}", **fields: Any) -> dict[str, Any]:
    """Make a workflow that calls a child of these nodes with an idempotency key."""
    action = {
        "kind": "workflow_call",
        "implementation": {"workflow_def_id": "child"},
        "idempotency": {"key_template": key, **fields},
    }
    call = {"action": action, "input_mapping": {"order": "$.input.order"}, **GIVES_GIVEN}
    definition = bundle("parent", {"call": call}, input_schema={"type": "object"})
    return {**definition, "workflows": {"child": bundle("child", nodes)["workflow"]}}


async def children_of(wonder: Application) -> list[RunHeader]:
    runs = (await list_runs(wonder.store, wonder.home.project_id)).items
    return [run for run in runs if run.parent_run_id is not None]


async def test_ret_4_calls_with_the_same_key_run_one_sub_workflow(store_url: str) -> None:
    async with running(store_url) as wonder:
        workflow = await wonder.deploy(keyed({"only": update(**{"output.x": "1"})}))
        first = await wonder.start(workflow, {"order": 7})
        assert (await first.wait()).output == {"given": {"x": 1}}
        # A new version of the child does not change what was given for the key.
        await wonder.deploy(bundle("child", {"only": update(**{"output.x": "2"})}))
        second = await wonder.start(workflow, {"order": 7})
        assert (await second.wait()).output == {"given": {"x": 1}}
        (child,) = await children_of(wonder)
        resumed = [e.metadata for e in await events_of_run(wonder.store, second.id) if e.type == "token_resumed"]
        assert resumed == [{"by": "child", "run_id": child.id}]
        other = await wonder.start(workflow, {"order": 8})
        assert (await other.wait()).output == {"given": {"x": 2}}
        assert len(await children_of(wonder)) == 2


async def test_ret_4_calls_at_the_same_time_wait_for_the_one_that_runs(store_url: str) -> None:
    async with running(store_url) as wonder:
        workflow = await wonder.deploy(keyed({"ask": GATE}))
        runs = await asyncio.gather(*(wonder.start(workflow, {"order": 7}) for _ in range(5)))
        for run in runs:
            await status_of(wonder, run, "waiting")
        (child,) = await until(lambda: children_of(wonder))
        await wonder.answer((await open_item(wonder, Run(child.id, wonder.wait))).id, {"x": 5})
        assert [(await run.wait()).output for run in runs] == [{"given": {"x": 5}}] * 5
        assert len(await children_of(wonder)) == 1


async def test_ret_4_a_call_waits_for_the_same_sub_workflow_after_a_restart(store_url: str) -> None:
    async with running(store_url) as wonder:
        workflow = await wonder.deploy(keyed({"ask": GATE}))
        runs = [await wonder.start(workflow, {"order": 7}) for _ in range(2)]
        for run in runs:
            await status_of(wonder, run, "waiting")
        (child,) = await until(lambda: children_of(wonder))
        item = await open_item(wonder, Run(child.id, wonder.wait))
    async with running(store_url) as wonder:
        late = await wonder.start("parent", {"order": 7})
        await status_of(wonder, late, "waiting")
        await wonder.answer(item.id, {"x": 5})
        for run_id in (runs[0].id, runs[1].id, late.id):
            assert (await wonder.wait(run_id)).output == {"given": {"x": 5}}
        assert len(await children_of(wonder)) == 1
    async with running(store_url) as wonder:
        again = await wonder.start("parent", {"order": 7})
        assert (await again.wait()).output == {"given": {"x": 5}}
        assert len(await children_of(wonder)) == 1


@pytest.mark.parametrize("end", ["cancelled", "failed"])
async def test_ret_4_only_a_success_is_kept_and_the_next_call_acts(store_url: str, end: str) -> None:
    sure = {"action": {"kind": "assert", "implementation": {"expr": "state.sure = 1"}}}
    nodes = {
        "ask": waits("human_input", {"prompt": "?"}, output_mapping={"state.sure": "$.sure"}),
        "sure": sure,
        "end": update(**{"output.x": "1"}),
    }
    definition = keyed(nodes)
    definition["workflows"]["child"]["transitions"] = line("ask", "sure", "end")
    definition["workflows"]["child"]["context_schema"] = {"type": "object", "properties": {"sure": {"type": "integer"}}}
    async with running(store_url) as wonder:
        workflow = await wonder.deploy(definition)
        first, second = [await wonder.start(workflow, {"order": 7}) for _ in range(2)]
        (child,) = await until(lambda: children_of(wonder))
        item = await open_item(wonder, Run(child.id, wonder.wait))
        if end == "failed":
            await wonder.answer(item.id, {"sure": 0})
        else:
            await wonder.cancel(first.id if child.parent_run_id == first.id else second.id)
        caller, waiter = (first, second) if child.parent_run_id == first.id else (second, first)
        assert (await caller.wait()).status == end

        async def next_child() -> RunHeader | None:
            return next((one for one in await children_of(wonder) if one.id != child.id), None)

        following = await until(next_child)
        assert following.parent_run_id == waiter.id
        await wonder.answer((await open_item(wonder, Run(following.id, wonder.wait))).id, {"sure": 1})
        assert (await waiter.wait()).output == {"given": {"x": 1}}
        assert len(await children_of(wonder)) == 2


async def test_ret_4_what_is_kept_of_a_call_expires(store_url: str) -> None:
    async with running(store_url) as wonder:
        workflow = await wonder.deploy(keyed({"only": update(**{"output.x": "1"})}, ttl_seconds=1))
        for children in (1, 1):
            await (await wonder.start(workflow, {"order": 7})).wait()
            assert len(await children_of(wonder)) == children
        await asyncio.sleep(1.05)
        await (await wonder.start(workflow, {"order": 7})).wait()
        assert len(await children_of(wonder)) == 2


async def test_ret_4_a_key_of_a_call_that_can_not_be_made_fails_the_node(store_url: str) -> None:
    async with running(store_url) as wonder:
        workflow = await wonder.deploy(keyed({"only": update()}, key="{{input.order.id}}"))
        result = await (await wonder.start(workflow, {"order": {}})).wait()
        assert result.error
        assert result.error["code"] == "IDEMPOTENCY_KEY_UNKNOWN"
        assert await children_of(wonder) == []


async def test_ret_4_a_call_that_would_wait_for_its_own_caller_fails(store_url: str) -> None:
    action = {
        "kind": "workflow_call",
        "implementation": {"workflow_def_id": "again"},
        "idempotency": {"key_template": "one"},
    }
    async with running(store_url) as wonder:
        workflow = await wonder.deploy(bundle("again", {"call": {"action": action}}))
        result = await (await wonder.start(workflow)).wait()
        assert result.error
        assert "which has the same idempotency key and made this call itself" in str(result.error["message"])
