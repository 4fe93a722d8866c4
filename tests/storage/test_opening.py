"""Opening a database: every way in which it can't be opened says why and what to do."""

import asyncio
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

import apsw
import asyncpg
import pytest

from support.postgres import PostgresServer
from wonder.storage.errors import (
    BadDatabaseUrl,
    ConnectionLost,
    DatabaseBusy,
    DatabaseFailed,
    DatabaseUnreachable,
    DatabaseUnsuitable,
    DiskFull,
    DriverMissing,
    NotADatabase,
    StoreClosed,
    WriteRefused,
)
from wonder.storage.migrate import known_migrations
from wonder.storage.opening import open_store
from wonder.storage.postgresql import store as postgres
from wonder.storage.postgresql.errors import translated
from wonder.storage.sqlite.connection import connect
from wonder.storage.store import Store
from wonder.storage.url import PostgresAddress, SqliteAddress, parse_url


@pytest.mark.parametrize(
    ("url", "path"),
    [("sqlite:///app.db", "app.db"), ("sqlite:////data/app.db", "/data/app.db"), ("sqlite:///a b/ä.db", "a b/ä.db")],
)
def test_an_sqlite_address_names_a_file(url: str, path: str) -> None:
    assert parse_url(url) == SqliteAddress(Path(path))


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("", "no scheme"),
        ("app.db", "no scheme"),
        ("mysql://host/db", "unknown scheme 'mysql'"),
        ("sqlite://app.db", "three slashes"),
        ("sqlite:///", "names no file"),
        ("sqlite:///folder/", "names no file"),
        ("sqlite:///:memory:", "memory"),
        ("sqlite:///a.db?mode=ro", "options"),
        ("sqlite:///a\x00b.db", "U+0000"),
        ("postgresql://host:port/db", "can't be read"),
        ("postgresql://[host/db", "can't be read"),
    ],
)
def test_an_address_that_can_not_be_read_says_why(url: str, reason: str) -> None:
    with pytest.raises(BadDatabaseUrl) as refused:
        parse_url(url)
    assert reason in str(refused.value)
    assert "sqlite:///file.db" in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "me:s3cret@host/db",
        "postgresql:/me:s3cret@host/db",
        "postgres//me:s3cret@host/db",
        "mysql://me:s3cret@host/db",
        "mysql://host/db?password=s3cret",
        "sqlite://me:s3cret@host/db",
        "sqlite:///x.db?password=s3cret",
        "postgresql://me:s3cret/x@host/db",
        "postgresql://me:s3cret#x@host/db",
        "postgresql://me:s3cret?x@host/db",
        "postgresql://me:s3cret[@host/db",
        "postgresql://me:s3cret",
        "postgresql://me:s3cret@host/\x00",
        "postgresql://me:s3cret@host/\udcff",
    ],
)
def test_an_address_that_can_t_be_read_is_told_without_its_password(url: str) -> None:
    """Most often a password with a sign in it that should have been escaped."""
    with pytest.raises(BadDatabaseUrl) as refused:
        parse_url(url)
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize("sign", "/?#")
def test_a_password_that_looks_like_a_port_is_not_shown(sign: str) -> None:
    """`12/s3cret`: what seems to be the host is the user, and the rest of the password the database."""
    parsed = parse_url(f"postgresql://me:12{sign}a=s3cret@host/db")
    assert isinstance(parsed, PostgresAddress)
    assert "s3cret" not in parsed.shown


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:s3cret@host/db",
        "postgresql://host/db?user=me&password=s3cret",
    ],
)
def test_inv_8_no_address_that_is_shown_has_a_password(url: str) -> None:
    parsed = parse_url(url)
    assert isinstance(parsed, PostgresAddress)
    assert parsed.url == url
    assert "s3cret" not in parsed.shown
    assert "***" in parsed.shown


@pytest.mark.parametrize(
    "url", ["postgresql://me:s3cret@host:port/db", "postgresql://me:s3cret@[host/db", "mysql://me:s3cret@host/db"]
)
def test_inv_8_no_address_that_is_refused_shows_its_password(url: str) -> None:
    with pytest.raises(BadDatabaseUrl) as refused:
        parse_url(url)
    assert "s3cret" not in str(refused.value)
    assert "s3cret" not in refused.value.url


async def test_an_sqlite_file_is_opened_with_full_durability(tmp_path: Path) -> None:
    store = await open_store(f"sqlite:///{tmp_path}/app.db")
    async with store.transaction() as transaction:
        assert await transaction.query("PRAGMA journal_mode") == [("wal",)]
        assert await transaction.query("PRAGMA synchronous") == [(2,)]
        assert await transaction.query("PRAGMA foreign_keys") == [(1,)]
    assert await store.query("PRAGMA query_only") == [(1,)]
    await store.close()


