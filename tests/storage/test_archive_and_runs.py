"""RES-5: what a live run needs can't go, however far from the run it is named."""

from typing import Any

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
from support.systems import bundle, line, open_item, running, status_of, waits
from wonder.definitions.records.actions import ActionDef
from wonder.definitions.records.graph import WorkflowDef
from wonder.definitions.records.resources import ArtifactType, McpServer, ModelProfile, PromptSpec, VectorIndex
from wonder.definitions.records.tasks import TaskDef
from wonder.definitions.records.workflows import Workflow
from wonder.storage.archive import archive_definition, archive_resource
from wonder.storage.definitions import Definition, StoredVersion, add_triggers, create_version
from wonder.storage.named_resources import NamedResource, put_resource
from wonder.storage.resource_errors import InUse
from wonder.storage.runs.records import NewRun
from wonder.storage.runs.starting import insert_runs
from wonder.storage.store import Store
from wonder.storage.tenancy import Home, ensure_default


@pytest.fixture
async def home(store: Store) -> Home:
    """The default workspace and project."""
    return await ensure_default(store, clock=clock, new_id=new_id)


async def deploy(store: Store, record: Definition) -> StoredVersion:
    async with store.transaction() as transaction:
        return await create_version(transaction, record)


async def put(store: Store, record: NamedResource) -> NamedResource:
    async with store.transaction() as transaction:
        return (await put_resource(transaction, record)).record


async def archive(store: Store, kind: type[Definition], id: str, version: int | None = None) -> int:
    async with store.transaction() as transaction:
        return await archive_definition(transaction, kind, id, version, at=LATER)


async def retire(store: Store, kind: type[NamedResource], id: str) -> None:
    async with store.transaction() as transaction:
        await archive_resource(transaction, kind, id, at=LATER)


async def start(store: Store, home: Home, definition: StoredVersion, workflow_id: str | None = None) -> str:
    """Store a run that waits for its start, which is live like any other."""
    run = NewRun(
        id=new_id(),
        project_id=home.project_id,
        workflow_id=workflow_id,
        workflow_def_id=definition.id,
        workflow_version=definition.version,
        input={},
        created_ms=5,
    )
    await insert_runs(store, [run])
    return run.id


async def end(store: Store, *run_ids: str) -> None:
    async with store.transaction() as transaction:
        for run_id in run_ids:
            await transaction.run(f"UPDATE runs SET status = 'completed', completed_ms = 9 WHERE id = '{run_id}'")


async def runs_in_the_way(store: Store, kind: Any, id: str, version: int | None = None) -> tuple[str, ...]:
    """Try to archive, and give the runs that are said to need it; that nothing else does is part of it."""
    is_named = kind in (ModelProfile, McpServer, VectorIndex, Workflow)
    with pytest.raises(InUse) as refused:
        await (retire(store, kind, id) if is_named else archive(store, kind, id, version))
    assert refused.value.users == ()
    assert refused.value.runs.count == len(refused.value.runs.ids)
    return refused.value.runs.ids


async def hide(store: Store, *tables: str) -> None:
    """Archive everything of a kind, as if no run had lived then: a retry of an old run can begin with it again."""
    async with store.transaction() as transaction:
        for table in tables:
            await transaction.run(f"UPDATE {table} SET archived_at = '{LATER}'")


async def flow_of(store: Store, home: Home, name: str, **fields: Any) -> tuple[StoredVersion, StoredVersion]:
    """Store an action, and a workflow whose one node has it; gives both."""
    made = await deploy(store, action(name, home.project_id, **fields))
    content = f"version {made.version}"
    one = await deploy(store, task(name, home.project_id, [(made.id, made.version)], content_hash=content))
    record = workflow_def(name, home.project_id, [(one.id, one.version)], content_hash=content)
    return made, await deploy(store, record)


async def test_res_5_a_live_run_needs_its_version_and_no_other(store: Store, home: Home) -> None:
    _, first = await flow_of(store, home, "flow")
    say = await deploy(store, action("other", home.project_id))
    other = await deploy(store, task("other", home.project_id, [(say.id, 1)]))
    second = await deploy(store, workflow_def("flow", home.project_id, [(other.id, 1)], content_hash="second"))
    assert (second.id, second.version) == (first.id, 2)
    run = await start(store, home, first)
    assert await runs_in_the_way(store, WorkflowDef, first.id, 1) == (run,)
    assert await runs_in_the_way(store, WorkflowDef, first.id) == (run,)
    assert await archive(store, WorkflowDef, first.id, 2) == 1
    await end(store, run)
    assert await archive(store, WorkflowDef, first.id, 1) == 1


