"""Running a query on SQLite: in a process of its own, which is ended when it takes too long or too much."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final, Literal, cast

import apsw

from wonder.storage.queries import load_queries
from wonder.storage.querying.answers import (
    CELL_BYTES,
    SQL_BYTES_MAX,
    Answer,
    Limits,
    QueryRefused,
    too_large,
    too_slow,
)
from wonder.storage.querying.policy import (
    CONTEXT_PREFIXES,
    FUNCTIONS,
    TABLES,
    is_readable,
    refused_function,
    refused_table,
)
from wonder.storage.sqlite import query_worker
from wonder.storage.sqlite.query_worker import Reply, Request, read, written
from wonder.storage.url import SqliteAddress

# The worker ends by itself a moment after its time; this is for a machine too busy to start it.
_GRACE_SECONDS: Final = 5.0
_ENVIRONMENT: Final = ("LD_LIBRARY_PATH", "PATH", "SQLITE_TMPDIR", "TMPDIR", "PYTHONPYCACHEPREFIX")


async def query_sqlite(address: SqliteAddress, sql: str, limits: Limits) -> Answer:
    """Run one statement that reads; raises QueryRefused."""
    queries = load_queries("sqlite")
    reply = await _replied(
        Request(
            path=str(address.path),
            sql=sql,
            seconds=limits.seconds,
            rows_max=limits.rows_max,
            bytes_max=limits.bytes_max,
            cell_bytes=CELL_BYTES,
            sql_bytes_max=SQL_BYTES_MAX,
            tables=sorted(TABLES),
            prefixes=[*CONTEXT_PREFIXES],
            functions=sorted(FUNCTIONS["sqlite"]),
            names_sql=queries["query_names"],
            view_sql=queries["query_view_definition"],
        ),
        limits,
    )
    if reply.refused is not None:
        raise _refusal(*reply.refused, address, limits)
    return Answer([*reply.columns], [*reply.rows], cast(Literal["rows", "bytes"] | None, reply.cut))


async def tables_on_sqlite(address: SqliteAddress) -> list[tuple[str, str]]:
    """List what can be read, each with its columns."""
    return await asyncio.to_thread(_tables, address)


def _tables(address: SqliteAddress) -> list[tuple[str, str]]:
    try:
        connection = apsw.Connection(str(address.path), flags=apsw.SQLITE_OPEN_READONLY)
    except apsw.Error as error:
        raise QueryRefused(f"the database {address.shown} can't be opened: {error}") from None
    try:
        queries = load_queries("sqlite")
        found = [(str(name), str(columns)) for name, columns in connection.execute(queries["query_tables"])]
        if any(name == "query_views" for name, _ in found):  # a database that was not migrated yet has none
            found += [(str(name), str(columns)) for name, columns in connection.execute(queries["query_views"])]
        return sorted((name, columns) for name, columns in found if is_readable(name))
    except apsw.Error as error:
        raise QueryRefused(f"the database {address.shown} can't be read: {error}") from None
    finally:
        connection.close()


async def _replied(asked: Request, limits: Limits) -> Reply:
    # Waited for by a thread: one of asyncio's that is given up while it starts may be waited for without end.
    process = subprocess.Popen(  # noqa: S603, ASYNC220  # an interpreter of ours with a file of ours, started in a moment
        [sys.executable, "-s", "-S", "-P", "-B", str(Path(query_worker.__file__))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=_environment(),
        start_new_session=True,
    )
    try:
        answer = await asyncio.to_thread(_communicated, process, written(asked), limits.seconds + _GRACE_SECONDS)
    finally:
        process.kill()
    try:
        return Reply(**read(answer))
    except ValueError:
        # Ended by the kernel, or by us: by the timer that it has set for itself, or because it was out of memory.
        is_slow = process.returncode in (-query_worker.END_SIGNAL, -signal.SIGKILL)
        return Reply(refused=("slow" if is_slow else "memory", ""))


def _communicated(process: "subprocess.Popen[bytes]", request: bytes, seconds: float) -> bytes:
    try:
        return process.communicate(request, timeout=seconds)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate()[0]


def _environment() -> dict[str, str]:
    """Give the worker little more than where its packages are."""
    kept = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    return kept | {"PYTHONPATH": str(Path(apsw.__file__).parents[1])}


def _refusal(kind: str, found: str, address: SqliteAddress, limits: Limits) -> QueryRefused:
    match kind:
        case "slow":
            return too_slow(limits)
        case "large":
            return too_large(limits.bytes_max)
        case "memory":
            mebibytes = query_worker.MEMORY_BYTES >> 20
            return QueryRefused(f"the query needs more than {mebibytes:,} MiB of memory; select less")
        case "disk":
            mebibytes = query_worker.TEMPORARY_FILE_BYTES >> 20
            return QueryRefused(f"the query needs temporary files of more than {mebibytes:,} MiB; sort or group less")
        case "table":
            return QueryRefused(refused_table(found))
        case "function":
            return QueryRefused(refused_function(found))
        case "empty":
            return QueryRefused("no statement was found in the query; write one SELECT")
        case "several":
            return QueryRefused("only one statement at a time is possible here; write one SELECT")
        case "action":
            return QueryRefused(f"only queries that read are possible here, and this needs {found}; write one SELECT")
        case "unopened":
            return QueryRefused(f"the database {address.shown} can't be opened: {found}")
        case "failed":
            hint = "; `wonder query --tables` lists what can be read" if found.startswith("no such table") else ""
            return QueryRefused(f"the query failed: {found}{hint}")
        case _:
            raise AssertionError(f"the worker gave {kind!r} as the reason, which is not one: {found}")
