"""`wonder db check`: whatever is wrong with a database is found and named."""

from pathlib import Path

import pytest

from support.stored_records import NOW, action, clock, new_id, task, workflow_def
from wonder.storage.check import Finding, check_database, expected_tables
from wonder.storage.context_tables import context_tables_of, register_context_tables
from wonder.storage.definitions import StoredVersion, create_version
from wonder.storage.migrate import known_migrations
from wonder.storage.opening import open_store
from wonder.storage.sqlite.store import SqliteStore
from wonder.storage.store import Store
from wonder.storage.tenancy import Home, ensure_default
from wonder.storage.url import SqliteAddress


@pytest.fixture
async def home(store: Store) -> Home:
    """The default workspace and project."""
    return await ensure_default(store, clock=clock, new_id=new_id)


@pytest.fixture
async def flow(store: Store, home: Home) -> StoredVersion:
    """A stored workflow definition."""
    async with store.transaction() as transaction:
        say = await create_version(transaction, action("say", home.project_id))
        greet = await create_version(transaction, task("greet", home.project_id, [(say.id, 1)]))
        return await create_version(transaction, workflow_def("flow", home.project_id, [(greet.id, 1)]))


async def check(store: Store) -> list[Finding]:
    """Check, leaving out that the PostgreSQL of the tests runs without fsync."""
    return [finding for finding in await check_database(store) if finding.code != "NOT_DURABLE"]


async def run(store: Store, *statements: str) -> None:
    async with store.transaction() as transaction:
        for statement in statements:
            await transaction.run(statement)


async def test_a_healthy_database_has_no_findings(store: Store, flow: StoredVersion) -> None:
    assert await check(store) == []
    assert len(expected_tables(store.dialect)) > 50


async def test_a_server_that_does_not_keep_what_it_promised_is_a_warning(store: Store) -> None:
    found = {finding.message.split()[4] for finding in await check_database(store) if finding.code == "NOT_DURABLE"}
    assert found == ({"fsync", "full_page_writes"} if store.dialect == "postgresql" else set())


async def test_generated_tables_that_are_missing_are_found(store: Store, flow: StoredVersion) -> None:
    await run(store, 'CREATE TABLE "ctx a" (x TEXT)')
    async with store.transaction() as transaction:
        for _ in range(2):
            await register_context_tables(transaction, flow.id, 1, ["ctx a", "ctx b"], at=NOW)
        await register_context_tables(transaction, flow.id, 1, ["ctx view"], at=NOW, kind="view")
    assert await context_tables_of(store, flow.id, 1) == ["ctx a", "ctx b"]
    assert await context_tables_of(store, flow.id, 2) == []
    assert [finding.code for finding in await check(store)] == ["CONTEXT_TABLE_MISSING"] * 2
    await run(store, 'CREATE TABLE "ctx b" (x TEXT)', 'CREATE VIEW "ctx view" AS SELECT 1 AS x')
    assert await check(store) == []


async def test_rows_that_point_nowhere_are_found(store: Store, home: Home, flow: StoredVersion) -> None:
    binding = f"'w', '{home.project_id}', 'n', '', '', '', 'no such definition', NULL, "
    await run(
        store,
        "INSERT INTO workflows (id, project_id, name, created_at, updated_at, description, workflow_def_id, "
        f"pinned_version, enabled) VALUES ({binding} {'1' if store.dialect == 'sqlite' else 'true'})",
        "UPDATE workflow_defs SET initial_node_id = 'nowhere'",
    )
    findings = await check(store)
    assert [finding.code for finding in findings] == ["ORPHAN"] * 2
    assert [finding.message.split(" points")[0] for finding in findings] == [
        f"initial node of workflow {flow.id}",
        "workflow w",
    ]


async def test_a_missing_table_is_found(store: Store) -> None:
    await run(store, "DROP TABLE context_tables")
    assert await check(store) == [
        Finding("error", "TABLE_MISSING", "table context_tables is missing; restore a backup")
    ]


async def test_migrations_that_are_not_ours_are_found(store: Store) -> None:
    await run(store, "UPDATE schema_migrations SET sha256 = 'x'")
    assert [finding.code for finding in await check(store)] == ["MIGRATION_CHANGED"]
    await run(store, "UPDATE schema_migrations SET number = number + 98")
    assert [finding.code for finding in await check(store)] == ["DATABASE_NEWER"]


async def test_a_broken_foreign_key_is_found(tmp_path: Path) -> None:
    store = await open_store(f"sqlite:///{tmp_path}/app.db")
    broken = await SqliteStore.open(SqliteAddress(tmp_path / "app.db"), busy_seconds=5)
    await broken._writer.submit(lambda connection: connection.pragma("foreign_keys", False))
    await run(broken, "INSERT INTO projects VALUES ('p', 'no such workspace', 'n', NULL, '', '', NULL)")
    await broken.close()
    (finding,) = await check_database(store)
    assert (finding.severity, finding.code) == ("error", "DAMAGED")
    assert "of projects points at a row of workspaces that is not there" in finding.message
    await store.close()


async def test_a_damaged_file_is_found(tmp_path: Path) -> None:
    store = await open_store(f"sqlite:///{tmp_path}/app.db")
    await ensure_default(store, clock=clock, new_id=new_id)
    ((page,),) = await store.query("SELECT rootpage FROM sqlite_schema WHERE name = 'action_defs'")
    assert isinstance(page, int)
    await store.close()
    content = bytearray((tmp_path / "app.db").read_bytes())
    content[4096 * (page - 1) : 4096 * page] = b"\xff" * 4096
    (tmp_path / "app.db").write_bytes(content)
    opened = await open_store(f"sqlite:///{tmp_path}/app.db")
    findings = await check_database(opened)
    await opened.close()
    assert findings
    assert {finding.severity for finding in findings} == {"error"}


async def test_a_database_without_any_tables_is_told_what_to_do(tmp_path: Path) -> None:
    store = await SqliteStore.open(SqliteAddress(tmp_path / "app.db"), busy_seconds=5)
    findings = await check_database(store)
    assert findings[0].code == "NEVER_MIGRATED"
    assert len(findings) == 1 + len(expected_tables("sqlite"))
    assert known_migrations("sqlite")
    await store.close()
