"""Phase workflows on their way into the store: what they are checked with, what is kept of them, what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.phase_workflows import ToolFile, phases, text_of, tool, transform
from support.systems import running
from wonder.app.application import Application
from wonder.app.mcp_approvals import approve, servers_in, stored_servers
from wonder.app.phase_faults import phase_error
from wonder.definitions.faults import DefinitionRefused
from wonder.definitions.loading import load_value
from wonder.definitions.records.tenancy import WorkspaceSettings
from wonder.definitions.secret_scopes import SecretScope
from wonder.storage.mcp_approvals import list_approvals
from wonder.storage.resource_errors import NotFound, ServerFixed
from wonder.storage.secret_keys import key_source
from wonder.storage.secrets import Owner, set_secret
from wonder.storage.tenancy import put_workspace_settings
from wonder.storage.written import load_written

SHOUT = transform("shout", "line: string", "loud: string", "{ loud: input.line.toUpperCase() }", line="@hi.output.line")


def greeting(tools: ToolFile, **fields: Any) -> dict[str, Any]:
    """A workflow of a tool and a transform."""
    steps = [[tool("hi", "greet", input={"who": "@input.who"})], [SHOUT]]
    return {**phases("greeting", *steps, mcp_servers={"tools": tools.server}), **fields}


async def refused(wonder: Application, definition: Any, **options: Any) -> list[dict[str, Any]]:
    """Deploy what can't be, and give its errors; nothing was stored."""
    with pytest.raises(DefinitionRefused) as refusal:
        await wonder.deploy(definition, **options)
    for table in ("workflow_defs", "action_defs", "mcp_servers", "phase_forms"):
        assert await wonder.store.query(f"SELECT count(*) FROM {table}") == [(0,)], table
    return [fault.as_json() for fault in refusal.value.faults]


@pytest.fixture
def tools(tmp_path: Path) -> ToolFile:
    return ToolFile(tmp_path)


async def test_phs_1_the_written_form_is_kept_to_the_byte(store_url: str, tools: ToolFile, tmp_path: Path) -> None:
    """Also spaces, comments and a mark at its beginning; a new text of the same content takes its place."""
    file = tmp_path / "greeting.yaml"
    first = "\ufeff# a comment: é\r\nname:   p\r\nsteps:\r\n- [{name: a, sleep: {ms: 1}}]\r\n".encode()
    async with running(store_url) as wonder:
        for text in (first, b"name: p\nsteps: [[{name: a, sleep: {ms: 1}}]]"):
            file.write_bytes(text)
            await wonder.deploy(file)
            written = await load_written(wonder.store, wonder.home.project_id, "p")
            assert written.phases
            assert (written.phases.written, written.definition.version) == (text, 1)


async def test_phs_4_the_schemas_of_all_steps_are_kept(store_url: str, tools: ToolFile) -> None:
    async with running(store_url) as wonder:
        await wonder.deploy(greeting(tools), allow_mcp=["tools"])
        written = await load_written(wonder.store, wonder.home.project_id, "greeting")
        assert written.phases
        assert json.loads(written.phases.written) == greeting(tools)
        assert written.phases.schemas["hi"] == {"input": text_of("who"), "output": text_of("line")}
        assert written.phases.schemas["shout"]["output"]["properties"] == {"loud": {"type": "string"}}
        assert written.phases.tools == [
            {"server": "tools", "tool": "greet", "input": text_of("who"), "output": text_of("line")}
        ]
        assert written.definition.input_schema["properties"]["who"]["type"] == "string"


async def test_phs_1_it_runs_like_any_other_workflow(store_url: str, tools: ToolFile) -> None:
    """Its input is checked before anything is stored."""
    async with running(store_url) as wonder:
        workflow = await wonder.deploy(greeting(tools), allow_mcp=["tools"])
        result = await (await wonder.start(workflow, {"who": "you"})).wait()
        assert (result.status, result.output) == ("completed", {"loud": "HELLO"})
        assert tools.starts == 1, "what was started to be asked goes on for the run"
        with pytest.raises(Exception, match="expected string, found 3"):
            await wonder.start(workflow, {"who": 3})


async def test_servers_are_asked_once_for_their_tools(store_url: str, tools: ToolFile) -> None:
    """Then what they said is in the store, for workflows that come later and for other processes too."""
    async with running(store_url) as wonder:
        await wonder.deploy(greeting(tools), allow_mcp=["tools"])
        assert tools.starts == 1
    async with running(store_url) as wonder:
        await wonder.deploy(greeting(tools, name="another"))
        await wonder.deploy(phases("third", [tool("hi", "greet", input={"who": "x"})]))
        assert tools.starts == 1


