"""`http_request` in whole runs, on each database: what a workspace allows, artifacts, and one answer for one key."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from support.definitions import codes_in
from support.http_peer import HttpPeer, Received, answer, http_peer
from support.systems import assert_sound, bundle, line
from wonder.app.application import Application
from wonder.app.opening import open_wonder
from wonder.definitions.records.tenancy import WorkspaceSettings
from wonder.storage.tenancy import put_workspace_settings


async def allow_private(wonder: Application) -> None:
    """Let the workspace's actions reach loopback; before the first run, because settings may be a second old."""
    async with wonder.store.transaction() as transaction:
        settings = WorkspaceSettings(allow_private_addresses=True)
        await put_workspace_settings(transaction, wonder.home.workspace_id, settings)


def asks(peer: HttpPeer, path: str, *, input: dict[str, str], output: dict[str, str], **fields: Any) -> dict[str, Any]:
    """Make a node that sends a request."""
    more: dict[str, Any] = {name: fields.pop(name) for name in ("idempotency",) if name in fields}
    implementation: dict[str, Any] = {"method": "GET", "url_template": peer.url + path, **fields}
    action: dict[str, Any] = {"kind": "http_request", "implementation": implementation, **more}
    return {"action": action, "input_mapping": input, "output_mapping": output}


async def run(url: str, peer: HttpPeer, nodes: dict[str, Any], objects: Path, *, allowed: bool = True) -> Any:
    """Run a workflow of nodes in a row to its end."""
    async with open_wonder(url, objects=objects.as_uri()) as wonder:
        if allowed:
            await allow_private(wonder)
        await wonder.deploy(bundle("w", nodes, line(*nodes), input_schema={}))
        started = await wonder.start("w", {"id": "a b"})
        async with asyncio.timeout(20):
            outcome = await started.wait()
        rows = await wonder.store.query("SELECT content_type, size_bytes, storage_key FROM artifacts")
    await assert_sound(url)
    return outcome, rows


async def test_act_3_loopback_is_refused_until_the_workspace_allows_it(store_url: str, tmp_path: Path) -> None:
    async with http_peer(ok=answer(200, {"n": 1})) as peer:
        node = asks(peer, "/ok?{{id}}", input={"id": "$.input.id"}, output={"state.got": "$.body.n"})
        outcome, _ = await run(store_url, peer, {"a": node}, tmp_path, allowed=False)
        assert (outcome.status, outcome.error["code"]) == ("failed", "ADDRESS_REFUSED")
        assert peer.received == []


async def test_a_run_sends_what_it_has_and_keeps_what_it_gets(store_url: str, tmp_path: Path) -> None:
    async with http_peer(ok=answer(200, {"n": 1}), file=answer(200, b"\xff" * 70_000, content_type="image/x")) as peer:
        first = asks(
            peer,
            "/ok?{{id}}",
            input={"id": "$.input.id"},
            output={"state.n": "$.body.n", "state.status": "$.status"},
            method="POST",
            body_template="{{json this}}",
            idempotency={"key_template": "{{run_id}}-{{input.id}}"},
        )
        second = asks(peer, "/file", input={}, output={"state.file": "$.body"}, response="artifact")
        outcome, rows = await run(store_url, peer, {"a": first, "b": second}, tmp_path)
        assert outcome.status == "completed", outcome
        posted = peer.received[0]
        assert (posted.target, json.loads(posted.body)) == ("/ok?a%20b", {"id": "a b"})
        assert len(posted.header("idempotency-key") or "") == 64  # a digest, because of the blank in it
    ((content_type, size, key),) = rows
    assert (content_type, size) == ("image/x", 70_000)
    assert (tmp_path / str(key)).read_bytes() == b"\xff" * 70_000


async def test_an_artifact_whose_connection_is_lost_is_none(store_url: str, tmp_path: Path) -> None:
    async def cut(received: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\nbeginning")
        writer.close()

    async with http_peer(file=cut) as peer:
        node = asks(peer, "/file", input={}, output={"state.file": "$.body"}, response="artifact")
        outcome, rows = await run(store_url, peer, {"a": node}, tmp_path)
    assert (outcome.status, outcome.error["code"], rows) == ("failed", "CONNECTION_LOST", [])


@pytest.mark.parametrize("name", ["Content-Length", "transfer-encoding", "Connection", "Upgrade", "TE", "Expect"])
def test_headers_of_the_connection_are_refused_at_creation(name: str) -> None:
    """With another idea of where a body ends, it would begin a request that nobody has checked."""
    action = {
        "kind": "http_request",
        "implementation": {"method": "POST", "url_template": "http://x", "headers": {name: "1"}},
    }
    assert codes_in({"actions": {"a": action}}) == ["bad_header"]
