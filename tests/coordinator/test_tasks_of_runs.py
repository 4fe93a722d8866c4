"""Tasks of real runs: what they cost, what is told of them, and waits that outlive a process (TSK, LAY-3, RET-3)."""

import asyncio
import gc
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import pytest

from support.definitions import update
from support.faulty_stores import FaultyStore, wonder_on
from support.systems import bundle, calls, line, no_run_in_memory, open_item, running, status_of, until, waits
from wonder.actions.protocol import ActionFailed
from wonder.actions.python.kind import current_context
from wonder.app.results import Run
from wonder.storage.runs.headers import children_of_run
from wonder.storage.runs.reading import events_of_run
from wonder.storage.store import Store

ASK = waits("human_input", {"prompt": "?", "schema": {}})
INNER = bundle("inner", {"ask": ASK})["workflow"]
del INNER["name"]


def task_of(*steps: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Make a workflow of one node with a task of these steps; a step calls the function of its name."""
    made = [{"action": step["ref"], "output_mapping": {"output": "$"}, **step} for step in steps]
    definition = bundle("steps", {"only": {"task": "t", "output_mapping": {"output": "$"}}})
    definition["tasks"] = {"t": {"steps": made, **fields}}
    functions = {step["ref"]: f"tests:{step['ref']}" for step in steps}
    definition["actions"] = {
        ref: {"kind": "python", "implementation": {"function": name}} for ref, name in functions.items()
    }
    return definition


async def commits_of(url: str, definition: dict[str, Any], **functions: Callable[..., Any]) -> int:
    """Count the commits of one run, alone, from its start to its end."""
    stores: list[FaultyStore] = []

    def wrap(real: Store) -> FaultyStore:
        stores.append(FaultyStore(real))
        return stores[0]

    async with wonder_on(url, wrap, functions) as wonder:
        workflow = await wonder.deploy(definition)
        await (await wonder.start(workflow)).wait()
        await no_run_in_memory(wonder)
        before = stores[0].commits
        assert (await (await wonder.start(workflow)).wait()).status == "completed"
        await no_run_in_memory(wonder)
        return stores[0].commits - before


async def test_no_function_sees_what_another_left_in_context_variables(store_url: str) -> None:
    """Not of its own run, and not of one that goes on beside it: a variable may say for whom a run works."""
    names = [f"n{number}" for number in range(5)]
    tenant: ContextVar[str] = ContextVar("tenant", default="nobody")
    seen: list[str] = []

    async def work(**_: Any) -> None:
        seen.append(tenant.get())
        tenant.set("somebody")

    async with running(store_url, work=work) as wonder:
        workflow = await wonder.deploy(bundle("works", {name: calls("work") for name in names}, line(*names)))
        await (await wonder.start(workflow)).wait()
        runs = [await wonder.start(workflow) for _ in range(3)]
        assert {(await run.wait()).status for run in runs} == {"completed"}
    assert seen == ["nobody"] * 20


async def test_runs_that_have_ended_leave_nothing_to_the_garbage_collector(store_url: str) -> None:
    """It looks at all that is in memory, each time: a tenth of the time of many runs, if it has to look often."""
    names = [f"n{number}" for number in range(5)]

    async def work(**_: Any) -> dict[str, Any]:
        return {}

    async with running(store_url, work=work) as wonder:
        workflow = await wonder.deploy(bundle("works", {name: calls("work") for name in names}, line(*names)))

        async def run_many(count: int) -> int:
            """Give how many objects only the collector could free, of runs together and of runs alone."""
            gc.collect()
            gc.disable()
            try:
                await asyncio.gather(*[(await wonder.start(workflow)).wait() for _ in range(count)])
                for _ in range(count):
                    await (await wonder.start(workflow)).wait()
                await no_run_in_memory(wonder)
                return gc.collect()
            finally:
                gc.enable()

        await run_many(10)
        few, many = await run_many(10), await run_many(50)
    assert many - few < 40, "one for each run"


async def test_tsk_1_a_task_costs_one_commit_however_many_steps_it_has(store_url: str) -> None:
    names = ("a", "b", "c")
    functions: dict[str, Callable[..., Any]] = dict.fromkeys(names, dict)
    one = await commits_of(store_url, task_of({"ref": "a"}), **functions)
    three = await commits_of(store_url, task_of(*({"ref": name} for name in names)), **functions)
    assert one == three == 2


async def test_fil_2_a_pure_node_costs_no_commit_of_its_own(store_url: str) -> None:
    short = bundle("short", {"a": calls("f"), "b": calls("f")}, line("a", "b"))
    names = ("a", "p1", "p2", "p3", "b", "p4")
    nodes = {name: update(**{f"state.{name}": "1"}) if name[0] == "p" else calls("f") for name in names}
    assert await commits_of(store_url, bundle("long", nodes, line(*names)), f=dict) == await commits_of(
        store_url, short, f=dict
    )


async def test_tsk_2_and_3_steps_are_skipped_fail_and_continue_as_they_say(store_url: str) -> None:
    def bad() -> None:
        raise ActionFailed("BAD", "it is bad")

    definition = task_of(
        {"ref": "skipped", "condition": {"if": "input.nothing"}},
        {"ref": "bad", "on_failure": "continue"},
        {"ref": "last", "input_mapping": {"errors": "$.state._errors"}, "condition": {"if": "1", "then": "continue"}},
        {"ref": "end", "condition": {"if": "true", "then": "succeed"}},
        {"ref": "never"},
    )
    async with running(
        store_url, skipped=None.__class__, bad=bad, last=lambda **given: given, end=dict, never=None.__class__
    ) as wonder:
        result = await (await wonder.start(await wonder.deploy(definition))).wait()
        assert result.status == "completed"
        assert result.output["errors"]["bad"]["code"] == "BAD"


async def test_ret_2_what_was_written_is_read_back_and_written_again_until_it_holds(store_url: str) -> None:
    """RET-2: a task of write, read and assert; an assertion that fails retries all three."""
    done: list[str] = []

    def write() -> None:
        done.append("write")

    def read() -> dict[str, Any]:
        done.append("read")
        return {"content": "garbled" if len(done) < 4 else "whole"}

    definition = task_of(
        {"ref": "write", "output_mapping": None}, {"ref": "read", "output_mapping": {"output.content": "$.content"}}
    )
    check = {"kind": "assert", "implementation": {"expr": "output.content = 'whole'"}}
    definition["tasks"]["t"]["steps"].append({"ref": "check", "action": check, "on_failure": "retry"})
    definition["tasks"]["t"]["retry"] = {"max_attempts": 3, "backoff": "none", "initial_delay_ms": 1}
    async with running(store_url, write=write, read=read) as wonder:
        result = await (await wonder.start(await wonder.deploy(definition))).wait()
        assert (result.status, result.output) == ("completed", {"content": "whole"})
    assert done == ["write", "read"] * 2


async def test_tsk_6_a_person_can_see_inside_a_task_afterwards(store_url: str) -> None:
    tries = 0

    def unsteady() -> dict[str, int]:
        nonlocal tries
        tries += 1
        current_context().report_usage(input_tokens=3, output_tokens=4, cost_usd=0.5)
        if tries < 2:
            raise ActionFailed("NOT_YET", "not yet")
        return {"tries": tries}

    retry = {"max_attempts": 3, "backoff": "none", "initial_delay_ms": 1, "max_delay_ms": 1}
    definition = task_of({"ref": "first"}, {"ref": "unsteady", "on_failure": "retry"}, retry=retry)
    async with running(store_url, first=dict, unsteady=unsteady) as wonder:
        run = await wonder.start(await wonder.deploy(definition))
        assert (await run.wait()).output == {"tries": 2}
        events = {event.type: event for event in await events_of_run(wonder.store, run.id)}
        event = events["node_completed"]
        told: Any = event.metadata
        assert (told["attempts"], event.tokens, event.cost_usd) == (2, 14, 1.0)
        assert [step["ref"] for step in told["steps"]] == ["first", "unsteady", "first", "unsteady"]
        assert [(step["attempt"], step["outcome"]) for step in told["steps"][1::2]] == [(1, "failed"), (2, "completed")]
        for step in told["steps"]:
            used = step["usage"]
            assert step["started_at_ms"] >= event.at_ms - 10_000
            assert (step["attempts"], step["duration_ms"] >= 0) == (1, True)
            expected = (3, 4, 0.5) if step["ref"] == "unsteady" else (0, 0, 0)
            assert (used["input_tokens"], used["output_tokens"], used["cost_usd"]) == expected


async def test_lay_3_what_waits_holds_nothing_and_survives_restarts(store_url: str) -> None:
    nodes = {
        "start": update(),
        "ask": ASK,
        "nap": waits("sleep", {"ms": 400}),
        "hear": waits("wait_for_event", {"event": "go", "key": "k"}),
        "call": waits("workflow_call", {"workflow_def_id": "inner"}),
    }
    transitions = [{"from": "start", "to": name} for name in nodes if name != "start"]
    async with running(store_url) as wonder:
        run = await wonder.start(
            await wonder.deploy({**bundle("waits", nodes, transitions), "workflows": {"inner": INNER}})
        )
        await status_of(wonder, run, "waiting")
        await until(lambda: children_of_run(wonder.store, run.id))
        await no_run_in_memory(wonder)
    async with running(store_url) as wonder:
        (child,) = await children_of_run(wonder.store, run.id)
        await wonder.answer((await open_item(wonder, Run(child.id, wonder.wait))).id, {})
        await wonder.answer((await open_item(wonder, Run(run.id, wonder.wait))).id, {})
        await wonder.send_event("go", "k", {})
        async with asyncio.timeout(60):
            assert (await wonder.wait(run.id)).status == "completed"


async def test_lay_3_the_time_out_of_a_task_that_waits_is_a_durable_timer(store_url: str) -> None:
    definition = bundle("asks", {"ask": {"task": "t"}})
    steps = [{"ref": "one", "action": {"kind": "human_input", "implementation": {"prompt": "?", "schema": {}}}}]
    definition["tasks"] = {"t": {"timeout_ms": 1_000, "steps": steps}}
    async with running(store_url) as wonder:
        run = await wonder.start(await wonder.deploy(definition))
        await status_of(wonder, run, "waiting")
    await asyncio.sleep(1)
    async with running(store_url) as wonder:
        async with asyncio.timeout(60):
            result = await wonder.wait(run.id)
        assert result.error
        assert result.error["code"] == "TASK_TIMEOUT"


@pytest.mark.parametrize("on_timeout", ["human_gate", "fail"])
async def test_ret_3_the_time_out_of_a_workflow_that_came_while_no_process_ran(store_url: str, on_timeout: str) -> None:
    async with running(store_url) as wonder:
        definition = bundle("asks", {"ask": ASK}, timeout_ms=300, on_timeout=on_timeout)
        run = await wonder.start(await wonder.deploy(definition))
        await status_of(wonder, run, "waiting")
    await asyncio.sleep(1)
    async with running(store_url) as wonder:
        header = await status_of(wonder, run.id, "paused" if on_timeout == "human_gate" else "failed")
        if on_timeout == "human_gate":
            assert header.paused_reason == "timeout"
            await wonder.cancel(run.id)
        else:
            assert header.error
            assert header.error.code == "WORKFLOW_TIMEOUT"


async def test_fil_1_an_action_in_line_takes_its_nodes_input_and_gives_its_output(store_url: str) -> None:
    node = calls("same", input_mapping={"a": "$.input.a", "b": [1]}, output_mapping={"output": "$"})
    async with running(store_url, same=lambda **given: given) as wonder:
        workflow = await wonder.deploy(bundle("passes", {"only": node}))
        assert (await (await wonder.start(workflow, {"a": {"x": None}})).wait()).output == {"a": {"x": None}, "b": [1]}


async def test_fil_4_an_mcp_server_is_named_by_its_name_in_the_file(store_url: str) -> None:
    servers = {
        "files": {"transport": "stdio", "command": ["files", "--root", "."], "env": {"A": "1"}},
        "web": {"transport": "http", "url": "http://127.0.0.1:1/mcp", "headers": {"x": "y"}},
    }
    nodes = {
        name: {"action": {"kind": "mcp_tool", "implementation": {"mcp_server_id": name, "tool_name": "t"}}}
        for name in servers
    }
    async with running(store_url) as wonder:
        await wonder.deploy({**bundle("tools", nodes, line(*servers)), "mcp_servers": servers})
        rows = await wonder.store.query(
            "SELECT mcp_servers.name, action_defs.name FROM mcp_servers JOIN action_defs "
            "ON action_defs.implementation ->> 'mcp_server_id' = mcp_servers.id ORDER BY 1"
        )
        assert rows == [("files", "tools.files"), ("web", "tools.web")]


async def test_tsk_6_an_attempt_that_was_lost_with_its_process_leaves_a_trace(store_url: str) -> None:
    """INV-4: the task runs again, and its history says so; the attempts of its action count as well."""
    begun, tries = asyncio.Event(), 0

    async def first() -> None:
        begun.set()
        await asyncio.Event().wait()

    async def then() -> None:
        nonlocal tries
        tries += 1
        raise ActionFailed("NOT_YET", f"not yet, {tries}", retryable=True)

    retries = {"retry_policy": {"max_attempts": 3, "backoff": "none", "initial_delay_ms": 0}}
    definition = task_of({"ref": "unsteady"})
    definition["actions"]["unsteady"]["execution"] = retries
    async with running(store_url, unsteady=first) as wonder:
        run_id = (await wonder.start(await wonder.deploy(definition))).id
        await begun.wait()
    async with running(store_url, unsteady=then) as wonder:
        result = await wonder.wait(run_id)
        assert result.error is not None
        assert (result.error["code"], result.error["attempts"]) == ("NOT_YET", 4)
        events = await events_of_run(wonder.store, run_id)
        dispatched = [event.metadata for event in events if event.type == "token_dispatched"]
        assert dispatched == [{}, {"losses": 1, "lost_with": "process"}]
        (failed,) = [event.metadata for event in events if event.type == "node_failed"]
        assert [(one["attempt"], one["error"]["message"]) for one in failed["steps"][0]["failed_attempts"]] == [
            (1, "not yet, 1"),
            (2, "not yet, 2"),
        ]
