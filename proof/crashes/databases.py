"""Fresh databases with all scenarios deployed: copies of a template, because to make one takes far longer."""

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any, Final, Protocol

from proof.crashes.scenarios import Scenario
from wonder.app.opening import open_app
from wonder.definitions.loading import load_text

KINDS: Final = ("sqlite", "postgresql")
_MEMORY: Final = Path("/dev/shm")
_TESTS: Final = Path(__file__).parents[2] / "tests"


class Databases(Protocol):
    """Makes databases of one kind."""

    kind: str
    folder: Path

    def make(self) -> str:
        """Make a fresh one, and give its address."""

    def remove(self, url: str) -> None:
        """Remove one that is not needed any more."""


class SqliteDatabases:
    """Files in a folder."""

    kind = "sqlite"

    def __init__(self, folder: Path, scenarios: Iterable[Scenario]) -> None:
        self.folder, self._numbers = folder, count()
        self._template = folder / "template.db"
        asyncio.run(_deploy(f"sqlite:///{self._template}", scenarios))

    def make(self) -> str:
        """Copy the template, which was closed and so has no log beside it."""
        path = self.folder / f"{os.getpid()}-{next(self._numbers)}.db"
        shutil.copyfile(self._template, path)
        return f"sqlite:///{path}"

    def remove(self, url: str) -> None:
        """Remove a file, with what lies beside it."""
        path = Path(url.removeprefix("sqlite:///"))
        for suffix in ("", "-wal", "-shm", ".lock"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)


class PostgresDatabases:
    """Databases of a server of our own."""

    kind = "postgresql"

    def __init__(self, folder: Path, server: Any, scenarios: Iterable[Scenario]) -> None:
        self.folder, self._server, self._numbers = folder, server, count()
        self._template = server.create_database()
        asyncio.run(_deploy(server.url(self._template), scenarios))

    def make(self) -> str:
        """Copy the template within the server."""
        name = f"proof_{os.getpid()}_{next(self._numbers)}"
        self._server.run(f'CREATE DATABASE "{name}" TEMPLATE "{self._template}"')
        url: str = self._server.url(name)
        return url

    def remove(self, url: str) -> None:
        """Drop a database."""
        self._server.drop_database(url.split("/")[3].split("?")[0])


@contextmanager
def open_databases(kind: str, scenarios: Iterable[Scenario]) -> Iterator[Databases]:
    """Make ready to make databases of a kind; all that was made goes at the end."""
    if os.access(_MEMORY, os.W_OK):
        # In memory: what a disk does at a power cut is proved elsewhere.
        tempfile.tempdir = str(_MEMORY)
    folder = Path(tempfile.mkdtemp(prefix="wonder-proof-"))
    server = None
    try:
        if kind == "sqlite":
            yield SqliteDatabases(folder, scenarios)
        else:
            sys.path.insert(0, str(_TESTS))
            server = import_module("support.postgres").start_postgres()
            yield PostgresDatabases(folder, server, scenarios)
    finally:
        if server is not None:
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)


async def _deploy(url: str, scenarios: Iterable[Scenario]) -> None:
    async with open_app(url) as app:
        for file in sorted({scenario.file for scenario in scenarios}):
            await app.deploy_loaded(load_text(file.read_bytes(), str(file)))
