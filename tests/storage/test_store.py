"""What every store does: one suite, run on SQLite and on PostgreSQL."""

import asyncio

import pytest

from support.processes import run_until_killed
from wonder.storage.errors import ConstraintViolated, StoreClosed, ValueRefused
from wonder.storage.migrate import known_migrations
from wonder.storage.opening import open_store
from wonder.storage.store import Row, Store

CREATE = "CREATE TABLE things (id BIGINT PRIMARY KEY, name TEXT NOT NULL, size DOUBLE PRECISION)"
INSERT = "INSERT INTO things (id, name, size) VALUES ($1, $2, $3)"
READ = "SELECT id, name, size FROM things ORDER BY id"


@pytest.fixture
async def things(store: Store) -> Store:
    """A store with one small table of the test's own."""
    async with store.transaction() as transaction:
        await transaction.run(CREATE)
    return store


async def read(store: Store) -> list[Row]:
    return await store.query(READ)


async def test_what_a_transaction_wrote_is_there_when_it_was_left(things: Store) -> None:
    async with things.transaction() as transaction:
        await transaction.run(INSERT, [(1, "a", 1.5), (2, "b", None)])
        assert await transaction.query(READ) == [(1, "a", 1.5), (2, "b", None)]
        assert await read(things) == []
    assert await read(things) == [(1, "a", 1.5), (2, "b", None)]


async def test_an_exception_in_a_transaction_rolls_all_of_it_back(things: Store) -> None:
    async def write_and_fail() -> None:
        async with things.transaction() as transaction:
            await transaction.run(INSERT, [(1, "a", 1.5)])
            raise FileNotFoundError("the caller's own trouble")

    with pytest.raises(FileNotFoundError):
        await write_and_fail()
    assert await read(things) == []
    await things.commit([(INSERT, [(2, "b", 1.0)])])
    assert await read(things) == [(2, "b", 1.0)]


async def test_a_batch_is_one_transaction_in_order(things: Store) -> None:
    await things.commit([(INSERT, [(1, "a", 1.0), (2, "b", 2.0)]), ("UPDATE things SET name = $1", [("x",), ("y",)])])
    assert await read(things) == [(1, "y", 1.0), (2, "y", 2.0)]
    with pytest.raises(ConstraintViolated):
        await things.commit([("DELETE FROM things WHERE id = $1", [(1,)]), (INSERT, [(3, "c", 1.0), (2, "b", 1.0)])])
    assert await read(things) == [(1, "y", 1.0), (2, "y", 2.0)]


async def test_a_batch_takes_named_queries_and_generated_ones(store: Store) -> None:
    row = (999, "later", "0" * 64, "2026-01-01T00:00:00.000000Z", "1.0")
    await store.commit([("record_migration", [row]), ("DELETE FROM schema_migrations WHERE number < $1", [(999,)])])
    assert await store.fetch("applied_migrations") == [row]


async def test_an_empty_batch_and_a_batch_without_rows_do_nothing(things: Store) -> None:
    await things.commit([])
    await things.commit([(INSERT, [])])
    assert await read(things) == []


async def test_rows_can_be_read_by_column_name(store: Store) -> None:
    rows = await store.fetch_named("applied_migrations")
    assert [row["number"] for row in rows] == [one.number for one in known_migrations(store.dialect)]
    assert rows[0]["name"] == "definitions"
    async with store.transaction() as transaction:
        assert await transaction.fetch_named("applied_migrations") == rows
        await transaction.run("DELETE FROM schema_migrations")
        assert await transaction.fetch_named("applied_migrations") == []


async def test_execute_tells_how_many_rows_changed(store: Store) -> None:
    async with store.transaction() as transaction:
        assert await transaction.execute("record_migration", 777, "x", "y", "z", "v") == 1


async def test_a_row_that_is_refused_says_by_which_query_and_why(things: Store) -> None:
    await things.commit([(INSERT, [(1, "a", None)])])
    with pytest.raises(ConstraintViolated) as refused:
        await things.commit([(INSERT, [(1, "b", None)])])
    assert refused.value.query == INSERT
    assert "things" in refused.value.reason
    with pytest.raises(ConstraintViolated):
        await things.commit([(INSERT, [(2, None, None)])])
    assert await read(things) == [(1, "a", None)]


@pytest.mark.parametrize(
    "row",
    [
        (2**63, "an integer beyond 64 bits", None),
        (-(2**63) - 1, "the same below zero", None),
        (1, "a lone surrogate \ud800", None),
        (1, "a type that no column has", object()),
    ],
    ids=["too big", "too small", "surrogate", "object"],
)
async def test_a_value_that_no_column_can_hold_is_refused_clearly(things: Store, row: tuple[object, ...]) -> None:
    with pytest.raises(ValueRefused):
        await things.commit([(INSERT, [row])])  # type: ignore[list-item]  # wrong on purpose
    with pytest.raises(ValueRefused):
        async with things.transaction() as transaction:
            await transaction.run(INSERT, [row])  # type: ignore[list-item]  # wrong on purpose
    assert await read(things) == []


@pytest.mark.parametrize("number", [2**63 - 1, -(2**63), 2**53 + 1, 0])
async def test_integers_of_64_bits_come_back_as_they_went_in(things: Store, number: int) -> None:
    await things.commit([(INSERT, [(number, "€ 𝄞 \\ ' \" \n", 1e-300)])])
    assert await read(things) == [(number, "€ 𝄞 \\ ' \" \n", 1e-300)]


