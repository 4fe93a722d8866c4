"""Queries of a person's own: they read what is for people, call what is harmless, and end (`wonder query`)."""

import asyncio
import time
import tracemalloc
from collections.abc import AsyncIterator

import pytest

from support.postgres import PostgresServer
from support.readers import owner_url, reader_url
from wonder.storage.opening import open_store
from wonder.storage.queries import load_queries
from wonder.storage.querying.answers import SQL_BYTES_MAX
from wonder.storage.querying.policy import FUNCTIONS, TABLES
from wonder.storage.reading import Answer, Limits, QueryRefused, read_only_query, readable_tables
from wonder.storage.store import Store

BOTH = [
    "SELECT id, status, workflow FROM run_log ORDER BY created_at DESC LIMIT 5;  -- the newest",
    "WITH ended(id) AS (SELECT id FROM runs WHERE status = 'completed') SELECT count(*) AS n FROM ended",
    "SELECT count(*) FROM (SELECT * FROM token_log) AS t",
    "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 5) SELECT sum(x) FROM n",
    "SELECT event_type, metadata ->> 'x', row_number() OVER (ORDER BY sequence_number) FROM event_log",
    "SELECT e.timestamp, upper(e.event_type), coalesce(e.message, '-') FROM event_log AS e JOIN run_log AS r "
    "ON r.id = e.workflow_run_id WHERE e.event_type LIKE 'task%' GROUP BY 1, 2, 3 HAVING count(*) > 1",
    "SELECT schema_data ->> 'title' AS title FROM artifact_log",
    "SELECT table_name FROM context_tables",
    "WITH secrets AS (SELECT 1 AS name) SELECT * FROM secrets",
    "VALUES (1, 'a'), (2, 'b')",
    "SELECT 'a;b', '--', '/*' /* a comment; */",
]
SQLITE = [
    "SELECT value FROM json_each('[1, 2]')",
    "SELECT count(*) FROM event_log AS e, json_tree(e.metadata)",
    "SELECT strftime('%Y', created_at), julianday('now'), group_concat(status), median(1), total(1) FROM run_log",
    "SELECT json_extract('{\"a\": [1]}', '$.a[0]'), json_group_array(status), typeof(1), printf('%d', 1) FROM runs",
    "EXPLAIN QUERY PLAN SELECT * FROM run_log",
]
POSTGRES = [
    "SELECT date_trunc('day', now()), extract(epoch FROM now())::int, to_char(now(), 'YYYY'), now() AT TIME ZONE 'UTC'",
    "SELECT * FROM json_each('{\"a\": 1}') AS j(key, value)",
    "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x), count(*) FILTER (WHERE x > 2) FROM generate_series(1, 9) x",
    "SELECT * FROM (VALUES (1, 'a')) AS v(n, t), LATERAL (SELECT n + 1) AS w(m) ORDER BY n DESC",
    "SELECT trim(both 'x' from 'xax'), substring('abc' from 1 for 2), 'a' SIMILAR TO 'a', CAST(1 AS numeric(10, 2))",
    "SELECT grouping(status), count(*) FROM run_log GROUP BY ROLLUP (status)",
    "SELECT json_object('a': 1), x FROM json_table('[1]'::jsonb, '$[*]' COLUMNS (x int PATH '$')) AS t",
    "SELECT 1 AS wonder_result, 2 AS wonder_result, $q$a;b$q$, U&'\\0041', (ROW(1, 2)).f1",
]
HIDDEN = [
    "SELECT * FROM secrets",
    "SELECT * FROM api_keys",
    "SELECT * FROM http_answers",
    "SELECT * FROM server_keys",
    "SELECT * FROM audit_records",
    "SELECT count(*) FROM SECRETS",
    'SELECT 1 FROM "secrets" AS run_log',
    "SELECT EXISTS (SELECT 1 FROM secrets)",
    "WITH run_log AS (SELECT * FROM secrets) SELECT * FROM run_log",
    "SELECT * FROM secrets, (WITH secrets AS (SELECT 1) SELECT * FROM secrets) AS x",
    "SELECT (SELECT max(name) FROM secrets) FROM runs",
    "SELECT id FROM run_log UNION SELECT id FROM secrets",
    "SELECT payload FROM requests",
    "SELECT connection FROM mcp_servers",
    "SELECT * FROM idempotency_records",
    "SELECT * FROM schema_migrations",
]
SQLITE_HIDDEN = [
    "SELECT * FROM sqlite_schema",
    "SELECT count(*) FROM sqlite_master",
    "SELECT * FROM main.secrets",
    "SELECT * FROM journal",
    "SELECT * FROM pragma_table_info('secrets')",
    "SELECT count(*) FROM pragma_database_list",
    "SELECT * FROM dbstat",
]
POSTGRES_HIDDEN = [
    "SELECT * FROM public.secrets",
    "TABLE pg_authid",
    "SELECT * FROM pg_locks",
    "SELECT usename, query FROM pg_stat_activity",
    "SELECT * FROM information_schema.tables",
]
WRITES = [
    "DELETE FROM runs",
    "UPDATE runs SET status = 'x'",
    "DROP TABLE runs",
    "CREATE TEMP TABLE x (y INTEGER)",
    "SELECT 1; SELECT 2",
    "SELECT 1; DELETE FROM runs",
    "SELECT 1 -- \n; DELETE FROM runs",
    "BEGIN",
    "-- nothing",
    ";",
    "",
    "SELEC",
    "SELECT 1\0",
    "SELECT '\ud800'",
    "SELECT 1" + " " * SQL_BYTES_MAX,
    "SELECT 1" + " + 1" * 20_000,
]
SQLITE_WRITES = [
    "ATTACH '/nowhere' AS x",
    "PRAGMA query_only = 0",
    "VACUUM INTO '/nowhere'",
    "EXPLAIN DELETE FROM runs",
    "SELECT ?1",
    "SELECT " + "(" * 5_000 + "1" + ")" * 5_000,
]
POSTGRES_WRITES = [
    "COPY (SELECT 1) TO PROGRAM 'id'",
    "COPY runs TO STDOUT",
    "LOCK TABLE runs IN ACCESS EXCLUSIVE MODE",
    "DO $$ BEGIN END $$",
    "SET ROLE wonder",
    "CALL x()",
    "EXPLAIN ANALYZE DELETE FROM runs",
    "WITH x AS (DELETE FROM runs RETURNING *) SELECT * FROM x",
    "SELECT * FROM (WITH x AS (INSERT INTO runs DEFAULT VALUES RETURNING *) SELECT * FROM x) AS y",
    "SELECT 1 INTO x",
    "SELECT * FROM runs FOR UPDATE",
    "SELECT * FROM (SELECT * FROM runs FOR KEY SHARE) AS x",
    "SELECT 1) AS a; DROP TABLE runs; SELECT (1",
    "SELECT 1) AS a, (SELECT 2",
    "SELECT $1",
    "SELECT xmlparse(document '<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><a>&x;</a>')",
    "SELECT * FROM runs TABLESAMPLE system (10)",
]
SQLITE_FUNCTIONS = ["load_extension('x')", "fts3_tokenizer('x')", "randomblob(9)", "zeroblob(9)", "sqlite_version()"]
POSTGRES_FUNCTIONS = [
    "pg_read_file('/etc/passwd')",
    "\"pg_read_file\"('/etc/passwd')",
    "PG_READ_FILE /* */ ('/etc/passwd')",
    "pg_catalog.pg_read_file('/etc/passwd')",
    "U&\"pg\\005fread_file\"('/etc/passwd')",
    "('/etc/passwd'::text).pg_read_file",  # the function, written as a column
    "(SELECT t.pg_read_file FROM unnest(ARRAY['/etc/passwd']) AS t)",
    "(ARRAY['/etc/passwd'])[1].pg_read_file",
    "treat('/etc/passwd' AS pg_read_file)",
    "(5::float8).pg_sleep",
    "('select 1'::text).ts_stat",
    "pg_sleep(60)",
    "pg_ls_dir('/')",
    "lo_import('/etc/passwd')",
    "lo_export(1, '/nowhere')",
    "lo_create(0)",
    "lo_from_bytea(0, 'x')",
    "set_config('role', 'wonder', false)",
    "current_setting('data_directory')",
    "('data_directory'::text).current_setting",
    "pg_terminate_backend(1)",
    "pg_advisory_lock(1)",
    "pg_notify('a', 'b')",
    "query_to_xml('SELECT 1', true, true, '')",
    "table_to_xml('secrets', true, true, '')",
    "dblink('x', 'y')",
    "nextval('x')",
    "txid_current()",
    "pg_logical_emit_message(true, 'a', 'b')",
    "acts()",
    "public.acts()",
    "(SELECT r.acts FROM runs AS r)",
]
# Volatile, because they differ from call to call, and harmless.
VOLATILE = {"array_sample", "array_shuffle", "clock_timestamp", "gen_random_uuid", "random", "timeofday"}


