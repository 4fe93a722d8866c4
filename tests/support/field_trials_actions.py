"""Trials of the fields of every kind of action, and of what actions refer to."""

from typing import Any

from support.definitions import update
from support.embedding_peer import DIMENSIONS, MODEL
from support.field_trials import Trial, shown, trial
from support.field_trials_graph import ASKS, CHILD, GIVES_ALL, OBJECT
from support.systems import bundle, calls, line, waits

IMPLEMENTATION = "workflow.nodes.a.action.implementation"


def acts(kind: str, implementation: Any, input: Any = None, **more: Any) -> Any:
    """Make a workflow of one node with an action."""
    node = {"action": {"kind": kind, "implementation": implementation}, "input_mapping": input or {}, **GIVES_ALL}
    return {**bundle("w", {"a": node}, input_schema=OBJECT), **more}


def on_context(kind: str, **implementation: Any) -> Any:
    """Make a workflow of one node with an action on the workflow's context."""
    return bundle("w", {"a": {"action": {"kind": kind, "implementation": implementation}}}, input_schema=OBJECT)


def in_task(kind: str, **implementation: Any) -> Any:
    """Make a workflow of one task whose step has an action on a context."""
    task = {"steps": [{"ref": "s", "action": {"kind": kind, "implementation": implementation}}]}
    return bundle("w", {"a": {"task": task, "input_mapping": {"n": 5}, **GIVES_ALL}}, input_schema=OBJECT)


HTTP: Any = acts("http_request", {"url_template": "PEER/ok", "method": "GET"})
PRIVATE: Any = {"workspace": {"allow_private_addresses": True, "allow_shell": True, "allowed_mcp_servers": ["tools"]}}
SHELL: Any = acts(
    "shell_command", {"command": ["/bin/sh", "-c", "pwd; cat; echo $OWN; exit 3"], "ok_exit_codes": [0, 3]}
)
ROOT: Any = {"project": {"files_root": "FOLDER"}}
SHELL_ON: Any = {**PRIVATE, **ROOT}
TOOL: Any = acts("mcp_tool", {"mcp_server_id": "tools", "tool_name": "greet"}, mcp_servers={"tools": "TOOLS"})
SPEC: Any = {"template": "say {{x}}"}
SCRIPT: Any = {"provider": "mock", "model_id": "m", "execution_config": {"answers": ["one", "two"]}}
LLM: Any = acts(
    "llm_call",
    {"prompt_spec_id": "p", "model_profile_id": "m"},
    {"x": "$.input.x"},
    prompts={"p": SPEC, "q": {"template": "other"}},
    models={"m": SCRIPT, "n": {**SCRIPT, "execution_config": {"answers": ["three"]}}},
)
LOCAL: Any = {"provider": "local", "model_id": "m", "execution_config": {"base_url": "PEER/v1"}}
ASKED: Any = {**LLM, "models": {"m": LOCAL, "n": SCRIPT}}
OPEN: Any = {"workspace": {"allow_private_addresses": True, "allowed_model_base_urls": ["PEER/v1", "PEER/v2"]}}
CONFIG = "models.m.execution_config"
ANSWERS = f"{CONFIG}.answers"
NOTE: Any = {"schema": {"type": "object", "properties": {"text": {"type": "string"}, "title": {"type": "string"}}}}
WRITES: Any = acts(
    "write_artifact",
    {"artifact_type_id": "note", "content_mapping": {"text": "cat", "title": "dog"}},
    artifact_types={"note": NOTE, "open": {}},
)
INDEX: Any = {
    "artifact_type_ids": ["note"],
    "embedding_provider": "openai",
    "embedding_model": MODEL,
    "dimensions": DIMENSIONS,
    "content_fields": ["text"],
}