async def test_res_5_a_live_run_needs_tasks_and_actions_even_of_an_archived_version(store: Store, home: Home) -> None:
    made = await deploy(store, action("say", home.project_id, content_hash="a"))
    await deploy(store, action("say", home.project_id, content_hash="b"))
    greet = await deploy(store, task("greet", home.project_id, [(made.id, 1)]))
    flow = await deploy(store, workflow_def("flow", home.project_id, [(greet.id, 1)]))
    await hide(store, "workflow_defs")
    run = await start(store, home, flow)
    assert await runs_in_the_way(store, TaskDef, greet.id, 1) == (run,)
    await hide(store, "task_defs")
    assert await runs_in_the_way(store, ActionDef, made.id, 1) == (run,)
    assert await archive(store, ActionDef, made.id, 2) == 1
    await end(store, run)
    assert await archive(store, ActionDef, made.id) == 1


@pytest.mark.parametrize("version", [1, None], ids=["of that version", "of the newest"])
async def test_res_5_a_live_run_needs_what_it_may_still_call(store: Store, home: Home, version: int | None) -> None:
    said, inner = await flow_of(store, home, "inner")
    middle = {"kind": "workflow_call", "implementation": {"workflow_def_id": inner.id, "version": version}}
    _, called = await flow_of(store, home, "middle", **middle)
    outer = {"kind": "workflow_call", "implementation": {"workflow_def_id": called.id, "version": version}}
    _, caller = await flow_of(store, home, "outer", **outer)
    run = await start(store, home, caller)
    await hide(store, "action_defs", "task_defs")
    assert await runs_in_the_way(store, WorkflowDef, caller.id) == (run,)
    assert await runs_in_the_way(store, WorkflowDef, called.id) == (run,)
    assert await runs_in_the_way(store, WorkflowDef, inner.id) == (run,)
    async with store.transaction() as transaction:
        await transaction.run("UPDATE action_defs SET archived_at = NULL WHERE name = 'inner'")
    assert await runs_in_the_way(store, ActionDef, said.id) == (run,)
    await end(store, run)
    for definition in (caller, called, inner):
        assert await archive(store, WorkflowDef, definition.id) == 1


async def test_res_5_a_call_of_the_newest_version_does_not_need_the_others(store: Store, home: Home) -> None:
    _, first = await flow_of(store, home, "inner", content_hash="a")
    _, second = await flow_of(store, home, "inner", content_hash="b")
    assert (first.id, second.version) == (second.id, 2)
    call = {"kind": "workflow_call", "implementation": {"workflow_def_id": first.id, "version": None}}
    _, caller = await flow_of(store, home, "outer", **call)
    run = await start(store, home, caller)
    await hide(store, "action_defs")
    assert await archive(store, WorkflowDef, first.id, 1) == 1
    ((task_id,),) = await store.query("SELECT id FROM task_defs WHERE name = 'inner' AND version = 1")
    assert await archive(store, TaskDef, str(task_id), 1) == 1
    assert await runs_in_the_way(store, WorkflowDef, first.id, 2) == (run,)


async def test_res_5_a_sub_workflow_run_counts_like_any_other_and_once(store: Store, home: Home) -> None:
    _, inner = await flow_of(store, home, "inner")
    call = {"kind": "workflow_call", "implementation": {"workflow_def_id": inner.id, "version": 1}}
    _, outer = await flow_of(store, home, "outer", **call)
    # A workflow that calls itself is not counted again for it.
    again = {"kind": "workflow_call", "implementation": {"workflow_def_id": inner.id, "version": 2}}
    _, itself = await flow_of(store, home, "inner", content_hash="again", **again)
    assert (itself.id, itself.version) == (inner.id, 2)
    runs = (await start(store, home, outer), await start(store, home, inner), await start(store, home, itself))
    await hide(store, "action_defs", "task_defs")
    assert sorted(await runs_in_the_way(store, WorkflowDef, inner.id)) == sorted(runs)
    assert await runs_in_the_way(store, WorkflowDef, inner.id, 2) == (runs[2],)