class Door:
    """A database that can be queried, and the store that owns it."""

    def __init__(self, url: str, store: Store) -> None:
        self.url, self.store, self.is_sqlite = url, store, store.dialect == "sqlite"
        self._few = asyncio.Semaphore(4)

    def some(self, both: list[str], sqlite: list[str], postgres: list[str]) -> list[str]:
        """Give what there is for both databases, and for this one."""
        return both + (sqlite if self.is_sqlite else postgres)

    async def ask(self, sql: str, **limits: float) -> Answer:
        """Run a query."""
        return await read_only_query(self.url, sql, Limits(**limits))  # type: ignore[arg-type]  # numbers as they are given

    async def refusals(self, queries: list[str]) -> dict[str, str]:
        """Run queries of which each must be refused; gives why."""
        return dict(zip(queries, await asyncio.gather(*map(self._refusal, queries)), strict=True))

    async def _refusal(self, sql: str) -> str:
        async with self._few:
            with pytest.raises(QueryRefused) as refused:
                raise AssertionError(f"{sql!r} gave {await self.ask(sql)}")
            return str(refused.value)


@pytest.fixture(params=["sqlite", "reader", "owner"])
async def door(request: pytest.FixtureRequest) -> AsyncIterator[Door]:
    """Each way in: a file, the role made for queries, and the role that owns all tables."""
    if request.param == "sqlite":
        url = f"sqlite:///{request.getfixturevalue('tmp_path') / 'wonder.db'}"
    else:
        url = request.getfixturevalue("fresh_postgres_url")
        if request.param == "owner":
            server: PostgresServer = request.getfixturevalue("postgres_server")
            name = url.partition("@/")[2].partition("?")[0]
            if server.run("SELECT 1 FROM pg_roles WHERE rolname = 'plain'") != "1":
                server.run("CREATE ROLE plain LOGIN")
            server.run("GRANT ALL ON SCHEMA public TO plain", name)
            url = await owner_url(url)
    store = await open_store(url)
    try:
        yield Door(await reader_url(store, url) if request.param == "reader" else url, store)
    finally:
        await store.close()


