"""A canary: a secret planted through every kind of action appears nowhere but where it was sent (INV-8).

A kind of action is added to `PLANTS` in a line. What it sends the secret to shows it again, wherever that can be done.
"""

import asyncio
import base64
import html
import json
import logging
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from shutil import which
from typing import Any, ClassVar, NamedTuple
from urllib.parse import quote, quote_plus

import pytest

from support.http_peer import HttpPeer, Received, answer, http_peer
from support.systems import assert_sound, bundle, calls, line
from wonder.actions.protocol import ActionContext, ActionFailed, ActionKind, Use
from wonder.app import engine
from wonder.app.application import Application
from wonder.app.opening import open_wonder
from wonder.cli.main import main
from wonder.definitions.kinds import KINDS
from wonder.definitions.records.actions import ActionDef
from wonder.definitions.records.fields import Record
from wonder.definitions.records.tenancy import WorkspaceSettings
from wonder.definitions.secret_scopes import SecretScope
from wonder.language.values import JsonValue
from wonder.storage.opening import open_store
from wonder.storage.secret_keys import key_source
from wonder.storage.secrets import Owner, set_secret
from wonder.storage.tenancy import put_workspace_settings

CANARY = "c4n4ry/7f+3k9=Qz\"8'&w<x>2 é"
HEADER_CANARY = "c4n4ry-7f+3k9/Qz8=w2"
VISIBLE = "seen-51c3"
TOKEN, PLAIN_TOKEN = "{{secrets.CANARY}}", "{{secrets.HEADER_CANARY}}"


def spellings(secret: str) -> set[str]:
    """The ways in which something may write the canary, made here anew so as not to trust those of ours."""
    raw = secret.encode()
    encoded = {base64.b64encode(raw).decode(), base64.b64encode(b"user:" + raw).decode()[8:]}
    encoded.add(base64.urlsafe_b64encode(b"x" + raw).decode()[4:])
    written = {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], html.escape(secret)}
    written |= {quote(secret), quote(secret, safe=""), quote_plus(secret), repr(secret)[1:-1], raw.hex()}
    written |= {json.dumps(json.dumps(secret))[3:-3], raw.decode("latin-1")}
    # Without the last characters, which depend on what follows, and of which a text may have lost some.
    return {one[:-6] for one in written | {code.rstrip("=") for code in encoded}}


FORBIDDEN = sorted(spellings(CANARY) | spellings(HEADER_CANARY))


class Plant(NamedTuple):
    """A definition that sends the secret somewhere; given the peer's address, and how its run ends."""

    define: Callable[[str], dict[str, Any]]
    status: str


def acts(kind: str, implementation: dict[str, Any], **sections: Any) -> dict[str, Any]:
    """A workflow of one action, whose whole output is the run's."""
    node = {"action": {"kind": kind, "implementation": implementation}, "output_mapping": {"output.seen": "$"}}
    return bundle("plant", {"plant": node}) | sections


def asks(url: str) -> dict[str, Any]:
    """A request that has the secret everywhere."""
    return {
        "method": "POST",
        "url_template": f"{url}?key={TOKEN}",
        "headers": {"authorization": f"Bearer {PLAIN_TOKEN}"},
        "body_template": f'{{"key": {{{{json secrets.CANARY}}}}, "seen": "{VISIBLE}"}}',
    }


def talks(peer: str, path: str, provider: str = "local") -> dict[str, Any]:
    """An answer of a model that is asked with the secret."""
    config = {"base_url": f"{peer}/{path}", "api_key": PLAIN_TOKEN, "headers": {"x-key": PLAIN_TOKEN}}
    sections = {
        "prompts": {"p": {"template": f"say {VISIBLE}"}},
        "models": {"m": {"provider": provider, "model_id": "x", "execution_config": config}},
    }
    return acts("llm_call", {"prompt_spec_id": "p", "model_profile_id": "m"}, **sections)


