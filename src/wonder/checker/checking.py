"""Checking: every run of a database, one after the other, by every rule that needs no outside log."""

from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Final

from wonder.checker.conservation import check_conservation
from wonder.checker.contexts import check_context
from wonder.checker.definitions import Definition, load_definition
from wonder.checker.events import check_declared, check_index
from wonder.checker.families import check_children, check_parent
from wonder.checker.fan_in import check_joins, check_merges
from wonder.checker.fan_out import check_fan_outs, check_max_parallel
from wonder.checker.limits import check_attempts, check_loops
from wonder.checker.listed import check_listed
from wonder.checker.scheduled_runs import check_scheduled_input
from wonder.checker.schedules import check_schedules
from wonder.checker.sequence import check_end, check_sequence
from wonder.checker.snapshots import check_snapshots
from wonder.checker.stored import StoredRun, load_run
from wonder.checker.tables import check_tables
from wonder.checker.timers import check_timers
from wonder.checker.tokens import check_results, check_tokens
from wonder.checker.triggers import check_origin, check_triggers
from wonder.checker.violations import Violation
from wonder.storage.store import Reader

_RUNS_PER_PAGE: Final = 1_000
_DEFINITIONS_KEPT: Final = 100
# What reading something that is not of its form raises.
_UNREADABLE: Final = (KeyError, IndexError, TypeError, ValueError, AttributeError)

OF_EVENTS: Final[tuple[Callable[[StoredRun], Iterator[Violation]], ...]] = (
    check_declared,
    check_index,
    check_sequence,
    check_end,
    check_tokens,
    check_results,
    check_tables,
    check_snapshots,
)
OF_DEFINITION: Final[tuple[Callable[[StoredRun, Definition], Iterator[Violation]], ...]] = (
    check_conservation,
    check_fan_outs,
    check_max_parallel,
    check_joins,
    check_merges,
    check_loops,
    check_attempts,
    check_timers,
    check_children,
    check_triggers,
)


@dataclass
class Count:
    """How much was looked at; `moving` runs went on while they were read, and were passed over."""

    runs: int = 0
    events: int = 0
    moving: int = 0


class Definitions:
    """The definitions that runs follow, the last used ones kept."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._kept: OrderedDict[tuple[str, int], Definition | None] = OrderedDict()

    async def of(self, run: StoredRun) -> Definition | None:
        """Give the definition of a run; None if it is not there."""
        key = (str(run.row["workflow_def_id"]), int(run.row["workflow_version"]))
        if key not in self._kept:
            self._kept[key] = await load_definition(self._reader, *key)
            if len(self._kept) > _DEFINITIONS_KEPT:
                self._kept.popitem(last=False)
        return self._kept[key]


async def check_runs(reader: Reader, count: Count, *, trusts_clock: bool = True) -> AsyncGenerator[Violation, None]:
    """Check every run, and every schedule; `count` grows as this goes on.

    Without trust in the clock, which may have jumped, nothing is concluded from what two runs say of the time.
    """
    for kind, run_id in await reader.fetch("checker_orphans"):
        yield Violation("orphans", str(run_id), f"{kind!s} has rows of the run, which is not there")
    async for violation in check_listed(reader):
        yield violation
    definitions = Definitions(reader)
    async for run_id in run_ids(reader):
        for violation in await check_run(reader, definitions, run_id, count):
            yield violation
    async for violation in check_schedules(reader, trusts_clock=trusts_clock):
        yield violation


async def run_ids(reader: Reader) -> AsyncIterator[str]:
    """Give the ids of all runs, page by page."""
    after = ""
    while page := await reader.fetch("checker_run_ids", after, _RUNS_PER_PAGE):
        for (run_id,) in page:
            after = str(run_id)
            yield after


async def check_run(reader: Reader, definitions: Definitions, run_id: str, count: Count) -> list[Violation]:
    """Check one run by all rules."""
    try:
        run = await load_run(reader, run_id)
    except _UNREADABLE as error:
        return [Violation("unreadable", run_id, f"its rows can't be read: {error!r}")]
    if run is None:
        count.moving += 1
        return []
    count.runs += 1
    count.events += len(run.events)
    found = [*await check_parent(reader, run), *await check_origin(reader, run)]
    found += await check_scheduled_input(reader, run)
    for check in OF_EVENTS:
        found += _guarded(run_id, check.__name__, lambda check=check: check(run))  # type: ignore[misc]
    try:
        definition = await definitions.of(run)
    except _UNREADABLE as error:
        return [*found, Violation("unreadable", run_id, f"its definition can't be read: {error!r}")]
    if definition is None:
        named = f"{run.row['workflow_def_id']} version {run.row['workflow_version']}"
        return [*found, Violation("unreadable", run_id, f"its definition {named} is not there")]
    for follow in OF_DEFINITION:
        found += _guarded(run_id, follow.__name__, lambda follow=follow: follow(run, definition))  # type: ignore[misc]
    try:
        found += await check_context(reader, run, definition)
    except _UNREADABLE as error:
        found.append(Violation("unreadable", run_id, f"its context can't be read: {error!r}"))
    return found


def _guarded(run_id: str, name: str, check: Callable[[], Iterator[Violation]]) -> list[Violation]:
    """Carry out one check; events that are not of their form are a violation too, and end it."""
    found: list[Violation] = []
    try:
        found.extend(check())
    except _UNREADABLE as error:
        found.append(Violation("unreadable", run_id, f"{name} can't read the events: {error!r}"))
    return found
