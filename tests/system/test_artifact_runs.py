"""Artifacts in whole runs: told as events, listed with those that are inherited, and got from the command line."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.systems import assert_sound, bundle, line, waits
from wonder.app.application import Application
from wonder.app.opening import open_wonder
from wonder.cli.main import main
from wonder.definitions.records.tenancy import WorkspaceSettings
from wonder.storage.artifacts import artifacts_of_run
from wonder.storage.runs.reading import events_of_run
from wonder.storage.tenancy import put_workspace_settings


def writes(content: Any, **fields: Any) -> dict[str, Any]:
    """Make a node that writes an artifact out of its input."""
    implementation = {"artifact_type_id": "blob", "content_mapping": content}
    return {"action": {"kind": "write_artifact", "implementation": implementation}, **fields}


async def test_act_6_each_artifact_is_an_event_and_part_of_its_steps_record(store_url: str, tmp_path: Path) -> None:
    """EVT-1: in the same commit as the end of the node that wrote it, also when that has failed."""
    steps = [
        {"ref": "first", "action": writes({"content": "one"})["action"]},
        {"ref": "second", "action": writes({"content": "two", "content_type": "a/b"})["action"]},
        {"ref": "fails", "action": {"kind": "assert", "implementation": {"expr": "input.ok"}}},
    ]
    definition = bundle("twice", {"node": {"task": {"steps": steps}, "input_mapping": {"ok": "$.input.ok"}}})
    async with open_wonder(store_url, objects=f"file://{tmp_path}/objects") as wonder:
        workflow = await wonder.deploy(definition)
        for ok in (True, False):
            run = await wonder.start(workflow, {"ok": ok})
            assert (await run.wait()).status == ("completed" if ok else "failed")
            events = await events_of_run(wonder.store, run.id)
            told: list[Any] = [event.metadata for event in events if event.type == "artifact_written"]
            assert [(one["step"], one["content_type"], one["size_bytes"]) for one in told] == [
                ("first", "text/plain; charset=utf-8", 3),
                ("second", "a/b", 3),
            ]
            end: Any = next(e for e in events if e.type in ("node_completed", "node_failed")).metadata
            assert [step.get("artifacts") for step in end["steps"]] == [
                [{key: one[key] for key in ("artifact_id", "content_type", "size_bytes")}] if one else None
                for one in [*told, None]
            ]
            listed = (await artifacts_of_run(wonder.store, run.id)).items
            assert sorted(one["artifact_id"] for one in told) == sorted(one.id for one in listed)
    await assert_sound(store_url)


async def test_act_6_a_node_that_is_visited_twice_writes_two_artifacts(store_url: str, tmp_path: Path) -> None:
    """A loop comes with the same path, and with another token."""
    nodes = {
        "write": writes({"content": "x"}),
        "count": {
            "action": {
                "kind": "update_context",
                "implementation": {
                    "updates": [{"path": "state.n", "expr": "coalesce(state.n, 0) + 1"}],
                    "scope": "workflow",
                },
            }
        },
        "end": {"action": {"kind": "assert", "implementation": {"expr": "true", "scope": "workflow"}}},
    }
    transitions = [
        *line("write", "count"),
        {
            "from": "count",
            "to": "write",
            "condition": "state.n < 3",
            "priority": 1,
            "loop_config": {"max_iterations": 5},
        },
        {"from": "count", "to": "end", "priority": 2},
    ]
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    async with open_wonder(store_url, objects=f"file://{tmp_path}/objects") as wonder:
        run = await wonder.start(await wonder.deploy(bundle("loop", nodes, transitions, context_schema=schema)))
        result = await run.wait()
        assert result.status == "completed", result.error
        assert len((await artifacts_of_run(wonder.store, run.id)).items) == 3


async def _child_run(wonder: Application, run_id: str) -> str:
    ((child,),) = await wonder.store.query("SELECT id FROM runs WHERE parent_run_id = $1", run_id)
    return str(child)


@pytest.mark.parametrize("inherit", [True, False])
async def test_act_5_a_sub_workflow_has_its_callers_artifacts_if_it_inherits_them(
    store_url: str, tmp_path: Path, inherit: bool
) -> None:
    def calls(name: str) -> dict[str, Any]:
        return waits("workflow_call", {"workflow_def_id": name, "inherit_artifacts": inherit})

    inner = bundle("inner", {"write": writes({"content": "inner"})})["workflow"]
    middle = bundle("middle", {"write": writes({"content": "middle"}), "call": calls("inner")}, line("write", "call"))
    outer = bundle("outer", {"write": writes({"content": "outer"}), "call": calls("middle")}, line("write", "call"))
    del inner["name"], middle["workflow"]["name"]
    definition = {**outer, "workflows": {"inner": inner, "middle": middle["workflow"]}}
    async with open_wonder(store_url, objects=f"file://{tmp_path}/objects") as wonder:
        run = await wonder.start(await wonder.deploy(definition))
        result = await run.wait()
        assert result.status == "completed", result.error
        runs = [run.id, await _child_run(wonder, run.id)]
        runs.append(await _child_run(wonder, runs[1]))
        seen = [{one.run_id for one in (await artifacts_of_run(wonder.store, id)).items} for id in runs]
    wanted = [set(runs[: n + 1]) if inherit else {runs[n]} for n in range(3)]
    assert seen == wanted


def reads(implementation: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Make a node that reads an artifact, and gives its content."""
    fields.setdefault("output_mapping", {"output.read": "$.content"})
    return {"action": {"kind": "read_artifact", "implementation": implementation}, **fields}