SERVER = f"""
import json, os, sys
token = os.environ["TOKEN"]
print("the server begins with", token, file=sys.stderr, flush=True)
tools = [{{"name": name, "inputSchema": {{"type": "object"}}}} for name in ("tell", "fail")]
for text in sys.stdin:
    asked = json.loads(text)
    given = asked.get("params", {{}})
    begun = {{"protocolVersion": given.get("protocolVersion"), "capabilities": {{"tools": {{}}}}}}
    begun["serverInfo"] = {{"name": token, "version": "1"}}
    told = {{"content": [{{"type": "text", "text": "{VISIBLE} " + token}}], "isError": given.get("name") == "fail"}}
    answers = {{"initialize": begun, "tools/list": {{"tools": tools}}, "tools/call": told}}
    if "id" in asked:
        result = answers.get(asked["method"], {{}})
        print(json.dumps({{"jsonrpc": "2.0", "id": asked["id"], "result": result}}), flush=True)
"""


def serves(tool: str) -> dict[str, Any]:
    """A call of a tool of a server that is started with the secret."""
    command = [sys.executable, "-I", "-S", "-c", SERVER]
    servers = {"s": {"transport": "stdio", "command": command, "env": {"TOKEN": TOKEN}}}
    return acts("mcp_tool", {"mcp_server_id": "s", "tool_name": tool}, mcp_servers=servers)


def reaches(url: str) -> dict[str, Any]:
    """A call of a tool of a server that is reached with the secret, and shows it."""
    servers = {"s": {"transport": "http", "url": url, "headers": {"authorization": PLAIN_TOKEN}}}
    return acts("mcp_tool", {"mcp_server_id": "s", "tool_name": "tell"}, mcp_servers=servers)


def shells(script: str) -> dict[str, Any]:
    """A command with the secret in its environment and standard input."""
    return acts("shell_command", {"command": ["sh", "-c", script], "env": {"TOKEN": TOKEN}, "stdin": TOKEN})


def leaks_twice(does: str) -> dict[str, Any]:
    """A kind of these tests, and a function that shows the same in another node."""
    leak = {"action": {"kind": "test_leak", "implementation": {"does": does, "token": TOKEN}}}
    nodes = {"leak": leak, "tell": calls("tell", output_mapping={"output.seen": "$"})}
    return bundle("plant", nodes, line("leak", "tell"))


PLANTS: dict[str, Plant] = {
    "test_leak and python": Plant(lambda peer: leaks_twice("answers"), "completed"),
    "test_leak, failing": Plant(lambda peer: leaks_twice("fails"), "failed"),
    "test_leak, breaking": Plant(lambda peer: leaks_twice("breaks"), "failed"),
    "http_request": Plant(lambda peer: acts("http_request", asks(f"{peer}/echo")), "completed"),
    "http_request, refused": Plant(lambda peer: acts("http_request", asks(f"{peer}/refuse")), "failed"),
    "http_request, redirected": Plant(lambda peer: acts("http_request", asks(f"{peer}/away")), "failed"),
    "http_request, unreachable": Plant(lambda peer: acts("http_request", asks("http://127.0.0.1:1/x")), "failed"),
    "http_request, kept": Plant(
        lambda peer: acts("http_request", asks(f"{peer}/echo") | {"response": "artifact"}), "completed"
    ),
    "shell_command": Plant(lambda peer: shells(f'echo {VISIBLE}; env; cat; echo "$TOKEN" | base64 >&2'), "completed"),
    "shell_command, failing": Plant(lambda peer: shells(f'echo {VISIBLE}; echo "$TOKEN" >&2; exit 3'), "failed"),
    "shell_command, kept": Plant(lambda peer: shells(f'yes "{VISIBLE} $TOKEN" | head -n 50000'), "completed"),
    "mcp_tool": Plant(lambda peer: serves("tell"), "completed"),
    "mcp_tool, failing": Plant(lambda peer: serves("fail"), "failed"),
    "mcp_tool over HTTP": Plant(lambda peer: reaches(f"{peer}/refuse"), "failed"),
    "llm_call": Plant(lambda peer: talks(peer, "model"), "completed"),
    "llm_call, refused": Plant(lambda peer: talks(peer, "refuse"), "failed"),
}