async def test_res_6_a_tool_whose_server_nobody_has_approved_is_not_checked(store_url: str, tools: ToolFile) -> None:
    """The workflow is stored with a warning at its place, runs once the server is allowed, and is then checked."""
    async with running(store_url) as wonder:
        deployed, (warning,) = await wonder.deploy_loaded(load_value(greeting(tools)))
        assert deployed.main is not None
        assert (warning.code, warning.severity) == ("tool_not_checked", "warning")
        assert warning.path == ("steps", 0, 0, "tool")
        assert "would start its command: [" in warning.message
        assert "allow_mcp=['tools']" in warning.hint
        assert tools.starts == 0
        await wonder.allow_mcp_server("tools")
        result = await (await wonder.start("greeting", {"who": "you"})).wait()
        assert (result.status, result.output) == ("completed", {"loud": "HELLO"})
        wrong = greeting(tools, steps=[[tool("hi", "greet", input={"who": 3})]])
        with pytest.raises(DefinitionRefused, match="Expected string but got 3"):
            await wonder.deploy(wrong)


async def test_res_6_that_a_server_is_stored_is_no_approval(store_url: str, tools: ToolFile) -> None:
    """Nor is that its command was approved for local runs: this is a long-running process, and nobody named it."""
    async with running(store_url) as wonder:
        await wonder.deploy_loaded(load_value({"mcp_servers": {"tools": tools.server}}))
        for approved in ({}, await stored_servers(wonder, ["tools"])):
            await approve(wonder, approved)
            _, (warning,) = await wonder.deploy_loaded(load_value(greeting(tools)))
            assert warning.code == "tool_not_checked"
            assert tools.starts == 0
        _, warnings = await wonder.deploy_loaded(load_value(greeting(tools)), allow_mcp=["tools"])
        assert (warnings, tools.starts) == ([], 1)
        elsewhere = {**tools.server, "command": ["false"]}
        with pytest.raises(ServerFixed):
            await wonder.deploy(greeting(tools, mcp_servers={"tools": elsewhere}))


async def test_a_server_that_is_allowed_and_is_not_there_is_refused(store_url: str, tools: ToolFile) -> None:
    async with running(store_url) as wonder:
        with pytest.raises(NotFound, match="no MCP server 'tolls'"):
            await wonder.deploy(greeting(tools), allow_mcp=["tolls"])
        assert await list_approvals(wonder.store, wonder.home.project_id) == []


async def test_res_6_a_server_that_the_workspace_does_not_allow_is_not_started(store_url: str, tools: ToolFile) -> None:
    async with running(store_url) as wonder:
        async with wonder.store.transaction() as transaction:
            settings = WorkspaceSettings(allowed_mcp_servers=["other"])
            await put_workspace_settings(transaction, wonder.home.workspace_id, settings)
        await approve(wonder, servers_in(load_value(greeting(tools))))
        (error,) = await refused(wonder, greeting(tools))
        assert "the workspace does not allow the MCP server 'tools'" in error["message"]
        assert tools.starts == 0


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"mcp_servers": {}}, "there is no MCP server 'tools' in the file or the project; add it to mcp_servers"),
        ({"mcp_servers": {"tool": {"transport": "http", "url": "http://x"}}}, "did you mean 'tool'?"),
        ({"steps": [[tool("hi", "great")]]}, "has no tool 'great'; did you mean 'greet'?"),
        ({"mcp_servers": {"tools": {"transport": "stdio", "command": ["/no/such"]}}}, "can't be started"),
        ({"mcp_servers": {"tools": {"transport": "stdio", "command": ["false"]}}}, "it ended with exit status 1"),
        (
            {"mcp_servers": {"tools": {"transport": "stdio", "command": ["x"], "env": {"A": "{{secrets.NONE}}"}}}},
            "there is no secret 'NONE' here; store it with: wonder secrets set NONE",
        ),
        ({"mcp_servers": {"tools": {"transport": "http", "url": "http://127.0.0.1:1/"}}}, "private"),
    ],
)
async def test_a_tool_that_can_not_be_known_is_told_with_its_reason(
    store_url: str, tools: ToolFile, change: dict[str, Any], told: str
) -> None:
    async with running(store_url) as wonder:
        allowed = {"tools"} & change.get("mcp_servers", {"tools": ...}).keys()
        errors = await refused(wonder, greeting(tools, **change), allow_mcp=allowed)
        assert [error["type"] for error in errors if error["step"] == "hi"] == ["missing_schema"]
        assert told in str(errors)