@pytest.mark.parametrize("inherit", [True, False])
async def test_act_6_a_run_reads_what_a_node_of_its_own_or_its_caller_stored(
    store_url: str, tmp_path: Path, inherit: bool
) -> None:
    """ACT-5: what is inherited, and nothing else; the nearest run first."""
    call = waits("workflow_call", {"workflow_def_id": "inner", "inherit_artifacts": inherit}) | {
        "output_mapping": {"output.read": "$.read"}
    }
    inner = bundle("inner", {"read": reads({"node": "write"})})["workflow"]
    del inner["name"]
    outer = bundle("outer", {"write": writes({"content": "outer"}), "call": call}, line("write", "call"))
    own_nodes = {"write": writes({"content": {"a": [1]}}), "read": reads({"node": "write", "encoding": "json"})}
    async with open_wonder(store_url, objects=f"file://{tmp_path}/objects") as wonder:
        run = await wonder.start(await wonder.deploy({**outer, "workflows": {"inner": inner}}))
        result: Any = await run.wait()
        if inherit:
            assert result.output == {"read": "outer"}, result.error
        else:
            assert "no node 'write' has stored an artifact in this run" in result.error["message"]
        own = bundle("own", own_nodes, line("write", "read"))
        result = await (await wonder.start(await wonder.deploy(own))).wait()
        assert result.output == {"read": {"a": [1]}}, result.error
    await assert_sound(store_url)


@pytest.mark.parametrize(
    ("content", "implementation", "expected"),
    [
        ("text", {"artifact_id": "{{id}}"}, "text"),
        ("text", {"artifact_id": "{{id}}", "encoding": "base64"}, "dGV4dA=="),
        ("[1", {"artifact_id": "{{id}}", "encoding": "json"}, "NOT_JSON"),
        ("x", {"artifact_id": "01NOTHERE"}, "ARTIFACT_NOT_FOUND"),
        ("x" * 10_000_001, {"artifact_id": "{{id}}"}, "ARTIFACT_TOO_LARGE"),
    ],
    ids=["text", "base64", "not JSON", "not there", "too large"],
)
async def test_act_6_an_artifact_is_read_by_its_id(
    tmp_path: Path, content: str, implementation: dict[str, Any], expected: str
) -> None:
    writing = writes({"content": content}, output_mapping={"state.id": "$.artifact_id"})
    nodes = {"write": writing, "read": reads(implementation, input_mapping={"id": "$.state.id"})}
    schema = {"type": "object", "properties": {"id": {"type": "string"}}}
    definition = bundle("by-id", nodes, line("write", "read"), context_schema=schema)
    async with open_wonder(f"sqlite:///{tmp_path}/wonder.db", objects=f"file://{tmp_path}/objects") as wonder:
        result: Any = await (await wonder.start(await wonder.deploy(definition))).wait()
        assert (result.output["read"] if result.output else result.error["code"]) == expected


