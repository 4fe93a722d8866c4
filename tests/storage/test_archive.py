"""RES-5: what others need can't go, and what goes is archived, not lost."""

import pytest

from support.stored_records import (
    LATER,
    action,
    artifact_type,
    clock,
    mcp_server,
    model,
    new_id,
    prompt,
    task,
    trigger,
    vector_index,
    workflow,
    workflow_def,
)
from wonder.definitions.records.actions import ActionDef
from wonder.definitions.records.graph import WorkflowDef
from wonder.definitions.records.resources import ArtifactType, McpServer, ModelProfile, PromptSpec, VectorIndex
from wonder.definitions.records.tasks import TaskDef
from wonder.definitions.records.tenancy import ProjectSettings
from wonder.definitions.records.workflows import Workflow
from wonder.storage.archive import archive_definition, archive_resource
from wonder.storage.definitions import (
    Definition,
    Owner,
    StoredVersion,
    add_triggers,
    create_version,
    load_definition,
)
from wonder.storage.listing import list_definitions
from wonder.storage.named_resources import find_resource, load_resource, put_resource
from wonder.storage.resource_errors import InUse, NotFound
from wonder.storage.store import Store
from wonder.storage.tenancy import Home, ensure_default, put_project_settings


@pytest.fixture
async def home(store: Store) -> Home:
    """The default workspace and project."""
    return await ensure_default(store, clock=clock, new_id=new_id)


async def deploy(store: Store, record: Definition) -> StoredVersion:
    async with store.transaction() as transaction:
        return await create_version(transaction, record)


async def archive(store: Store, kind: type[Definition], id: str, version: int | None = None) -> int:
    async with store.transaction() as transaction:
        return await archive_definition(transaction, kind, id, version, at=LATER)


async def retire(store: Store, kind: type[ModelProfile | McpServer | VectorIndex | Workflow], id: str) -> None:
    async with store.transaction() as transaction:
        await archive_resource(transaction, kind, id, at=LATER)


async def users_of(store: Store, kind: type[Definition], id: str, version: int | None = None) -> list[str]:
    """Try to archive, and return who is said to be in the way."""
    with pytest.raises(InUse) as refused:
        await archive(store, kind, id, version)
    return [str(user) for user in refused.value.users]


async def users_of_resource(
    store: Store, kind: type[ModelProfile | McpServer | VectorIndex | Workflow], id: str
) -> list[str]:
    with pytest.raises(InUse) as refused:
        await retire(store, kind, id)
    return [str(user) for user in refused.value.users]


async def test_what_is_archived_is_hidden_but_not_lost(store: Store, home: Home) -> None:
    say = await deploy(store, action("say", home.project_id))
    assert await archive(store, ActionDef, say.id) == 1
    page = await list_definitions(store, ActionDef, Owner("project", home.project_id))
    assert page.items == []
    assert (await load_definition(store, ActionDef, say.id, 1)).name == "say"
    with pytest.raises(NotFound):
        await load_definition(store, ActionDef, say.id)
    with pytest.raises(NotFound, match="live action"):
        await archive(store, ActionDef, say.id)
    with pytest.raises(NotFound):
        await archive(store, ActionDef, "nothing", 3)


async def test_a_number_is_never_given_twice(store: Store, home: Home) -> None:
    say = await deploy(store, action("say", home.project_id, content_hash="same"))
    await archive(store, ActionDef, say.id)
    assert await deploy(store, action("say", home.project_id, content_hash="same")) == StoredVersion(
        "say", say.id, 2, True
    )


async def test_a_step_needs_its_action_and_a_node_its_task_at_their_versions(store: Store, home: Home) -> None:
    say = await deploy(store, action("say", home.project_id, content_hash="a"))
    await deploy(store, action("say", home.project_id, content_hash="b"))
    greet = await deploy(store, task("greet", home.project_id, [(say.id, 1)]))
    flow = await deploy(store, workflow_def("flow", home.project_id, [(greet.id, 1), (greet.id, 1)]))
    assert await users_of(store, ActionDef, say.id) == ["task greet@1"]
    assert await users_of(store, ActionDef, say.id, 1) == ["task greet@1"]
    assert await archive(store, ActionDef, say.id, 2) == 1
    assert await users_of(store, TaskDef, greet.id) == ["workflow flow@1"]
    assert await archive(store, WorkflowDef, flow.id) == 1
    assert await archive(store, TaskDef, greet.id) == 1
    assert await archive(store, ActionDef, say.id) == 1


async def test_a_workflow_needs_its_pinned_version_or_any_at_all(store: Store, home: Home) -> None:
    say = await deploy(store, action("say", home.project_id))
    greet = await deploy(store, task("greet", home.project_id, [(say.id, 1)]))
    for content in ("a", "b", "c"):
        record = workflow_def("flow", home.project_id, [(greet.id, 1)], content_hash=content)
        flow = await deploy(store, record)
    async with store.transaction() as transaction:
        latest = await put_resource(transaction, workflow("latest", home.project_id, flow.id))
        pinned = await put_resource(transaction, workflow("pinned", home.project_id, flow.id, pinned_version=2))
    assert await users_of(store, WorkflowDef, flow.id, 2) == ["workflow pinned@2"]
    assert await archive(store, WorkflowDef, flow.id, 1) == 1
    assert await archive(store, WorkflowDef, flow.id, 3) == 1
    both = ["workflow pinned@2", "workflow latest"]
    assert await users_of(store, WorkflowDef, flow.id) == both
    await retire(store, Workflow, pinned.record.id)
    assert await users_of(store, WorkflowDef, flow.id, 2) == ["workflow latest"]
    await retire(store, Workflow, latest.record.id)
    assert await archive(store, WorkflowDef, flow.id) == 1