async def test_what_people_ask_for_is_answered(door: Door) -> None:
    queries = door.some(BOTH, SQLITE, POSTGRES)
    assert {answer.cut for answer in await asyncio.gather(*map(door.ask, queries))} == {None}
    assert await door.ask("SELECT 1 AS a, 'x' AS b, NULL AS c") == (["a", "b", "c"], [_row(1, "x", None)], None)
    assert (await door.ask("SELECT id, status FROM run_log")).columns == ["id", "status"]


async def test_inv_8_tables_that_are_not_for_people_are_refused_by_name(door: Door) -> None:
    refusals = await door.refusals(door.some(HIDDEN, SQLITE_HIDDEN, POSTGRES_HIDDEN))
    for sql, refusal in refusals.items():
        assert "can't be read by a query; `wonder query --tables` lists" in refusal, sql


async def test_cmd_6_nothing_but_one_select_is_run(door: Door) -> None:
    await door.refusals(door.some(WRITES, SQLITE_WRITES, POSTGRES_WRITES))
    assert await readable_tables(door.url)


async def test_cmd_6_functions_that_could_do_harm_are_refused_by_name(door: Door) -> None:
    if not door.is_sqlite:
        async with door.store.transaction() as transaction:
            for arguments in ("", "runs"):
                await transaction.run(
                    f"CREATE FUNCTION acts({arguments}) RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT 1'"
                )
    refusals = await door.refusals(["SELECT " + one for one in door.some([], SQLITE_FUNCTIONS, POSTGRES_FUNCTIONS)])
    for sql, refusal in refusals.items():
        assert "can't be used in a query; `wonder query --functions` lists" in refusal, sql


async def test_the_lists_name_what_exists_and_what_is_harmless(door: Door) -> None:
    tables = {name for name, _ in await readable_tables(door.url)}
    assert tables == TABLES
    if not door.is_sqlite:
        found = await door.store.query("SELECT proname FROM pg_proc WHERE provolatile = 'v'")
        assert FUNCTIONS["postgresql"] & {str(name) for (name,) in found} <= VOLATILE