async def test_res_5_a_live_run_needs_what_its_actions_name(store: Store, home: Home) -> None:
    ask = await deploy(store, prompt("ask", home.project_id, content_hash="a"))
    await deploy(store, prompt("ask", home.project_id, content_hash="b"))
    note = await deploy(store, artifact_type("note", home.project_id, content_hash="a"))
    await deploy(store, artifact_type("note", home.project_id, content_hash="b"))
    small = await put(store, model("small", home.project_id))
    files = await put(store, mcp_server("files", home.project_id))
    notes = await put(store, vector_index("notes", home.project_id, ["x"]))
    named: list[tuple[Any, str, str, dict[str, Any]]] = [
        (PromptSpec, ask.id, "llm_call", {"prompt_spec_id": ask.id, "model_profile_id": small.id}),
        (ModelProfile, small.id, "llm_call", {"prompt_spec_id": "p", "model_profile_id": small.id}),
        (ArtifactType, note.id, "write_artifact", {"artifact_type_id": note.id}),
        (McpServer, files.id, "mcp_tool", {"mcp_server_id": files.id, "tool_name": "t"}),
        (VectorIndex, notes.id, "vector_search", {"vector_index_id": notes.id, "top_k": 1}),
    ]
    runs = []
    for number, (_, _, kind, implementation) in enumerate(named):
        _, flow = await flow_of(store, home, f"{kind} {number}", kind=kind, implementation=implementation)
        runs.append(await start(store, home, flow))
    await hide(store, "action_defs", "task_defs", "workflow_defs")
    for (kind, id, _, _), run in zip(named, runs, strict=True):
        assert run in await runs_in_the_way(store, kind, id)
    # Which version of a prompt a run has found at its start is its own; an artifact's type is looked up by its name.
    assert await runs_in_the_way(store, PromptSpec, ask.id, 1) == (runs[0],)
    assert await archive(store, ArtifactType, note.id, 1) == 1
    await end(store, *runs)
    for kind, id, _, _ in named:
        if kind in (PromptSpec, ArtifactType):
            assert await archive(store, kind, id) >= 1
        else:
            await retire(store, kind, id)


async def test_res_5_a_live_run_needs_its_workflow_and_those_that_it_will_trigger(store: Store, home: Home) -> None:
    _, flow = await flow_of(store, home, "flow")
    own = await put(store, workflow("own", home.project_id, flow.id))
    target = await put(store, workflow("target", home.project_id, flow.id))
    async with store.transaction() as transaction:
        await add_triggers(transaction, [trigger(flow.id, 1, target.id)])
    run = await start(store, home, flow, own.id)
    await hide(store, "workflow_defs")
    assert await runs_in_the_way(store, Workflow, own.id) == (run,)
    assert await runs_in_the_way(store, Workflow, target.id) == (run,)
    await end(store, run)
    await retire(store, Workflow, own.id)
    await retire(store, Workflow, target.id)


async def test_res_5_the_refusal_tells_how_many_runs_there_are_and_how_to_go_on(store: Store, home: Home) -> None:
    _, flow = await flow_of(store, home, "flow")
    runs = [await start(store, home, flow) for _ in range(1_001)]
    with pytest.raises(InUse) as refused:
        await archive(store, WorkflowDef, flow.id)
    shown = ", ".join(runs[:3])
    assert str(refused.value) == (
        f"workflow 'flow' is needed by 1,001 live runs ({shown}, …); wait until the runs have ended, or cancel them"
    )
    await end(store, *runs[1:])
    await put(store, workflow("flow", home.project_id, flow.id))
    with pytest.raises(InUse) as refused:
        await archive(store, WorkflowDef, flow.id)
    assert str(refused.value) == (
        f"workflow 'flow' is used by workflow flow and needed by 1 live run ({runs[0]}); "
        "archive or change those first, and wait until the runs have ended, or cancel them"
    )


async def test_res_5_a_workflow_can_go_once_its_last_run_has_ended(store_url: str) -> None:
    """The same with a real run, which waits for a person."""
    ask = waits("human_input", {"prompt": "?", "schema": {}})
    async with running(store_url) as wonder:
        deployed = await wonder.deploy(bundle("asks", {"first": ask, "second": ask}, line("first", "second")))
        run = await wonder.start(deployed)
        await status_of(wonder, run, "waiting")
        store = wonder.store
        assert await runs_in_the_way(store, Workflow, deployed.id) == (run.id,)
        for _ in range(2):
            await wonder.answer((await open_item(wonder, run)).id, {})
        assert (await run.wait()).status == "completed"
        await retire(store, Workflow, deployed.id)
        assert await archive(store, WorkflowDef, deployed.workflow_def_id) == 1