async def test_a_call_needs_the_workflow_that_it_calls(store: Store, home: Home) -> None:
    say = await deploy(store, action("say", home.project_id))
    greet = await deploy(store, task("greet", home.project_id, [(say.id, 1)]))
    for content in ("a", "b"):
        record = workflow_def("flow", home.project_id, [(greet.id, 1)], content_hash=content)
        flow = await deploy(store, record)
    call = {"kind": "workflow_call", "implementation": {"workflow_def_id": flow.id, "version": 1}}
    exact = await deploy(store, action("exact", home.project_id, **call))
    assert await users_of(store, WorkflowDef, flow.id, 1) == ["action exact@1"]
    assert await archive(store, WorkflowDef, flow.id, 2) == 1
    await archive(store, ActionDef, exact.id)
    call["implementation"] = {"workflow_def_id": flow.id, "version": None}
    await deploy(store, action("newest", home.project_id, **call))
    call["implementation"] = {"workflow_def_id": {"from_context": "input.x"}, "version": None}
    await deploy(store, action("unknown", home.project_id, **call))
    assert await users_of(store, WorkflowDef, flow.id, 1) == ["action newest@1"]
    call["implementation"] = {"workflow_def_id": flow.id, "version": {"from_context": "input.v"}}
    await deploy(store, action("any", home.project_id, **call))
    assert "action any@1" in await users_of(store, WorkflowDef, flow.id, 1)


async def test_prompts_and_artifact_types_are_needed_while_one_version_is_left(store: Store, home: Home) -> None:
    for content in ("a", "b"):
        ask = await deploy(store, prompt("ask", home.project_id, content_hash=content))
        note = await deploy(store, artifact_type("note", home.project_id, content_hash=content))
    kinds = [("llm_call", {"prompt_spec_id": ask.id}), ("write_artifact", {"artifact_type_id": note.id})]
    for kind, implementation in kinds:
        await deploy(store, action(kind, home.project_id, kind=kind, implementation=implementation))
    async with store.transaction() as transaction:
        await put_resource(transaction, vector_index("notes", home.project_id, ["another", note.id]))
    assert await archive(store, PromptSpec, ask.id, 1) == 1
    assert await users_of(store, PromptSpec, ask.id, 2) == ["action llm_call@1"]
    assert await archive(store, ArtifactType, note.id, 2) == 1
    assert await users_of(store, ArtifactType, note.id) == ["action write_artifact@1", "vector index notes"]


async def test_models_servers_and_indexes_are_needed_by_actions_and_settings(store: Store, home: Home) -> None:
    async with store.transaction() as transaction:
        small = (await put_resource(transaction, model("small", home.project_id))).record
        files = (await put_resource(transaction, mcp_server("files", home.project_id))).record
        notes = (await put_resource(transaction, vector_index("notes", home.project_id, ["x"]))).record
    kinds = [
        ("llm_call", {"prompt_spec_id": "p", "model_profile_id": small.id}),
        ("mcp_tool", {"mcp_server_id": files.id, "tool_name": "t"}),
        ("vector_search", {"vector_index_id": notes.id, "top_k": 1}),
    ]
    used = [
        await deploy(store, action(kind, home.project_id, kind=kind, implementation=implementation))
        for kind, implementation in kinds
    ]
    async with store.transaction() as transaction:
        settings = ProjectSettings(default_model_profile_id=small.id)
        await put_project_settings(transaction, home.project_id, settings)
    assert await users_of_resource(store, ModelProfile, small.id) == ["action llm_call@1", "default of project default"]
    assert await users_of_resource(store, McpServer, files.id) == ["action mcp_tool@1"]
    assert await users_of_resource(store, VectorIndex, notes.id) == ["action vector_search@1"]
    for one in used:
        await archive(store, ActionDef, one.id)
    await retire(store, McpServer, files.id)
    assert await find_resource(store, McpServer, home.project_id, "files") is None
    assert await load_resource(store, McpServer, files.id) == files
    with pytest.raises(NotFound, match="live MCP server"):
        await retire(store, McpServer, files.id)


async def test_a_workflow_is_needed_by_the_triggers_that_start_it(store: Store, home: Home) -> None:
    say = await deploy(store, action("say", home.project_id))
    greet = await deploy(store, task("greet", home.project_id, [(say.id, 1)]))
    flow = await deploy(store, workflow_def("flow", home.project_id, [(greet.id, 1)]))
    other = await deploy(store, workflow_def("other", home.project_id, [(greet.id, 1)]))
    async with store.transaction() as transaction:
        target = (await put_resource(transaction, workflow("target", home.project_id, flow.id))).record
        # One that starts itself keeps nobody from archiving it.
        await add_triggers(transaction, [trigger(flow.id, 1, target.id), trigger(other.id, 1, target.id)])
    assert await users_of_resource(store, Workflow, target.id) == ["trigger of workflow other@1"]


async def test_many_users_are_counted_not_all_named(store: Store, home: Home) -> None:
    say = await deploy(store, action("say", home.project_id))
    for number in range(13):
        await deploy(store, task(f"task {number:02}", home.project_id, [(say.id, 1)]))
    with pytest.raises(InUse, match="task 09@1 and 3 more; archive or change those first") as refused:
        await archive(store, ActionDef, say.id)
    assert len(refused.value.users) == 13
