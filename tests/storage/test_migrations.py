"""Migrations: forward only, each whole or not at all, safe with several processes."""

import asyncio
import re
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from importlib.resources import files
from pathlib import Path

import pytest

from support.contexts import create, write
from support.database_structure import describe
from support.processes import run_at_once
from wonder.context.plan import plan_context, table_prefix
from wonder.language.values import parse_json
from wonder.storage import migrate as migrations
from wonder.storage.errors import DatabaseNewer, DatabaseNotMigrated, MigrationChanged, MigrationFailed
from wonder.storage.migrate import Migration, applied_migrations, known_migrations, migrate, pending_migrations
from wonder.storage.opening import open_store
from wonder.storage.postgresql.store import PostgresStore
from wonder.storage.sqlite.store import SqliteStore
from wonder.storage.store import Dialect, Store
from wonder.storage.url import PostgresAddress, SqliteAddress

INSERT = "INSERT INTO schema_migrations (number, name, sha256, applied_at, wonder_version) VALUES ($1, $2, $3, $4, $5)"


@pytest.fixture
async def scratch(store: Store, tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    """A second database of the same kind as `store`, without any tables."""
    opened: Store
    if store.dialect == "sqlite":
        opened = await SqliteStore.open(SqliteAddress(tmp_path / "scratch.db"), busy_seconds=5)
    else:
        url = request.getfixturevalue("fresh_postgres_url")
        opened = await PostgresStore.open(PostgresAddress(url, url), busy_seconds=5, connections=2)
    yield opened
    await opened.close()


def schema(dialect: Dialect) -> str:
    """Read the whole schema in one file."""
    return (files("wonder.storage") / dialect / "schema.sql").read_text("utf-8")


def extend(monkeypatch: pytest.MonkeyPatch, *more: Migration) -> None:
    """Let this Wonder ship further migrations on both databases."""
    real = known_migrations
    monkeypatch.setattr(migrations, "known_migrations", lambda dialect: (*real(dialect), *more))


def next_number() -> int:
    """The number of a migration that does not exist yet."""
    return len(known_migrations("sqlite")) + 1


def test_migrations_have_the_same_numbers_and_names_on_both_databases() -> None:
    names = [[(one.number, one.name) for one in known_migrations(dialect)] for dialect in ("sqlite", "postgresql")]
    assert names[0] == names[1]
    assert names[0][0] == (1, "definitions")


async def test_an_empty_database_is_brought_to_the_newest_and_then_left_alone(empty_store_url: str) -> None:
    store = await open_store(empty_store_url, clock=lambda: "2026-05-06T07:08:09.000000Z")
    applied = await applied_migrations(store)
    expected = known_migrations(store.dialect)
    assert [(one.number, one.name, one.sha256) for one in applied] == [
        (one.number, one.name, one.sha256) for one in expected
    ]
    assert {one.applied_at for one in applied} == {"2026-05-06T07:08:09.000000Z"}
    assert await migrate(store) == []
    assert await applied_migrations(store) == applied
    await store.close()


async def test_the_sum_of_the_migrations_is_the_schema(store: Store, scratch: Store) -> None:
    """The readable schema in one file describes what the migrations really made."""
    async with scratch.transaction() as transaction:
        await transaction.run(schema(scratch.dialect))
    described = await describe(scratch, scratch.dialect)
    assert described == await describe(store, store.dialect)
    assert len({line.split()[1] for line in described if line.startswith("table ")}) >= 20


@pytest.mark.parametrize(
    "change",
    [
        ("budget ", "budget_of "),
        ("version >= 1", "version >= 0"),
        ("ON steps (action_id, action_version)", "ON steps (action_id)"),
        ("REFERENCES task_defs", "REFERENCES action_defs"),
        ("    queue TEXT", "    queue BLOB"),
        ("workspace_id, name) WHERE archived_at IS NULL", "workspace_id, name)"),
    ],
)
async def test_a_schema_that_differs_is_noticed(store: Store, scratch: Store, change: tuple[str, str]) -> None:
    changed = schema(scratch.dialect).replace(*change)
    if scratch.dialect == "postgresql":
        changed = changed.replace('BLOB COLLATE "C"', "TEXT")
    assert changed != schema(scratch.dialect)
    async with scratch.transaction() as transaction:
        await transaction.run(changed)
    assert await describe(scratch, scratch.dialect) != await describe(store, store.dialect)


async def test_several_processes_migrate_one_database_once(empty_store_url: str) -> None:
    answers = run_at_once([["migrate", empty_store_url]] * 4)
    assert answers == [[one.number for one in known_migrations("sqlite")]] * 4


async def test_several_tasks_migrate_one_database_once(empty_store_url: str) -> None:
    stores = await asyncio.gather(*(open_store(empty_store_url) for _ in range(4)))
    assert len(await applied_migrations(stores[0])) == len(known_migrations("sqlite"))
    for store in stores:
        await store.close()


async def test_cmd_3_a_database_of_a_newer_wonder_is_refused(store: Store, store_url: str) -> None:
    newer = len(known_migrations(store.dialect)) + 1
    await store.commit([(INSERT, [(newer, "from the future", "0" * 64, "2030-01-01T00:00:00.000000Z", "9.9")])])
    with pytest.raises(DatabaseNewer, match="upgrade Wonder") as refused:
        await open_store(store_url)
    assert refused.value.found == newer
    with pytest.raises(DatabaseNewer):
        await open_store(store_url, migrations="require")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("UPDATE schema_migrations SET sha256 = 'x'", "another text"),
        ("UPDATE schema_migrations SET name = 'x'", "ships"),
    ],
)
async def test_a_migration_that_was_edited_after_it_landed_is_refused(
    store: Store, store_url: str, change: str, reason: str
) -> None:
    async with store.transaction() as transaction:
        await transaction.run(change)
    with pytest.raises(MigrationChanged, match=reason):
        await open_store(store_url)