async def test_act_7_commands_and_files_work_in_a_run(store_url: str, tmp_path: Path) -> None:
    """RES-6: as soon as the workspace allows it and the project has a folder."""
    from support.systems import settle

    def acts(kind: str, implementation: dict[str, Any], **fields: Any) -> dict[str, Any]:
        return {"action": {"kind": kind, "implementation": implementation}, **fields}

    nodes = {
        "write": acts("write_file", {"path": "in.txt", "content": "b\na\n"}),
        "sort": acts("shell_command", {"command": ["sort", "in.txt"]}, output_mapping={"state.sorted": "$.stdout"}),
        "read": acts("read_file", {"path": "in.txt"}, output_mapping={"output.read": "$.content"}),
    }
    schema = {"type": "object", "properties": {"sorted": {"type": "string"}}}
    definition = bundle("files", nodes, line("write", "sort", "read"), context_schema=schema)
    (tmp_path / "files").mkdir()
    async with open_wonder(store_url, objects=f"file://{tmp_path}/objects") as wonder:
        await settle(wonder, files_root=str(tmp_path / "files"))
        async with wonder.store.transaction() as transaction:
            allowed = WorkspaceSettings(allow_shell=True)
            await put_workspace_settings(transaction, wonder.home.workspace_id, allowed)
        result = await (await wonder.start(await wonder.deploy(definition))).wait()
        assert (result.status, result.output) == ("completed", {"read": "b\na\n"}), result.error


FILE = """\
workflow:
  name: report
  initial_node: write
  nodes:
    write:
      action:
        kind: write_artifact
        implementation:
          artifact_type_id: report
          content_mapping: {title: $.title, content: $.text, content_type: text/markdown}
      input_mapping: {title: $.input.title, text: $.input.text}
      output_mapping: {output.id: $.artifact_id}
artifact_types:
  report: {schema: {type: object, required: [title], properties: {title: {type: string}}}}
"""


@pytest.fixture
def database(request: pytest.FixtureRequest, store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty working directory, and a database."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WONDER_DATABASE_URL", store_url)
    (tmp_path / "report.yaml").write_text(FILE)
    return store_url


def asked(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    capsys.readouterr()
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_artifacts_are_listed_shown_and_got_from_the_command_line(
    database: str, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WONDER_OBJECTS_URL", f"file://{tmp_path}/elsewhere")

    def told(*words: str, status: int = 0) -> bytes:
        capsysbinary.readouterr()
        assert main([*words]) == status
        return capsysbinary.readouterr().out

    given = json.dumps({"title": "T", "text": "Grüße\n"})
    run = json.loads(told("run", "report.yaml", "--input", given, "--json"))
    id = run["output"]["id"]
    listed = json.loads(told("artifacts", "list", "--run", run["run_id"], "--json"))
    assert [one["artifact_id"] for one in listed["artifacts"]] == [id]
    assert id.encode() in told("artifacts", "list")
    shown = json.loads(told("artifacts", "show", id, "--json"))
    assert (shown["schema_data"], shown["content_type"], shown["artifact_type_version"]) == (
        {"title": "T"},
        "text/markdown",
        1,
    )
    assert b'data {"title":"T"}' in told("artifacts", "show", id)
    assert told("artifacts", "get", id) == "Grüße\n".encode()
    told("artifacts", "get", id, "-o", "out.md")
    assert (tmp_path / "out.md").read_text(encoding="utf-8") == "Grüße\n"
    if database.startswith("postgresql"):
        monkeypatch.setenv("WONDER_READER_URL", json.loads(told("db", "grant-reader", "--json"))["url"])
    rows = json.loads(told("query", "SELECT artifact_type, node FROM artifact_log", "--json"))["rows"]
    assert rows == [{"artifact_type": "report", "node": "write"}]
    (content,) = (path for path in (tmp_path / "elsewhere").rglob("*") if path.is_file())
    content.write_bytes(b"damaged")
    told("artifacts", "get", id, "-o", "out2.md", status=2)
    assert [path.name for path in tmp_path.glob("*out2*")] == []
    told("artifacts", "get", "01K9", status=2)
    told("artifacts", "get", id, "--objects", "nowhere", status=2)
    refused = json.loads(told("run", "report.yaml", "--input", '{"text": "x"}', "--json", status=1))
    assert refused["error"]["code"] == "ARTIFACT_MISFIT"


def test_objects_url_may_stand_in_the_settings_file(
    database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "wonder.toml").write_text(f'objects_url = "file://{tmp_path}/from-file"\n')
    given = json.dumps({"title": "T", "text": "x"})
    id = asked(capsys, "run", "report.yaml", "--input", given)["output"]["id"]
    assert asked(capsys, "artifacts", "show", id)["size_bytes"] == 1
    assert len([path for path in (tmp_path / "from-file").rglob("*") if path.is_file()]) == 1
