"""Requests of other processes: each is carried out once (CMD-5)."""

import asyncio
from typing import Any

import pytest

from support.systems import bundle, running, until
from wonder.coordinator import requests
from wonder.coordinator.orders import StartRun, payload_of
from wonder.storage.runs.requests import Request, find_answer, put_request
from wonder.storage.store import Reader

NOTHING: dict[str, Any] = {"action": {"kind": "update_context", "implementation": {"updates": []}}}


async def test_a_request_that_was_answered_while_the_next_look_was_under_way_is_carried_out_once(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CMD-5: a start without a key would make two runs."""
    may_start, looks = asyncio.Event(), 0
    load, pending = requests.load_own_resource, requests.pending_requests

    async def load_late(*arguments: Any) -> Any:
        await may_start.wait()
        return await load(*arguments)

    async def look_long(reader: Reader) -> list[Request]:
        nonlocal looks
        found = await pending(reader)
        looks += bool(found)
        if looks == 2:
            # What was read is a moment old when it arrives.
            may_start.set()
            await until(lambda: find_answer(reader, "request"))
        return found

    monkeypatch.setattr(requests, "load_own_resource", load_late)
    monkeypatch.setattr(requests, "pending_requests", look_long)
    async with running(store_url) as wonder:
        workflow = await wonder.deploy(bundle("nothing", {"nothing": NOTHING}))
        payload = payload_of(StartRun(workflow_id=workflow.id, input={}), workflow.project_id)
        await put_request(wonder.store, "request", "start", payload, 0)
        await until(lambda: find_answer(wonder.store, "request"))
        await asyncio.sleep(0.5)
        assert await wonder.store.query("SELECT count(*) FROM runs") == [(1,)]