@pytest.mark.parametrize("plant", PLANTS)
async def test_inv_8_a_secret_appears_nowhere_but_where_it_was_sent(
    store_url: str,
    plant: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
    leak_kind: None,
) -> None:
    """INV-8: neither in the database, nor the logs, nor the output, nor an error, nor what a command prints."""
    monkeypatch.chdir(tmp_path)
    caplog.set_level(logging.DEBUG)
    async with echoing() as peer, planted(store_url, peer.url) as wonder:
        defined = PLANTS[plant].define(peer.url)
        await wonder.deploy(defined, allow_mcp=defined.get("mcp_servers", ()))
        run = await wonder.start("plant", {})
        async with asyncio.timeout(30):
            result = await run.wait()
    assert result.status == PLANTS[plant].status, result
    await assert_sound(store_url)
    shown = await _shown_by_commands(store_url, run.id, capsys)
    stored, kept = await _stored(store_url), _kept(tmp_path)
    assert run.id in stored, "the search sees what is there"
    assert run.id in shown
    if result.status == "completed":
        assert VISIBLE in (kept if plant.endswith("kept") else stored)
    for where, text in {
        "the result": repr(result) + json.dumps(result.output, ensure_ascii=False),
        "the database": stored,
        "the artifacts": kept,
        "the logs": caplog.text + repr([vars(record) for record in caplog.records]),
        "what commands print": shown,
    }.items():
        found = [one for one in FORBIDDEN if one in text]
        assert not found, f"{where}: {[text[max(0, text.index(one) - 200) :][:400] for one in found]}"


@pytest.mark.parametrize("secret", [CANARY, HEADER_CANARY])
async def test_the_search_would_find_the_canary(store_url: str, secret: str) -> None:
    """Stored without being a secret, it is seen: as it is, in JSON and encoded."""
    async with open_wonder(store_url) as wonder:
        update = {"action": {"kind": "update_context", "implementation": {"updates": []}}}
        await wonder.deploy(bundle("plain", {"a": update}))
        for value in (secret, {"a": [json.dumps(secret)]}, base64.b64encode(secret.encode()).decode()):
            await (await wonder.start("plain", {"given": value})).wait()
    stored = await _stored(store_url)
    assert sum(one in stored for one in spellings(secret)) >= 2


class LeakConfiguration(Record):
    """What the kind of these tests takes."""

    does: str
    token: str
    secret_fields: ClassVar = frozenset({"token"})


class LeakKind(ActionKind):
    """Shows a secret wherever it can."""

    kind = "test_leak"
    configuration = LeakConfiguration

    def compile(self, action: ActionDef, use: Use) -> "Leak":
        """Do what the configuration says."""
        return Leak(self.read(action))


class Leak:
    """One way to show a secret."""

    def __init__(self, configured: LeakConfiguration) -> None:
        self.configured = configured

    async def run(self, input: JsonValue, context: ActionContext) -> JsonValue:
        """Show it."""
        secret = self.configured.token
        context.logger.warning("asks with %s", secret, extra={"token": secret})
        if self.configured.does == "fails":
            raise ActionFailed("REFUSED", f"refused: {secret}", details={"headers": [secret]})
        if self.configured.does == "breaks":
            raise RuntimeError(secret)
        return {"echo": secret, secret: [VISIBLE]}


