"""The view of a workflow's contexts, for people who query it (CTX-2)."""

import json
from typing import Any

import pytest

from support.contexts import create, write
from wonder.context.plan import plan_context
from wonder.storage.store import Store

SCHEMA: Any = {
    "properties": {
        "who": {"type": "string"},
        "done": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "flags": {"type": "array", "items": {"type": "boolean"}},
        "mixed": {"type": "array"},
        "grid": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
        "orders": {
            "type": "array",
            "items": {
                "properties": {
                    "sku": {"type": "string"},
                    "paid": {"type": "boolean"},
                    "free": {},
                    "sizes": {"type": "array", "items": {"type": "integer"}},
                }
            },
        },
    }
}
STATE: dict[str, Any] = {
    "who": "Ada",
    "done": True,
    "tags": ["b", "a", 'q"'],
    "flags": [True, None, False],
    "mixed": [1, {"a": [None]}, "x"],
    "grid": [[1, 2], [], [3]],
    "orders": [{"sku": "x", "paid": False, "sizes": [40, 41]}, {"free": [1]}, {"sku": "z", "more": 1}],
}


@pytest.mark.parametrize("name", ["greet everyone", 'x"; DROP TABLE runs', "A" * 200])
async def test_a_view_shows_a_row_for_each_run_with_its_lists(store: Store, name: str) -> None:
    plan = plan_context("context_view_1", context_schema=SCHEMA)
    async with store.transaction() as transaction:
        await create(transaction, plan, store.dialect)
        for _ in range(2):  # the second time it replaces the first
            for statement in plan.view(store.dialect, name, ("view", 1)):
                await transaction.run(statement)
        await write(transaction, plan.insert("run", {"input": {}, "state": STATE, "output": {}}))
        await write(transaction, plan.insert("other", {"input": {}, "state": {}, "output": {}}))
        quoted = '"' + name[:63].replace('"', '""') + '"'
        lists = ", ".join(f"state_{name}" for name in ("tags", "flags", "mixed", "grid", "orders"))
        (row,) = await transaction.query(f"SELECT state_who, {lists} FROM {quoted} WHERE state_done")
        (other,) = await transaction.query(f"SELECT state_who, {lists} FROM {quoted} WHERE run_id = $1", "other")
    assert row[0] == "Ada"
    assert [json.loads(str(text)) for text in row[1:]] == [
        STATE["tags"],
        STATE["flags"],
        STATE["mixed"],
        STATE["grid"],
        [{"sku": "x", "paid": False, "sizes": [40, 41]}, {"free": [1]}, {"sku": "z", "_rest": {"more": 1}}],
    ]
    assert other == (None,) * 6


async def test_a_view_of_a_wide_list_can_be_queried(store: Store) -> None:
    items: Any = {"properties": {f"field_{number}": {"type": "string"} for number in range(400)}}
    plan = plan_context("context_wide_1", context_schema={"properties": {"rows": {"type": "array", "items": items}}})
    async with store.transaction() as transaction:
        await create(transaction, plan, store.dialect)
        for statement in plan.view(store.dialect, "wide", ("wide", 1)):
            await transaction.run(statement)
        state: Any = {"rows": [{"field_1": "seven"}]}
        await write(transaction, plan.insert("run", {"input": {}, "state": state, "output": {}}))
        ((text,),) = await transaction.query("SELECT state_rows FROM wide")
    assert json.loads(str(text)) == [{"field_1": "seven"}]
