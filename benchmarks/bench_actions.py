"""What each kind of action costs besides what it calls: a warm call, against the same library alone on the same peer.

Both sides are called in turn, so that what else the machine does falls on both alike.
"""

import asyncio
import json
import os
import random
import statistics
import sys
import tempfile
import time
from array import array
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

from wonder.actions.artifacts.storing import Artifacts
from wonder.actions.embedding.embeddings import Embedder
from wonder.actions.embedding.searching import Searching
from wonder.actions.embedding.texts import collection_of
from wonder.actions.equipment import Equipment
from wonder.actions.functions.functions import FunctionRegistry
from wonder.actions.http_request.kind import HttpRequestKind
from wonder.actions.llm_call.kind import LlmCallKind
from wonder.actions.mcp_tool.kind import McpToolKind
from wonder.actions.protocol import ActionContext, Origin, Use
from wonder.actions.read_file.kind import ReadFileKind
from wonder.actions.resources import Resources, Tenancy
from wonder.actions.shell_command.kind import ShellCommandKind
from wonder.actions.threads import Threads
from wonder.actions.vector_search.kind import VectorSearchKind
from wonder.actions.write_artifact.kind import WriteArtifactKind
from wonder.actions.write_file.kind import WriteFileKind
from wonder.definitions.addresses import base_url_of
from wonder.definitions.records.actions import ActionDef
from wonder.definitions.records.resources import McpServer, ModelProfile, PromptSpec, VectorIndex
from wonder.definitions.records.tenancy import ProjectSettings, WorkspaceSettings
from wonder.executor.environment import SystemEnvironment
from wonder.objects.directory import DirectoryObjects
from wonder.objects.vectors import Embedded
from wonder.objects.vectors_sqlite import SqliteVectors
from wonder.storage.indexable import indexable_by_id
from wonder.storage.mcp_approvals import put_approval
from wonder.storage.named_resources import put_resource
from wonder.storage.opening import open_store
from wonder.storage.runs.leases import claim_lease
from wonder.storage.tenancy import change_workspace_settings, ensure_default, put_workspace_settings

WARM, CALLS = 50, 400
STAMPS = {"created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z"}

Row = tuple[str, float]


def measure() -> list[Row]:
    """Measure every kind that has a function here."""
    found: list[Row] = []
    for name, measured in sorted(globals().items()):
        if name.startswith("measure_"):
            found += asyncio.run(measured())
    return found


async def compare(kind: str, ours: Callable[[], Awaitable[Any]], alone: Callable[[], Awaitable[Any]]) -> list[Row]:
    """Call both in turn; give the median of the library alone, and of how much more ours takes, in microseconds.

    Each pair begins with the other one, because what comes second finds the memory as the first has left it.
    """
    for _ in range(WARM):
        await ours()
        await alone()
    without: list[float] = []
    added: list[float] = []
    for turn in range(CALLS):
        taken = {}
        for call in (ours, alone) if turn % 2 else (alone, ours):
            begin = time.perf_counter()
            await call()
            taken[call] = (time.perf_counter() - begin) * 1e6
        without.append(taken[alone])
        added.append(taken[ours] - taken[alone])
    names = (f"{kind}: the library alone", f"{kind}: what we add to it")
    return [(names[0], statistics.median(without)), (names[1], statistics.median(added))]


async def median(call: Callable[[], Awaitable[Any]]) -> float:
    """Give the median of a call, in microseconds."""
    times: list[float] = []
    for _ in range(WARM + CALLS):
        begin = time.perf_counter()
        await call()
        times.append((time.perf_counter() - begin) * 1e6)
    return statistics.median(times[WARM:])


def action(kind: str, implementation: dict[str, Any]) -> ActionDef:
    """An action of a kind."""
    owner = {"id": "a", "version": 1, "name": "a", "project_id": "p", "content_hash": ""}
    return ActionDef.model_validate({**owner, **STAMPS, "kind": kind, "implementation": implementation})