async def test_a_transaction_whose_error_was_swallowed_is_not_committed(things: Store) -> None:
    """PostgreSQL answers COMMIT with a silent rollback there, so going on is our bug on both databases."""

    async def swallow() -> None:
        async with things.transaction() as transaction:
            await transaction.run(INSERT, [(1, "a", None)])
            with pytest.raises(ConstraintViolated):
                await transaction.run(INSERT, [(1, "a", None)])

    with pytest.raises(AssertionError, match="went on after"):
        await swallow()
    assert await read(things) == []


async def test_a_transaction_can_not_be_used_after_its_end(things: Store) -> None:
    async with things.transaction() as transaction:
        pass
    with pytest.raises(AssertionError, match="after it had ended"):
        await transaction.run(INSERT, [(1, "a", None)])


async def test_writers_wait_for_each_other_and_readers_for_nobody(things: Store) -> None:
    order = []

    async def write(number: int) -> None:
        async with things.transaction() as transaction:
            order.append(("in", number))
            rows = await transaction.query("SELECT count(*) FROM things")
            await transaction.run(INSERT, [(number, f"after {rows[0][0]}", None)])
            order.append(("out", number))

    async with things.transaction() as transaction:
        await transaction.run(INSERT, [(0, "first", None)])
        assert await asyncio.wait_for(read(things), 60) == []
    await asyncio.gather(*(write(number) for number in range(1, 20)))
    rows = await read(things)
    assert len(rows) == 20
    if things.dialect == "sqlite":
        assert sorted(str(row[1]) for row in rows[1:]) == sorted(f"after {number}" for number in range(1, 20))


async def test_a_task_that_is_cancelled_in_a_transaction_leaves_nothing_and_no_lock(things: Store) -> None:
    inside = asyncio.Event()

    async def write_and_wait() -> None:
        async with things.transaction() as transaction:
            await transaction.run(INSERT, [(1, "a", None)])
            inside.set()
            await asyncio.sleep(600)

    task = asyncio.create_task(write_and_wait())
    await inside.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(things.commit([(INSERT, [(2, "b", None)])]), 60)
    assert await read(things) == [(2, "b", None)]


async def test_cancelling_at_any_moment_never_leaves_half_a_transaction(things: Store) -> None:
    async def write(number: int) -> None:
        async with things.transaction() as transaction:
            await transaction.run(INSERT, [(number, "one", None)])
            await transaction.run(INSERT, [(-number, "two", None)])

    for number in range(1, 60):
        task = asyncio.create_task(write(number))
        for _ in range(number % 12):
            await asyncio.sleep(0)
        if number % 3 == 0:
            await asyncio.sleep(0.0003)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    await asyncio.wait_for(things.commit([(INSERT, [(0, "last", None)])]), 60)
    numbers = {row[0] for row in await read(things)}
    assert numbers == {-number for number in numbers}  # type: ignore[operator]  # ids are integers


async def test_what_is_committed_is_there_when_the_store_is_opened_again(store_url: str) -> None:
    first = await open_store(store_url)
    async with first.transaction() as transaction:
        await transaction.run(CREATE)
    await first.commit([(INSERT, [(1, "a", 0.5)])])
    await first.close()
    second = await open_store(store_url)
    assert await read(second) == [(1, "a", 0.5)]
    await second.close()


async def test_inv_2_what_was_committed_survives_the_death_of_the_process(store: Store, store_url: str) -> None:
    async with store.transaction() as transaction:
        await transaction.run("CREATE TABLE kept (number BIGINT)")
    told = await asyncio.to_thread(run_until_killed, ["commit", store_url], 50)
    kept = [row[0] for row in await store.query("SELECT number FROM kept ORDER BY number")]
    assert kept[: len(told)] == [int(number) for number in told]
    assert len(kept) <= len(told) + 1


async def test_two_stores_on_one_database_see_what_the_other_committed(store_url: str) -> None:
    first, second = await open_store(store_url), await open_store(store_url)
    async with first.transaction() as transaction:
        await transaction.run(CREATE)
    await first.commit([(INSERT, [(1, "a", None)])])
    assert await read(second) == [(1, "a", None)]
    await asyncio.gather(
        *(first.commit([(INSERT, [(number, "first", None)])]) for number in range(100, 120)),
        *(second.commit([(INSERT, [(number, "second", None)])]) for number in range(200, 220)),
    )
    assert len(await read(first)) == 41
    await first.close()
    await second.close()


async def test_a_closed_store_says_so_and_closing_twice_is_harmless(store_url: str) -> None:
    store = await open_store(store_url)
    await store.close()
    await store.close()
    with pytest.raises(StoreClosed):
        await store.fetch("applied_migrations")
    with pytest.raises(StoreClosed):
        await store.commit([("record_migration", [(9, "", "", "", "")])])
    with pytest.raises(StoreClosed):
        async with store.transaction():
            pass


async def test_a_query_that_does_not_exist_is_our_bug(store: Store) -> None:
    with pytest.raises(AssertionError, match="no query is named 'nothing'"):
        await store.fetch("nothing")
    with pytest.raises(AssertionError, match="no query is named 'nothing'"):
        await store.commit([("nothing", [])])