@pytest.fixture
def leak_kind(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The kind of these tests beside ours; and logs made as before in the end."""
    records = logging.getLogRecordFactory()
    monkeypatch.setattr(engine, "announced_kinds", lambda: [LeakKind()])
    monkeypatch.setattr(KINDS, "own", {**KINDS.own, "test_leak": LeakKind()})
    yield
    logging.setLogRecordFactory(records)


@asynccontextmanager
async def planted(url: str, peer: str) -> AsyncIterator[Application]:
    """An engine on a database whose project has the secrets, and may do everything."""
    functions = {"tests:tell": lambda: {"told": f"{VISIBLE} {CANARY}"}}
    async with open_wonder(url, functions=functions) as wonder:
        home, store = wonder.home, wonder.store
        async with store.transaction() as transaction:
            models = [f"{peer}/model", f"{peer}/refuse"]
            settings = WorkspaceSettings(allow_private_addresses=True, allow_shell=True, allowed_model_base_urls=models)
            await put_workspace_settings(transaction, home.workspace_id, settings)
        owner, app = Owner("project", home.project_id), wonder
        hosts = (peer.removeprefix("http://"), "127.0.0.1:1")
        scope = SecretScope(hosts, servers=("s",), programs=(str(which("sh")),), kinds=("test_leak",))
        for name, value in (("CANARY", CANARY), ("HEADER_CANARY", HEADER_CANARY)):
            await set_secret(store, key_source(url), owner, name, value, scope, clock=app.clock, new_id=app.new_id)
        yield wonder


@asynccontextmanager
async def echoing() -> AsyncIterator[HttpPeer]:
    """A server that shows all that it was sent."""

    def echo(received: Received) -> dict[str, Any]:
        body = received.body.decode("utf-8", "replace")
        return {"target": received.target, "headers": dict(received.headers), "body": body, "seen": VISIBLE}

    async def shows(received: Received, writer: asyncio.StreamWriter) -> None:
        sent = received.header("authorization") or ""
        headers = {"x_echo": sent, "content_type": f"application/json; sent={sent}"}
        writer.write(answer(200, echo(received), **headers))

    async def refuses(received: Received, writer: asyncio.StreamWriter) -> None:
        shown = {"error": {"message": json.dumps(echo(received)), "code": received.header("authorization")}}
        writer.write(answer(401, shown, content_type="application/json", x_echo=received.target))

    async def sends_away(received: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(307, echo(received), location=f"http://127.0.0.1:1{received.target}"))

    async def talks_back(received: Received, writer: asyncio.StreamWriter) -> None:
        text = json.dumps(echo(received))
        chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "x"}
        choice = {"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        message = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        if b'"stream":true' in received.body.replace(b" ", b""):
            events = f"data: {json.dumps(chunk | {'choices': [choice]})}\n\ndata: [DONE]\n\n"
            writer.write(answer(200, events, content_type="text/event-stream"))
        else:
            writer.write(answer(200, chunk | {"choices": [message]}, content_type="application/json"))

    async with http_peer(echo=shows, refuse=refuses, away=sends_away) as peer:
        peer.answers["/model/chat/completions"] = talks_back
        peer.answers["/refuse/chat/completions"] = refuses
        yield peer


async def _shown_by_commands(url: str, run_id: str, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    for words in (["runs", "show", run_id], ["runs", "show", run_id, "--json"], ["secrets", "list", "--json"]):
        # In a thread, because a command has a loop of its own.
        await asyncio.to_thread(main, [*words, "--db", url])
    told = capsys.readouterr()
    return told.out + told.err


async def _stored(url: str) -> str:
    """Give all that a database holds, as text: its files as they are, or all rows of its tables."""
    if url.startswith("sqlite"):
        file = Path(url.removeprefix("sqlite:///"))
        found = [path.read_bytes() for path in file.parent.glob(f"{file.name}*")]
        return b"".join(found).decode("utf-8", "replace")
    store = await open_store(url)
    try:
        tables = await store.query("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
        rows = [await store.query(f"SELECT CAST(t AS text) FROM {table!s} t") for (table,) in tables]
    finally:
        await store.close()
    # A row in text doubles quotes and backslashes.
    return "\n".join(str(row).replace('""', '"').replace("\\\\", "\\") for of_table in rows for (row,) in of_table)


def _kept(folder: Path) -> str:
    """Give the content of all artifacts."""
    objects = [path for path in folder.rglob("*") if path.is_file() and "objects" in path.parts]
    return b"".join(path.read_bytes() for path in objects).decode("utf-8", "replace")
