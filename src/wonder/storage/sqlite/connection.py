"""Opening an SQLite file so that what is committed survives a power cut, and proving that it was opened so."""

import time

import apsw

from wonder.storage.errors import DatabaseBusy, DatabaseUnreachable, DatabaseUnsuitable, WriteRefused
from wonder.storage.sqlite.errors import translated
from wonder.storage.url import SqliteAddress

STATEMENTS_KEPT = 1024
FULL = 2


def connect(address: SqliteAddress, *, busy_seconds: float, only_reads: bool = False) -> apsw.Connection:
    """Open a connection of our settings, each read back; a missing file is made, a missing folder is not."""
    folder = address.path.parent
    if not folder.is_dir():
        raise DatabaseUnreachable(address.shown, f"its folder {folder} does not exist; make it first")
    if address.path.is_dir():
        raise DatabaseUnreachable(address.shown, "it is a folder; name a file in it")
    with translated("open", address.shown):
        connection = apsw.Connection(str(address.path), statementcachesize=STATEMENTS_KEPT)
        try:
            _set_up(connection, address, busy_seconds, only_reads)
        except BaseException:
            connection.close()
            raise
        return connection


def _set_up(connection: apsw.Connection, address: SqliteAddress, busy_seconds: float, only_reads: bool) -> None:
    # SQLite opens what it may not write for reading only, and says nothing.
    if connection.readonly("main"):
        raise WriteRefused(f"the file {address.shown} may only be read")
    connection.set_busy_timeout(int(busy_seconds * 1000))
    # Without this a misspelt column in double quotes would silently be a text.
    connection.config(apsw.SQLITE_DBCONFIG_DQS_DML, 0)
    connection.config(apsw.SQLITE_DBCONFIG_DQS_DDL, 0)
    # Else whatever asks for the first columns of an index is compiled anew with each new parameter, which takes longer
    # than to run it: the parameter might call for another plan, if there were statistics.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    _use_write_ahead_log(connection, address, busy_seconds)
    wanted = {"synchronous": FULL, "foreign_keys": 1, "query_only": int(only_reads)}
    for name, value in wanted.items():
        connection.pragma(name, value)
        found = connection.pragma(name)
        if found != value:
            raise DatabaseUnsuitable(address.shown, f"{name} = {found}", f"{name} = {value}")


def _use_write_ahead_log(connection: apsw.Connection, address: SqliteAddress, busy_seconds: float) -> None:
    # Two processes that open a new file at once: SQLite answers "busy" here without waiting, so we wait ourselves.
    deadline = time.monotonic() + busy_seconds
    while True:
        try:
            mode = connection.pragma("journal_mode")
            if mode != "wal":
                mode = connection.pragma("journal_mode", "wal")
            break
        except apsw.BusyError as error:
            if time.monotonic() > deadline:
                raise DatabaseBusy(str(error)) from error
            time.sleep(0.01)
    if mode != "wal":
        raise DatabaseUnsuitable(address.shown, f"journal_mode = {mode}", "WAL, which some network file systems lack")
