"""CMD-13: a program and the command line on a server do what they do on a database of their own."""

import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import wonder
from support.servers import RunningServer, running_server
from wonder.client.application import RemoteApplication
from wonder.client.connection import Server
from wonder.client.errors import BadServer, NotOverServer, ServerRefused, ServerUnreachable
from wonder.program import App

_GREET = """
workflow:
  name: greet
  input_schema: {type: object, required: [name], properties: {name: {type: string}}}
  output_schema: {type: object, properties: {text: {type: string}, big: {}}}
  initial_node: greet
  nodes:
    greet:
      action: {kind: python, implementation: {function: "people:greet"}, produces: {type: string}}
      input_mapping: {name: $.input.name}
      output_mapping: {output.text: $, output.big: 12345678901234567890123}
"""
_ASK = """
workflow:
  name: ask
  output_schema: {type: object, properties: {answer: {}}}
  initial_node: ask
  nodes:
    ask:
      action: {kind: human_input, implementation: {prompt: "Well?"}}
      output_mapping: {output.answer: $}
"""


def _greet(name: str) -> str:
    if name == "nobody":
        raise ValueError("nobody is there")
    return f"Hello {name}"


@pytest.fixture(scope="module")
def server(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server without keys, whose workflows can call `greet`."""
    path = tmp_path_factory.mktemp("server") / "wonder.db"
    shutil.copy(sqlite_template, path)
    with running_server(f"sqlite:///{path}", functions={"people:greet": _greet}) as running:
        yield running


async def _program(app: App, tmp_path: Path) -> list[object]:
    """Do what programs do, and give what they see, without ids."""
    file = tmp_path / "greet.yaml"
    file.write_text(_GREET)
    workflow = await app.deploy(file)
    first = await app.start(workflow, {"name": "Ada"}, idempotency_key="one")
    again = await app.start("greet", {"name": "Ada"}, idempotency_key="one")
    ended = await first.wait()
    failed = await (await app.start("greet@1", {"name": "nobody"})).wait()
    asking = await app.start(await app.deploy({**_loaded(_ASK)}))
    (question,) = [one async for one in app.inbox() if one.run_id == asking.id]
    await app.answer(question.id, {"yes": True}, by="ada")
    answered = await asking.wait()
    seen: list[object] = [workflow.name, first.id == again.id, ended.status, ended.output, answered.output]
    seen += [failed.status, (failed.error or {})["code"], (failed.error or {})["message"]]
    seen += [sorted([run.status async for run in app.runs(workflow="greet")])]
    for wrong in (app.start("nothing"), app.start("greet", {}), app.cancel(first.id), app.deploy({"workflow": {}})):
        with pytest.raises(wonder.WonderError) as refused:
            await wrong
        seen += [refused.value.code, str(refused.value)]
    return seen


def _without_ids(seen: object) -> str:
    return re.sub(r"01[0-9A-Z]{24}", "ID", str(seen))


def _loaded(text: str) -> dict[str, object]:
    value: dict[str, object] = yaml.safe_load(text)
    return value


async def test_cmd_13_the_same_program_sees_the_same_on_a_database_and_on_a_server(
    server: RunningServer, tmp_path: Path
) -> None:
    async with wonder.open(f"sqlite:///{tmp_path}/own.db", functions={"people:greet": _greet}) as app:
        here = await _program(app, tmp_path)
    async with wonder.connect(server.url) as app:
        there = await _program(app, tmp_path)
    assert [_without_ids(one) for one in there] == [_without_ids(one) for one in here]
    assert here[3] == {"text": "Hello Ada", "big": 12345678901234567890123}


def test_cmd_13_an_application_on_a_server_has_the_same_methods() -> None:
    for name, method in inspect.getmembers(App, inspect.isfunction):
        other = getattr(RemoteApplication, name, None)
        if name.startswith("_") or other is None:
            continue
        base = getattr(App.__mro__[1], name, method)
        assert list(inspect.signature(other).parameters) == list(inspect.signature(base).parameters), name


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://wonder.example.com", "in the clear"),
        ("ftp://127.0.0.1", "not the address"),
        ("http://127.0.0.1:99999", "not the address"),
        ("https://user:word@wonder.example.com", "not the address"),
        ("https://", "not the address"),
    ],
)
def test_cmd_13_an_address_that_can_not_be_used_is_refused(url: str, told: str) -> None:
    with pytest.raises(BadServer, match=told):
        Server(url, "wonder_key")


async def test_cmd_13_what_belongs_to_the_machine_of_the_server_is_refused_with_the_reason(
    server: RunningServer,
) -> None:
    async with wonder.connect(server.url) as app:
        with pytest.raises(NotOverServer, match="on the machine of the server"):
            await app.allow_mcp_server("time")
        with pytest.raises(NotOverServer, match="SQL sees every workspace"):
            await app.query("SELECT 1")
        with pytest.raises(NotOverServer, match="allow_mcp"):
            await app.deploy(_loaded(_ASK), allow_mcp=["time"])


async def test_cmd_13_a_key_that_is_not_known_is_refused_and_nobody_there_is_said(server: RunningServer) -> None:
    async with wonder.connect(server.url, "wonder_wrong") as app:
        with pytest.raises(ServerRefused) as refused:
            await app.workflow("greet")
    assert (refused.value.status, refused.value.code) == (401, "UNAUTHENTICATED")
    async with wonder.connect("http://127.0.0.1:9") as app:
        with pytest.raises(ServerUnreachable, match="check the address"):
            await app.workflow("greet")


def _wonder(words: list[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from wonder.cli.main import entry; entry()", *words]
    return subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, timeout=120, check=False
    )


def test_cmd_13_commands_on_a_server_check_store_run_and_show(server: RunningServer, tmp_path: Path) -> None:
    (tmp_path / "greet.yaml").write_text(_GREET.replace("name: greet\n", "name: greet-cli\n", 1))
    (tmp_path / "wrong.yaml").write_text(_GREET.replace("$.input.name", "$.input.nam"))
    ran = _wonder(["run", "greet.yaml", "--input", '{"name": "Ada"}', "--json"], tmp_path, WONDER_SERVER=server.url)
    assert json.loads(ran.stdout)["output"]["text"] == "Hello Ada", ran
    wrong = _wonder(["--server", server.url, "run", "wrong.yaml"], tmp_path)
    assert wrong.returncode == 2
    assert "wrong.yaml:10:23: error unknown_field" in wrong.stdout
    assert "at workflow.nodes.greet.input_mapping.name" in wrong.stdout
    listed = _wonder(["runs", "list", "--workflow", "greet-cli", "--json"], tmp_path, WONDER_SERVER=server.url)
    assert [run["status"] for run in json.loads(listed.stdout)["runs"]] == ["completed"]
    local = _wonder(["--server", server.url, "db", "check"], tmp_path)
    assert local.returncode == 2
    assert "works on a database of this machine" in local.stderr
