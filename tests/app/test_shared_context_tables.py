"""Very many workflows on SQLite: their contexts share tables, and their views are not in the catalogue (CTX-2)."""

import json
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from support.definitions import update, workflow
from wonder.app.application import Application
from wonder.app.opening import open_wonder
from wonder.checker.checking import Count, check_runs
from wonder.storage import context_tables
from wonder.storage.check import check_database
from wonder.storage.reading import QueryRefused, read_only_query, readable_tables

KINDS = ("integer", "number", "boolean", "string")
SCHEMA: Any = {
    "properties": {
        "who": {"type": "string"},
        "done": {"type": "boolean"},
        "share": {"type": "number"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "more": {"type": "array", "items": {"type": "string"}},
        "orders": {
            "type": "array",
            "items": {
                "properties": {"sku": {"type": "string"}, "sizes": {"type": "array", "items": {"type": "integer"}}}
            },
        },
    }
}
ORDERS: Any = [{"sku": "x", "sizes": [40, 41]}, {"sku": "y", "sizes": [42]}]


def greeting(name: str, who: str, **fields: Any) -> dict[str, Any]:
    """A workflow that writes every kind of column and list."""
    values = {
        "state.who": f"'{who}'",
        "state.done": "true",
        "state.share": "0.5",
        "state.tags": "json_array('b', 'a')",
        "state.more": "json_array('c')",
        "state.orders": f"json('{json.dumps(ORDERS)}')",
    }
    return workflow({"a": update(**values)}, name=name, context_schema=SCHEMA, **fields)


def different(number: int) -> dict[str, Any]:
    """A workflow whose context has columns that no other workflow has."""
    fields = {f"field_{number}_{n}": {"type": KINDS[(number + n) % 4]} for n in range(1 + number % 12)}
    lists = {f"list_{number}": {"type": "array", "items": {"type": KINDS[number % 4]}}}
    definition = workflow({"a": update(**{"state.n": "1"})}, name=f"workflow-{number}")
    definition["workflow"]["context_schema"] = {"properties": {"n": {"type": "integer"}, **fields, **lists}}
    return definition


@pytest.fixture
def url(tmp_path: Path) -> str:
    """The address of a new database on SQLite: PostgreSQL's catalogue has room for all."""
    return f"sqlite:///{tmp_path}/wonder.db"


@pytest.fixture
async def wonder(url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Application]:
    """Wonder on a database that has all the tables and views of its own that it may have."""
    monkeypatch.setattr(context_tables, "OWN_TABLES_MAX", 0)
    monkeypatch.setattr(context_tables, "STORED_VIEWS_MAX", 0)
    async with open_wonder(url) as opened:
        yield opened


async def run(wonder: Application, definition: dict[str, Any]) -> str:
    """Deploy and run a workflow to its end, and give the run's id."""
    deployed = await wonder.deploy(definition)
    started = await wonder.start(deployed.name, {})
    assert (await started.wait()).status == "completed"
    return started.id


async def violations(wonder: Application) -> list[str]:
    """Give what the checker has against the runs."""
    return [str(one) async for one in check_runs(wonder.store, Count())]


async def schema(wonder: Application) -> tuple[Any, Any]:
    """Give how many tables, indexes and views the database has, and how often they were changed."""
    ((count,),) = await wonder.store.query("SELECT count(*) FROM sqlite_schema")
    ((changes,),) = await wonder.store.query("SELECT schema_version FROM pragma_schema_version")
    return count, changes


async def test_the_catalogue_does_not_grow_with_the_number_of_workflows(url: str) -> None:
    """Every connection reads all of it anew after each change: 1.8 s after the 3,000th workflow, when it still grew."""
    async with open_wonder(url, runs="none") as wonder:
        (empty, _) = await schema(wonder)
        first, *others = [different(number)["workflow"] for number in range(150)]
        await wonder.deploy({"workflow": first, "workflows": {other["name"]: other for other in others}})
        full = await schema(wonder)
        most = context_tables.OWN_TABLES_MAX + context_tables.STORED_VIEWS_MAX
        shared = await wonder.store.query("SELECT name FROM sqlite_schema WHERE name GLOB 'contexts_*'")
        assert len(shared) < 30
        assert full[0] <= empty + most + len(shared)
        for number in range(150, 170):
            await wonder.deploy(different(number))
        assert await schema(wonder) == full, "nothing is made or changed any more"


async def test_ctx_2_runs_of_many_definitions_share_tables_and_are_told_apart(wonder: Application, url: str) -> None:
    ids = [await run(wonder, greeting(name, name.title())) for name in ("ada", "bob")]
    new = await run(wonder, greeting("ada", "Ada the second"))
    tables = await wonder.store.query("SELECT name FROM sqlite_schema WHERE name GLOB 'context*' AND type = 'table'")
    assert {str(name) for (name,) in tables} == {
        "context_tables",
        "contexts_0_4_4_4",
        "contexts_1_0_0_4",
        "contexts_1_0_0_4_2",
        "contexts_1_0_0_4_3",
        "contexts_2_4_0_0",
    }
    shown = await read_only_query(url, "SELECT run_id, state_who FROM context_bob")
    assert shown.rows == [[ids[1], "Bob"]]
    shown = await read_only_query(url, "SELECT run_id, state_who FROM context_ada")
    assert shown.rows == [[new, "Ada the second"]], "the view is of the newest version"
    assert await violations(wonder) == []
    assert await check_database(wonder.store) == []


async def test_ctx_4_a_context_in_shared_tables_is_read_back_by_another_process(wonder: Application, url: str) -> None:
    id = await run(wonder, greeting("ada", "Ada"))
    shown = await read_only_query(url, "SELECT * FROM context_ada")
    (row,) = [dict(zip(shown.columns, row, strict=True)) for row in shown.rows]
    assert (row["run_id"], row["state_who"], row["state_done"], row["state_share"]) == (id, "Ada", 1, 0.5)
    lists = [json.loads(row[f"state_{name}"]) for name in ("tags", "more", "orders")]
    assert lists == [["b", "a"], ["c"], ORDERS]
    async with open_wonder(url, runs="none") as other:
        assert await violations(other) == []


async def test_the_checker_sees_a_changed_cell_of_a_shared_table(wonder: Application) -> None:
    await run(wonder, greeting("ada", "Ada"))
    async with wonder.store.transaction() as transaction:
        await transaction.run("UPDATE contexts_2_4_0_0 SET integer_1 = 47 WHERE position = 1")
    (violation,) = await violations(wonder)
    assert violation.startswith("context: ")
    assert "47" in violation


async def test_a_row_of_a_shared_table_is_found_by_its_run(wonder: Application) -> None:
    await wonder.deploy(greeting("ada", "Ada"))
    for table in ("contexts_0_4_4_4", "contexts_2_4_0_0"):
        ((*_, plan),) = await wonder.store.query(f"EXPLAIN QUERY PLAN SELECT * FROM {table} WHERE run_id = $1", "x")
        assert str(plan) == f"SEARCH {table} USING PRIMARY KEY (run_id=?)"


async def test_views_that_are_not_in_the_catalogue_are_listed_and_found_in_any_case(
    wonder: Application, url: str
) -> None:
    for name in ("fulfil-order", "Fulfil-Order", 'x"; DROP', "tables"):
        await wonder.deploy(greeting(name, "x"))
    listed = dict(await readable_tables(url))
    names = [name for name in listed if name.startswith("context_") and name != "context_tables"]
    assert len({name.lower() for name in names}) == 4
    assert listed["context_fulfil-order"].startswith("run_id, state_done, state_share, state_who")
    for name in [*names, "CONTEXT_FULFIL-ORDER"]:
        quoted = name.replace('"', '""')
        assert (await read_only_query(url, f'SELECT count(*) FROM "{quoted}"')).rows == [[0]]
    both = (
        """SELECT count(*) FROM "context_fulfil-order" JOIN (SELECT run_id FROM "context_x""; DROP") USING (run_id)"""
    )
    assert (await read_only_query(url, both)).rows == [[0]]


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT * FROM context_ada; SELECT run_id FROM context_ada", "one statement"),
        ("SELECT * FROM context_ada, secrets", "'secrets' can't be read"),
        ("SELECT * FROM context_ada, sqlite_temp_schema", "can't be read"),
        ("SELECT count(*) FROM temp.sqlite_schema, context_ada", "can't be read"),
        ("CREATE TEMP VIEW x AS SELECT * FROM context_ada", "only queries that read"),
        ("DELETE FROM context_ada", "can't|cannot|only"),
        ("SELECT * FROM context_nobody", "no such table: context_nobody; `wonder query --tables`"),
        ("SELECT * FROM context_ada WHERE absent = 1", "no such column: absent"),
    ],
)
async def test_a_view_made_for_a_query_lets_it_do_nothing_else(
    wonder: Application, url: str, sql: str, reason: str
) -> None:
    await wonder.deploy(greeting("ada", "Ada"))
    with pytest.raises(QueryRefused, match=reason):
        await read_only_query(url, sql)


