"""A program for tests with several processes: waits for a line, then opens a database and writes to it.

Usage: store_program.py migrate URL, or deploy URL PROJECT NAME WRITER COUNT, or default URL, or commit URL
"""

import asyncio
import json
import sys

from support.stored_records import action
from wonder.app.ids import new_ulid
from wonder.storage.clock import utc_now
from wonder.storage.definitions import create_version
from wonder.storage.migrate import applied_migrations, migrate
from wonder.storage.opening import open_store
from wonder.storage.tenancy import ensure_default


def new_id() -> str:
    """Give a real ULID: these processes don't share a counter."""
    return new_ulid()


async def do_migrate(url: str) -> object:
    """Open, which migrates, and tell what the database has."""
    store = await open_store(url)
    await migrate(store)
    applied = await applied_migrations(store)
    await store.close()
    return [migration.number for migration in applied]


async def do_deploy(url: str, project_id: str, name: str, writer: str, count: str) -> object:
    """Deploy ever changing content under one name, several at a time, and tell which versions it got."""
    store = await open_store(url)

    async def deploy(number: int) -> int:
        async with store.transaction() as transaction:
            record = action(name, project_id, id=new_id(), content_hash=f"{writer}-{number}")
            return (await create_version(transaction, record)).version

    versions = await asyncio.gather(*(deploy(number) for number in range(int(count))))
    await store.close()
    return versions


async def do_commit(url: str) -> object:
    """Commit one row after the other for ever, telling each number when its commit has returned."""
    store = await open_store(url)
    number = 0
    while True:
        number += 1
        await store.commit([("INSERT INTO kept (number) VALUES ($1)", [(number,)])])
        print(number, flush=True)


async def do_default(url: str) -> object:
    """Ask for the default project and tell its id."""
    store = await open_store(url)
    home = await ensure_default(store, clock=utc_now, new_id=new_id)
    await store.close()
    return [home.workspace_id, home.project_id]


def main() -> None:
    """Say that we are ready, wait for the word, work, and print the answer as JSON."""
    print("ready", flush=True)
    sys.stdin.readline()
    commands = {"migrate": do_migrate, "deploy": do_deploy, "default": do_default, "commit": do_commit}
    print(json.dumps(asyncio.run(commands[sys.argv[1]](*sys.argv[2:]))), flush=True)


if __name__ == "__main__":
    main()
