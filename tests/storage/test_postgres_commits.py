"""The two short cuts of a commit on PostgreSQL write what the long way writes, or nothing."""

from collections.abc import AsyncIterator, Sequence
from random import Random
from typing import Any

import pytest

from support.random_runs import INPUT, random_fact, random_workflow
from support.recorded_runs import RecordedPlayer, commit_batch, create_tables, in_memory, new_plan, stored
from wonder.engine.limits import Limits
from wonder.storage.errors import ConstraintViolated, LeaseLost, ValueRefused
from wonder.storage.opening import open_store
from wonder.storage.postgresql import commits as postgres_commits
from wonder.storage.postgresql.commits import (
    COPIED_ROWS_MIN,
    ROWS_MAX,
    SHAPES_KEPT,
    Combined,
    Insertion,
    Resolved,
    insertion,
)
from wonder.storage.postgresql.store import PostgresStore
from wonder.storage.queries import Queries, shifted
from wonder.storage.runs.leases import claim_lease
from wonder.storage.runs.recording import Batch
from wonder.storage.store import Fence, Value

CREATE = """CREATE TABLE "odd ""things" ("a b" TEXT PRIMARY KEY, number BIGINT, real DOUBLE PRECISION, flag BOOLEAN,
    written JSON)"""
INSERT = """INSERT INTO "odd ""things" ("a b", number, real, flag, written) VALUES ($1, $2, $3, $4, $5)"""
UPDATE = """UPDATE "odd ""things" SET number = $2 WHERE "a b" = $1 AND '$1' <> '"$2"'"""
READ = """SELECT "a b", number, real, flag, written FROM "odd ""things" ORDER BY 1"""


@pytest.fixture
async def things(fresh_postgres_url: str) -> AsyncIterator[PostgresStore]:
    store = await open_store(fresh_postgres_url)
    assert isinstance(store, PostgresStore)
    async with store.transaction() as transaction:
        await transaction.run(CREATE)
    yield store
    await store.close()


def rows(first: int, count: int) -> list[Any]:
    return [(f"{number:04}", number, 0.5, number % 2 == 0, '{"a": 1.0}') for number in range(first, first + count)]


async def written(store: PostgresStore) -> list[Any]:
    return await store.query(READ)


async def test_a_small_batch_whose_shape_is_known_is_one_statement(things: PostgresStore) -> None:
    lease = await claim_lease(things, "first")
    assert lease is not None
    for number in range(3):
        batch = [(INSERT, rows(number * 2 + 10, 2)), (UPDATE, [(f"{number * 2 + 8:04}", -number)])]
        await things.commit(batch, fence=lease.fence, independent=True)
        statement = things._combined.statement([(query, query, rows) for query, rows in batch], lease.fence)
        assert statement is not None, "whoever comes a second time is known"
    expected = rows(10, 6)
    expected[0] = ("0010", -1, *expected[0][2:])
    expected[2] = ("0012", -2, *expected[2][2:])
    assert await written(things) == expected


async def test_inv_5_a_combined_statement_writes_nothing_when_the_lease_is_lost(things: PostgresStore) -> None:
    lease = await claim_lease(things, "first")
    assert lease is not None
    for number in (1, 2):
        await things.commit([(INSERT, rows(number, 1))], fence=lease.fence, independent=True)
    await lease.release()
    other = await claim_lease(things, "second")
    assert other is not None
    with pytest.raises(LeaseLost):
        await things.commit([(INSERT, rows(3, 1))], fence=lease.fence, independent=True)
    assert await written(things) == rows(1, 2)
    await things.commit([(INSERT, rows(3, 1))], fence=other.fence, independent=True)
    assert await written(things) == rows(1, 3)


async def test_a_combined_statement_that_is_refused_writes_nothing(things: PostgresStore) -> None:
    batch = [(INSERT, rows(1, 2)), (UPDATE, [("0001", 5)])]
    for _ in range(2):
        await things.commit([(query, []) for query, _ in batch], independent=True)
        await things.commit([(INSERT, rows(100, 1))], independent=True)
        await things.commit([(f'DELETE FROM "odd ""things" WHERE "a b" = $1 AND {1} = 1', [("0100",)])])
    await things.commit([(INSERT, rows(1, 1))])
    for _ in range(2):
        with pytest.raises(ConstraintViolated):
            await things.commit(batch, independent=True)
        with pytest.raises(ValueRefused):
            await things.commit([(INSERT, [("x", 2**70, None, None, None)])], independent=True)
    assert await written(things) == rows(1, 1)