async def test_a_view_of_a_wide_list_can_be_queried_too(wonder: Application, url: str) -> None:
    items: Any = {"properties": {f"field_{number}": {"type": "string"} for number in range(250)}}
    schema: Any = {"properties": {"rows": {"type": "array", "items": items}}}
    rows = update(**{"state.rows": """json('[{"field_7": "seven", "field_249": "last"}]')"""})
    await run(wonder, workflow({"a": rows}, name="wide", context_schema=schema))
    ((text,),) = (await read_only_query(url, "SELECT state_rows FROM context_wide")).rows
    assert json.loads(text) == [{"field_7": "seven", "field_249": "last"}]


async def test_another_program_makes_a_view_with_its_definition(wonder: Application, url: str) -> None:
    """With Python's SQLite, which may be years older than ours."""
    id = await run(wonder, greeting("ada", "Ada"))
    connection = sqlite3.connect(url.removeprefix("sqlite:///"))
    try:
        ((definition,),) = connection.execute("SELECT definition FROM query_views WHERE name = 'context_ada'")
        connection.execute(definition)
        ((*found, tags),) = connection.execute("SELECT run_id, state_who, state_tags FROM context_ada").fetchall()
        assert (found, json.loads(tags)) == ([id, "Ada"], ["b", "a"])
    finally:
        connection.close()


