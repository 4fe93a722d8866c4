"""A dump of a PostgreSQL database at one snapshot, by PostgreSQL's own programs."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

import asyncpg  # type: ignore[import-untyped]  # it ships no types

from wonder.storage.backup_errors import BackupFailed
from wonder.storage.queries import load_queries
from wonder.storage.url import SECRET_OPTIONS, PostgresAddress

_KEYS_AT_ONCE = 1_000


class Snapshot:
    """A moment of a database that stays as it is until this is closed."""

    def __init__(self, connection: asyncpg.Connection, address: PostgresAddress, id: str) -> None:
        self._connection, self._address, self._id = connection, address, id

    async def dump(self, target: Path) -> None:
        """Write everything that is in the database to a file; raises BackupFailed."""
        options = ["--format=custom", "--no-owner", "--no-privileges", f"--snapshot={self._id}", f"--file={target}"]
        await _run("pg_dump", self._address, options)

    async def contents(self, queries: Sequence[str]) -> AsyncIterator[tuple[str, int]]:
        """Give the key and size of all that these queries list of the object store."""
        for query in queries:
            after, sql = "", load_queries("postgresql")[query]
            while rows := await self._connection.fetch(sql, after, _KEYS_AT_ONCE):
                for key, size in rows:
                    yield str(key), int(size)
                after = str(rows[-1][0])


@asynccontextmanager
async def snapshot_of(address: PostgresAddress) -> AsyncIterator[Snapshot]:
    """Hold on to the database as it is now."""
    connection = await asyncpg.connect(address.url)
    try:
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            id = await connection.fetchval(load_queries("postgresql")["export_snapshot"])
            yield Snapshot(connection, address, str(id))
    finally:
        await connection.close()


async def restore_dump(address: PostgresAddress, dump: Path) -> None:
    """Fill an empty database with what a dump holds, all of it or nothing; raises BackupFailed."""
    options = ["--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction"]
    await _run("pg_restore", address, options, str(dump))
    connection = await asyncpg.connect(address.url)
    try:
        await connection.execute(load_queries("postgresql")["free_leases"])
    finally:
        await connection.close()


async def _run(program: str, address: PostgresAddress, options: list[str], *rest: str) -> None:
    found = shutil.which(program)
    if found is None:
        raise BackupFailed(
            f"{program} is not installed; install PostgreSQL's client programs, of the server's version or newer "
            "(on Debian or Ubuntu: apt-get install postgresql-client), and put them in the PATH"
        )
    url, password = _without_password(address.url)
    # In the environment, because other users of the machine see the arguments of a program.
    environment = os.environ | ({"PGPASSWORD": password} if password else {})
    process = await asyncio.create_subprocess_exec(
        found,
        *options,
        f"--dbname={url}",
        *rest,
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        _, told = await process.communicate()
    except BaseException:
        process.kill()
        await process.wait()
        raise
    if process.returncode:
        reason = told.decode("utf-8", "replace").strip() or f"exit status {process.returncode}"
        raise BackupFailed(f"{program} failed for {address.shown}: {reason[-1_000:]}")


def _without_password(url: str) -> tuple[str, str | None]:
    parts = urlsplit(url)
    options = parse_qsl(parts.query)
    user, separator, host = parts.netloc.rpartition("@")
    name, _, password = user.partition(":")
    secrets = list(_passwords(options))
    kept = urlencode([one for one in options if one[0] not in SECRET_OPTIONS], safe="/")
    bare = urlunsplit(parts._replace(netloc=f"{name}{separator}{host}", query=kept, fragment=""))
    return bare, secrets[0] if secrets else (unquote(password) or None)


def _passwords(options: list[tuple[str, str]]) -> Iterator[str]:
    return (value for name, value in options if name == "password")