async def test_long_insertions_are_copied_and_the_same_comes_back(things: PostgresStore) -> None:
    values = rows(0, COPIED_ROWS_MIN * 3)
    values[5] = ("0005", None, None, None, None)
    await things.commit([(INSERT, values), (UPDATE, [("0007", -7)])])
    values[7] = ("0007", -7, *values[7][2:])
    assert await written(things) == values


async def test_inv_5_what_has_few_rows_in_a_long_batch_asks_the_fence_and_is_written_with_the_rest(
    things: PostgresStore,
) -> None:
    lease = await claim_lease(things, "first")
    assert lease is not None
    expected = rows(0, COPIED_ROWS_MIN * 4)
    for number in range(3):
        first = number * COPIED_ROWS_MIN
        batch = [(INSERT, expected[first : first + COPIED_ROWS_MIN]), (UPDATE, [("0000", -1)] if number else [])]
        await things.commit(batch, fence=lease.fence, independent=True)
    few: list[Resolved] = [(UPDATE, UPDATE, [("0000", -1)])]
    assert things._combined.statement(few, lease.fence) is not None, "its shape came before"
    await lease.release()
    assert await claim_lease(things, "second") is not None
    batch = [(INSERT, expected[-COPIED_ROWS_MIN:]), (UPDATE, [("0000", -2)])]
    with pytest.raises(LeaseLost):
        await things.commit(batch, fence=lease.fence, independent=True)
    expected[0] = ("0000", -1, *expected[0][2:])
    assert await written(things) == expected[:-COPIED_ROWS_MIN]


async def test_long_updates_are_one_statement_and_change_what_row_by_row_would(things: PostgresStore) -> None:
    values = rows(0, COPIED_ROWS_MIN * 3)
    await things.commit([(INSERT, values)])
    every = """UPDATE "odd ""things" SET number = coalesce(CAST($2 AS BIGINT), number), real = $3, flag = $4,
        written = $5
        WHERE "a b" = $1 AND '$1' <> '"$2"'"""
    changes = [
        (key, -number if number % 3 else None, None, False, None) for key, number, *_ in values[:COPIED_ROWS_MIN]
    ]
    await things.commit([(every, changes)], independent=True)
    assert things._unnested[every] is not None
    by_row = await written(things)
    assert by_row[1] == ("0001", -1, None, False, None)
    assert by_row[3] == ("0003", 3, None, False, None)
    assert by_row[COPIED_ROWS_MIN:] == values[COPIED_ROWS_MIN:]


async def test_a_value_in_a_long_update_that_does_not_fit_is_refused_clearly(things: PostgresStore) -> None:
    values = rows(0, COPIED_ROWS_MIN)
    await things.commit([(INSERT, values)])
    with pytest.raises(ValueRefused):
        await things.commit([(UPDATE, [(key, 2**70) for key, *_ in values])], independent=True)
    assert await written(things) == values


@pytest.mark.parametrize(
    "bad",
    [
        ("x", 2**70, None, None, None),
        ("x\ud800", 1, None, None, None),
        ("x", "text", None, None, None),
        ("x", 1, None, None, object()),
        ("x\x00", 1, None, None, None),
        ("x", 1, None, None, "no JSON"),
    ],
    ids=["too big", "surrogate", "type", "object", "U+0000", "no JSON"],
)
async def test_a_value_that_can_not_be_copied_is_refused_clearly(things: PostgresStore, bad: Any) -> None:
    with pytest.raises(ValueRefused):
        await things.commit([(INSERT, [*rows(0, COPIED_ROWS_MIN), bad])])
    assert await written(things) == []
    await things.commit([(INSERT, rows(0, 1))])
    assert await written(things) == rows(0, 1)


