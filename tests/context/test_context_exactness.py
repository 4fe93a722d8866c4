"""What is read back is the JSON that was written, to the value (CTX-4, CTX-7)."""

from itertools import pairwise
from typing import Any

import pytest

from support.contexts import create, read, write
from wonder.context.plan import plan_context
from wonder.context.rows import BrokenContext, same
from wonder.language.values import canonical_json
from wonder.storage.store import Store

KINDS = ["string", "integer", "number", "boolean"]
NUMBERS: list[Any] = [
    0,
    1,
    -1,
    2**53,
    2**53 + 1,
    -(2**53) - 1,
    2**63 - 1,
    2**63,
    -(2**63),
    -(2**63) - 1,
    10**400,
    10**5000,
]
FLOATS: list[Any] = [
    0.0,
    -0.0,
    1.0,
    0.1,
    5.5,
    2.0**53,
    2.0**53 + 2,
    2.0**63,
    -(2.0**63),
    1e22,
    1e308,
    -1.7976931348623157e308,
    5e-324,
]
OTHERS: list[Any] = [None, True, False, "", "1", "null", "é😀\u2028", "\ufffd", [], {}, [[]], [{}], {"": {}}, {"a": []}]
PROPERTIES: dict[str, Any] = {kind: {"type": kind} for kind in KINDS}
PROPERTIES |= {f"{kind} list": {"type": "array", "items": {"type": kind}} for kind in KINDS}
PROPERTIES |= {
    "object": {"type": "object", "properties": {"a": {"type": "integer"}}},
    "object list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "integer"}}}},
    "list list": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
    "open": {},
}
PLAN = plan_context("context_exact_1", context_schema={"properties": PROPERTIES})


def context_of(state: Any) -> dict[str, Any]:
    return {"input": {}, "state": state, "output": {}}


@pytest.mark.parametrize("name", [*PROPERTIES, "not in the schema"])
async def test_ctx_4_every_value_comes_back_from_every_kind_of_place(store: Store, name: str) -> None:
    values = [*NUMBERS, *FLOATS, *OTHERS]
    if name.endswith(" list"):
        values = [*values, *[[value] for value in values], values]
    old = context_of({})
    async with store.transaction() as transaction:
        await create(transaction, PLAN, store.dialect)
        await write(transaction, PLAN.insert("changed", old))
        for number, value in enumerate(values):
            new = context_of({name: value})
            await write(transaction, PLAN.insert(f"new {number}", new))
            assert canonical_json(await read(transaction, PLAN, f"new {number}")) == canonical_json(new)
            await write(transaction, PLAN.changes("changed", old, new))
            assert canonical_json(await read(transaction, PLAN, "changed")) == canonical_json(new)
            old = new
        await write(transaction, PLAN.changes("changed", old, context_of({})))
        assert await read(transaction, PLAN, "changed") == context_of({})


@pytest.mark.parametrize(
    "values",
    [
        [
            {},
            {"object": {}},
            {"object": {"a": 1}},
            {"object": {}},
            {},
            {"object": {"a": None}},
            {"object": {"a": 1}},
            {},
        ],
        [{}, {"list list": []}, {"list list": [[]]}, {"list list": [[1], []]}, {"list list": []}, {}],
        [{"string list": []}, {"string list": ["a"]}, {}, {"string list": ["a"]}, {"string list": []}],
        [{"open": None}, {}, {"open": {}}, {"open": []}, {}],
        [{"string": None}, {"string": "a"}, {}, {"string": None}, {}],
    ],
)
async def test_ctx_4_empty_null_and_absent_are_told_apart(store: Store, values: list[Any]) -> None:
    async with store.transaction() as transaction:
        await create(transaction, PLAN, store.dialect)
        await write(transaction, PLAN.insert("run", context_of(values[0])))
        for old, new in pairwise(values):
            await write(transaction, PLAN.changes("run", context_of(old), context_of(new)))
            assert await read(transaction, PLAN, "run") == context_of(new)


async def test_a_value_that_its_column_can_not_say_exactly_can_still_be_queried(store: Store) -> None:
    async with store.transaction() as transaction:
        await create(transaction, PLAN, store.dialect)
        await write(transaction, PLAN.insert("run", context_of({"integer": 3.0, "number": 2**53 + 1})))
        row = await transaction.query("SELECT state_integer, state_number FROM context_exact_1 WHERE state_integer = 3")
    assert row == [(3, 2.0**53)]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string"},
        {"type": "array"},
        {"properties": {"a": True}},
        True,
        {"type": "array", "items": {"type": "array"}},
    ],
)
async def test_ctx_1_the_output_may_be_any_json(store: Store, schema: Any) -> None:
    plan = plan_context("context_output_1", output_schema=schema)
    values: list[Any] = [{}, "text", None, [], [1], [[2], []], {"a": 1}, 5, 5.0, {}]
    old: Any = {"input": None, "state": {}, "output": {}}
    async with store.transaction() as transaction:
        await create(transaction, plan, store.dialect)
        await write(transaction, plan.insert("run", old))
        for value in values:
            new = {**old, "output": value}
            await write(transaction, plan.changes("run", old, new))
            old = new
            assert canonical_json(await read(transaction, plan, "run")) == canonical_json(new)


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (1, 1, True),
        (1, 1.0, False),
        (1, True, False),
        (0, False, False),
        (0.0, -0.0, False),
        (None, False, False),
        ([1], [1.0], False),
        ([1], [1, 2], False),
        ({"a": 1}, {"a": 1}, True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": 1}, {"b": 1}, False),
        ({"a": True}, {"a": 1}, False),
        ({}, [], False),
    ],
)
def test_ctx_7_values_are_the_same_only_when_their_json_is(one: Any, other: Any, equal: bool) -> None:
    assert same(one, other) is equal
    assert same(other, one) is equal


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        ("DELETE FROM context_exact_1_state_string_list WHERE position = 0", "the element before it is number -1"),
        ("DELETE FROM context_exact_1", "the row around it is missing, or has no list in this place"),
        ("UPDATE context_exact_1 SET _rest = '{\"state\": 5}'", "the row around it is missing, or has no list"),
    ],
)
async def test_rows_that_another_hand_has_broken_are_refused(store: Store, damage: str, reason: str) -> None:
    async with store.transaction() as transaction:
        await create(transaction, PLAN, store.dialect)
        await write(transaction, PLAN.insert("run", context_of({"string list": ["a", "b"]})))
        await transaction.run(damage)
        with pytest.raises(BrokenContext, match=reason) as caught:
            await read(transaction, PLAN, "run")
    assert caught.value.table == "context_exact_1_state_string_list"


def test_text_that_is_no_json_is_refused() -> None:
    rows = [("run", *[None] * len(PLAN.tables[0].columns), "{")]
    with pytest.raises(BrokenContext, match="restore the table from a backup"):
        PLAN.read([rows, *[[] for _ in PLAN.tables[1:]]])
