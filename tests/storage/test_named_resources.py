"""RES-2, RES-3, FIL-6: what a project has under a name, without versions."""

import asyncio
from typing import Any

import pytest

from support.stored_records import (
    LATER,
    action,
    clock,
    mcp_server,
    model,
    new_id,
    task,
    vector_index,
    workflow,
    workflow_def,
)
from wonder.definitions.records.resources import McpServer, ModelProfile
from wonder.definitions.records.workflows import Workflow
from wonder.storage.archive import archive_resource
from wonder.storage.definitions import create_version
from wonder.storage.errors import ConstraintViolated
from wonder.storage.named_resources import (
    Put,
    ensure_resource,
    find_resource,
    list_resources,
    load_resource,
    put_resource,
)
from wonder.storage.resource_errors import NotFound
from wonder.storage.store import Store
from wonder.storage.tenancy import Home, ensure_default


@pytest.fixture
async def home(store: Store) -> Home:
    """The default workspace and project."""
    return await ensure_default(store, clock=clock, new_id=new_id)


@pytest.fixture
async def definition_id(store: Store, home: Home) -> str:
    """A stored workflow definition."""
    async with store.transaction() as transaction:
        say = await create_version(transaction, action("say", home.project_id))
        greet = await create_version(transaction, task("greet", home.project_id, [(say.id, 1)]))
        return (await create_version(transaction, workflow_def("flow", home.project_id, [(greet.id, 1)]))).id


async def put(store: Store, record: Any) -> Put[Any]:
    async with store.transaction() as transaction:
        return await put_resource(transaction, record)


async def test_resources_come_back_as_they_went_in(store: Store, home: Home, definition_id: str) -> None:
    http = {"transport": "http", "url": "https://example.org/mcp", "headers": {"A": "ä"}}
    for record in (
        model("free", home.project_id),
        model(
            "priced",
            home.project_id,
            provider="anthropic",
            parameters={"temperature": 0.1, "max_tokens": 5, "top_p": 1.0, "stop_sequences": ["\n"]},
            execution_config={"big": 2**70, "float": 1.0},
            cost_per_1k_input_tokens=0.003,
            cost_per_1k_output_tokens=15.0,
        ),
        mcp_server("stdio", home.project_id),
        mcp_server("http", home.project_id, connection=http),
        vector_index("index", home.project_id, ["a", "b"], auto_index=False),
        workflow("flow", home.project_id, definition_id, description="✓"),
        workflow("pinned", home.project_id, definition_id, pinned_version=1, enabled=False),
    ):
        assert await put(store, record) == Put(record, is_new=True, is_changed=True)
        assert await load_resource(store, type(record), record.id) == record
        assert await find_resource(store, type(record), home.project_id, record.name) == record


async def test_putting_a_name_again_changes_it_and_keeps_its_id(store: Store, home: Home) -> None:
    first = (await put(store, model("m", home.project_id))).record
    changed = await put(store, model("m", home.project_id, model_id="new", created_at=LATER, updated_at=LATER))
    assert (changed.is_new, changed.is_changed) == (False, True)
    stored = await load_resource(store, ModelProfile, first.id)
    assert stored == changed.record
    assert (stored.model_id, stored.created_at, stored.updated_at) == ("new", first.created_at, LATER)


async def test_putting_the_same_again_writes_nothing(store: Store, home: Home) -> None:
    first = (await put(store, mcp_server("m", home.project_id))).record
    again = await put(store, mcp_server("m", home.project_id, created_at=LATER, updated_at=LATER))
    assert again == Put(first, is_new=False, is_changed=False)
    assert await load_resource(store, McpServer, first.id) == first


async def test_fil_6_deploying_leaves_a_workflow_that_is_there_alone(
    store: Store, home: Home, definition_id: str
) -> None:
    settings = {"pinned_version": 1, "enabled": False}
    theirs = (await put(store, workflow("flow", home.project_id, definition_id, **settings))).record
    async with store.transaction() as transaction:
        kept = await ensure_resource(transaction, workflow("flow", home.project_id, definition_id))
        made = await ensure_resource(transaction, workflow("other", home.project_id, definition_id))
    assert kept == Put(theirs, is_new=False, is_changed=False)
    assert made.is_new
    assert await find_resource(store, Workflow, home.project_id, "flow") == theirs


async def test_a_workflow_binds_only_what_exists(store: Store, home: Home, definition_id: str) -> None:
    with pytest.raises(NotFound, match="no workflow 'nothing'"):
        await put(store, workflow("flow", home.project_id, "nothing"))
    with pytest.raises(ConstraintViolated):
        await put(store, workflow("flow", home.project_id, definition_id, pinned_version=2))
    with pytest.raises(NotFound, match="no project 'nobody'"):
        await put(store, workflow("flow", "nobody", definition_id))
    with pytest.raises(NotFound):
        await load_resource(store, Workflow, "nothing")


async def test_an_archived_name_is_free_again(store: Store, home: Home) -> None:
    first = (await put(store, model("m", home.project_id))).record
    async with store.transaction() as transaction:
        await archive_resource(transaction, ModelProfile, first.id, at=LATER)
    second = await put(store, model("m", home.project_id))
    assert second.is_new
    assert second.record.id != first.id
    assert await load_resource(store, ModelProfile, first.id) == first


async def test_concurrent_puts_of_one_name_make_one_resource(store: Store, home: Home) -> None:
    results = await asyncio.gather(*(put(store, model("m", home.project_id, model_id=f"{n}")) for n in range(10)))
    assert sum(result.is_new for result in results) == 1
    assert len({result.record.id for result in results}) == 1
    assert await store.query("SELECT count(*) FROM model_profiles") == [(1,)]


async def test_an_id_of_another_name_is_not_overwritten(store: Store, home: Home) -> None:
    first = (await put(store, model("m", home.project_id))).record
    with pytest.raises(AssertionError, match="belongs to another"):
        await put(store, model("other", home.project_id, id=first.id, model_id="changed"))
    assert await load_resource(store, ModelProfile, first.id) == first


async def test_resources_are_listed_by_name_or_youngest_first(store: Store, home: Home) -> None:
    for name in ("b", "a", "c"):
        await put(store, model(name, home.project_id))
    first = await list_resources(store, ModelProfile, home.project_id, limit=2)
    rest = await list_resources(store, ModelProfile, home.project_id, limit=2, cursor=first.cursor)
    assert [one.name for one in first.items + rest.items] == ["a", "b", "c"]
    assert rest.cursor is None
    newest = await list_resources(store, ModelProfile, home.project_id, order="newest", limit=2)
    oldest = await list_resources(store, ModelProfile, home.project_id, order="newest", cursor=newest.cursor)
    assert [one.name for one in newest.items + oldest.items] == ["c", "a", "b"]
    assert (await list_resources(store, McpServer, home.project_id)).items == []