async def test_the_first_workflows_have_a_view_for_any_program(url: str) -> None:
    """With Python's SQLite, which may be years older than ours."""
    async with open_wonder(url) as wonder:
        id = await run(wonder, greeting("ada", "Ada"))
    connection = sqlite3.connect(url.removeprefix("sqlite:///"))
    try:
        ((*found, orders),) = connection.execute("SELECT run_id, state_who, state_orders FROM context_ada").fetchall()
        assert (found, json.loads(orders)[0]) == ([id, "Ada"], ORDERS[0])
    finally:
        connection.close()


async def test_tables_that_a_version_has_stay_its_own_when_later_ones_share(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_wonder(url) as wonder:
        await run(wonder, greeting("ada", "Ada"))
        other = await run(wonder, greeting("bob", "Bob"))
    monkeypatch.setattr(context_tables, "OWN_TABLES_MAX", 0)
    monkeypatch.setattr(context_tables, "STORED_VIEWS_MAX", 1)
    async with open_wonder(url) as wonder:
        new = await run(wonder, greeting("ada", "Ada the second"))
        # One view may be stored, and that is the other workflow's.
        views = await wonder.store.query("SELECT name FROM sqlite_schema WHERE name GLOB 'context_*' AND type = 'view'")
        assert views == [("context_bob",)]
        assert await violations(wonder) == []
        assert await check_database(wonder.store) == []
        ((own,),) = await wonder.store.query(
            "SELECT table_name FROM context_tables WHERE table_name GLOB '*_state_tags' LIMIT 1"
        )
    assert (await read_only_query(url, "SELECT run_id FROM context_ada")).rows == [[new]]
    assert (await read_only_query(url, "SELECT run_id FROM context_bob")).rows == [[other]]
    assert (await read_only_query(url, f'SELECT count(*) FROM "{own}"')).rows == [[2]]
    monkeypatch.setattr(context_tables, "STORED_VIEWS_MAX", 2)
    async with open_wonder(url) as wonder:
        newest = await run(wonder, greeting("ada", "Ada the third"))
        assert await wonder.store.query("SELECT run_id FROM context_ada") == [(newest,)], "it is stored again"
        assert await wonder.store.query("SELECT name FROM query_views") == []
