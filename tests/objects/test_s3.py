"""Objects in S3: what a server refuses, and what it can't do now, are told apart."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from support.s3 import S3Server
from support.systems import bundle
from wonder.app.opening import open_wonder
from wonder.objects.errors import ObjectDamaged, ObjectsUnavailable
from wonder.objects.opening import open_objects
from wonder.objects.store import read_whole
from wonder.storage.artifacts import load_artifact


async def test_wrong_credentials_are_told_without_showing_them(s3_server: S3Server) -> None:
    with pytest.raises(ObjectsUnavailable, match="check the bucket, its endpoint and the credentials") as told:
        await open_objects(s3_server.url("x", secret="quite-wrong")).put(b"x")
    assert not told.value.passing
    assert "quite-wrong" not in str(told.value)


async def test_a_server_that_is_not_there_is_told_soon_and_may_come_back() -> None:
    url = "s3://bucket?endpoint=http://127.0.0.1:1&region=us-east-1&anonymous=true"
    began = time.monotonic()
    with pytest.raises(ObjectsUnavailable) as told:
        await open_objects(url).put(b"x")
    assert told.value.passing
    assert time.monotonic() - began < 30


async def test_damaged_content_is_never_given_as_if_it_were_whole(s3_server: S3Server) -> None:
    import obstore
    from obstore.store import S3Store

    objects = open_objects(s3_server.url("damage"))
    stored = await objects.put(b"whole")
    store: S3Store = await objects._store()  # type: ignore[attr-defined]
    await obstore.put_async(store, f"damage/{stored.key}", b"wrong")
    with pytest.raises(ObjectDamaged):
        await read_whole(objects, stored.key, size_max=100)


@asynccontextmanager
async def silent_server() -> AsyncIterator[str]:
    """The address of objects on a server that takes connections and says nothing."""
    writers: list[asyncio.StreamWriter] = []
    server = await asyncio.start_server(lambda reader, writer: writers.append(writer), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    yield f"s3://b?endpoint=http://127.0.0.1:{port}&region=x&anonymous=true"
    server.close()
    for writer in writers:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def test_a_server_that_says_nothing_is_given_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wonder.objects.s3._SILENT_SECONDS", 0.2)
    async with silent_server() as url:
        with pytest.raises(ObjectsUnavailable) as told:
            async with asyncio.timeout(60):
                await open_objects(url).put(b"x")
        assert told.value.passing


async def test_who_waits_for_a_server_that_says_nothing_can_be_cancelled() -> None:
    async with silent_server() as url:
        putting = asyncio.create_task(open_objects(url).put(b"x"))
        await asyncio.sleep(0.3)
        putting.cancel()
        with pytest.raises(asyncio.CancelledError):
            async with asyncio.timeout(60):
                await putting


async def test_act_6_a_run_stores_its_artifacts_in_s3(s3_server: S3Server, tmp_path: Path) -> None:
    implementation = {"artifact_type_id": "blob", "content_mapping": {"content": "$.text", "n": 1}}
    write = {
        "action": {"kind": "write_artifact", "implementation": implementation},
        "input_mapping": {"text": "$.input.text"},
        "output_mapping": {"output.id": "$.artifact_id"},
    }
    url = s3_server.url("of-a-run")
    async with open_wonder(f"sqlite:///{tmp_path / 'wonder.db'}", objects=url) as wonder:
        run = await wonder.start(await wonder.deploy(bundle("flow", {"write": write})), {"text": "Grüße"})
        output: Any = (await run.wait()).output
        artifact = await load_artifact(wonder.store, wonder.home.project_id, output["id"])
    assert await read_whole(open_objects(url), artifact.storage_key, size_max=100) == "Grüße".encode()
    assert (artifact.size_bytes, artifact.schema_data) == (7, {"n": 1})
