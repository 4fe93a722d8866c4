"""Deploying a bundle (RES-2, RES-4, FIL-6): all of it or nothing, with versions, on both databases."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.definitions import GREET_EVERYONE, noop, workflow
from wonder.app.application import Application
from wonder.app.ids import new_ulid
from wonder.app.opening import open_app
from wonder.definitions.faults import DefinitionRefused
from wonder.definitions.loading import load_text, load_value
from wonder.definitions.records.actions import ActionDef
from wonder.definitions.records.graph import WorkflowDef
from wonder.definitions.records.resources import McpServer, VectorIndex
from wonder.definitions.records.tenancy import Library, WorkspaceSettings
from wonder.definitions.records.workflows import Workflow
from wonder.storage.clock import utc_now
from wonder.storage.definitions import Owner, load_definition, load_triggers
from wonder.storage.deploying import Deployed
from wonder.storage.mcp_approvals import list_approvals
from wonder.storage.named_resources import find_resource, put_resource
from wonder.storage.names import find_definition
from wonder.storage.resource_errors import ServerFixed
from wonder.storage.store import Store
from wonder.storage.tenancy import create_library, ensure_default, put_workspace_settings
from wonder.storage.written import load_written


@pytest.fixture
async def app(store: Store) -> AsyncIterator[Application]:
    """Wonder on an empty database."""
    return Application(store, await ensure_default(store, clock=utc_now, new_id=new_ulid), utc_now, new_ulid)


async def deploy(app: Application, definition: str | dict[str, Any]) -> Deployed:
    loaded = load_text(definition, "test.yaml") if isinstance(definition, str) else load_value(definition)
    return (await app.deploy_loaded(loaded))[0]


async def test_res_2_the_same_content_makes_no_new_version(app: Application) -> None:
    first = await deploy(app, GREET_EVERYONE)
    again = await deploy(
        app,
        GREET_EVERYONE.replace(
            "  timeout_ms: 60000\n  on_timeout: fail\n", "  on_timeout: fail\n  timeout_ms: 60000\n"
        ),
    )
    assert first.main
    assert again.main
    assert (first.main.version, first.main.is_new) == (1, True)
    assert (again.main.id, again.main.version, again.main.is_new) == (first.main.id, 1, False)
    assert not any(stored.is_new for _, stored in again.others)


async def test_res_2_a_changed_action_makes_new_versions_of_all_that_is_made_of_it_and_of_nothing_else(
    app: Application,
) -> None:
    await deploy(app, GREET_EVERYONE)
    changed = await deploy(app, GREET_EVERYONE.replace("greetings:say", "greetings:shout"))
    fresh = {(kind, stored.name): stored.version for kind, stored in changed.others if stored.is_new}
    assert fresh == {("action", "say"): 2, ("task", "greet-one"): 2}
    assert changed.main
    assert changed.main.version == 2


async def test_a_stored_workflow_comes_back_as_it_was_written(app: Application) -> None:
    await deploy(app, GREET_EVERYONE)
    written = await load_written(app.store, app.home.project_id, "greet-everyone")
    definition = written.form["workflow"]
    assert definition["input_schema"] == {
        "type": "object",
        "required": ["names"],
        "properties": {"names": {"type": "array", "items": {"type": "string"}}},
    }
    assert (definition["timeout_ms"], definition["on_timeout"]) == (60000, "fail")
    assert list(definition["nodes"]) == ["start", "greet", "done"]
    assert definition["transitions"][0] == {
        "from": "start",
        "to": "greet",
        "foreach": {"collection": "input.names", "item_var": "name"},
    }
    assert written.form["actions"]["greet-everyone.start@1"]["implementation"] == {"updates": [], "scope": "workflow"}


async def test_fil_6_deploying_leaves_enabled_and_pinned_version_alone(app: Application) -> None:
    await deploy(app, GREET_EVERYONE)
    bound = await find_resource(app.store, Workflow, app.home.project_id, "greet-everyone")
    assert bound is not None
    assert (bound.enabled, bound.pinned_version) == (True, None)
    async with app.store.transaction() as transaction:
        await put_resource(transaction, bound.model_copy(update={"enabled": False, "pinned_version": 1}))
    await deploy(app, GREET_EVERYONE.replace("60000", "70000"))
    kept = await find_resource(app.store, Workflow, app.home.project_id, "greet-everyone")
    assert kept is not None
    assert (kept.enabled, kept.pinned_version) == (False, 1)


async def test_res_4_a_name_without_a_version_is_stored_as_the_newest_number(app: Application) -> None:
    await deploy(app, GREET_EVERYONE)
    await deploy(app, GREET_EVERYONE.replace("greetings:say", "greetings:shout"))
    user = workflow({"a": {"task": "greet-one"}, "b": {"task": "greet-one@1"}}, [{"from": "a", "to": "b"}])
    await deploy(app, user)
    # A third version, which what is stored already does not follow.
    await deploy(app, GREET_EVERYONE.replace("greetings:say", "greetings:whisper"))
    nodes = (await load_written(app.store, app.home.project_id, "test")).form["workflow"]["nodes"]
    assert (nodes["a"]["task"], nodes["b"]["task"]) == ("greet-one@2", "greet-one@1")


async def test_res_4_names_are_found_in_libraries_and_in_two_they_are_ambiguous(app: Application) -> None:
    shared = {"tasks": {"shared": {"steps": [{"ref": "s", "action": noop()["action"]}]}}}
    await deploy(app, {"libraries": {"first": shared}})
    await deploy(app, workflow({"a": {"task": "shared"}}))
    await deploy(app, {"libraries": {"second": shared}})
    with pytest.raises(DefinitionRefused) as caught:
        await deploy(app, workflow({"a": {"task": "shared"}}, description="changed"))
    (fault,) = caught.value.faults
    assert (fault.code, fault.hint) == ("ambiguous_ref", "write library/name@version")
    assert "first" in fault.message
    assert "second" in fault.message
    await deploy(app, workflow({"a": {"task": "second/shared@1"}}))


async def test_res_7_an_id_stands_wherever_a_name_does_but_not_that_of_another_workspace(app: Application) -> None:
    deployed = await deploy(app, GREET_EVERYONE)
    task_id = next(stored.id for kind, stored in deployed.others if kind == "task")
    await deploy(app, workflow({"a": {"task": task_id}}))
    async with app.store.transaction() as transaction:
        now = utc_now()
        other = Library(id=new_ulid(), workspace_id=None, name="public", created_at=now, updated_at=now)
        await create_library(transaction, other)
    with pytest.raises(DefinitionRefused):
        await deploy(app, workflow({"a": {"task": new_ulid()}}))


async def test_a_library_can_not_name_what_is_in_one_project(app: Application) -> None:
    await deploy(app, GREET_EVERYONE)
    with pytest.raises(DefinitionRefused, match="there is no task 'greet-one'"):
        await deploy(app, {"libraries": {"shared": {"workflows": workflows_of({"a": {"task": "greet-one"}})}}})


def workflows_of(nodes: dict[str, Any]) -> dict[str, Any]:
    body = workflow(nodes)["workflow"]
    del body["name"]
    return {"inner": body}


async def test_a_workflow_may_call_itself_and_others_of_its_file(app: Application) -> None:
    call = {"kind": "workflow_call", "implementation": {"workflow_def_id": "test"}}
    definition = workflow({"a": {"action": call}})
    deployed = await deploy(app, definition)
    assert deployed.main
    found = await find_definition(app.store, ActionDef, Owner("project", app.home.project_id), "test.a")
    assert found is not None
    action = await load_definition(app.store, ActionDef, found.id, found.version)
    assert action.implementation["workflow_def_id"] == deployed.main.id
    again = await deploy(app, definition)
    assert again.main
    assert not again.main.is_new


async def test_everything_else_of_a_bundle_is_stored_and_named_by_id(app: Application) -> None:
    definition = {
        **workflow(
            {
                "ask": {
                    "action": {"kind": "llm_call", "implementation": {"prompt_spec_id": "p", "model_profile_id": "m"}}
                }
            }
        ),
        "prompts": {"p": {"template": "Say {{word}}", "requires": {"type": "object"}, "produces": {}}},
        "models": {"m": {"provider": "mock", "model_id": "small"}},
        "mcp_servers": {"files": {"transport": "stdio", "command": ["files", "--root", "."]}},
        "artifact_types": {"report": {"schema": {"type": "object"}}},
        "vector_indexes": {
            "reports": {
                "artifact_type_ids": ["report"],
                "embedding_provider": "local",
                "embedding_model": "mini",
                "dimensions": 384,
                "content_fields": ["text"],
            }
        },
        "triggers": [{"workflowId": "test", "inputs": {"x": "@output"}}],
    }
    deployed = await deploy(app, definition)
    again = await deploy(app, definition)
    assert not any(stored.is_new for _, stored in again.others)
    ids = {(kind, stored.name): stored.id for kind, stored in deployed.others}
    action = await load_definition(app.store, ActionDef, ids["action", "test.ask"])
    assert action.implementation["prompt_spec_id"] == ids["prompt", "p"]
    index = await find_resource(app.store, VectorIndex, app.home.project_id, "reports")
    assert index is not None
    assert index.artifact_type_ids == [ids["artifact_type", "report"]]
    assert deployed.main
    (trigger,) = await load_triggers(app.store, deployed.main.id, deployed.main.version)
    assert (trigger.workflow_id, trigger.inputs) == ("test", {"x": "@output"})


async def test_res_6_a_bundle_can_not_change_a_server_that_the_workspace_allows(app: Application) -> None:
    """What an admin has allowed is the server that was there then, and not whatever a file calls by its name."""

    def serves(*command: str) -> dict[str, Any]:
        return {"mcp_servers": {"git": {"transport": "stdio", "command": list(command)}}}

    async def allow(names: list[str]) -> None:
        async with app.store.transaction() as transaction:
            settings = WorkspaceSettings(allowed_mcp_servers=names)
            await put_workspace_settings(transaction, app.home.workspace_id, settings)

    await deploy(app, serves("mcp-server-git"))
    await allow(["git"])
    await deploy(app, serves("mcp-server-git"))
    with pytest.raises(ServerFixed, match="'git'"):
        await deploy(app, serves("sh", "-c", "id"))
    stored = await find_resource(app.store, McpServer, app.home.project_id, "git")
    assert isinstance(stored, McpServer)
    assert stored.connection.command == ["mcp-server-git"]  # type: ignore[union-attr]
    loaded = load_value(serves("mcp-server-git", "--debug"))
    await app.deploy_loaded(loaded, allow_mcp=["git"])
    assert (await list_approvals(app.store, app.home.project_id))[0].what == '["mcp-server-git","--debug"]'
    await allow([])
    await deploy(app, serves("mcp-server-git", "--verbose"))


async def test_ctx_2_deploying_makes_the_context_tables_and_a_view_for_people(app: Application) -> None:
    await deploy(app, GREET_EVERYONE)
    await deploy(app, GREET_EVERYONE.replace("lines", "rows"))
    rows = await app.store.query('SELECT count(*) FROM "context_greet-everyone"')
    assert rows == [(0,)]
    versions = await app.store.query("SELECT DISTINCT workflow_def_version FROM context_tables WHERE kind = 'table'")
    assert sorted(version for (version,) in versions) == [1, 2]


async def test_two_workflows_whose_names_differ_only_in_case_have_a_view_each(app: Application) -> None:
    body = workflow({"a": noop()})["workflow"]
    for name in ("twin", "Twin"):
        await deploy(app, {"workflow": {**body, "name": name}})
    views = await app.store.query("SELECT table_name FROM context_tables WHERE kind = 'view'")
    assert len({str(name).lower() for (name,) in views}) == 2


async def test_nothing_is_half_stored_when_a_deployment_fails_in_the_middle(app: Application) -> None:
    calls = 0

    def failing_id() -> str:
        nonlocal calls
        calls += 1
        if calls > 6:
            raise RuntimeError("the power went out")
        return new_ulid()

    broken = Application(app.store, app.home, app.clock, failing_id)
    with pytest.raises(RuntimeError):
        await deploy(broken, GREET_EVERYONE)
    for table in ("workflow_defs", "task_defs", "action_defs", "nodes", "workflows", "context_tables"):
        assert await app.store.query(f"SELECT count(*) FROM {table}") == [(0,)]


async def test_res_2_deploys_at_the_same_time_give_consecutive_versions_and_lose_none(store_url: str) -> None:
    async def one(number: int) -> int:
        async with open_app(store_url) as app:
            deployed = await deploy(app, GREET_EVERYONE.replace("60000", str(60_000 + number)))
            assert deployed.main
            return deployed.main.version

    async with open_app(store_url):
        pass
    versions = await asyncio.gather(*(one(number) for number in range(8)))
    assert sorted(versions) == list(range(1, 9))
    async with open_app(store_url) as app:
        found = await find_definition(app.store, WorkflowDef, Owner("project", app.home.project_id), "greet-everyone")
        assert found
        timeouts = [(await load_definition(app.store, WorkflowDef, found.id, v)).timeout_ms for v in range(1, 9)]
        assert sorted(timeouts) == list(range(60_000, 60_008))


async def test_phs_6_triggers_that_come_back_through_what_is_stored_are_a_warning(app: Application) -> None:
    def triggering(name: str, target: str) -> dict[str, Any]:
        return {**workflow({"n": noop()}, name=name), "triggers": [{"workflowId": target, "inputs": {}}]}

    await deploy(app, triggering("third", "first"))
    await deploy(app, triggering("second", "third"))
    _, warnings = await app.deploy_loaded(load_value(triggering("first", "second")))
    (warning,) = warnings
    assert (warning.code, warning.path) == ("trigger_cycle", ("triggers", 0, "workflowId"))
    assert warning.message == "'first' triggers itself through 'second' → 'third'"
