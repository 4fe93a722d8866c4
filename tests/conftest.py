"""What all tests share: a real PostgreSQL, and an empty store on each database."""

import asyncio
import gc
import os
import shutil
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import settings

import wonder.actions  # noqa: F401  # announces the kinds of action to the rooms below it
from support.postgres import PostgresServer, start_postgres
from support.stores import CopiedDatabases, migrated_template, remove_sqlite_files
from wonder.storage.opening import open_store
from wonder.storage.store import Store

# Programs that tests start would else compile all of Wonder each time, where the environment forbids to keep bytecode.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ.setdefault("PYTHONPYCACHEPREFIX", str(Path(__file__).parents[1] / ".cache" / "bytecode"))
# Which databases are this user's own is remembered here, and not in the home of whoever runs the tests.
STATE = TemporaryDirectory(prefix="wonder-state-")
os.environ["XDG_STATE_HOME"] = STATE.name


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--deep`."""
    parser.addoption("--deep", action="store_true", help="run what takes minutes, and try more (`make soak` does)")


def pytest_configure(config: pytest.Config) -> None:
    """Say how much is tried; in the suite the same in each run, so that none fails by chance."""
    os.environ["WONDER_DEEP"] = "1" if config.getoption("deep") else "0"
    settings.register_profile("suite", derandomize=True, deadline=None)
    settings.register_profile("deep", deadline=None)
    settings.load_profile("deep" if config.getoption("deep") else "suite")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with what takes long, so that it is not alone at the end; leave out what takes minutes."""
    if not config.getoption("deep"):
        left_out = [item for item in items if item.get_closest_marker("deep")]
        items[:] = [item for item in items if not item.get_closest_marker("deep")]
        config.hook.pytest_deselected(items=left_out)
    items.sort(key=lambda item: item.get_closest_marker("takes_long") is None)


def pytest_collection_finish() -> None:
    """Spare the garbage collector what lives as long as the test run: thousands of tests and modules."""
    gc.collect()
    gc.freeze()


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


@pytest.fixture(scope="session")
def copied_databases(postgres_server: PostgresServer, postgres_template: str) -> CopiedDatabases:
    """Databases of PostgreSQL with all tables, which are emptied and used again: that is faster than a copy each."""
    return CopiedDatabases(postgres_server, postgres_template)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with all migrations applied, to be copied: that is faster than migrating each."""
    path = tmp_path_factory.mktemp("template") / "wonder.db"

    async def migrate() -> None:
        await (await open_store(f"sqlite:///{path}")).close()

    # A thread of its own, because a session's fixture may come while a test's event loop runs.
    with ThreadPoolExecutor() as threads:
        threads.submit(asyncio.run, migrate()).result()
    return path


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
        shutil.copy(request.getfixturevalue("sqlite_template"), tmp_path / "wonder.db")
        yield f"sqlite:///{tmp_path / 'wonder.db'}"
        remove_sqlite_files(tmp_path / "wonder.db")
        return
    databases: CopiedDatabases = request.getfixturevalue("copied_databases")
    with databases.one() as url:
        yield url


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    """An open store with all tables and no rows, on each kind of database."""
    opened = await open_store(store_url)
    yield opened
    await opened.close()
