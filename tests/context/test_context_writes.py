"""Writing is incremental: what changed is written, and nothing else (CTX-3)."""

from itertools import pairwise
from typing import Any

import pytest

from support.contexts import create, read, write
from wonder.context.plan import ContextPlan, changed_paths, plan_context
from wonder.context.rows import Writes
from wonder.context.writes import gather
from wonder.storage.store import Store, Transaction

SCHEMA: Any = {
    "type": "object",
    "properties": {
        "count": {"type": "integer"},
        "name": {"type": ["string", "null"]},
        "share": {"type": "number"},
        "meta": {"type": "object", "properties": {"source": {"type": "string"}, "note": {"type": "string"}}},
        "lines": {"type": "array", "items": {"type": "string"}},
        "orders": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"sku": {"type": "string"}, "sizes": {"type": "array", "items": {"type": "integer"}}},
            },
        },
        "free": {},
    },
}
PLAN = plan_context("context_writes_1", context_schema=SCHEMA)
LONG = [f"line {number}" for number in range(10_000)]
ORDERS: list[Any] = [{"sku": "a", "sizes": [1, 2]}, {"sku": "b", "sizes": [3]}, {"sku": "c"}]


def context_of(state: Any) -> dict[str, Any]:
    return {"input": {}, "state": state, "output": {}}


def shown(writes: Writes) -> list[tuple[str, int]]:
    """The statements without the words that are always the same, and how many rows each has."""
    return [(text.replace('"', "").replace("context_writes_1", "t"), len(rows)) for text, rows in writes]


SET = "UPDATE t SET {} WHERE run_id = $1"
ELEMENT = "UPDATE t_state_orders SET {} WHERE run_id = $1 AND position = $2"
LINE = "INSERT INTO t_state_lines (run_id, position, value, _rest) VALUES ($1, $2, $3, $4)"
SIZE = "INSERT INTO t_state_orders_sizes (run_id, position_1, position, value, _rest) VALUES ($1, $2, $3, $4, $5)"


@pytest.mark.parametrize(
    ("old", "new", "writes"),
    [
        ({"count": 1}, {"count": 1}, []),
        ({"count": 1, "name": "a"}, {"count": 2, "name": "a"}, [(SET.format("state_count = $2"), 1)]),
        ({}, {"count": 1}, [(SET.format("state_count = $2"), 1)]),
        ({"count": 1}, {}, [(SET.format("state_count = $2"), 1)]),
        ({"share": 1}, {"share": 2}, [(SET.format("state_share = $2"), 1)]),
        ({"name": "a", "count": 1}, {"count": 2, "name": "b"}, [(SET.format("state_count = $2, state_name = $3"), 1)]),
        ({"count": 1, "name": "a"}, {"name": "b", "count": 2}, [(SET.format("state_count = $2, state_name = $3"), 1)]),
        ({"name": "a"}, {"name": None}, [(SET.format("state_name = $2, _rest = $3"), 1)]),
        ({}, {"name": None}, [(SET.format("_rest = $2"), 1)]),
        ({"count": 1}, {"count": 2**70}, [(SET.format("state_count = $2, _rest = $3"), 1)]),
        ({"meta": {"source": "a"}}, {"meta": {"source": "b"}}, [(SET.format("state_meta_source = $2"), 1)]),
        ({"meta": {}}, {"meta": {"source": "b"}}, [(SET.format("state_meta_source = $2"), 1)]),
        ({"free": {"a": 1}}, {"free": {"a": 2}}, [(SET.format("state_free = $2"), 1)]),
        ({"free": {"a": 1}}, {"free": {"a": 1}}, []),
        ({"extra": 1}, {"extra": 2}, [(SET.format("_rest = $2"), 1)]),
        ({"lines": LONG}, {"lines": [*LONG, "one more"]}, [(LINE, 1)]),
        ({"lines": LONG}, {"lines": [str(line) for line in LONG]}, []),
        ({"lines": []}, {"lines": ["first"]}, [(LINE, 1)]),
        ({}, {"lines": ["first"]}, [(LINE, 1)]),
        (
            {"lines": LONG},
            {"lines": [*LONG[:5000], "another", *LONG[5001:]]},
            [("UPDATE t_state_lines SET value = $3 WHERE run_id = $1 AND position = $2", 1)],
        ),
        (
            {"lines": LONG},
            {"lines": LONG[:-1]},
            [("DELETE FROM t_state_lines WHERE run_id = $1 AND position >= $2", 1)],
        ),
        (
            {"orders": ORDERS},
            {"orders": [ORDERS[0], {"sku": "B", "sizes": [3]}, ORDERS[2]]},
            [(ELEMENT.format("sku = $3"), 1)],
        ),
        (
            {"orders": ORDERS},
            {"orders": [ORDERS[0], {"sku": "b", "sizes": [3, 4]}, ORDERS[2]]},
            [(SIZE, 1)],
        ),
        (
            {"orders": ORDERS},
            {"orders": ORDERS[:1]},
            [
                ("DELETE FROM t_state_orders WHERE run_id = $1 AND position >= $2", 1),
                ("DELETE FROM t_state_orders_sizes WHERE run_id = $1 AND position_1 >= $2", 1),
            ],
        ),
    ],
)
def test_ctx_3_a_change_writes_what_changed(old: Any, new: Any, writes: list[tuple[str, int]]) -> None:
    assert shown(PLAN.changes("run", context_of(old), context_of(new))) == writes


