"""`python -m wonder.checker DATABASE_URL [--log FILE]`: print every violation; exit status 1 if there is any."""

import argparse
import asyncio
import sys
from pathlib import Path

from wonder.checker.checking import Count, check_runs
from wonder.checker.outside import check_log, read_log
from wonder.errors import WonderError
from wonder.storage.opening import open_store

UNUSABLE = 2


def main(arguments: list[str] | None = None) -> int:
    """Check the database that the arguments name, and give the exit status."""
    parser = argparse.ArgumentParser(prog="python -m wonder.checker", description="Check every run of a database.")
    parser.add_argument("database", metavar="DATABASE_URL", help="sqlite:///path or postgresql://…")
    parser.add_argument("--log", type=Path, help="what a test saw, in JSON lines (see wonder.checker.outside)")
    given = parser.parse_args(arguments)
    try:
        return asyncio.run(_check(given.database, given.log))
    except (WonderError, OSError, ValueError, KeyError) as error:
        print(f"can't check: {error!s}", file=sys.stderr)
        return UNUSABLE


async def _check(url: str, log: Path | None) -> int:
    lines = [] if log is None else list(read_log(log))
    store = await open_store(url, create=False, migrations="require")
    count, violations = Count(), 0
    try:
        async for violation in check_runs(store, count):
            print(violation)
            violations += 1
        async for violation in check_log(store, lines):
            print(violation)
            violations += 1
    finally:
        await store.close()
    passed = f" ({count.moving} were moving, and were passed over)" if count.moving else ""
    found = f"{violations} violations" if violations else "no violation"
    print(f"{count.runs} runs{passed}, {count.events} events checked: {found}")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
