"""The process in which a query on SQLite runs: started by its path, it answers once and ends.

A single instruction of SQLite's may compute for hours (`instr` of two long texts) or take gigabytes, and nothing in the
same process could stop it. Here the kernel does. It imports as little as it can, because every query waits for that.
"""

import json
import resource
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

import apsw

_ALLOWED_ACTIONS: Final = frozenset({apsw.SQLITE_SELECT, apsw.SQLITE_RECURSIVE})
_TABLE_FUNCTIONS: Final = frozenset({"json_each", "json_tree", "jsonb_each", "jsonb_tree"})
MEMORY_BYTES: Final = 1 << 30
TEMPORARY_FILE_BYTES: Final = 1 << 30
DEFINITION_BYTES: Final = 1 << 24
STEPS: Final = 10_000
END_SIGNAL: Final = signal.SIGALRM
_LIMITS: Final = {
    apsw.SQLITE_LIMIT_ATTACHED: 0,
    apsw.SQLITE_LIMIT_COMPOUND_SELECT: 100,
    apsw.SQLITE_LIMIT_EXPR_DEPTH: 200,
    apsw.SQLITE_LIMIT_FUNCTION_ARG: 200,
    apsw.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 1_000,
    apsw.SQLITE_LIMIT_VARIABLE_NUMBER: 0,
    apsw.SQLITE_LIMIT_WORKER_THREADS: 0,
}


class Request(NamedTuple):
    """What to run, where, and within which limits."""

    path: str
    sql: str
    seconds: float
    rows_max: int
    bytes_max: int
    cell_bytes: int
    sql_bytes_max: int
    tables: list[str]
    prefixes: list[str]
    functions: list[str]
    names_sql: str
    view_sql: str


class Reply(NamedTuple):
    """The result, or why there is none: `refused` is a kind of refusal with a name or a message."""

    columns: Sequence[str] = ()
    rows: Sequence[Any] = ()
    cut: str | None = None
    refused: tuple[str, str] | None = None


def written(value: Request | Reply) -> bytes:
    """Write one of them as JSON, bytes in it as an object that SQLite has none of."""
    return json.dumps(value._asdict(), default=lambda cell: {"bytes": cell.hex()}).encode()


def read(text: bytes) -> dict[str, Any]:
    """Read what `written` wrote; raises ValueError."""
    found: dict[str, Any] = json.loads(text, object_hook=_with_bytes)
    return found


def _with_bytes(found: dict[str, Any]) -> Any:
    return bytes.fromhex(found["bytes"]) if set(found) == {"bytes"} else found


class _Refused(Exception):
    pass


def main() -> None:
    """Answer the request on standard input."""
    asked = Request(**read(sys.stdin.buffer.read()))
    _bound(asked.seconds)
    try:
        reply = _run(asked)
    except MemoryError:
        reply = Reply(refused=("memory", ""))
    sys.stdout.buffer.write(written(reply))


def _bound(seconds: float) -> None:
    """Have the kernel end this process when the time is over, whatever it does then."""
    signal.setitimer(signal.ITIMER_REAL, seconds + 1)
    for kind, most in (
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_FSIZE, TEMPORARY_FILE_BYTES),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
        with suppress(ValueError, OSError):  # macOS does not know all of them
            resource.setrlimit(kind, (bound, bound))


def _run(asked: Request) -> Reply:
    denied: list[tuple[str, str]] = []
    views: set[str] = set()
    try:
        connection = apsw.Connection(asked.path, flags=apsw.SQLITE_OPEN_READONLY)
    except apsw.Error as error:
        return Reply(refused=("unopened", str(error)))
    try:
        _confine(connection, asked, denied, views)
        while True:
            try:
                return _read(connection, asked)
            except apsw.SQLError as error:
                if not _make_view(connection, asked.view_sql, str(error), views):
                    raise
    except apsw.InterruptError:
        return Reply(refused=("slow", ""))
    except apsw.TooBigError:
        return Reply(refused=("large", ""))
    except apsw.NoMemError:
        return Reply(refused=("memory", ""))
    except (apsw.FullError, apsw.IOError):
        return Reply(refused=("disk", ""))
    except _Refused:
        return Reply(refused=("several", ""))
    except (apsw.Error, UnicodeDecodeError) as error:
        return Reply(refused=denied[0] if denied else ("failed", str(error)))
    finally:
        connection.close()