async def rows_written(transaction: Transaction, store: Store, plan: ContextPlan, writes: Writes) -> int:
    """Run writes and ask the database how many rows they made or changed."""
    if store.dialect == "sqlite":
        ((before,),) = await transaction.query("SELECT total_changes()")
        await write(transaction, writes)
        ((after,),) = await transaction.query("SELECT total_changes()")
        return int(str(after)) - int(str(before))
    await write(transaction, writes)
    mine = "xmin::text = pg_current_xact_id()::text"
    counts = [await transaction.query(f'SELECT count(*) FROM "{table.name}" WHERE {mine}') for table in plan.tables]
    return sum(int(str(rows[0][0])) for rows in counts)


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ({"lines": LONG}, {"lines": [*LONG, "one more"]}, ("lines", 10_000)),
        ({"lines": LONG}, {"lines": [*LONG, "one more"]}, ("lines",)),
        ({"lines": LONG}, {"lines": [*LONG[:-1], "another"]}, ("lines", 9_999)),
        ({"lines": [], "count": 1}, {"lines": ["first"], "count": 1}, ("lines", 0)),
        ({"lines": LONG, "count": 1}, {"lines": LONG, "count": 2}, ("count",)),
        ({"orders": ORDERS}, {"orders": [*ORDERS[:2], {"sku": "C"}]}, ("orders", 2, "sku")),
        ({"orders": ORDERS}, {"orders": [*ORDERS[:2], {"sku": "c", "sizes": [9]}]}, ("orders", 2, "sizes")),
    ],
)
async def test_ctx_3_the_database_writes_one_row(store: Store, old: Any, new: Any, path: tuple[str | int, ...]) -> None:
    async with store.transaction() as transaction:
        await create(transaction, PLAN, store.dialect)
        await write(transaction, PLAN.insert("run", context_of(old)))
    async with store.transaction() as transaction:
        writes = PLAN.changes("run", context_of(old), context_of(new), changed_paths([("state", *path)]))
        assert await rows_written(transaction, store, PLAN, writes) == 1
        assert await read(transaction, PLAN, "run") == context_of(new)


def test_only_the_places_given_are_looked_at() -> None:
    old, new = context_of({"count": 1, "name": "a"}), context_of({"count": 2, "name": "b"})
    assert shown(PLAN.changes("run", old, new, changed_paths([("state", "name")]))) == [
        (SET.format("state_name = $2"), 1)
    ]


def test_an_object_that_was_made_on_the_way_to_a_place_is_written_whole() -> None:
    old, new = context_of({}), context_of({"meta": {"source": "a", "note": "b"}})
    writes = PLAN.changes("run", old, new, changed_paths([("state", "meta", "source")]))
    assert shown(writes) == [(SET.format("state_meta_note = $2, state_meta_source = $3"), 1)]


@pytest.mark.parametrize(
    ("paths", "tree"),
    [
        ([("state", "a")], {"state": {"a": None}}),
        ([("state", "a", 0), ("state", "b")], {"state": {"a": {0: None}, "b": None}}),
        ([("state", "a", "b"), ("state", "a")], {"state": {"a": None}}),
        ([("state", "a"), ("state", "a", "b")], {"state": {"a": None}}),
        ([("state",), ("state", "a", "b")], {"state": None}),
        ([("state", "a"), ()], None),
        ([], {}),
    ],
)
def test_paths_become_a_tree_in_which_the_wider_place_wins(paths: Any, tree: Any) -> None:
    assert changed_paths(paths) == tree


def test_a_run_that_always_changes_other_columns_keeps_no_more_than_a_thousand_statements() -> None:
    names = [f"f{number}" for number in range(12)]
    plan = plan_context("p", context_schema={"properties": {name: {"type": "integer"} for name in names}})
    for bits in range(1, 2**12):
        new = {name: 1 for number, name in enumerate(names) if bits >> number & 1}
        assert len(plan.changes("run", context_of({}), context_of(new))) == 1
    assert len(plan.tables[0]._updates) <= 1_000


async def test_writes_of_many_runs_are_gathered_in_the_order_of_each(store: Store) -> None:
    states: list[Any] = [{"lines": ["a", "b"]}, {"lines": []}, {"lines": ["c"], "count": 1}, {"lines": ["c", "d"]}]
    batches = []
    for run_id in ("one", "two", "three"):
        batches.append(PLAN.insert(run_id, context_of(states[0])))
        for old, new in pairwise(states):
            batches.append(PLAN.changes(run_id, context_of(old), context_of(new)))
    gathered = gather(batches)
    assert len(gathered) == sum(len(batch) for batch in batches) / 3
    async with store.transaction() as transaction:
        await create(transaction, PLAN, store.dialect)
    await store.commit(gathered)
    answers = [await store.query(text, '["one","two","nobody"]') for text in PLAN.select_many(store.dialect)]
    assert PLAN.read(answers) == {"one": context_of(states[-1]), "two": context_of(states[-1])}
