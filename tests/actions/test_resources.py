"""What definitions only name, as actions find it: settings, models, prompts at a run's start; on both databases."""

from typing import Any

import pytest

from support.stored_records import clock, model, new_id, prompt
from support.systems import bundle, line, open_item, running, waits
from wonder.actions.protocol import Origin
from wonder.actions.resources import NoSecrets, Resources, SecretMissing
from wonder.app.application import Application
from wonder.definitions.records.resources import McpServer, ModelProfile, PromptSpec
from wonder.definitions.records.tenancy import Project, ProjectSettings, Workspace, WorkspaceSettings
from wonder.definitions.secret_scopes import Destination
from wonder.storage.archive import archive_resource
from wonder.storage.definitions import create_version
from wonder.storage.named_resources import put_resource
from wonder.storage.resource_errors import NotFound
from wonder.storage.runs.reading import events_of_run
from wonder.storage.store import Store
from wonder.storage.tenancy import (
    Home,
    create_project,
    create_workspace,
    ensure_default,
    put_project_settings,
    put_workspace_settings,
)


class Clock:
    """A clock that a test moves."""

    now_ms = 1_000_000

    def __call__(self) -> int:
        """Tell the time."""
        return self.now_ms


@pytest.fixture
async def home(store: Store) -> Home:
    """The default workspace and project."""
    return await ensure_default(store, clock=clock, new_id=new_id)


async def another_project(store: Store) -> str:
    """A project of another workspace."""
    stamps = {"created_at": clock(), "updated_at": clock()}
    workspace = Workspace.model_validate({"id": new_id(), "name": "theirs", **stamps})
    project = Project.model_validate({"id": new_id(), "workspace_id": workspace.id, "name": "theirs", **stamps})
    async with store.transaction() as transaction:
        await create_workspace(transaction, workspace)
        await create_project(transaction, project)
    return project.id


async def put(store: Store, record: Any) -> Any:
    """Store a resource."""
    async with store.transaction() as transaction:
        return (await put_resource(transaction, record)).record


async def test_settings_are_those_of_a_second_ago_at_most(store: Store, home: Home) -> None:
    """RES-6: what an administrator changes counts soon, and nothing is read with each call."""
    now = Clock()
    resources = Resources(store, now)
    before = await resources.tenancy(home.project_id)
    assert (before.workspace_id, before.workspace.allow_private_addresses) == (home.workspace_id, False)
    async with store.transaction() as transaction:
        await put_workspace_settings(
            transaction, home.workspace_id, WorkspaceSettings(allow_private_addresses=True, allowed_model_providers=[])
        )
        await put_project_settings(transaction, home.project_id, ProjectSettings(default_model_profile_id="small"))
    now.now_ms += 999
    assert await resources.tenancy(home.project_id) is before
    now.now_ms += 1
    after = await resources.tenancy(home.project_id)
    assert (after.workspace.allow_private_addresses, after.workspace.allowed_model_providers) == (True, [])
    assert after.project.default_model_profile_id == "small"


async def test_a_clock_that_went_back_does_not_keep_old_settings(store: Store, home: Home) -> None:
    """A settings' age is never negative."""
    now = Clock()
    resources = Resources(store, now)
    before = await resources.tenancy(home.project_id)
    now.now_ms -= 5_000
    assert await resources.tenancy(home.project_id) is not before


async def test_a_model_is_found_by_its_id_or_name_as_it_is_now(store: Store, home: Home) -> None:
    """RES-2, RES-7: it has no versions, so a change counts at once."""
    resources = Resources(store, Clock())
    stored = await put(store, model("small", home.project_id, model_id="first"))
    for wanted in (stored.id, "small"):
        assert (await resources.named(ModelProfile, home.project_id, wanted)).model_id == "first"
    await put(store, model("small", home.project_id, model_id="second"))
    for wanted in (stored.id, "small"):
        assert (await resources.named(ModelProfile, home.project_id, wanted)).model_id == "second"
    with pytest.raises(NotFound, match="'large'"):
        await resources.named(ModelProfile, home.project_id, "large")
    with pytest.raises(NotFound, match="MCP server"):
        await resources.named(McpServer, home.project_id, stored.id)


async def test_a_model_is_that_of_a_second_ago_at_most_and_never_older_than_its_run(store: Store, home: Home) -> None:
    """RES-2: who changes a model and then starts a run sees the change; a run under way hears of it soon."""
    now = Clock()
    resources = Resources(store, now)
    await put(store, model("small", home.project_id, model_id="first"))
    assert (await resources.model_of_run("small", Origin(home.project_id, "run 1", "n"))).model_id == "first"
    await put(store, model("small", home.project_id, model_id="second"))
    assert (await resources.model_of_run("small", Origin(home.project_id, "run 1", "n"))).model_id == "first"
    assert (await resources.model_of_run("small", Origin(home.project_id, "run 2", "n"))).model_id == "second"
    now.now_ms += 1_000
    assert (await resources.model_of_run("small", Origin(home.project_id, "run 1", "n"))).model_id == "second"


