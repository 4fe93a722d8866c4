"""RES-2: definitions are immutable, numbered per name, and deploying the same twice is harmless."""

import asyncio
from typing import Any

import pytest

from support.processes import run_at_once
from support.stored_records import (
    action,
    artifact_type,
    clock,
    new_id,
    prompt,
    task,
    trigger,
    workflow_def,
)
from wonder.definitions.records.actions import ActionDef
from wonder.definitions.records.graph import WorkflowDef
from wonder.definitions.records.tasks import TaskDef
from wonder.storage.definitions import (
    Definition,
    StoredVersion,
    add_triggers,
    create_version,
    create_versions,
    load_definition,
    load_triggers,
)
from wonder.storage.resource_errors import NotFound
from wonder.storage.store import Store
from wonder.storage.tenancy import Home, ensure_default


@pytest.fixture
async def home(store: Store) -> Home:
    """The default workspace and project."""
    return await ensure_default(store, clock=clock, new_id=new_id)


async def deploy(store: Store, *records: Definition) -> list[StoredVersion]:
    async with store.transaction() as transaction:
        return [await create_version(transaction, record) for record in records]


# Values that a careless way through a database changes.
AWKWARD: dict[str, Any] = {
    "big": 2**200 + 1,
    "past 2^53": 2**53 + 1,
    "float": 1.0,
    "integer": 1,
    "minus zero": -0.0,
    "tiny": 5e-324,
    "empty": {"object": {}, "list": [], "text": ""},
    "null": None,
    "truth": [True, False, 1, 0],
    "text": "𝄞 \" \\ ' \n \t \x7f \u2028 </script> $1 ?1 :name %s",
    "": {"a b": [[[]]]},
    "order": {"z": 1, "a": 2, "m": 3},
}


def exactly(value: Any) -> Any:
    """Spell a value so that 1, 1.0 and True differ, and so do key orders."""
    if isinstance(value, dict):
        return [(key, exactly(item)) for key, item in value.items()]
    if isinstance(value, list):
        return ["list", *map(exactly, value)]
    return type(value).__name__, repr(value)


@pytest.mark.parametrize("make", [action, prompt, artifact_type])
async def test_a_definition_comes_back_as_it_went_in(store: Store, home: Home, make: Any) -> None:
    record = make("first", home.project_id, description="what it is for ✓")
    assert await deploy(store, record) == [StoredVersion("first", record.id, 1, True)]
    assert await load_definition(store, type(record), record.id, 1) == record


async def test_ctx_7_values_in_definitions_come_back_to_the_letter(store: Store, home: Home) -> None:
    deep: Any = 1
    for _ in range(150):
        deep = [deep]
    record = action(
        "awkward",
        home.project_id,
        kind="update_context",
        implementation={"updates": [{"path": "state.x", "expr": AWKWARD}], "scope": "task"},
        requires={"const": AWKWARD},
        produces={"const": deep},
        tags=["a", "ä"],
        execution={"timeout_ms": 1, "retry_policy": {"max_attempts": 2, "retryable_errors": ["*"]}},
        idempotency={"key_template": "{{input.x}}"},
    )
    await deploy(store, record)
    loaded = await load_definition(store, ActionDef, record.id, 1)
    assert exactly(loaded.model_dump(by_alias=True)) == exactly(record.model_dump(by_alias=True))


async def test_a_whole_workflow_comes_back_as_it_went_in(store: Store, home: Home) -> None:
    (say,) = await deploy(store, action("say", home.project_id))
    steps = [(say.id, 1)] * 3
    greet = task("greet", home.project_id, steps, retry={"max_attempts": 3}, timeout_ms=10**12, queue="gpu")
    first, *others = greet.steps
    condition = {"if": "input.x > 1", "then": "succeed", "else": "fail"}
    given = {
        "condition": condition,
        "input_mapping": "$.input",
        "output_mapping": {"output": "$"},
        "on_failure": "retry",
    }
    steps_written = [type(first).model_validate(first.model_dump() | given), *others]
    greet = greet.model_copy(update={"steps": steps_written})
    await deploy(store, greet)
    assert await load_definition(store, TaskDef, greet.id) == greet

    graph = workflow_def("flow", home.project_id, [(greet.id, 1)] * 4, timeout_ms=5, on_timeout="fail", tags=["x"])
    edges = [edge.model_dump(by_alias=True) for edge in graph.transitions]
    edges[0] |= {"ref": "each", "foreach": {"collection": "input.names", "item_var": "name", "max_parallel": 2}}
    edges[1] |= {
        "condition": {"type": "structured", "definition": {"type": "comparison", "left": AWKWARD}},
        "synchronization": {"strategy": {"m_of_n": 2}, "sibling_group": "each", "timeout_ms": 5},
        "priority": -(2**31),
    }
    edges[2] |= {
        "spawn_count": 3,
        "loop_config": {"max_iterations": 2},
        "condition": {"type": "expression", "expr": "1"},
    }
    graph = WorkflowDef.model_validate(graph.model_dump(by_alias=True) | {"transitions": edges[::-1]})
    await deploy(store, graph)
    loaded = await load_definition(store, WorkflowDef, graph.id, 1)
    assert loaded == graph
    assert [edge.id for edge in loaded.transitions] == [edge["id"] for edge in edges[::-1]]