def test_a_query_is_compiled_once_whatever_its_parameters_are(tmp_path: Path) -> None:
    """SQLite would do so with each one that it might use statistics for, which takes ten times as long as to run it."""
    connection = connect(SqliteAddress(tmp_path / "app.db"), busy_seconds=1)
    connection.execute("CREATE TABLE things (id TEXT, version INTEGER, PRIMARY KEY (id, version))")
    asked = list[object]()

    def allow(*what: object) -> int:
        """Hear of all that a query wants to do, which is asked while it is compiled."""
        asked.append(what)
        return apsw.SQLITE_OK

    connection.authorizer = allow
    counts = list[int]()
    for id in ("one", "two", "three"):
        connection.execute("SELECT version FROM things WHERE id = ? ORDER BY version DESC", (id,)).fetchall()
        counts.append(len(asked))
    connection.close()
    assert counts[0] > 0
    assert counts == [counts[0]] * 3


def names_in(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


async def test_a_store_that_was_closed_is_one_file(tmp_path: Path) -> None:
    store = await open_store(f"sqlite:///{tmp_path}/app.db")
    await store.fetch("applied_migrations")
    await store.close()
    assert names_in(tmp_path) == ["app.db"]


async def test_closing_breaks_off_reads_and_never_hangs(tmp_path: Path) -> None:
    store = await open_store(f"sqlite:///{tmp_path}/app.db")
    endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    reads = [asyncio.create_task(store.query(endless)) for _ in range(5)]
    await asyncio.sleep(0.05)
    await asyncio.wait_for(store.close(), 60)
    results = await asyncio.wait_for(asyncio.gather(*reads, return_exceptions=True), 60)
    assert {type(result) for result in results} == {StoreClosed}


async def test_a_missing_file_is_made_only_when_that_is_wanted(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/app.db"
    with pytest.raises(DatabaseUnreachable, match="no such file"):
        await open_store(url, create=False)
    assert not (tmp_path / "app.db").exists()
    await (await open_store(url)).close()
    await (await open_store(url, create=False)).close()


async def test_of_missing_folders_only_the_home_is_made(tmp_path: Path) -> None:
    await (await open_store(f"sqlite:///{tmp_path}/.wonder/wonder.db")).close()
    assert (tmp_path / ".wonder" / "wonder.db").exists()
    with pytest.raises(DatabaseUnreachable, match="does not exist; make it first"):
        await open_store(f"sqlite:///{tmp_path}/elsewhere/wonder.db")
    with pytest.raises(DatabaseUnreachable, match="does not exist"):
        await open_store(f"sqlite:///{tmp_path}/no/.wonder/wonder.db")


async def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("not a database " * 100)
    with pytest.raises(NotADatabase, match="restore a backup"):
        await open_store(f"sqlite:///{file}")
    assert file.read_text() == "not a database " * 100
    with pytest.raises(DatabaseUnreachable, match="it is a folder"):
        await open_store(f"sqlite:///{tmp_path}")


async def test_a_database_that_is_locked_for_too_long_is_busy(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/app.db"
    await (await open_store(url)).close()
    store = await open_store(url, busy_seconds=0.1)
    other = apsw.Connection(str(tmp_path / "app.db"))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(DatabaseBusy, match="try again"):
        await store.commit([("record_migration", [(99, "", "", "", "")])])
    other.execute("ROLLBACK")
    other.close()
    await store.commit([("record_migration", [(99, "", "", "", "")])])
    await store.close()


async def test_a_full_disk_keeps_nothing_of_the_transaction(tmp_path: Path) -> None:
    store = await open_store(f"sqlite:///{tmp_path}/app.db")
    async with store.transaction() as transaction:
        await transaction.run("CREATE TABLE big (x TEXT); PRAGMA max_page_count = 1")
    with pytest.raises(DiskFull, match="make room"):
        await store.commit([("INSERT INTO big VALUES ($1)", [("x" * 3_000_000,)])])
    assert await store.query("SELECT count(*) FROM big") == [(0,)]
    await store.close()


async def test_a_file_that_may_not_grow_is_told_with_where_to_look(tmp_path: Path) -> None:
    store = await open_store(f"sqlite:///{tmp_path}/app.db")
    async with store.transaction() as transaction:
        await transaction.run("CREATE TABLE big (x TEXT)")
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, most))
    try:
        with pytest.raises(DatabaseFailed, match="room, at quotas and at ulimit -f"):
            await store.commit([("INSERT INTO big VALUES ($1)", [("x" * 3_000_000,)])])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    assert await store.query("SELECT count(*) FROM big") == [(0,)]
    await store.commit([("INSERT INTO big VALUES ($1)", [("x" * 3_000_000,)])])
    await store.close()


READ_ONLY = """
import asyncio, os, sys
from wonder.errors import WonderError
from wonder.storage.opening import open_store
async def warm_up():  # imports all there is to import, which another user may not be able to read
    await (await open_store(sys.argv[2])).close()
asyncio.run(warm_up())
if os.geteuid() == 0:  # for root no file is read-only
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try:
    asyncio.run(open_store(sys.argv[1]))
except WonderError as error:
    print(error.code)
"""


def open_as_nobody(file: Path, folder_mode: int, file_mode: int) -> str:
    """Open the file in a process of another user, after changing its rights, and return what that printed."""
    file.chmod(file_mode)
    file.parent.chmod(folder_mode)
    with tempfile.TemporaryDirectory() as warm:
        command = [sys.executable, "-c", READ_ONLY, f"sqlite:///{file}", f"sqlite:///{warm}/warm.db"]
        finished = subprocess.run(command, capture_output=True, text=True, check=False)
    file.parent.chmod(0o755)
    return finished.stdout.strip() or finished.stderr


@pytest.mark.parametrize(("folder_mode", "file_mode"), [(0o555, 0o444), (0o755, 0o000), (0o711, 0o444)])
async def test_a_file_that_may_not_be_written_is_refused(folder_mode: int, file_mode: int) -> None:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        await (await open_store(f"sqlite:///{folder}/app.db")).close()
        printed = await asyncio.to_thread(open_as_nobody, folder / "app.db", folder_mode, file_mode)
    assert printed in {"WRITE_REFUSED", "DATABASE_UNREACHABLE"}


async def test_a_reader_can_not_write(store: Store) -> None:
    if store.dialect == "sqlite":
        with pytest.raises(WriteRefused):
            await store.query("DELETE FROM schema_migrations")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://wonder@127.0.0.1:1/db",
        "postgresql://wonder@no-such-host.invalid/db",
        "postgresql://wonder@/db?host=/no/such/folder",
    ],
)
async def test_a_server_that_does_not_answer_is_unreachable(url: str) -> None:
    with pytest.raises(DatabaseUnreachable, match="check the address"):
        await open_store(url)