async def test_act_2_a_tool_that_is_only_a_task_of_the_protocol_is_refused_at_creation(
    store_url: str, tools: ToolFile
) -> None:
    gives = {"input": text_of("who"), "output": text_of("line"), "gives": {"line": "hello"}}
    tools.define(greet={**gives, "execution": {"taskSupport": "required"}})
    call = {"kind": "mcp_tool", "implementation": {"mcp_server_id": "tools", "tool_name": "greet"}}
    nodes = {"a": {"action": call, "input_mapping": {"who": "x"}}}
    graph: dict[str, Any] = {"workflow": {"name": "g", "initial_node": "a", "nodes": nodes}}
    async with running(store_url) as wonder:
        (error,) = await refused(wonder, greeting(tools), allow_mcp=["tools"])
        assert "the tool 'greet' of the MCP server 'tools' can be called only as a task" in error["message"]
        with pytest.raises(DefinitionRefused, match="tool_only_as_task"):
            await wonder.deploy({**graph, "mcp_servers": {"tools": tools.server}})
        # A graph asks no server: that of one which nobody has asked yet is found out by the call.
        later = ToolFile(tools.folder, "later")
        later.define(greet={**gives, "execution": {"taskSupport": "required"}})
        workflow = await wonder.deploy({**graph, "mcp_servers": {"tools": later.server}}, allow_mcp=["tools"])
        failed = await (await wonder.start(workflow)).wait()
        assert failed.error
        assert failed.error["code"] == "MCP_TASK_REQUIRED"
        for said in ("optional", "forbidden"):
            able = ToolFile(tools.folder, said)
            able.define(greet={**gives, "execution": {"taskSupport": said}})
            workflow = await wonder.deploy({**graph, "mcp_servers": {"tools": able.server}}, allow_mcp=["tools"])
            assert (await (await wonder.start(workflow)).wait()).status == "completed"


async def test_a_tool_whose_schema_can_not_be_used_checks_its_input_itself(
    store_url: str, tools: ToolFile, tmp_path: Path
) -> None:
    """What it gives can't be read into then; a schema with a look-ahead is one of JSON Schema all the same."""
    broken = {"type": "object", "properties": {"line": {"type": "string", "pattern": "^(?!x)"}}}
    gives = {"output": text_of("line"), "gives": {"line": "hello"}}
    async with running(store_url) as wonder:
        tools.define(greet={"input": text_of("who"), **gives, "output": broken})
        errors = await refused(wonder, greeting(tools), allow_mcp=["tools"])
        assert [error["type"] for error in errors] == ["missing_schema"]
        assert "has an output schema that can't be used (the pattern" in errors[0]["message"]
        tools = ToolFile(tmp_path, "others")
        tools.define(greet={"input": broken, **gives})
        workflow = await wonder.deploy(greeting(tools), allow_mcp=["tools"])
        run = await wonder.start(workflow, {"who": "you"})
        assert (await run.wait()).status == "completed"