def _make_view(connection: apsw.Connection, view_sql: str, error: str, views: set[str]) -> bool:
    """Make the view that a query lacks, for this connection alone, if the database keeps its definition as a row."""
    name = error.removeprefix("no such table: ")
    if name == error:
        return False
    authorizer, longest = connection.authorizer, connection.limit(apsw.SQLITE_LIMIT_SQL_LENGTH)
    connection.authorizer = connection.exec_trace = None
    try:
        connection.limit(apsw.SQLITE_LIMIT_VARIABLE_NUMBER, 1)
        rows = connection.execute(view_sql, (name,))
        found = [(str(view), str(definition)) for view, definition in rows if view not in views]
        # Wonder wrote it, and it changes nothing but this connection's own list of views.
        connection.pragma("query_only", False)
        connection.limit(apsw.SQLITE_LIMIT_SQL_LENGTH, DEFINITION_BYTES)
        for view, definition in found:
            connection.execute(definition)
            views.add(view)
        return bool(found)
    except apsw.SQLError:  # a database that was not migrated yet has no such rows
        return False
    finally:
        connection.pragma("query_only", True)
        connection.limit(apsw.SQLITE_LIMIT_SQL_LENGTH, longest)
        connection.limit(apsw.SQLITE_LIMIT_VARIABLE_NUMBER, _LIMITS[apsw.SQLITE_LIMIT_VARIABLE_NUMBER])
        connection.authorizer = authorizer


def _confine(connection: apsw.Connection, asked: Request, denied: list[tuple[str, str]], views: set[str]) -> None:
    deadline = time.monotonic() + asked.seconds
    connection.pragma("query_only", True)
    connection.pragma("trusted_schema", False)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.set_busy_timeout(int(asked.seconds * 1000))
    connection.set_progress_handler(lambda: time.monotonic() > deadline, STEPS)
    for limit, value in _LIMITS.items():
        connection.limit(limit, value)
    connection.limit(apsw.SQLITE_LIMIT_LENGTH, asked.bytes_max)
    connection.limit(apsw.SQLITE_LIMIT_SQL_LENGTH, asked.sql_bytes_max)

    hidden = _hidden(connection, asked)

    def authorize(action: int, first: str | None, second: str | None, database: str | None, _: str | None) -> int:
        if action in _ALLOWED_ACTIONS:
            return apsw.SQLITE_OK
        if action == apsw.SQLITE_READ and first is not None:
            if first in _TABLE_FUNCTIONS or (database == "main" and _is_readable(first, asked)):
                return apsw.SQLITE_OK
            if database == "temp" and first in views:
                return apsw.SQLITE_OK
            # Without a column, as for count(*), the name is as it was written, and may be one of a WITH.
            if not second and first.lower() not in hidden and not first.lower().startswith(("pragma_", "sqlite_")):
                return apsw.SQLITE_OK
            denied.append(("table", first))
        elif action == apsw.SQLITE_FUNCTION and second is not None:
            if second.lower() in asked.functions:
                return apsw.SQLITE_OK
            denied.append(("function", second))
        else:
            denied.append(("action", str(apsw.mapping_authorizer_function.get(action, action))))
        return apsw.SQLITE_DENY

    connection.authorizer = authorize


def _hidden(connection: apsw.Connection, asked: Request) -> frozenset[str]:
    """Give what there is and can't be read: tables, and what SQLite offers as tables by itself."""
    found = {name for (name,) in connection.execute(asked.names_sql)}
    return frozenset(name.lower() for name in found - _TABLE_FUNCTIONS if not _is_readable(name, asked))


def _is_readable(table: str, asked: Request) -> bool:
    return table in asked.tables or table.startswith(tuple(asked.prefixes))


def _read(connection: apsw.Connection, asked: Request) -> Reply:
    columns: list[str] = []
    kept: list[Any] = []
    left = asked.bytes_max
    begun: list[str] = []

    def begin(cursor: apsw.Cursor, sql: str, _bindings: object) -> bool:
        if not cursor.has_vdbe:  # a comment
            return True
        begun.append(sql)
        if len(begun) > 1:
            raise _Refused
        columns.extend(column[0] for column in cursor.get_description())
        return True

    connection.exec_trace = begin
    rows = connection.execute(asked.sql)
    # What comes after the statement must not be another one: nothing, or a comment.
    if not begun:
        return Reply(refused=("empty", ""))
    connection.execute(asked.sql[len(begun[0]) :])
    for row in rows:
        left -= sum(asked.cell_bytes + _size(cell) for cell in row)
        if left < 0 and not kept:
            return Reply(refused=("large", ""))
        if left < 0 or len(kept) == asked.rows_max:
            return Reply(columns, kept, "bytes" if left < 0 else "rows")
        kept.append(row)
    return Reply(columns, kept)


def _size(cell: object) -> int:
    return len(cell) if isinstance(cell, bytes) else len(cell.encode(errors="replace")) if isinstance(cell, str) else 8


if __name__ == "__main__":
    main()
