"""Servers that the tests of a module share, on each database where that matters."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from support.servers import RunningServer, running_server
from support.stores import CopiedDatabases


@pytest.fixture(scope="module")
def server(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server without keys, on SQLite."""
    path = tmp_path_factory.mktemp("server") / "wonder.db"
    shutil.copy(sqlite_template, path)
    with running_server(f"sqlite:///{path}") as running:
        yield running


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server without keys, on each kind of database."""
    if request.param == "sqlite":
        path = tmp_path_factory.mktemp("server") / "wonder.db"
        shutil.copy(request.getfixturevalue("sqlite_template"), path)
        with running_server(f"sqlite:///{path}") as running:
            yield running
        return
    databases: CopiedDatabases = request.getfixturevalue("copied_databases")
    with databases.one() as url, running_server(url) as running:
        yield running


@pytest.fixture(scope="module")
def client(server: RunningServer) -> Iterator[httpx2.Client]:
    """Somebody on this machine."""
    with server.client() as asking:
        yield asking


@pytest.fixture(scope="module")
def on_both(both: RunningServer) -> Iterator[httpx2.Client]:
    """Somebody on this machine, on each kind of database."""
    with both.client() as asking:
        yield asking