async def test_a_database_that_the_server_does_not_have_is_unreachable(postgres_server: PostgresServer) -> None:
    with pytest.raises(DatabaseUnreachable, match="does not exist"):
        await open_store(postgres_server.url("no_such_database"))


async def test_a_server_that_is_too_old_is_refused(fresh_postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "OLDEST_VERSION", 99)
    with pytest.raises(DatabaseUnsuitable, match="PostgreSQL 99 or newer"):
        await open_store(fresh_postgres_url)


async def test_a_database_of_another_encoding_is_refused(postgres_server: PostgresServer) -> None:
    postgres_server.run("CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
    with pytest.raises(DatabaseUnsuitable, match="UTF8"):
        await open_store(postgres_server.url("latin"))


async def test_commits_are_durable_even_where_the_server_would_answer_before(
    postgres_server: PostgresServer, fresh_postgres_url: str
) -> None:
    name = urlsplit(fresh_postgres_url).path[1:]
    postgres_server.run(f'ALTER DATABASE "{name}" SET synchronous_commit = off')
    store = await open_store(fresh_postgres_url)
    assert await store.query("SELECT current_setting('synchronous_commit')") == [("on",)]
    await store.close()


async def test_without_its_driver_postgresql_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    for module in ("wonder.storage.postgresql.store", "wonder.storage.postgresql.errors"):
        monkeypatch.delitem(sys.modules, module)
    with pytest.raises(DriverMissing, match=r"wonder-workflows\[postgres\]"):
        await open_store("postgresql://host/db")


def test_opening_sqlite_does_not_import_the_driver_of_postgresql() -> None:
    program = "import wonder.storage.opening, sys; print('asyncpg' in sys.modules)"
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert printed == "False\n"


async def test_a_lost_connection_says_so_and_the_store_recovers(
    postgres_server: PostgresServer, fresh_postgres_url: str
) -> None:
    store = await open_store(fresh_postgres_url, connections=1)
    ((pid,),) = await store.query("SELECT pg_backend_pid()")

    async def write() -> None:
        async with store.transaction() as transaction:
            postgres_server.run(f"SELECT pg_terminate_backend({pid}, 5000)")
            await transaction.execute("record_migration", 9, "", "", "", "")

    with pytest.raises(ConnectionLost, match="may have happened"):
        await write()
    assert len(await store.fetch("applied_migrations")) == len(known_migrations("postgresql"))
    await store.close()


def test_a_connection_that_broke_unheard_is_a_lost_one() -> None:
    """What asyncpg says of one that is used in the moment between the server's death and its own hearing of it."""
    with pytest.raises(ConnectionLost, match="may have happened"), translated("some query"):
        raise asyncpg.InternalClientError("cannot switch to state 12; another operation (2) is in progress")
