"""Opening Wonder: whatever goes wrong on the way, the database is closed and the error is the one that was met."""

import subprocess
import sys

import pytest

from wonder.app import opening
from wonder.app.opening import open_wonder
from wonder.errors import WonderError
from wonder.storage.errors import DatabaseUnreachable, StoreClosed
from wonder.storage.opening import open_store
from wonder.storage.store import Store

IMPORTED = """
import asyncio, sys
import wonder
from wonder.storage import opening

found = []

async def migrate(store, *, on_begin=None, **options):
    found.append("wonder.app.engine" in sys.modules)
    if on_begin:
        on_begin()
        # So long a server takes to make its tables.
        await asyncio.sleep(0.5)
        found.append("wonder.app.engine" in sys.modules)
    await original(store, **options)

original, opening.migrate = opening.migrate, migrate

async def main():
    async with wonder.open(sys.argv[1]):
        print(*found)

asyncio.run(main())
"""


async def test_a_database_is_closed_when_what_comes_after_it_fails(
    empty_store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Store] = []

    async def noted(url: str, **options: object) -> Store:
        opened.append(await open_store(url))
        return opened[0]

    def refused(store: Store, url: str, **_: object) -> object:
        raise WonderError("refused")

    monkeypatch.setattr(opening, "open_store", noted)
    monkeypatch.setattr(opening, "app_on", refused)
    with pytest.raises(WonderError, match="refused"):
        async with open_wonder(empty_store_url):
            pass
    with pytest.raises(StoreClosed):
        await opened[0].fetch("table_exists", "runs")


async def test_a_database_that_can_not_be_opened_is_told_as_it_is() -> None:
    with pytest.raises(DatabaseUnreachable):
        async with open_wonder("sqlite:////nowhere/at/all.db"):
            pass


def test_the_engine_is_imported_while_a_server_makes_the_tables(empty_store_url: str) -> None:
    finished = subprocess.run(
        [sys.executable, "-c", IMPORTED, empty_store_url], capture_output=True, text=True, check=False, timeout=60
    )
    assert finished.returncode == 0, finished.stderr
    on_a_server = empty_store_url.startswith("postgresql")
    assert finished.stdout.split() == (["False", "True"] if on_a_server else ["False"])