async def test_inv_8_a_secret_that_a_server_writes_into_a_schema_is_not_stored(
    store_url: str, tools: ToolFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the key of a PostgreSQL database is in the working directory
    told = {"type": "string", "description": "the token is canary-4711"}
    tools.define(greet={"input": text_of("who", how=told), "output": text_of("line")})
    server = {**tools.server, "env": {**tools.server["env"], "TOKEN": "{{secrets.TOKEN}}"}}
    async with running(store_url) as wonder:
        app, owner = wonder, Owner("project", wonder.home.project_id)
        keys = key_source(store_url)
        given = ("TOKEN", "canary-4711", SecretScope(servers=("tools",)))
        await set_secret(app.store, keys, owner, *given, clock=app.clock, new_id=app.new_id)
        await wonder.deploy(greeting(tools, mcp_servers={"tools": server}), allow_mcp=["tools"])
        kept = str(await app.store.query("SELECT schemas, tools FROM phase_forms"))
        kept += str(await app.store.query("SELECT tools FROM tool_schemas"))
        kept += str(await app.store.query("SELECT requires FROM action_defs"))
        assert "the token is" in kept
        assert "canary" not in kept


async def test_phs_2_a_transform_ends_at_its_own_timeout_ms(store_url: str) -> None:
    """In place of the second that a transform has by default."""
    count = "(() => { let n = 0; while (n < input.upto) n++; return { n }; })()"
    slow = {**transform("slow", "upto: number", "n: number", count, upto="@input.upto"), "timeoutMs": 50}
    async with running(store_url) as wonder:
        run = await wonder.start(await wonder.deploy(phases("brief", [slow])), {"upto": 1e12})
        error: Any = (await run.wait()).error
        assert (error["code"] in ("TRANSFORM_TIMEOUT", "ACTION_TIMEOUT"), "50" in error["message"]) == (True, True)


async def test_phs_6_a_trigger_whose_inputs_do_not_fit_a_stored_target_is_a_type_mismatch(store_url: str) -> None:
    """PHS-6, PHS-4: in the shape of the phase form."""
    give = transform("give", "n: number", "n: number; all: number[]", "{ n: input.n, all: [] }", n="@input.n")
    take = transform("take", "n: string", "n: string", "{ n: input.n }", n="@input.n")
    async with running(store_url) as wonder:
        await wonder.deploy(phases("target", [take]))
        triggers = [
            {"workflowId": "target", "inputs": {"n": "@output.n"}},
            {"workflowId": "target", "inputs": {"n": "x", "m": 1}},
        ]
        with pytest.raises(DefinitionRefused) as refusal:
            await wonder.deploy(phases("source", [give], triggers=triggers))
        told = [(one["type"], one["step"], one["field"]) for one in map(phase_error, refusal.value.faults)]
        assert told == [("type_mismatch", "triggers[0]", "inputs.n"), ("type_mismatch", "triggers[1]", "inputs.m")]


async def test_phs_4_a_fault_of_shape_hides_no_ref_to_a_step_that_is_not_there(store_url: str) -> None:
    """Unless a step, or its name, could not be read."""
    sleeps = [[{"name": "a", "sleep": {"ms": -1}, "bogus": 1}], [{"name": "b", "sleep": {"until": "@zz.output"}}]]
    trigger = {"workflowId": "other", "inputs": {"x": "@nope.output"}, "max_retries": -1}
    async with running(store_url) as wonder:
        errors = await refused(wonder, phases("sleeps", *sleeps, triggers=[trigger]))
        found = sorted((error["type"], error.get("ref") or "") for error in errors)
        assert found == [("invalid_step", "")] * 3 + [("missing_ref", "@nope.output"), ("missing_ref", "@zz.output")]
        sleeps[0][0]["name"] = 5
        errors = await refused(wonder, phases("sleeps", *sleeps, triggers=[trigger]))
        assert {error["type"] for error in errors} == {"invalid_step"}


async def test_phs_4_all_errors_are_told_at_once_whatever_they_are(store_url: str, tools: ToolFile) -> None:
    """Of shape, of refs, of TypeScript, of the servers; what only follows from another is not told."""
    steps = [
        [tool("hi", "greet", input={"who": "@input.who"}, retri={})],
        [
            transform("loud", "line: string", "n: number", "{ n: input.line }", line="@hi.output.line"),
            {"name": "wait", "sleep": {"ms": -1}},
            {"name": "both", "sleep": {"ms": 1}, "transform": "x"},
        ],
    ]
    broken = phases("broken", *steps, mcp_servers={"tools": {"transport": "stdio"}}, triggers=[{"inputs": {}}])
    async with running(store_url) as wonder:
        errors = await refused(wonder, broken, allow_mcp=["tools"])
    found = {(error["type"], error.get("step", "")) for error in errors}
    assert found >= {
        ("invalid_step", "hi"),
        ("invalid_typescript", "loud"),
        ("invalid_step", "wait"),
        ("invalid_step", "both"),
        ("invalid_step", ""),
        ("missing_field", ""),
    }
    assert not [error for error in errors if error["type"] == "missing_ref"]
    assert "did you mean 'retry'?" in str(errors)


async def test_a_bundle_may_hold_workflows_of_both_forms(store_url: str, tools: ToolFile) -> None:
    """One that is written in line is kept as JSON, for the file is not its alone."""
    inner = {"steps": [[tool("hi", "greet", input={"who": "@input.who"})]]}
    call = {"action": {"kind": "workflow_call", "implementation": {"workflow_def_id": "inner"}}}
    main = {
        "name": "outer",
        "initial_node": "call",
        "context_schema": {"type": "object", "properties": {"said": {}}},
        "nodes": {"call": {**call, "input_mapping": {"who": "you"}, "output_mapping": {"output": "$"}}},
    }
    bundle = {"workflow": main, "workflows": {"inner": inner}, "mcp_servers": {"tools": tools.server}}
    async with running(store_url) as wonder:
        workflow = await wonder.deploy(bundle, allow_mcp=["tools"])
        result = await (await wonder.start(workflow)).wait()
        assert result.output == {"line": "hello"}
        written = await load_written(wonder.store, wonder.home.project_id, "inner")
        assert written.phases
        assert json.loads(written.phases.written) == inner
        assert (await load_written(wonder.store, wonder.home.project_id, "outer")).phases is None


async def test_phs_5_a_transform_of_a_graph_is_compiled_before_it_is_stored(store_url: str) -> None:
    node = {"action": {"kind": "transform", "implementation": {"source": "export default (input) => 1"}}}
    graph = {"workflow": {"name": "g", "initial_node": "a", "nodes": {"a": node}}}
    async with running(store_url) as wonder:
        errors = await refused(wonder, graph)
        assert {error["type"] for error in errors} == {"invalid_typescript"}
        assert errors[0]["path"] == "workflow.nodes.a.action.implementation.source"
        assert "Missing required 'Input'" in errors[0]["message"]
