"""EVT-4a, INV-7: what is logged is given to its own project, and what belongs to no project to none."""

import logging
import sys
from pathlib import Path
from typing import Any

import pytest

from support.systems import bundle, running, until
from support.tenants import in_project
from wonder.app.application import Application
from wonder.app.log_archive import archive_records
from wonder.app.objects import objects_of
from wonder.clock import SYSTEM_CLOCK
from wonder.operations.catalogue import call
from wonder.operations.logs import ListLogs, LogMessage, WhichLogs, follow_logs, list_logs
from wonder.storage.logs import oldest_records
from wonder.storage.pages import LAST

# Answers two calls at once, and names their input on its standard error before.
SERVER = """
import json, sys, time
def answer(asked, result):
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
calls = []
for text in sys.stdin:
    asked = json.loads(text)
    if asked["method"] == "initialize":
        version = asked["params"]["protocolVersion"]
        about = {"name": "peer", "version": "1"}
        answer(asked, {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about})
    elif asked["method"] == "tools/list":
        answer(asked, {"tools": [{"name": "greet", "inputSchema": {"type": "object"}}]})
    elif asked["method"] == "tools/call":
        calls.append(asked)
        if len(calls) == 2:
            for one in calls:
                print("greeting", one["params"]["arguments"]["who"], file=sys.stderr, flush=True)
            time.sleep(1)
            for one in calls:
                answer(one, {"content": [{"type": "text", "text": "hello"}]})
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working directory of the test's own: the object store of a PostgreSQL database is in it."""
    monkeypatch.chdir(tmp_path)


async def seen(application: Application) -> list[LogMessage]:
    """Give all that a project is shown, by either operation."""
    listed = (await list_logs(application, ListLogs(limit=100))).logs
    until_now = WhichLogs(since_ms=0, until_ms=SYSTEM_CLOCK.now_ms())
    followed = [one async for one in follow_logs(application, until_now)]
    assert [one.id for one in reversed(followed)] == [one.id for one in listed]
    return listed


async def seen_elsewhere(application: Application) -> list[LogMessage]:
    """Give what another project and another workspace are shown."""
    await call(application, "projects.create", name="other")
    await call(application, "workspaces.create", name="rival")
    async with (
        in_project(application, "other") as other,
        in_project(application, "default", workspace="rival") as rival,
    ):
        assert len({one.home.project_id for one in (application, other, rival)}) == 3
        return [*await seen(other), *await seen(rival)]


async def test_inv_7_what_belongs_to_no_project_is_given_to_no_project(store_url: str) -> None:
    async with running(store_url) as wonder:
        logging.getLogger("wonder.engine").error("of the whole database")
        (record,) = await until(lambda: oldest_records(wonder.store, None, LAST, 10))
        assert record.message == "of the whole database"
        assert await seen(wonder) == []
        assert await seen_elsewhere(wonder) == []
        claim: Any = wonder.claim
        objects = objects_of(wonder.url, wonder.objects_url)
        assert await archive_records(wonder.store, objects, claim._lease, None, LAST) == 1
        assert await seen(wonder) == []
        shown = await call(wonder, "logs.list")
        assert shown["logs"] == []


async def test_inv_7_what_an_mcp_server_says_during_several_calls_is_given_to_its_project_alone(store_url: str) -> None:
    kind = {"kind": "mcp_tool", "implementation": {"mcp_server_id": "peer", "tool_name": "greet"}}
    fields = {"input_schema": {"type": "object", "properties": {"who": {"type": "string"}}}}
    flow = bundle("greet", {"ask": {"action": kind, "input_mapping": {"who": "$.input.who"}}}, **fields)
    flow["mcp_servers"] = {"peer": {"transport": "stdio", "command": [sys.executable, "-I", "-S", "-c", SERVER]}}
    async with running(store_url) as wonder:
        await wonder.deploy(flow, allow_mcp=["peer"])
        runs = [await wonder.start("greet", {"who": who}) for who in ("Alice", "Bob")]
        assert [(await run.wait()).status for run in runs] == ["completed", "completed"]

        async def said() -> list[LogMessage] | None:
            found = (await list_logs(wonder, ListLogs())).logs
            return found if len(found) == 2 else None

        messages = await until(said)
        assert {one.message for one in messages} == {"greeting Alice", "greeting Bob"}
        for one in messages:
            assert (one.service, one.project_id, one.run_id) == ("mcp/peer", wonder.home.project_id, None)
        assert await oldest_records(wonder.store, None, LAST, 10) == []
        assert await seen_elsewhere(wonder) == []


async def test_inv_7_that_a_task_waits_for_a_function_is_told_to_its_project_alone(store_url: str) -> None:
    missing = {"action": {"kind": "python", "implementation": {"function": "acme_billing:charge"}}}
    async with running(store_url) as wonder:
        await wonder.deploy(bundle("charge", {"ask": missing}))
        run = await wonder.start("charge")

        async def told() -> list[LogMessage]:
            return (await list_logs(wonder, ListLogs(run_id=run.id))).logs

        (message,) = await until(told)
        assert message.message.startswith("a task waits for a function: ")
        assert (message.project_id, message.run_id, message.node) == (wonder.home.project_id, run.id, "ask")
        assert message.token_id
        assert await oldest_records(wonder.store, None, LAST, 10) == []
        assert await seen_elsewhere(wonder) == []
