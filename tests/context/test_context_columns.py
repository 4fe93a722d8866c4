"""Where a value is found: typed columns, child tables, JSON, and the names that they get (CTX-2)."""

from typing import Any

import pytest

from support.contexts import AWKWARD_NAMES, create, read, write
from wonder.context.forms import OPEN, ArrayForm, ObjectForm, ScalarForm, form_of
from wonder.context.layout import MAX_COLUMNS, MAX_TABLES
from wonder.context.names import IDENTIFIER_BYTES
from wonder.context.plan import ContextPlan, plan_context, table_prefix
from wonder.language.values import canonical_json
from wonder.storage.store import Store

SOURCE_EXAMPLE: Any = {
    "type": "object",
    "properties": {
        "user_id": {"type": "integer"},
        "approved": {"type": "boolean"},
        "score": {"type": ["number", "null"]},
        "results": {"type": "array", "items": {"type": "string"}},
        "metadata": {
            "type": "object",
            "properties": {"timestamp": {"type": "integer"}, "source": {"type": "string"}},
        },
        "orders": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"sku": {"type": "string"}, "sizes": {"type": "array", "items": {"type": "integer"}}},
            },
        },
        "anything": {},
    },
}
STATE: dict[str, Any] = {
    "user_id": 2**60,
    "approved": True,
    "score": 0.5,
    "results": ["a", "b"],
    "metadata": {"timestamp": 5, "source": "web"},
    "orders": [{"sku": "x", "sizes": [40, 41]}, {"sku": "y"}],
    "anything": {"free": [1, None]},
}


def state_plan(schema: Any, prefix: str = "context_test_1") -> ContextPlan:
    """A plan for a state alone."""
    return plan_context(prefix, input_schema={}, context_schema=schema, output_schema={})


def context_of(state: Any) -> dict[str, Any]:
    return {"input": {}, "state": state, "output": {}}


async def store_state(store: Store, plan: ContextPlan, state: Any) -> None:
    async with store.transaction() as transaction:
        await create(transaction, plan, store.dialect)
        await write(transaction, plan.insert("run", context_of(state)))


async def test_ctx_2_scalars_are_found_in_typed_columns_and_not_in_json(store: Store) -> None:
    await store_state(store, state_plan(SOURCE_EXAMPLE), STATE)
    columns = ["state_user_id", "state_approved", "state_score", "state_metadata_timestamp", "state_metadata_source"]
    type_of = "typeof" if store.dialect == "sqlite" else "pg_typeof"
    types = ", ".join(f"CAST({type_of}({column}) AS text)" for column in columns)
    (found,) = await store.query(f"SELECT {types} FROM context_test_1")
    expected = {
        "sqlite": ("integer", "integer", "real", "integer", "text"),
        "postgresql": ("bigint", "boolean", "double precision", "bigint", "text"),
    }
    assert found == expected[store.dialect]
    (row,) = await store.query(f"SELECT {', '.join(columns)}, _rest FROM context_test_1 WHERE state_user_id > 7")
    assert row == (2**60, True, 0.5, 5, "web", None)


async def test_ctx_2_arrays_are_child_tables_in_order(store: Store) -> None:
    await store_state(store, state_plan(SOURCE_EXAMPLE), STATE)
    results = await store.query("SELECT run_id, position, value FROM context_test_1_state_results ORDER BY position")
    assert results == [("run", 0, "a"), ("run", 1, "b")]
    orders = await store.query("SELECT position, sku FROM context_test_1_state_orders ORDER BY position")
    assert orders == [(0, "x"), (1, "y")]
    sizes = await store.query("SELECT position_1, position, value FROM context_test_1_state_orders_sizes ORDER BY 1, 2")
    assert sizes == [(0, 0, 40), (0, 1, 41)]


async def test_ctx_2_what_the_schema_leaves_open_is_json(store: Store) -> None:
    await store_state(store, state_plan(SOURCE_EXAMPLE), STATE)
    arrow = "->>" if store.dialect == "postgresql" else "->"
    assert await store.query(f"SELECT state_anything {arrow} 'free' FROM context_test_1") == [("[1,null]",)]