def searches(**search: Any) -> Any:
    """Make a workflow that writes two artifacts and searches for one."""
    writes = [
        waits("write_artifact", {"artifact_type_id": "note", "content_mapping": {"text": text, "title": "a cat"}})
        for text in ("cat", "dog house")
    ]
    action = {"kind": "vector_search", "implementation": {"vector_index_id": "notes", "top_k": 5, **search}}
    nodes = {"one": writes[0], "two": writes[1], "a": {"action": action, "input_mapping": {"query": "cat"}}}
    nodes["a"]["output_mapping"] = {
        "output.found": "$.matches[*].schema_data.text",
        "output.score": "$.matches[0].score",
    }
    made = bundle("w", nodes, line("one", "two", "a"))
    others = {**INDEX, "content_fields": ["title"]}
    return {**made, "artifact_types": {"note": NOTE, "open": {}}, "vector_indexes": {"notes": INDEX, "others": others}}


def reads(**implementation: Any) -> Any:
    """Make a workflow that writes two artifacts and reads one back."""
    writes = [
        waits("write_artifact", {"artifact_type_id": "note", "content_mapping": {"text": text}})
        for text in ("cat", "dog")
    ]
    action = {"kind": "read_artifact", "implementation": implementation}
    nodes = {
        "one": writes[0],
        "two": writes[1],
        "a": {"action": action, "output_mapping": {"output.read": "$.content"}},
    }
    return {**bundle("w", nodes, line("one", "two", "a")), "artifact_types": {"note": NOTE}}


