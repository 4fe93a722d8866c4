"""The role that queries run as on PostgreSQL: it reads what queries may, also what comes later, and nothing else."""

import base64

import pytest

from support.definitions import GREET_EVERYONE
from support.postgres import PostgresServer
from wonder.app.application import Application
from wonder.app.ids import new_ulid
from wonder.definitions.loading import load_text
from wonder.storage import migrate as migrations
from wonder.storage.clock import utc_now
from wonder.storage.migrate import Migration, known_migrations, migrate
from wonder.storage.opening import open_store
from wonder.storage.postgresql.reader_role import ReaderNotPossible, grant_reader, scram_verifier, url_of_role
from wonder.storage.querying.policy import TABLES
from wonder.storage.reading import read_only_query
from wonder.storage.store import Store
from wonder.storage.tenancy import ensure_default


def privileges(server: PostgresServer, database: str, role: str) -> set[tuple[str, str]]:
    """Give what a role was granted on tables, asked through psql."""
    sql = f"SELECT table_name, privilege_type FROM information_schema.role_table_grants WHERE grantee = '{role}'"
    return {(line.split("|")[0], line.split("|")[1]) for line in server.run(sql, database).splitlines()}


@pytest.fixture
async def made(fresh_postgres_url: str) -> Store:
    """A store on PostgreSQL with all tables."""
    return await open_store(fresh_postgres_url)


async def test_cmd_6_a_reader_is_granted_what_queries_may_read_and_nothing_else(
    made: Store, fresh_postgres_url: str, postgres_server: PostgresServer
) -> None:
    database = fresh_postgres_url.partition("@/")[2].partition("?")[0]
    first = await grant_reader(made)
    async with made.transaction() as transaction:
        await transaction.run(f'GRANT ALL ON secrets, runs TO "{first.role}"')
    again = await grant_reader(made)
    assert (first.is_new, again.is_new, first.role, again.role) == (
        True,
        False,
        again.role,
        f"wonder_reader_{database}",
    )
    assert (len(first.password or ""), again.password) == (32, None)
    assert (await grant_reader(made, new_password=True)).password not in (None, first.password)
    assert privileges(postgres_server, database, first.role) == {(name, "SELECT") for name in TABLES}
    await made.close()


async def test_a_reader_can_read_contexts_that_are_deployed_later_and_views_that_are_made_anew(
    made: Store, fresh_postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = await grant_reader(made)
    url = url_of_role(fresh_postgres_url, reader.role, "any")
    app = Application(made, await ensure_default(made, clock=utc_now, new_id=new_ulid), utc_now, new_ulid)
    await app.deploy_loaded(load_text(GREET_EVERYONE, "test.yaml"))
    [(name,)] = (await read_only_query(url, "SELECT table_name FROM context_tables WHERE kind = 'view'")).rows
    assert (await read_only_query(url, f'SELECT * FROM "{name}"')).rows == []
    [(table,)] = (await read_only_query(url, "SELECT min(table_name) FROM context_tables WHERE kind = 'table'")).rows
    assert (await read_only_query(url, f'SELECT count(*) FROM "{table}"')).rows == [(0,)]
    known = known_migrations("postgresql")
    anew = "DROP VIEW artifact_log; CREATE VIEW artifact_log AS SELECT id FROM artifacts;"
    monkeypatch.setattr(migrations, "known_migrations", lambda _: (*known, Migration(len(known) + 1, "anew", anew)))
    await migrate(made)
    assert (await read_only_query(url, "SELECT * FROM artifact_log")).columns == ["id"]
    await made.close()


async def test_a_role_that_can_do_more_is_not_taken_for_a_reader(made: Store, postgres_server: PostgresServer) -> None:
    postgres_server.run("DROP ROLE IF EXISTS maker; CREATE ROLE maker CREATEROLE")
    with pytest.raises(ReaderNotPossible, match="'maker' exists and can do more than read"):
        await grant_reader(made, "maker")
    async with made.transaction() as transaction:
        await transaction.run("GRANT SELECT ON secrets TO PUBLIC")
    with pytest.raises(ReaderNotPossible, match="would have SELECT on secrets, which everybody has"):
        await grant_reader(made)
    await made.close()


async def test_sqlite_needs_no_reader(store: Store) -> None:
    if store.dialect == "sqlite":
        with pytest.raises(ReaderNotPossible, match="SQLite has no roles"):
            await grant_reader(store)


def test_a_password_is_hashed_as_the_server_does_it(postgres_server: PostgresServer) -> None:
    postgres_server.run("DROP ROLE IF EXISTS hashed; CREATE ROLE hashed PASSWORD 'correct-horse_1'")
    expected = postgres_server.run("SELECT rolpassword FROM pg_authid WHERE rolname = 'hashed'")
    salt = base64.b64decode(expected.split(":")[1].split("$")[0])
    assert scram_verifier("correct-horse_1", salt) == expected


def test_an_address_for_another_role_keeps_the_rest() -> None:
    assert url_of_role("postgresql://me:secret@host:5432/db?sslmode=require", "a b", "x/y") == (
        "postgresql://a%20b:x%2Fy@host:5432/db?sslmode=require"
    )