async def test_a_run_of_scalars_costs_one_row() -> None:
    schema: Any = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}
    plan = plan_context("p", input_schema=schema, context_schema=schema, output_schema=schema)
    writes = plan.insert("run", {"input": {"a": 1, "b": "x"}, "state": {"a": 2}, "output": {}})
    assert [len(rows) for _, rows in writes] == [1]


async def test_a_list_in_the_input_costs_no_rows_of_its_own() -> None:
    plan = plan_context("p", input_schema={"properties": {"names": {"type": "array", "items": {"type": "string"}}}})
    writes = plan.insert("run", {"input": {"names": ["a"] * 1000}, "state": {}, "output": {}})
    assert [len(rows) for _, rows in writes] == [1]


@pytest.mark.parametrize(
    ("schema", "form"),
    [
        ({"type": "string"}, ScalarForm("string")),
        ({"type": ["integer", "null"]}, ScalarForm("integer")),
        ({"type": ["null", "number", "integer"]}, ScalarForm("number")),
        ({"enum": ["a", "b", None]}, ScalarForm("string")),
        ({"enum": [1, 2.5]}, ScalarForm("number")),
        ({"const": True}, ScalarForm("boolean")),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, ScalarForm("string")),
        ({"oneOf": [{"const": "a"}, {"const": "b"}]}, ScalarForm("string")),
        ({"allOf": [{"$ref": "#/$defs/name"}]}, ScalarForm("string")),
        ({"$ref": "#/$defs/a~1b%20c"}, ScalarForm("boolean")),
        ({"properties": {"a": True}}, ObjectForm({"a": True})),
        ({"type": "array"}, ArrayForm(True)),
        ({"type": "array", "items": {"type": "string"}}, ArrayForm({"type": "string"})),
        ({"type": "array", "prefixItems": [True]}, OPEN),
        ({"type": "array", "items": [True]}, OPEN),
        ({"type": "object"}, OPEN),
        ({"type": "object", "additionalProperties": {"type": "string"}}, OPEN),
        ({"type": "object", "patternProperties": {"^x": True}}, OPEN),
        ({"type": ["string", "integer"]}, OPEN),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, OPEN),
        ({"oneOf": [{"properties": {"a": True}}, {"properties": {"b": True}}]}, OPEN),
        ({"$ref": "#/$defs/loop"}, OPEN),
        ({"$ref": "#"}, OPEN),
        ({"$ref": "#/$defs/nowhere"}, OPEN),
        ({"$ref": "https://example.com/schema"}, OPEN),
        ({"type": "null"}, OPEN),
        ({"enum": []}, OPEN),
        ({"enum": ["a", 1]}, OPEN),
        ({}, OPEN),
        (True, OPEN),
        (False, OPEN),
        ({"type": 5, "properties": 7, "items": "x"}, ArrayForm("x")),
        ({"type": [[], {}]}, OPEN),
        ({"anyOf": 5}, OPEN),
    ],
)
def test_ctx_2_a_schema_chooses_the_form_of_its_values(schema: Any, form: Any) -> None:
    definitions: Any = {"name": {"type": "string"}, "a/b c": {"type": "boolean"}, "loop": {"$ref": "#/$defs/loop"}}
    assert form_of(schema, {"$defs": definitions}, frozenset({"#"}))[0] == form


def test_a_schema_that_refers_to_itself_is_json_from_the_second_time_on() -> None:
    node: Any = {"type": "object", "properties": {"value": {"type": "integer"}, "left": {"$ref": "#/$defs/node"}}}
    plan = state_plan({"$ref": "#/$defs/node", "$defs": {"node": node}})
    found = [(column.path[1:], column.kind) for column in plan.tables[0].columns if column.path[0] == "state"]
    assert found == [(("left",), "json"), (("value",), "integer")]