def equipment(resources: Resources) -> Equipment:
    """What kinds are made with."""
    system = SystemEnvironment(seed=1)
    return Equipment(FunctionRegistry(), Threads(), resources, system.now_ms, system.sleep, system.random)


class _Stored(Resources):
    """Real settings and models of a database, and a prompt that is not looked up, as after a run's first call."""

    prompt: PromptSpec

    async def at_start(self, kind: Any, id: str, origin: Origin) -> Any:
        return self.prompt


async def measure_http_request() -> list[Row]:
    """A small answer of JSON from a server in this process, over a connection that is kept."""
    import httpx2

    server = await asyncio.start_server(_answer_as_server, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    with tempfile.TemporaryDirectory() as folder:
        store = await open_store(f"sqlite:///{Path(folder) / 'bench.db'}")
        ids = iter(range(10_000))
        home = await ensure_default(store, clock=lambda: STAMPS["created_at"], new_id=lambda: f"{next(ids):026}")
        async with store.transaction() as transaction:
            allowed = WorkspaceSettings(allow_private_addresses=True)
            await put_workspace_settings(transaction, home.workspace_id, allowed)
        made = equipment(Resources(store, lambda: int(time.time() * 1000)))
        kind = HttpRequestKind(made.resources, made.now_ms)
        request = {"method": "POST", "url_template": url + "/users/{{id}}", "body_template": '{"name": {{json name}}}'}
        compiled: Any = kind.compile(action("http_request", request), Use())
        client = httpx2.AsyncClient()

        async def ours() -> None:
            context = ActionContext(Origin(home.project_id, "r", "n"), "s", 1)
            assert (await compiled.run({"id": 7, "name": "Ada"}, context))["body"] == {"id": 7}

        async def alone() -> None:
            assert (await client.post(f"{url}/users/7", json={"name": "Ada"})).json() == {"id": 7}

        rows = await compare("http_request", ours, alone)
        await kind.close()
        await client.aclose()
        await store.close()
    server.close()
    return rows


async def measure_mcp_tool() -> list[Row]:
    """A tool of a real server over stdio, each side with a process of its own."""
    from mcp import Client, StdioServerParameters

    words = ["-m", "mcp_server_time", "--local-timezone", "UTC"]
    with tempfile.TemporaryDirectory() as folder:
        store = await open_store(f"sqlite:///{Path(folder) / 'bench.db'}")
        ids = iter(range(10_000))
        home = await ensure_default(store, clock=lambda: STAMPS["created_at"], new_id=lambda: f"{next(ids):026}")
        server = {"id": "t", "name": "t", "project_id": home.project_id, **STAMPS}
        async with store.transaction() as transaction:
            connection = {"transport": "stdio", "command": [sys.executable, *words]}
            stored = McpServer.model_validate({**server, "connection": connection})
            await put_resource(transaction, stored)
        approve = (store, home.project_id, "t", stored.connection, os.getcwd())  # noqa: PTH109  # as the engine asks
        await put_approval(*approve, by="benchmark", clock=lambda: STAMPS["created_at"])
        kind = McpToolKind(equipment(Resources(store, lambda: int(time.time() * 1000), local=True)))
        compiled: Any = kind.compile(action("mcp_tool", {"mcp_server_id": "t", "tool_name": "get_current_time"}), Use())
        async with Client(StdioServerParameters(command=sys.executable, args=words), mode="legacy") as client:

            async def ours() -> None:
                context = ActionContext(Origin(home.project_id, "r", "n"), "s", 1)
                assert (await compiled.run({"timezone": "UTC"}, context))["timezone"] == "UTC"

            async def alone() -> None:
                result = await client.call_tool("get_current_time", {"timezone": "UTC"})
                assert not result.is_error

            rows = await compare("mcp_tool", ours, alone)
        await kind.close()
        await store.close()
    return rows


async def measure_llm_call() -> list[Row]:
    """A short streamed answer over OpenAI's wire, from a server in this process."""
    import httpx2
    import openai

    server = await asyncio.start_server(_answer_as_model, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    with tempfile.TemporaryDirectory() as folder:
        store = await open_store(f"sqlite:///{Path(folder) / 'bench.db'}")
        ids = iter(range(10_000))
        home = await ensure_default(store, clock=lambda: STAMPS["created_at"], new_id=lambda: f"{next(ids):026}")
        profile = {"id": "m", "name": "m", "project_id": home.project_id, "provider": "local", "model_id": "x"}
        async with store.transaction() as transaction:
            model = ModelProfile.model_validate({**profile, **STAMPS, "execution_config": {"base_url": url}})
            await put_resource(transaction, model)
            mock = {"id": "mock", "name": "mock", "provider": "mock"}
            await put_resource(transaction, ModelProfile.model_validate({**profile, **STAMPS, **mock}))
        await change_workspace_settings(
            store,
            home.workspace_id,
            lambda settings: settings.model_copy(update={"allowed_model_base_urls": [base_url_of(url)]}),
            clock=lambda: STAMPS["created_at"],
        )
        resources = _Stored(store, lambda: int(time.time() * 1000))
        owner = {"id": "p", "version": 1, "name": "p", "project_id": home.project_id, "content_hash": ""}
        resources.prompt = PromptSpec.model_validate({**owner, **STAMPS, "template": "Greet {{name}}"})
        kind = LlmCallKind(equipment(resources))
        compiled: Any = kind.compile(action("llm_call", {"prompt_spec_id": "p", "model_profile_id": "m"}), Use())
        client = openai.AsyncOpenAI(api_key="none", base_url=url, max_retries=0, http_client=httpx2.AsyncClient())

        async def ours() -> None:
            output = await compiled.run({"name": "Ada"}, ActionContext(Origin(home.project_id, "r", "n"), "s", 1))
            assert output == "Hello there, Ada!"

        async def alone() -> None:
            stream: Any = await client.chat.completions.create(
                model="x",
                messages=[{"role": "user", "content": "Greet Ada"}],
                max_tokens=4096,
                temperature=1.0,
                stream=True,
                stream_options={"include_usage": True},
            )
            async with stream:
                text = "".join([c.choices[0].delta.content or "" async for c in stream if c.choices])
            assert text == "Hello there, Ada!"

        rows = await compare("llm_call", ours, alone)
        scripted: Any = kind.compile(action("llm_call", {"prompt_spec_id": "p", "model_profile_id": "mock"}), Use())

        async def without_wire() -> None:
            await scripted.run({"name": "Ada"}, ActionContext(Origin(home.project_id, "r", "n"), "s", 1))

        # What the wire takes differs by more than all of ours, so ours is measured by itself too.
        rows.append(("llm_call: all of ours, with a model that answers at once", await median(without_wire)))
        await kind.close()
        await client.close()
        await store.close()
    server.close()
    return rows


async def measure_shell_command() -> list[Row]:
    """A program that does nothing, against asyncio's own way to run it."""
    resources = _Settled()
    with tempfile.TemporaryDirectory() as folder:
        resources.project = ProjectSettings(files_root=folder)
        kind = ShellCommandKind(resources, None)
        compiled: Any = kind.compile(action("shell_command", {"command": ["/bin/true"]}), Use())

        async def ours() -> None:
            assert (await compiled.run({}, ActionContext(Origin("p", "r", "n"), "s", 1)))["exit_code"] == 0

        async def alone() -> None:
            process = await asyncio.create_subprocess_exec(
                "/bin/true",
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=folder,
                start_new_session=True,
            )
            await process.communicate()
            assert process.returncode == 0

        rows = await compare("shell_command", ours, alone)
        await kind.close()
    return rows


async def measure_files() -> list[Row]:
    """A small file, read, and written durably; against the same calls of the operating system in a thread."""
    resources, threads = _Settled(), Threads()
    with tempfile.TemporaryDirectory() as folder:
        resources.project = ProjectSettings(files_root=folder)
        place = Path(folder) / "file"
        place.write_text("x" * 1_000)
        reading: Any = ReadFileKind(resources, threads).compile(action("read_file", {"path": "file"}), Use())
        implementation = {"path": "file", "content": "{{text}}"}
        writing: Any = WriteFileKind(resources, threads).compile(action("write_file", implementation), Use())
        text = "x" * 1_000

        async def read() -> None:
            output = await reading.run({}, ActionContext(Origin("p", "r", "n"), "s", 1))
            assert output["size_bytes"] == 1_000

        async def read_alone() -> None:
            assert len(await asyncio.to_thread(place.read_text)) == 1_000

        async def write() -> None:
            await writing.run({"text": text}, ActionContext(Origin("p", "r", "n"), "s", 1))

        def put() -> None:
            beside = place.with_name("beside")
            with beside.open("w") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            beside.rename(place)
            opened = os.open(folder, os.O_RDONLY)
            os.fsync(opened)
            os.close(opened)

        async def write_alone() -> None:
            await asyncio.to_thread(put)

        rows = await compare("read_file", read, read_alone) + await compare("write_file", write, write_alone)
    threads.close()
    return rows


async def measure_write_artifact() -> list[Row]:
    """A small artifact, each time another; against the object store and one commit, one after the other."""
    with tempfile.TemporaryDirectory() as folder:
        store = await open_store(f"sqlite:///{Path(folder) / 'bench.db'}")
        lease = await claim_lease(store, "bench")
        assert lease
        objects, system = DirectoryObjects(Path(folder) / "objects"), SystemEnvironment(seed=1)
        artifacts = Artifacts(objects, store, lease, system)
        implementation = {"artifact_type_id": "blob", "content_mapping": {"content": "$.text", "title": "$.title"}}
        kind = WriteArtifactKind(_Settled(), artifacts)
        compiled: Any = kind.compile(action("write_artifact", implementation), Use())
        numbers = iter(range(1_000_000))
        row = ("t", "p", "r", "t", "n", "0", "s", "content", "blob", None, "k", "text/plain", 1, "{}", 1)

        async def ours() -> None:
            number = next(numbers)
            context = ActionContext(Origin("p", "r", "n", token_id=str(number)), "s", 1)
            await compiled.run({"text": f"{number:01000}", "title": "x"}, context)

        async def alone() -> None:
            number = next(numbers)
            await objects.put(f"{number:01000}".encode())
            await store.commit([("put_artifact", [(str(number), *row[1:])])], fence=lease.fence, independent=True)

        rows = await compare("write_artifact", ours, alone)
        await lease.release()
        await store.close()
    return rows


async def measure_vector_search() -> list[Row]:
    """The nearest of 1,000 vectors of 384 dimensions, with a server of embeddings in this process."""
    import httpx2

    dimensions = 384
    chance = random.Random(1)
    answer = json.dumps({"data": [{"index": 0, "embedding": [chance.gauss(0, 1) for _ in range(dimensions)]}]})
    server = await asyncio.start_server(_answer_with(answer.encode()), "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    settings = {"embedding_provider": "openai", "embedding_model": "m", "dimensions": dimensions}
    named = {"id": "i", "project_id": "p", "name": "i", "artifact_type_ids": ["t"], "content_fields": ["text"]}
    index = VectorIndex.model_validate({**named, **settings, **STAMPS})
    resources = _Indexed(index, url)
    with tempfile.TemporaryDirectory() as folder:
        store = await open_store(f"sqlite:///{Path(folder) / 'bench.db'}")
        vectors, embedder = SqliteVectors(Path(folder) / "vectors"), Embedder(resources, lambda: 0)
        rows = [(f"{n:026}", "d", array("f", [chance.gauss(0, 1) for _ in range(dimensions)])) for n in range(1_000)]
        await vectors.put(collection_of(index), [Embedded(*row) for row in rows])
        made = [(id, "p", "r", "t", "n", "0", "s", id, "t", 1, "k", "text/plain", 1, "{}", 1) for id, _, _ in rows]
        await store.commit([("put_artifact", made)])

        async def caught_up(index: VectorIndex) -> None:
            pass

        kind = VectorSearchKind(resources, Searching(store, vectors, embedder, caught_up))
        compiled: Any = kind.compile(action("vector_search", {"vector_index_id": "i", "top_k": 10}), Use())
        client = httpx2.AsyncClient()

        async def ours() -> None:
            output = await compiled.run({"query": "red"}, ActionContext(Origin("p", "r", "n"), "s", 1))
            assert len(output["matches"]) == 10

        async def alone() -> None:
            response = await client.post(f"{url}/embeddings", json={"model": "m", "input": ["red"]})
            vector = array("f", response.json()["data"][0]["embedding"])
            near = await vectors.nearest(collection_of(index), vector, 10)
            assert len(await indexable_by_id(store, "p", [one.artifact_id for one in near])) == 10

        found = await compare("vector_search", ours, alone)
        await embedder.close()
        await client.aclose()
        await vectors.close()
        await store.close()
    server.close()
    return found


class _Indexed(Resources):
    """One vector index, whose server a secret names."""

    def __init__(self, index: VectorIndex, url: str) -> None:
        self._index, self._url = index, url
        self.secrets = self

    async def values(
        self, project_id: str, names: Collection[str], where: Any, run_id: str | None = None
    ) -> dict[str, str]:
        return {name: self._url if name == "OPENAI_BASE_URL" else "key" for name in names}

    async def named(self, kind: Any, project_id: str, id: str) -> Any:
        return self._index

    async def tenancy(self, project_id: str) -> Tenancy:
        return Tenancy("w", WorkspaceSettings(allow_private_addresses=True), project_id, ProjectSettings())


def _answer_with(body: bytes) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    """Answer each request of a connection with the same JSON."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while asked := await reader.readuntil(b"\r\n\r\n"):
                length = next(line for line in asked.lower().split(b"\r\n") if line.startswith(b"content-length:"))
                await reader.readexactly(int(length.partition(b":")[2]))
                writer.write(head.encode() + body)
        writer.close()

    return serve


class _Settled(Resources):
    """A workspace that allows commands, without a database."""

    def __init__(self) -> None:
        self.project = ProjectSettings()

    async def tenancy(self, project_id: str) -> Tenancy:
        return Tenancy("w", WorkspaceSettings(allow_shell=True), project_id, self.project)


def _event(delta: dict[str, str], end: str | None, **fields: Any) -> str:
    choices = [{"index": 0, "delta": delta, "finish_reason": end}]
    whole = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "x", "choices": choices, **fields}
    return f"data: {json.dumps(whole)}\n\n"


async def _answer_as_model(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    words = [_event({"content": word}, None) for word in ("Hello ", "there, ", "Ada!")]
    usage = {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14}
    body = (
        "".join(words) + _event({}, "stop") + _event({}, None, choices=[], usage=usage) + "data: [DONE]\n\n"
    ).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {len(body)}\r\n\r\n".encode()
    try:
        while True:
            asked = await reader.readuntil(b"\r\n\r\n")
            length = asked.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
            await reader.readexactly(int(length))
            writer.write(head + body)
    except asyncio.IncompleteReadError:
        writer.close()


async def _answer_as_server(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            asked = await reader.readuntil(b"\r\n\r\n")
            length = asked.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
            await reader.readexactly(int(length))
            writer.write(b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 8\r\n\r\n{"id":7}')
    except asyncio.IncompleteReadError:
        writer.close()
