"""Planted bugs: each small change to the engine must make a test, the checker or the simulation fail."""

import argparse
import random
import re
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from proof.bugs import coordinator, engine, executor, schedules, storage
from proof.bugs.bug import ROOT, Bug
from proof.bugs.workshop import LIMIT_SECONDS, planted, run_catcher, workshop

ROOMS: Final = {
    "engine": engine.BUGS,
    "coordinator": coordinator.BUGS,
    "schedules": schedules.BUGS,
    "executor": executor.BUGS,
    "storage": storage.BUGS,
}
BUGS: Final = tuple(bug for bugs in ROOMS.values() for bug in bugs)
TABLE: Final = ROOT / "docs" / "explanation" / "planted-bugs.md"
_ROW: Final = re.compile(r"^\| `(?P<name>[a-z0-9-]+)` \|.*$", re.MULTILINE)


class Catch(NamedTuple):
    """What has become of a bug: who has caught it, if anybody, and after how long."""

    bug: Bug
    caught_by: str | None
    seconds: float
    broken: str = ""
    """What a catcher printed that could not do its work."""


def main(arguments: list[str]) -> int:
    """Plant bugs, print who catches each, and give the exit status: 1 if one was caught by nobody."""
    given = _options().parse_args(arguments)
    bugs = _chosen(given)
    began = time.monotonic()
    # So that what is under way ends with us.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with workshop() as whole:
        if not given.trust and not _passes_unchanged(whole, bugs):
            return 1
        catches = [_look_for(whole, bug, number, len(bugs)) for number, bug in enumerate(bugs, 1)]
    missed = [catch.bug.name for catch in catches if catch.caught_by is None]
    if given.table:
        write_table(TABLE, catches)
    print(f"{len(bugs)} bugs planted, {len(bugs) - len(missed)} caught, in {time.monotonic() - began:.0f} s")
    for name in missed:
        print(f"VIOLATION {name}: nobody has caught it; again: python -m proof planted --only {name}")
    return 1 if missed else 0


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m proof planted", description=__doc__)
    parser.add_argument("--count", type=int, help="so many of them, chosen by the seed; all unless told")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--room", choices=list(ROOMS), action="append", help="only the bugs of this room")
    parser.add_argument("--only", metavar="NAME", action="append", help="only this bug")
    parser.add_argument("--trust", action="store_true", help="do not run the catchers without a bug first")
    parser.add_argument("--table", action="store_true", help=f"write what was found to {TABLE.relative_to(ROOT)}")
    return parser


def _chosen(given: argparse.Namespace) -> list[Bug]:
    bugs = [bug for room in given.room or ROOMS for bug in ROOMS[room]]
    if given.only:
        bugs = [bug for bug in BUGS if bug.name in given.only]
        unknown = set(given.only) - {bug.name for bug in bugs}
        if unknown:
            sys.exit(f"no bug is named {', '.join(sorted(unknown))}")
    if given.count is not None:
        bugs = random.Random(given.seed).sample(bugs, min(given.count, len(bugs)))
    return bugs


def _passes_unchanged(whole: Path, bugs: Sequence[Bug]) -> bool:
    """Run all catchers once on the project as it is: one that fails anyway would catch everything."""
    catchers = list(dict.fromkeys(catcher for bug in bugs for catcher in bug.catchers))
    tests = [catcher for catcher in catchers if catcher.startswith("tests/")]
    for group in [tests, *(catcher for catcher in catchers if catcher not in tests)]:
        if not group:
            continue
        # All tests at once: so long as many of them may take.
        verdict = run_catcher(whole, group, LIMIT_SECONDS * 4)
        if verdict.caught_by or verdict.broken:
            print(verdict.output)
            print(f"without any bug, {verdict.caught_by or 'a catcher'} fails: nothing can be said")
            return False
        print(
            f"without a bug, {group if isinstance(group, str) else f'{len(group)} catchers'} pass"
            f" in {verdict.seconds:.1f} s",
            flush=True,
        )
    return True


def _look_for(whole: Path, bug: Bug, number: int, count: int) -> Catch:
    catch = _catch(whole, bug)
    said = f"caught by {catch.caught_by} after {catch.seconds:.1f} s" if catch.caught_by else "CAUGHT BY NOBODY"
    print(f"{number} of {count}: {bug.name}: {said}", flush=True)
    if catch.broken:
        print(f"a catcher of {bug.name} could not do its work:\n{catch.broken[-2_000:]}", flush=True)
    return catch


def _catch(whole: Path, bug: Bug) -> Catch:
    """Run the catchers of a bug until one fails."""
    began, broken = time.monotonic(), ""
    with planted(whole, bug) as root:
        for catcher in dict.fromkeys(bug.catchers):
            verdict = run_catcher(root, catcher)
            if verdict.broken:
                broken = verdict.output
            if verdict.caught_by:
                return Catch(bug, verdict.caught_by, time.monotonic() - began, broken)
    return Catch(bug, None, time.monotonic() - began, broken)


def write_table(place: Path, catches: Sequence[Catch]) -> None:
    """Write the table; bugs that were not planted this time keep their row."""
    rows = {found["name"]: found[0] for found in _ROW.finditer(place.read_text("utf-8") if place.exists() else "")}
    rows |= {catch.bug.name: _row(catch) for catch in catches}
    kept = [rows[bug.name] for bug in BUGS if bug.name in rows]
    missed = sum("**nobody**" in row for row in kept)
    lines = [
        "# Planted bugs",
        "",
        "Each row is a small change to the engine, like a slip that somebody could make. It is made in a copy of the",
        "project, and then tests, checker and simulation must notice it. `python -m proof planted --table` wrote this",
        "table; a test sees to it that every change still fits the source.",
        "",
        f"**{len(kept) - missed} of {len(kept)} caught.**",
        "",
        "| bug | changed | what goes wrong | caught by | seconds |",
        "|---|---|---|---|---|",
        *kept,
    ]
    place.write_text("\n".join(lines) + "\n", "utf-8")


def _row(catch: Catch) -> str:
    bug = catch.bug
    caught_by = "**nobody**" if catch.caught_by is None else f"`{catch.caught_by.removeprefix('tests/')}`"
    return f"| `{bug.name}` | `{bug.file}` | {bug.harm} | {caught_by} | {catch.seconds:.1f} |"