async def test_an_old_database_is_migrated_or_refused_as_asked(
    store: Store, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = next_number()
    extend(monkeypatch, Migration(number, "more", "CREATE TABLE more (x TEXT); INSERT INTO more VALUES ('y');"))
    assert [one.name for one in await pending_migrations(store)] == ["more"]
    with pytest.raises(DatabaseNotMigrated) as refused:
        await open_store(store_url, migrations="require")
    assert refused.value.missing == 1
    again = await open_store(store_url)
    assert await again.query("SELECT x FROM more") == [("y",)]
    assert [one.number for one in await applied_migrations(again)] == list(range(1, number + 1))
    await again.close()


async def test_a_migration_that_fails_leaves_nothing_behind(
    store: Store, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = next_number()
    broken = Migration(number, "broken", "CREATE TABLE half (x TEXT); CREATE TABLE workflows (x TEXT);")
    extend(monkeypatch, broken)
    with pytest.raises(MigrationFailed, match="workflows") as failed:
        await open_store(store_url)
    assert (failed.value.number, failed.value.name) == (number, "broken")
    assert not await store.fetch("table_exists", "half")


async def test_of_all_that_a_new_database_gets_the_one_that_fails_is_named(
    scratch: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = next_number()
    extend(monkeypatch, Migration(number, "broken", "CREATE TABLE workflows (x TEXT);"))
    with pytest.raises(MigrationFailed, match="workflows") as failed:
        await migrate(scratch)
    assert (failed.value.number, failed.value.name) == (number, "broken")
    assert await applied_migrations(scratch) == []


async def test_events_of_an_older_wonder_are_all_there_after_they_were_packed(
    scratch: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """0003: what was a table of events is a view of packed rows, which tells the same."""
    shipped = known_migrations(scratch.dialect)
    monkeypatch.setattr(migrations, "known_migrations", lambda dialect: shipped[:2])
    await migrate(scratch)
    columns = "run_id, sequence, step, type, at_ms, node_id, token_id, path_id, metadata, tokens, cost_usd"
    insert = f"INSERT INTO events ({columns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
    rows = [
        ("R1", 1, 1, "workflow_started", 1_700_000_000_000, None, None, None, "{}", None, None),
        ("R1", 2, 1, "node_completed", 1_700_000_000_001, "N", "T", "0", '{"a":["ä\\n",9007199254740993]}', 7, 0.25),
        ("R2", 1, 1, "token_spawned", 1_700_000_000_002, "N", "T2", "0.1", '{"parent":null}', None, None),
    ]
    await scratch.commit([(insert, rows)])
    read = f"SELECT {columns} FROM events ORDER BY run_id, sequence"
    before = await scratch.query(read)
    monkeypatch.setattr(migrations, "known_migrations", lambda dialect: shipped)
    await migrate(scratch)
    assert await scratch.query(read) == before == rows


def before(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Let this Wonder ship only the migrations before this one."""
    real = known_migrations

    def older(dialect: Dialect) -> tuple[Migration, ...]:
        shipped = real(dialect)
        return shipped[: [one.name for one in shipped].index(name)]

    monkeypatch.setattr(migrations, "known_migrations", older)


async def test_ctx_2_views_of_an_older_database_become_readable_for_an_old_sqlite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With Python's SQLite, which may be years older than ours; the first Wonder ordered inside of group_concat."""
    path = tmp_path / "old.db"
    with monkeypatch.context() as older:
        before(older, "views_for_people")
        store = await open_store(f"sqlite:///{path}")
        schema = '{"properties":{"tags":{"type":"array","items":{"type":"string"}}}}'
        async with store.transaction() as transaction:
            await transaction.run(
                "INSERT INTO workspaces (id, name, created_at, updated_at) VALUES ('W', 'w', '', '');"
                "INSERT INTO projects (id, workspace_id, name, description, created_at, updated_at)"
                " VALUES ('P', 'W', 'p', '', '', '');"
            )
            await transaction.run(
                "INSERT INTO workflow_defs (id, version, name, description, project_id, content_hash, created_at,"
                " updated_at, initial_node_id, on_timeout, tags, input_schema, output_schema, context_schema)"
                " VALUES ('w', 1, 'old', '', 'P', '', '', '', 'n', 'fail', '[]', '{}', '{}', $1)",
                [(schema,)],
            )
            plan = plan_context(table_prefix("w", 1), context_schema=parse_json(schema))
            await create(transaction, plan, "sqlite")
            await write(transaction, plan.insert("R", {"input": {}, "state": {"tags": ["b", "a"]}, "output": {}}))
            await transaction.run("CREATE VIEW context_old AS SELECT group_concat(id, ',' ORDER BY id) FROM runs")
            await transaction.execute("register_context_table", "context_old", "w", 1, "view", 1, "")
        await store.close()
        if sqlite3.sqlite_version_info < (3, 44):
            with pytest.raises(sqlite3.DatabaseError, match="malformed database schema"):
                read_by_another_program(path, "SELECT count(*) FROM runs")
    await (await open_store(f"sqlite:///{path}")).close()
    assert read_by_another_program(path, "SELECT state_tags FROM context_old") == [('["b","a"]',)]
    assert read_by_another_program(path, "SELECT * FROM event_log") == []


async def test_ctx_2_the_catalogue_has_nothing_that_sqlite_3_37_does_not_know(tmp_path: Path) -> None:
    """An operator or clause that it can't parse, in any view, would hide every table from it."""
    store = await open_store(f"sqlite:///{tmp_path / 'new.db'}")
    statements = [str(sql) for (sql,) in await store.query("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")]
    await store.close()
    for sql in statements:
        code = re.sub(r"--[^\n]*|'(?:[^']|'')*'", "", sql)
        assert "->" not in code  # since 3.38
        assert not re.search(r"\b(RIGHT|FULL)\s+(OUTER\s+)?JOIN\b|IS\s+(NOT\s+)?DISTINCT", code)  # since 3.39
        assert not re.search(r"group_concat\([^()]*ORDER BY", code)  # since 3.44


def read_by_another_program(path: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


async def test_times_in_the_views_for_people_are_compared_with_now(store: Store) -> None:
    """CMD-6: on PostgreSQL they are timestamps; on SQLite texts, in an order that is that of time."""
    week = "now() - interval '7 days'" if store.dialect == "postgresql" else "datetime('now', '-7 days')"
    times = {
        "run_log": "created_at",
        "token_log": "ended_at",
        "event_log": "happened_at",
        "artifact_log": "created_at",
    }
    for view, column in times.items():
        assert await store.query(f"SELECT count(*) FROM {view} WHERE {column} > {week}") == [(0,)]