async def test_what_belongs_to_another_project_is_as_good_as_none(store: Store, home: Home) -> None:
    """INV-7: neither by its id nor by its name."""
    theirs = await put(store, model("secret", await another_project(store)))
    resources = Resources(store, Clock())
    for wanted in (theirs.id, "secret"):
        with pytest.raises(NotFound, match="there is no model"):
            await resources.named(ModelProfile, home.project_id, wanted)


async def test_an_archived_model_is_found_by_its_id_only(store: Store, home: Home) -> None:
    """RES-5: what was bound to it goes on; nothing new finds it."""
    stored = await put(store, model("small", home.project_id))
    async with store.transaction() as transaction:
        await archive_resource(transaction, ModelProfile, stored.id, at=clock())
    resources = Resources(store, Clock())
    assert (await resources.named(ModelProfile, home.project_id, stored.id)).name == "small"
    with pytest.raises(NotFound):
        await resources.named(ModelProfile, home.project_id, "small")


async def test_one_version_of_a_prompt_is_read_once(store: Store, home: Home) -> None:
    """RES-2: it never changes."""
    async with store.transaction() as transaction:
        created = await create_version(transaction, prompt("ask", home.project_id))
    resources = Resources(store, Clock())
    first = await resources.definition(PromptSpec, created.id, 1)
    assert await resources.definition(PromptSpec, created.id, 1) is first
    with pytest.raises(NotFound):
        await resources.definition(PromptSpec, created.id, 2)


async def test_a_prompt_that_is_not_there_is_an_error(store: Store) -> None:
    """As is a run that is not there."""
    resources = Resources(store, Clock())
    with pytest.raises(Exception, match="there is no"):
        await resources.at_start(PromptSpec, "none", Origin("project", "no-run", "node"))


async def test_without_secrets_any_name_is_missing() -> None:
    """The error says how to store it."""
    to_host = Destination("host", "api.example.com")
    assert await NoSecrets().values("project", [], lambda values: to_host) == {}
    with pytest.raises(SecretMissing, match="wonder secrets set KEY"):
        await NoSecrets().values("project", ["KEY"], lambda values: to_host)


def asks_twice(template: str) -> dict[str, Any]:
    """A workflow that asks a model, waits for a person, and asks again."""
    ask = {"kind": "llm_call", "implementation": {"prompt_spec_id": "ask", "model_profile_id": "echo"}}

    def asks(name: str) -> dict[str, Any]:
        return {"action": ask, "input_mapping": {"who": "$.input.who"}, "output_mapping": {f"output.{name}": "$"}}

    nodes = {"first": asks("first"), "gate": waits("human_input", {"prompt": "Go on?"}), "second": asks("second")}
    return {
        **bundle("twice", nodes, line("first", "gate", "second")),
        "prompts": {"ask": {"template": template}},
        "models": {"echo": {"provider": "mock", "model_id": "echo"}},
    }


async def run_through(wonder: Application, run: Any) -> Any:
    """Answer a run's question and give its output."""
    await wonder.answer((await open_item(wonder, run)).id, {})
    return (await run.wait()).output


async def test_a_run_keeps_the_prompt_that_was_the_newest_when_it_started(store_url: str) -> None:
    """RES-4: a new version never changes a run under way; the next run has it."""
    async with running(store_url) as wonder:
        run = await wonder.start(await wonder.deploy(asks_twice("Hello, {{who}}!")), {"who": "Ada"})
        await open_item(wonder, run)
        later = await wonder.start(await wonder.deploy(asks_twice("Good day, {{who}}.")), {"who": "Bob"})
        assert await run_through(wonder, run) == {"first": "Hello, Ada!", "second": "Hello, Ada!"}
        assert await run_through(wonder, later) == {"first": "Good day, Bob.", "second": "Good day, Bob."}


async def test_what_a_call_of_a_model_used_is_on_the_event(store_url: str) -> None:
    """ACT-1: token counts and cost."""
    definition = asks_twice("Hello, {{who}}!")
    usage = {"input_tokens": 1_000, "output_tokens": 100}
    definition["models"]["echo"] |= {
        "execution_config": {"answers": [{"answer": "Hi", "usage": usage}]},
        "cost_per_1k_input_tokens": 0.5,
        "cost_per_1k_output_tokens": 5,
    }
    async with running(store_url) as wonder:
        run = await wonder.start(await wonder.deploy(definition), {"who": "Ada"})
        assert await run_through(wonder, run) == {"first": "Hi", "second": "Hi"}
        events = await events_of_run(wonder.store, run.id)
    assert [(event.tokens, event.cost_usd) for event in events if event.tokens] == [(1_100, 1.0)] * 2