async def test_a_result_ends_at_its_limit_of_rows_and_of_bytes(door: Door) -> None:
    numbers = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1000) SELECT x FROM n"
    assert await door.ask(numbers, rows_max=2) == (["x"], [_row(1), _row(2)], "rows")
    assert (await door.ask(numbers, rows_max=1_000)).cut is None
    cut = await door.ask(numbers, bytes_max=14_000)  # the text of the longest view must fit as well
    assert (100 <= len(cut.rows) <= 220, cut.cut) == (True, "bytes")
    long = "printf('%.*c', 5000000, 'x')" if door.is_sqlite else "repeat('x', 5000000)"
    refused = await door.refusals([f"SELECT {long} || {long} || {long} || {long} || {long} || {long} || {long}"])
    assert "larger than" in next(iter(refused.values()))
    for limits in ({"rows_max": -1}, {"seconds": 0}, {"seconds": float("nan")}):
        with pytest.raises(QueryRefused, match="is not possible"):
            await door.ask("SELECT 1", **limits)


async def test_a_query_ends_in_time_whatever_it_computes(door: Door) -> None:
    """One instruction of SQLite's that takes an hour can't be interrupted, only ended with its process."""
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
    hour = "SELECT instr(printf('%.*c', 9000000, 'a'), printf('%.*c', 4000000, 'a') || 'b')"
    for sql in door.some([endless], [hour], []):
        begun = time.monotonic()
        with pytest.raises(QueryRefused, match=r"took longer than 0\.5 seconds"):
            await door.ask(sql, seconds=0.5)
        assert time.monotonic() - begun < 60


async def test_rows_that_are_not_asked_for_are_not_fetched(door: Door) -> None:
    """Five million rows with a limit of two took 546 MB."""
    many = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 300000) SELECT x FROM n"
    await door.ask("SELECT 1")
    tracemalloc.start()
    try:
        assert (await door.ask(many, rows_max=2)).cut == "rows"
        assert tracemalloc.get_traced_memory()[1] < 4_000_000
    finally:
        tracemalloc.stop()


async def test_memory_for_a_result_is_bounded_before_it_arrives(door: Door) -> None:
    if door.is_sqlite:
        sql = "SELECT " + ", ".join(f"printf('%.*c', 30000000, 'x{number}')" for number in range(60))
        (refusal,) = (await door.refusals([sql])).values()
        assert "needs more than 1,024 MiB of memory" in refusal
        return
    answer = await door.ask("SELECT repeat('x', 4000000) FROM generate_series(1, 100)")
    assert (len(answer.rows), answer.cut) == (8, "bytes")


async def test_cmd_6_superusers_and_roles_that_reach_the_servers_files_run_no_queries(
    fresh_postgres_url: str, postgres_server: PostgresServer
) -> None:
    await (await open_store(fresh_postgres_url)).close()
    with pytest.raises(QueryRefused, match=r"not run as 'wonder'.*`wonder db grant-reader"):
        await read_only_query(fresh_postgres_url, "SELECT 1")
    postgres_server.run("DROP ROLE IF EXISTS filer; CREATE ROLE filer LOGIN; GRANT pg_read_server_files TO filer")
    with pytest.raises(QueryRefused, match="not run as 'filer'"):
        await read_only_query(fresh_postgres_url.replace("wonder@", "filer@"), "SELECT 1")


async def test_the_server_itself_sees_what_a_query_names() -> None:
    """The queries about a query lock nothing, so that what is locked is what it names."""
    queries = load_queries("postgresql")
    assert "pg_locks" not in queries["query_locks"].partition("FROM")[2]


async def test_a_value_that_python_has_none_for_is_an_error_of_the_query(door: Door) -> None:
    """A date of PostgreSQL's may be in the year 99999."""
    if not door.is_sqlite:
        refused = await door.refusals(["SELECT CAST('99999-01-01' AS date)"])
        assert "the query failed: year 99999 is out of range" in next(iter(refused.values()))


@pytest.mark.parametrize("seconds", [0.0, 0.3])
async def test_a_query_can_be_given_up_at_any_time(door: Door, seconds: float) -> None:
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
    task = asyncio.create_task(door.ask(endless))
    await asyncio.sleep(seconds)
    task.cancel()
    begun = time.monotonic()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - begun < 30


def _row(*cells: object) -> object:
    return _AnyRow(cells)


class _AnyRow:
    """A row, whichever sequence it comes as."""

    def __init__(self, cells: tuple[object, ...]) -> None:
        self._cells = cells

    def __eq__(self, other: object) -> bool:
        return isinstance(other, list | tuple) and tuple(other) == self._cells

    def __hash__(self) -> int:
        return hash(self._cells)