async def test_other_content_under_a_name_is_the_next_version_of_the_same_id(store: Store, home: Home) -> None:
    records = [action("say", home.project_id, content_hash=hash, version=7) for hash in ("a", "b", "a")]
    stored = await deploy(store, *records)
    assert [(one.version, one.is_new) for one in stored] == [(1, True), (2, True), (3, True)]
    assert {one.id for one in stored} == {records[0].id}
    newest = await load_definition(store, ActionDef, records[0].id)
    assert (newest.version, newest.content_hash) == (3, "a")
    assert (await load_definition(store, ActionDef, records[0].id, 2)).content_hash == "b"


async def test_the_same_content_again_makes_no_version(store: Store, home: Home) -> None:
    (say,) = await deploy(store, action("say", home.project_id))
    first, second = (task("t", home.project_id, [(say.id, 1)], content_hash="same") for _ in range(2))
    assert (await deploy(store, first))[0].is_new
    assert await deploy(store, second) == [StoredVersion("t", first.id, 1, False)]
    assert await load_definition(store, TaskDef, first.id) == first


async def test_many_definitions_of_a_kind_are_stored_by_one_call(store: Store, home: Home) -> None:
    await deploy(store, action("b", home.project_id, content_hash="old"))
    records = [action(name, home.project_id, content_hash=f"new {name}") for name in "cab"]
    async with store.transaction() as transaction:
        stored = await create_versions(transaction, records)
        assert await create_versions(transaction, [action("x", home.project_id)][:0]) == []
    assert [(one.name, one.version, one.is_new) for one in stored] == [("c", 1, True), ("a", 1, True), ("b", 2, True)]
    for record, one in zip(records, stored, strict=True):
        assert (await load_definition(store, ActionDef, one.id, one.version)).content_hash == record.content_hash


async def test_nothing_is_half_stored_when_a_part_is_refused(store: Store, home: Home) -> None:
    async def deploy_with_a_fault() -> None:
        async with store.transaction() as transaction:
            await create_version(transaction, action("say", home.project_id))
            await create_version(transaction, task("t", home.project_id, [("no such action", 1)]))

    with pytest.raises(Exception, match=r"(?i)foreign key"):
        await deploy_with_a_fault()
    assert await store.query("SELECT count(*) FROM action_defs") == [(0,)]
    assert await store.query("SELECT count(*) FROM task_defs") == [(0,)]


async def test_the_same_name_in_two_owners_is_two_definitions(store: Store, home: Home) -> None:
    async with store.transaction() as transaction:
        await transaction.run(
            "INSERT INTO libraries (id, workspace_id, name, created_at, updated_at) VALUES ($1, NULL, $1, '', '')",
            [("lib",)],
        )
    mine, theirs = action("say", home.project_id), action("say", None, library_id="lib")
    stored = await deploy(store, mine, theirs)
    assert [(one.id, one.version) for one in stored] == [(mine.id, 1), (theirs.id, 1)]
    assert (await load_definition(store, ActionDef, theirs.id)).library_id == "lib"


async def test_a_definition_needs_an_owner_that_exists(store: Store) -> None:
    with pytest.raises(NotFound, match="no project 'nobody'"):
        await deploy(store, action("say", "nobody"))


async def test_what_is_not_there_is_not_found(store: Store, home: Home) -> None:
    (say,) = await deploy(store, action("say", home.project_id))
    with pytest.raises(NotFound, match="no action"):
        await load_definition(store, ActionDef, "nothing")
    with pytest.raises(NotFound, match=f"{say.id}@2"):
        await load_definition(store, ActionDef, say.id, 2)


async def test_triggers_belong_to_a_version(store: Store, home: Home) -> None:
    (say,) = await deploy(store, action("say", home.project_id))
    (greet,) = await deploy(store, task("t", home.project_id, [(say.id, 1)]))
    (flow,) = await deploy(store, workflow_def("flow", home.project_id, [(greet.id, 1)]))
    triggers = [
        trigger(flow.id, 1, "other", ordinal=1, forEach="@output.items", inputs=AWKWARD, max_retries=2),
        trigger(flow.id, 1, "another"),
    ]
    async with store.transaction() as transaction:
        await add_triggers(transaction, triggers)
    assert await load_triggers(store, flow.id, 1) == triggers[::-1]
    assert await load_triggers(store, flow.id, 2) == []


async def test_concurrent_deploys_of_one_name_give_consecutive_versions(store: Store, home: Home) -> None:
    async def one(number: int) -> int:
        return (await deploy(store, action("say", home.project_id, content_hash=str(number))))[0].version

    versions = await asyncio.gather(*(one(number) for number in range(30)))
    assert sorted(versions) == list(range(1, 31))


async def test_concurrent_deploys_from_several_processes_lose_none(store: Store, store_url: str, home: Home) -> None:
    await deploy(store, action("say", home.project_id, content_hash="first"))
    commands = [["deploy", store_url, home.project_id, "say", f"writer {number}", "10"] for number in range(4)]
    answers = await asyncio.to_thread(run_at_once, commands)
    assert sorted(version for versions in answers for version in versions) == list(range(2, 42))
    rows = await store.query("SELECT id, version, content_hash FROM action_defs ORDER BY version")
    assert [row[1] for row in rows] == list(range(1, 42))
    assert len({row[0] for row in rows}) == 1
    assert len({row[2] for row in rows}) == 41
