"""What all tests share: a real PostgreSQL, and an empty store on each database."""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import wonder.actions  # noqa: F401  # announces the kinds of action to the rooms below it
from support.postgres import PostgresServer, start_postgres
from support.stores import migrated_template, remove_sqlite_files
from wonder.storage.opening import open_store
from wonder.storage.store import Store

# Programs that tests start would else compile all of Wonder each time, where the environment forbids to keep bytecode.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ.setdefault("PYTHONPYCACHEPREFIX", str(Path(__file__).parents[1] / ".cache" / "bytecode"))
# Which databases are this user's own is remembered here, and not in the home of whoever runs the tests.
STATE = TemporaryDirectory(prefix="wonder-state-")
os.environ["XDG_STATE_HOME"] = STATE.name


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes minutes, so that it is not alone at the end."""
    items.sort(key=lambda item: item.get_closest_marker("takes_minutes") is None)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A real PostgreSQL server, started once for the whole session."""
    server = start_postgres()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def postgres_url(postgres_server: PostgresServer) -> str:
    """The address of one empty database of the session's server; who writes to it cleans up."""
    return postgres_server.url(postgres_server.create_database())


@pytest.fixture
def fresh_postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """The address of an empty PostgreSQL database of this test's own, without any of Wonder's tables."""
    name = postgres_server.create_database()
    yield postgres_server.url(name)
    postgres_server.drop_database(name)


@pytest.fixture(scope="session")
def postgres_template(postgres_server: PostgresServer) -> str:
    """The name of a database with all migrations applied, to be copied: that is faster than migrating each."""
    return migrated_template(postgres_server)


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_store_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a database without Wonder's tables, on each kind of database."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'empty.db'}"
        remove_sqlite_files(tmp_path / "empty.db")
    else:
        yield request.getfixturevalue("fresh_postgres_url")


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of an empty database with all tables, on each kind of database."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'wonder.db'}"
        remove_sqlite_files(tmp_path / "wonder.db")
        return
    server: PostgresServer = request.getfixturevalue("postgres_server")
    name = server.create_database(template=request.getfixturevalue("postgres_template"))
    yield server.url(name)
    server.drop_database(name)


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    """An open store with all tables and no rows, on each kind of database."""
    opened = await open_store(store_url)
    yield opened
    await opened.close()
