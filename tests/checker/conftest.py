"""A good database of many kinds of runs, made once on each kind of database, and copies of it to spoil."""

import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from support.checked_runs import Spoiler, make, open_spoiler
from support.postgres import PostgresServer
from support.stores import remove_sqlite_files


class Good(NamedTuple):
    """A database with its runs by name; `template` is its name where it is on PostgreSQL."""

    path: Path
    template: str
    runs: dict[str, str]


@pytest.fixture(scope="session")
def good_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Good]:
    """The good database on SQLite."""
    path = tmp_path_factory.mktemp("good") / "wonder.db"
    yield Good(path, "", make(f"sqlite:///{path}"))
    remove_sqlite_files(path)


@pytest.fixture(scope="session")
def good_postgres(postgres_server: PostgresServer, postgres_template: str) -> Good:
    """The good database on PostgreSQL."""
    name = postgres_server.create_database(template=postgres_template)
    return Good(Path(), name, make(postgres_server.url(name)))


class Copy(NamedTuple):
    """A copy of the good database."""

    url: str
    runs: dict[str, str]


@pytest.fixture(params=["sqlite", "postgresql"])
def good_copy(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Copy]:
    """A copy of the good database, of this test's own."""
    if request.param == "sqlite":
        good: Good = request.getfixturevalue("good_sqlite")
        shutil.copy(good.path, tmp_path / "copy.db")
        yield Copy(f"sqlite:///{tmp_path / 'copy.db'}", good.runs)
        remove_sqlite_files(tmp_path / "copy.db")
        return
    good = request.getfixturevalue("good_postgres")
    server: PostgresServer = request.getfixturevalue("postgres_server")
    name = server.create_database(template=good.template)
    yield Copy(server.url(name), good.runs)
    server.drop_database(name)


@pytest.fixture
async def spoiler(good_copy: Copy) -> AsyncIterator[Spoiler]:
    """A copy of the good database, open to be spoilt."""
    opened = await open_spoiler(good_copy.url, good_copy.runs)
    yield opened
    await opened.store.close()
