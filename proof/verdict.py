"""The verdict: what the checker says of a database and of what was seen outside."""

import json
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from proof.outside_log import Line, condensed, read_lines
from wonder.checker.checking import Count, check_runs
from wonder.checker.outside import check_log
from wonder.storage.opening import open_store


class Verdict:
    """What was found, and how much was looked at."""

    def __init__(self) -> None:
        self.violations: list[str] = []
        self.counts: Counter[str] = Counter()

    async def look(self, url: str, lines: Iterable[Line]) -> None:
        """Have the checker look at a database and a log."""
        began, count, lines = time.monotonic(), Count(), list(lines)
        store = await open_store(url, create=False, migrations="require")
        try:
            self.violations += [str(violation) async for violation in check_runs(store, count)]
            self.violations += [str(violation) async for violation in check_log(store, lines)]
        finally:
            await store.close()
        self.counts["runs"] += count.runs
        self.counts["events"] += count.events
        for kind in ("accepted", "told_end", "answer_accepted", "event_accepted", "cancel_confirmed", "effect"):
            self.counts[kind] += sum(line["kind"] == kind for line in lines)
        self.counts["seconds of checking"] += round(time.monotonic() - began)

    def tell(self, replay: str) -> int:
        """Print all of it, and give the exit status."""
        print("  ".join(f"{name} {number}" for name, number in self.counts.items()))
        for violation in self.violations[:50]:
            print(f"VIOLATION {violation}")
        print(f"{len(self.violations) or 'no'} violation{'s' * (len(self.violations) != 1)}")
        if self.violations:
            print(f"again: {replay}")
        return 1 if self.violations else 0


def lines_of(log: Path) -> list[Line]:
    """Give a log as the checker needs it."""
    return condensed(read_lines(log))


def keep(folder: Path, lines: Iterable[Any]) -> None:
    """Let a folder stay, with the log as the checker got it."""
    (folder / "keep").write_text("".join(json.dumps(line) + "\n" for line in lines))