async def test_a_row_that_is_there_already_is_refused_when_copied(things: PostgresStore) -> None:
    await things.commit([(INSERT, rows(3, 1))])
    with pytest.raises(ConstraintViolated) as refused:
        await things.commit([(INSERT, rows(0, COPIED_ROWS_MIN))])
    assert refused.value.query == INSERT
    assert await written(things) == rows(3, 1)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("INSERT INTO t (a, b) VALUES ($1, $2)", Insertion("t", ["a", "b"])),
        ("INSERT INTO t\n    (a,\n    b)\nVALUES ($1,\n    $2)", Insertion("t", ["a", "b"])),
        ('INSERT INTO "T" ("a""b") VALUES ($1)', Insertion("T", ['a"b'])),
        ("INSERT INTO t (a, b) VALUES ($2, $1)", None),
        ("INSERT INTO t (a, b) VALUES ($1, 5)", None),
        ("INSERT INTO t (a) VALUES ($1) ON CONFLICT DO NOTHING", None),
        ("INSERT INTO t (a) VALUES (lower($1))", None),
        ("UPDATE t SET a = $1", None),
    ],
)
def test_only_plain_insertions_are_copied(sql: str, expected: Insertion | None) -> None:
    assert insertion(sql) == expected


def test_a_column_whose_name_could_be_misread_is_not_copied_wrongly() -> None:
    assert insertion('INSERT INTO "t" ("a, b", "c") VALUES ($1, $2)') is None
    assert insertion('INSERT INTO "t" ("a) VALUES (", "c") VALUES ($1, $2)') is None
    assert insertion('INSERT INTO "t t" ("c") VALUES ($1)') in (None, Insertion("t t", ["c"]))


def test_statements_are_only_made_for_small_batches_and_known_shapes() -> None:
    combined = Combined(Queries("postgresql", {"ask": "SELECT 1 FROM l WHERE a = $1"}))
    one = ("INSERT INTO t VALUES ($1)", "INSERT INTO t VALUES ($1)", [("x",)])
    fence = Fence("ask", ("me",))
    assert combined.statement([one], fence) is None
    sql, parameters = combined.statement([one], fence) or ("", [])
    assert parameters == ["me", "x"]
    assert sql == (
        "WITH fence AS MATERIALIZED (SELECT 1 FROM l WHERE a = $1), write1 AS (INSERT INTO t VALUES ($2)) "
        "SELECT 1 / count(*) FROM fence"
    )
    large = (*one[:2], [("x",)] * (ROWS_MAX + 1))
    for _ in range(3):
        assert combined.statement([large], fence) is None
        assert combined.statement([], fence) is None
        assert combined.statement([(*one[:2], [])], fence) is None
    for number in range(SHAPES_KEPT):
        combined.statement([(f"INSERT INTO t{number} …", "", [("x",)])], None)
    assert combined.statement([one], fence) is None, "forgotten, and known again from now on"
    assert combined.statement([one], fence) is not None


def test_parameters_are_counted_on_but_not_in_quotes() -> None:
    assert shifted("""SELECT $1, '$1', "$2", $12 -- $3""", 30) == """SELECT $31, '$1', "$2", $42 -- $3"""


class Eager(Combined):
    """Makes a statement for a shape that it sees for the first time."""

    made = 0

    def statement(self, batch: Sequence[Resolved], fence: Fence | None) -> tuple[str, list[Value]] | None:
        super().statement(batch, fence)
        found = super().statement(batch, fence)
        self.made += found is not None
        return found


@pytest.mark.parametrize("seed", range(12))
async def test_random_runs_are_the_same_when_every_batch_is_one_statement(
    things: PostgresStore, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shows that a batch writes each row once, so that the order of its statements does not matter."""
    monkeypatch.setattr(postgres_commits, "ROWS_MAX", 300)
    things._combined = eager = Eager(things._queries)
    random = Random(seed)
    id, plan = new_plan()
    await create_tables(things, plan)
    lease = await claim_lease(things, "first")
    assert lease is not None
    player = RecordedPlayer(random_workflow(random), id, plan, Limits(foreach_limit=20, nesting_max=3, singly_max=4))
    player.start(INPUT)
    for turn in range(40):
        player.now_ms += random.randint(0, 3)
        fact = None if player.run.ended else random_fact(random, player.run, player.now_ms)
        if fact is not None:
            player.bring(fact)
        if turn % 2:
            batch, player.batch = player.batch, Batch()
            await commit_batch(batch, things, lease.fence)
            assert await stored(things, [player]) == in_memory([player])
    assert eager.made