async def test_ctx_2_any_name_of_a_property_works(store: Store) -> None:
    properties: Any = {name: {"type": "string"} for name in AWKWARD_NAMES}
    items: Any = {
        "type": "object",
        "properties": {**properties, "lists": {"type": "array", "items": {"type": "string"}}},
    }
    schema: Any = {
        "type": "object",
        "properties": {
            **properties,
            "in": {"type": "object", "properties": properties},
            "in_order": {"type": "string"},
            "rows": {"type": "array", "items": items},
            "ROWS": {"type": "array", "items": {"type": "string"}},
            "r" * 200: {"type": "array", "items": {"type": "string"}},
            "r" * 201: {"type": "array", "items": {"type": "string"}},
        },
    }
    texts = {name: f"text of {name}" for name in AWKWARD_NAMES}
    state: Any = {
        **texts,
        "in": texts,
        "in_order": "here",
        "rows": [{**texts, "lists": ["one"]}],
        "ROWS": ["two"],
        "r" * 200: ["three"],
        "r" * 201: ["four"],
    }
    plan = state_plan(schema, table_prefix("01J9ZZZZZZZZZZZZZZZZZZZZZZ", 12))
    await store_state(store, plan, state)
    async with store.transaction() as transaction:
        assert await read(transaction, plan, "run") == context_of(state)
    for table in plan.tables:
        assert all(rest is None for (rest,) in await store.query(f'SELECT _rest FROM "{table.name}"'))
    given = [table.name for table in plan.tables] + [column.name for table in plan.tables for column in table.columns]
    assert all(len(name.encode()) <= IDENTIFIER_BYTES and name == name.lower() for name in given)


def test_the_order_of_properties_does_not_change_the_tables() -> None:
    properties: Any = [(name, {"type": "array" if name in "aA" else "string"}) for name in AWKWARD_NAMES if name]
    one, other = state_plan({"properties": dict(properties)}), state_plan({"properties": dict(properties[::-1])})
    assert one.ddl("sqlite") == other.ddl("sqlite")


async def test_more_properties_than_columns_go_to_json(store: Store) -> None:
    names = [f"field_{number:04}" for number in range(3000)]
    plan = state_plan({"type": "object", "properties": {name: {"type": "string"} for name in names}})
    assert len(plan.tables[0].columns) == MAX_COLUMNS
    # 24 bytes with their length: the most that PostgreSQL never moves out of the row.
    old = context_of(dict.fromkeys(names, "x" * 23))
    new = context_of(dict.fromkeys(names[:2000], "y" * 5000))
    async with store.transaction() as transaction:
        await create(transaction, plan, store.dialect)
        await write(transaction, plan.insert("run", old))
        assert await read(transaction, plan, "run") == old
        await write(transaction, plan.changes("run", old, new))
        assert await read(transaction, plan, "run") == new


async def test_a_schema_that_doubles_at_every_ref_is_laid_out_within_bounds(store: Store) -> None:
    definitions: dict[str, Any] = {"d40": {"type": "array", "items": {"type": "integer"}}}
    for number in range(40):
        below = {"$ref": f"#/$defs/d{number + 1}"}
        inner = {"type": "object", "properties": {"a": below, "b": {"type": "array", "items": below}, "c": below}}
        definitions[f"d{number}"] = inner
    plan = state_plan({"$ref": "#/$defs/d0", "$defs": definitions})
    assert len(plan.tables) <= MAX_TABLES
    state: Any = [7]
    for _ in range(40):
        state = {"a": state, "b": [state], "c": state} if len(str(state)) < 5000 else {"a": state}
    await store_state(store, plan, state)
    async with store.transaction() as transaction:
        assert canonical_json(await read(transaction, plan, "run")) == canonical_json(context_of(state))
        for statement in plan.view(store.dialect, "doubling", ("doubling", 1)):
            await transaction.run(statement)
        assert len(await transaction.query("SELECT * FROM doubling")) == 1


def test_choices_of_choices_are_looked_through_within_bounds() -> None:
    definitions: dict[str, Any] = {"d30": {"type": "string"}}
    for number in range(30):
        definitions[f"d{number}"] = {"anyOf": [{"$ref": f"#/$defs/d{number + 1}"}] * 50}
    plan = state_plan({"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": definitions})
    assert [column.kind for column in plan.tables[0].columns if column.path == ("state", "a")] == ["json"]


async def test_a_deep_value_in_an_open_schema_comes_back(store: Store) -> None:
    deep: Any = 10**5000
    for _ in range(198):
        deep = [deep]
    plan = state_plan({"properties": {"known": {"type": "string"}}})
    await store_state(store, plan, {"known": {"unknown": deep}})
    async with store.transaction() as transaction:
        assert await read(transaction, plan, "run") == context_of({"known": {"unknown": deep}})
