"""Measures lists of runs in a database with a million of them: `python -m benchmarks.lists [--runs N] [URL …]`.

Without an address it makes a database of each kind, and removes it afterwards. A database that is empty or not there
yet is filled first; one that has runs is measured as it is.
"""

import argparse
import asyncio

from benchmarks.lists.generating import generate
from benchmarks.lists.measuring import measure, show
from benchmarks.runs.databases import postgres_databases, sqlite_folder
from wonder.app.opening import open_app

RUNS = 1_000_000


async def _measure(url: str, runs: int, rounds: int) -> None:
    # Without an engine, which would go on with the runs.
    async with open_app(url) as app:
        is_empty = not await app.store.query("SELECT 1 FROM runs LIMIT 1")
    if is_empty:
        await generate(url, runs)
    show(await measure(url, rounds))


def main() -> None:
    """Fill and measure the given databases, or one of each kind."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lists", description=__doc__)
    parser.add_argument("url", nargs="*")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--rounds", type=int, default=100)
    given = parser.parse_args()
    if given.url:
        for url in given.url:
            asyncio.run(_measure(url, given.runs, given.rounds))
        return
    for databases in (sqlite_folder, postgres_databases):
        with databases() as database:
            print(f"\n{asyncio.run(database.durability())}")
            asyncio.run(_measure(database.new_url(), given.runs, given.rounds))


if __name__ == "__main__":
    main()