CALL: Any = acts("workflow_call", {"workflow_def_id": "child"}, workflows={"child": CHILD})
BREAKS: Any = {"initial_node": "only", "nodes": {"only": calls("refused")}}
WAITS_EVENT: Any = acts("wait_for_event", {"event": "paid"})
PAID: Any = {"event": ("paid", None, {"sum": 3})}
TYPES = "interface Input { n: number }\ninterface Output { n: number }\n"
TS = TYPES + "export default (input: Input): Output => ({ n: input.n + %d })"
OF_CONTEXTS = [
    trial("Assert.expr", on_context("assert", expr="1 = 1"), f"{IMPLEMENTATION}.expr", "1 = 2", "1 = 1"),
    trial("Assert.message", on_context("assert", expr="1 = 2"), f"{IMPLEMENTATION}.message", "no!"),
    trial(
        "Assert.scope",
        in_task("assert", expr="input.n = 5"),
        "workflow.nodes.a.task.steps.0.action.implementation.scope",
        "workflow",
    ),
    trial(
        "EmitMetric.metric_name",
        on_context("emit_metric", metric_name="m", value=1),
        f"{IMPLEMENTATION}.metric_name",
        "other",
        "m",
    ),
    trial("EmitMetric.value", on_context("emit_metric", metric_name="m", value=1), f"{IMPLEMENTATION}.value", 2, 1),
    trial(
        "EmitMetric.dimensions",
        on_context("emit_metric", metric_name="m", value=1),
        f"{IMPLEMENTATION}.dimensions",
        {"r": "{{input.x}}"},
        input={"x": 3},
    ),
    trial(
        "EmitMetric.scope",
        in_task("emit_metric", metric_name="m", value={"expr": "input.n"}),
        "workflow.nodes.a.task.steps.0.action.implementation.scope",
        "workflow",
    ),
    trial(
        "MetricExpression.expr",
        on_context("emit_metric", metric_name="m", value={}),
        f"{IMPLEMENTATION}.value.expr",
        "1 + 1",
        "1",
    ),
    trial(
        "UpdateContext.updates",
        on_context("update_context"),
        f"{IMPLEMENTATION}.updates",
        [{"path": "output.x", "expr": 1}],
        [],
    ),
    trial(
        "UpdateContext.scope",
        in_task("update_context", updates=[{"path": "output.x", "expr": "1"}]),
        "workflow.nodes.a.task.steps.0.action.implementation.scope",
        "workflow",
    ),
    trial(
        "Update.path",
        update_one := on_context("update_context", updates=[{"path": "output.x", "expr": "1"}]),
        f"{IMPLEMENTATION}.updates.0.path",
        "output.y",
        "output.x",
    ),
    trial("Update.expr", update_one, f"{IMPLEMENTATION}.updates.0.expr", "2", "1"),
]
OF_WORLD = [
    trial("HttpRequest.url_template", HTTP, f"{IMPLEMENTATION}.url_template", "PEER/ok?x=1", "PEER/ok", **PRIVATE),
    trial("HttpRequest.method", HTTP, f"{IMPLEMENTATION}.method", "DELETE", "GET", **PRIVATE),
    trial("HttpRequest.headers", HTTP, f"{IMPLEMENTATION}.headers", {"X-Own": "1"}, **PRIVATE),
    trial(
        "HttpRequest.body_template",
        HTTP,
        f"{IMPLEMENTATION}.body_template",
        "hi",
        with_={f"{IMPLEMENTATION}.method": "POST"},
        **PRIVATE,
    ),
    trial(
        "HttpRequest.accept_status",
        HTTP,
        f"{IMPLEMENTATION}.accept_status",
        [418],
        with_={f"{IMPLEMENTATION}.url_template": "PEER/bad"},
        **PRIVATE,
    ),
    trial(
        "HttpRequest.response",
        HTTP,
        f"{IMPLEMENTATION}.response",
        "text",
        with_={f"{IMPLEMENTATION}.url_template": "PEER/text"},
        **PRIVATE,
    ),
    trial("PythonFunction.function", acts("python", {}), f"{IMPLEMENTATION}.function", "tests:refused", "tests:echo"),
    trial("ReadFile.path", acts("read_file", {"path": "a.txt"}), f"{IMPLEMENTATION}.path", "b.txt", "a.txt", **ROOT),
    trial("ReadFile.encoding", acts("read_file", {"path": "a.txt"}), f"{IMPLEMENTATION}.encoding", "base64", **ROOT),
    trial(
        "WriteFile.path",
        acts("write_file", {"path": "b.txt", "content": "x"}),
        f"{IMPLEMENTATION}.path",
        "c.txt",
        "b.txt",
        **ROOT,
    ),
    trial(
        "WriteFile.content",
        acts("write_file", {"path": "b.txt", "content": "x"}),
        f"{IMPLEMENTATION}.content",
        "y",
        "x",
        **ROOT,
    ),
    trial(
        "ShellCommand.command", SHELL, f"{IMPLEMENTATION}.command", ["/bin/echo", "hi"], ["/bin/echo", "ho"], **SHELL_ON
    ),
    trial(
        "ShellCommand.shell",
        SHELL,
        f"{IMPLEMENTATION}.shell",
        True,
        with_={f"{IMPLEMENTATION}.command": "echo hi"},
        **SHELL_ON,
    ),
    trial("ShellCommand.cwd", SHELL, f"{IMPLEMENTATION}.cwd", "sub", **SHELL_ON),
    trial("ShellCommand.env", SHELL, f"{IMPLEMENTATION}.env", {"OWN": "1"}, **SHELL_ON),
    trial("ShellCommand.stdin", SHELL, f"{IMPLEMENTATION}.stdin", "hi", **SHELL_ON),
    trial("ShellCommand.ok_exit_codes", SHELL, f"{IMPLEMENTATION}.ok_exit_codes", [0], [0, 3], **SHELL_ON),
    trial("Transform.source", acts("transform", {}, {"n": 1}), f"{IMPLEMENTATION}.source", TS % 2, TS % 1),
    trial("McpTool.mcp_server_id", TOOL, f"{IMPLEMENTATION}.mcp_server_id", "none", "tools", **PRIVATE),
    trial("McpTool.tool_name", TOOL, f"{IMPLEMENTATION}.tool_name", "part", "greet", **PRIVATE),
    trial(
        "WriteArtifact.artifact_type_id",
        WRITES,
        f"{IMPLEMENTATION}.artifact_type_id",
        "open",
        "note",
        with_={f"{IMPLEMENTATION}.content_mapping": {"text": 5}},
    ),
    trial("WriteArtifact.content_mapping", WRITES, f"{IMPLEMENTATION}.content_mapping", {"text": "x"}, {"text": "y"}),
    trial("ReadArtifact.node", reads(node="one"), f"{IMPLEMENTATION}.node", "two", "one"),
    trial("ReadArtifact.artifact_id", reads(node="one"), IMPLEMENTATION, {"artifact_id": "other"}, {"node": "one"}),
    trial("ReadArtifact.encoding", reads(node="one"), f"{IMPLEMENTATION}.encoding", "base64"),
    trial("VectorSearch.vector_index_id", searches(), f"{IMPLEMENTATION}.vector_index_id", "others", "notes"),
    trial("VectorSearch.top_k", searches(), f"{IMPLEMENTATION}.top_k", 1, 5),
    trial("VectorSearch.similarity_threshold", searches(), f"{IMPLEMENTATION}.similarity_threshold", 0.9),
]
BOB: Any = {"by": "bob", "role": "operator", "answer": {"ok": True, "why": "x"}}
ANN: Any = {"by": "ann", "role": "operator", "answer": {"ok": True}}
DISAGREE: Any = {"people": [BOB, {**ANN, "answer": {"ok": False}}]}
QUORUM: Any = acts("human_input", {"prompt": "?", "quorum": {"of": ["ann", "bob"], "needed": 2}})
OF_WAITS = [
    trial("HumanInput.prompt", ASKS, f"{IMPLEMENTATION}.prompt", "really?", "well?"),
    trial("HumanInput.schema_", ASKS, f"{IMPLEMENTATION}.schema", {"type": "integer"}),
    trial("HumanInput.deadline_ms", ASKS, f"{IMPLEMENTATION}.deadline_ms", 20),
    trial(
        "HumanInput.on_deadline",
        ASKS,
        f"{IMPLEMENTATION}.on_deadline",
        {"default": 4},
        with_={f"{IMPLEMENTATION}.deadline_ms": 20},
    ),
    trial(
        "DefaultAnswer.default",
        acts("human_input", {"prompt": "?", "deadline_ms": 20}),
        f"{IMPLEMENTATION}.on_deadline.default",
        4,
        5,
    ),
    trial("HumanInput.evidence", ASKS, f"{IMPLEMENTATION}.evidence", {"all": "input"}),
    trial("HumanInput.assignee", ASKS, f"{IMPLEMENTATION}.assignee", "ann"),
    trial("HumanInput.role", ASKS, f"{IMPLEMENTATION}.role", "author"),
    trial("HumanInput.answerable_by", ASKS, f"{IMPLEMENTATION}.answerable_by", {"role": "admin"}, people=[BOB]),
    trial("AnswerableBy.names", ASKS, f"{IMPLEMENTATION}.answerable_by.names", ["ann"], ["bob"], people=[BOB]),
    trial("AnswerableBy.role", ASKS, f"{IMPLEMENTATION}.answerable_by.role", "admin", "operator", people=[BOB]),
    trial(
        "AnswerableBy.models",
        ASKS,
        f"{IMPLEMENTATION}.answerable_by.models",
        True,
        False,
        people=[{**BOB, "is_model": True}],
    ),
    trial("HumanInput.quorum", ASKS, f"{IMPLEMENTATION}.quorum", {"of": ["ann", "bob"], "needed": 2}, people=[BOB]),
    trial("Quorum.of", QUORUM, f"{IMPLEMENTATION}.quorum.of", ["ann", "bob"], ["ann", "eve"], people=[BOB, ANN]),
    trial("Quorum.needed", QUORUM, f"{IMPLEMENTATION}.quorum.needed", 1, 2, people=[BOB]),
    trial("Quorum.agree_on", QUORUM, f"{IMPLEMENTATION}.quorum.agree_on", "ok", people=[BOB, ANN]),
    trial("Quorum.on_disagreement", QUORUM, f"{IMPLEMENTATION}.quorum.on_disagreement", {"default": 4}, **DISAGREE),
    trial("HumanInput.remind_ms", ASKS, f"{IMPLEMENTATION}.remind_ms", 20, patience=0.1),
    trial("Sleep.ms", acts("sleep", {"ms": 1}), f"{IMPLEMENTATION}.ms", 1_500, 1, slower=1.0, patience=2.0),
    trial("Sleep.until", acts("sleep", {}), f"{IMPLEMENTATION}.until", "2999-01-01", "2001-01-01"),
    trial("WaitForEvent.event", WAITS_EVENT, f"{IMPLEMENTATION}.event", "sold", "paid", **PAID),
    trial("WaitForEvent.key", WAITS_EVENT, f"{IMPLEMENTATION}.key", "k", **PAID),
    trial("WaitForEvent.timeout_ms", WAITS_EVENT, f"{IMPLEMENTATION}.timeout_ms", 20),
    trial(
        "WorkflowCall.workflow_def_id",
        {**CALL, "workflows": {"child": CHILD, "breaks": BREAKS}},
        f"{IMPLEMENTATION}.workflow_def_id",
        "breaks",
        "child",
    ),
    trial(
        "WorkflowCall.version",
        acts("workflow_call", {"workflow_def_id": "child"}),
        f"{IMPLEMENTATION}.version",
        1,
        before=[bundle("child", {"only": update(**{"output.x": x})}) for x in ("1", "2")],
    ),
    trial("WorkflowCall.on_failure", {**CALL, "workflows": {"child": BREAKS}}, f"{IMPLEMENTATION}.on_failure", "catch"),
    trial(
        "FromContext.from_context",
        {**CALL, "workflows": {"child": CHILD, "breaks": BREAKS}},
        f"{IMPLEMENTATION}.workflow_def_id",
        {"from_context": "input.b"},
        {"from_context": "input.a"},
        input={"a": "child", "b": "breaks"},
    ),
]
NOTES = "vector_indexes.notes"
OF_RESOURCES = [
    shown("ArtifactTypeBody.description", WRITES, "artifact_types.note.description", "artifact-types", "show", "note"),
    trial(
        "ArtifactTypeBody.schema_",
        WRITES,
        "artifact_types.note.schema",
        {"properties": {"text": {"type": "integer"}, "title": {}}},
        NOTE["schema"],
    ),
    trial("VectorIndexBody.artifact_type_ids", searches(), f"{NOTES}.artifact_type_ids", ["open"], ["note"]),
    trial("VectorIndexBody.embedding_provider", searches(), f"{NOTES}.embedding_provider", "cloudflare_ai", "openai"),
    trial("VectorIndexBody.embedding_model", searches(), f"{NOTES}.embedding_model", "other", MODEL),
    trial("VectorIndexBody.dimensions", searches(), f"{NOTES}.dimensions", 32, DIMENSIONS),
    trial("VectorIndexBody.content_fields", searches(), f"{NOTES}.content_fields", ["title"], ["text"]),
    trial("VectorIndexBody.auto_index", searches(), f"{NOTES}.auto_index", False),
    trial(
        "StdioServer.transport", TOOL, "mcp_servers.tools", {"transport": "http", "url": "PEER/mcp"}, "TOOLS", **PRIVATE
    ),
    trial(
        "StdioServer.command",
        TOOL,
        "mcp_servers.tools",
        {"transport": "stdio", "command": ["/bin/false"]},
        "TOOLS",
        **PRIVATE,
    ),
    trial(
        "StdioServer.env",
        TOOL,
        "mcp_servers.tools.env",
        {"PYTHONHOME": "/nowhere"},
        with_={
            "mcp_servers.tools": {
                "transport": "stdio",
                "command": ["/bin/sh", "-c", "test -z $PYTHONHOME && exit 3; exit 4"],
            }
        },
        **PRIVATE,
    ),
    trial(
        "HttpServer.transport",
        TOOL,
        "mcp_servers.tools.transport",
        "stdio",
        "http",
        with_={"mcp_servers.tools": {"transport": "http", "url": "PEER/mcp"}},
        **PRIVATE,
    ),
    trial(
        "HttpServer.url",
        TOOL,
        "mcp_servers.tools.url",
        "PEER/other",
        "PEER/mcp",
        with_={"mcp_servers.tools": {"transport": "http", "url": "PEER/mcp"}},
        **PRIVATE,
    ),
    trial(
        "HttpServer.headers",
        TOOL,
        "mcp_servers.tools.headers",
        {"X-Own": "1"},
        with_={"mcp_servers.tools": {"transport": "http", "url": "PEER/mcp"}},
        **PRIVATE,
    ),
]
OF_KINDS: list[Trial] = [*OF_CONTEXTS, *OF_WORLD, *OF_WAITS, *OF_RESOURCES]
