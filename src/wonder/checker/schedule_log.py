"""Schedules in the outside log: for which times runs were seen to act, and in which order they were stored."""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, Final

from wonder.checker.scheduled_runs import AT_ONCE, ON_TIME_MS, is_by_hand, shown_time
from wonder.checker.stored import Fields, StoredRun
from wonder.checker.violations import Violation
from wonder.storage.store import Reader

# Clocks of one machine, read at two places.
CLOCK_MS: Final = 5
_ENDS: Final = frozenset({"workflow_completed", "workflow_failed", "workflow_cancelled"})

Log = dict[str, list[dict[str, Any]]]
Load = Callable[[str], Awaitable[StoredRun | None]]


async def check_scheduled(reader: Reader, load: Load, log: Log) -> AsyncIterator[Violation]:
    """Compare the times that runs were seen to act for with what their schedules say of them."""
    firsts: dict[tuple[str, int], str] = {}
    for line in log.get("scheduled", ()):
        # Who retries or forks a run acts for the time of that run.
        run_id, key = await _origin(load, line["run"]), (line["schedule"], line["planned"])
        source = f"it acts for {shown_time(line['planned'])} of schedule {line['schedule']!r}"
        if (first := firsts.setdefault(key, run_id)) != run_id:
            yield Violation("schedules", run_id, f"{source}, for which run {first} acts")
        if line["at"] + CLOCK_MS < line["planned"]:
            yield Violation("schedules", run_id, f"{source}, {line['planned'] - line['at']} ms too early")
        firing = await _firing(reader, run_id)
        if firing is None or (firing["name"], firing["planned_ms"]) != key:
            told = f"{firing['name']!r} for {shown_time(firing['planned_ms'])}" if firing else "none"
            yield Violation("schedules", run_id, f"{source}, and the schedule that says that it started it is {told}")
    if await reader.fetch("checker_schedule_ids", "", 1):
        async for violation in _check_starts(reader, load, log):
            yield violation


async def _check_starts(reader: Reader, load: Load, log: Log) -> AsyncIterator[Violation]:
    """Follow the commits in their order, whatever clocks say."""
    known: dict[str, Fields | None] = {}
    going, missed = _Going(), _Missed(log)
    for line in log.get("wrote", ()):
        run_id = line["run"]
        is_first = run_id not in known
        if is_first:
            known[run_id] = await _firing(reader, run_id)
        firing = known[run_id]
        if firing is None:
            continue
        if is_first:
            end = _end(await load(run_id))
            for message in [*going.begin(run_id, firing, end), *missed.begin(firing, line["epoch"])]:
                yield Violation("schedules", run_id, f"schedule {firing['name']!r} started it {message}")
        going.go_on(run_id, firing, line["sequence"])


class _Going:
    """Which runs of each schedule have begun and not ended."""

    def __init__(self) -> None:
        self._live: dict[str, dict[str, int | None]] = {}

    def begin(self, run_id: str, firing: Fields, end: int | None) -> Iterator[str]:
        """Have a run begin, whose end is an event of this number."""
        live = self._live.setdefault(firing["id"], {})
        if live and firing["overlap"] != "allow" and firing["revision"] == 1 and not is_by_hand(firing):
            yield f"while its run {next(iter(live))} went on, against overlap {firing['overlap']}"
        live[run_id] = end

    def go_on(self, run_id: str, firing: Fields, sequence: int) -> None:
        """Have events of a run stored, up to this number."""
        live = self._live[firing["id"]]
        end = live.get(run_id)
        if end is not None and sequence >= end:
            del live[run_id]


class _Missed:
    """How many times each engine has caught up with that were missed when it began; unknown where clocks were set."""

    def __init__(self, log: Log) -> None:
        claims = () if log.get("clock_set") else log.get("claimed", ())
        self._begun_ms: dict[int, int] = {line["epoch"]: line["at"] for line in claims}
        self._counts: Counter[tuple[str, int]] = Counter()

    def begin(self, firing: Fields, epoch: int) -> Iterator[str]:
        """Have a run begin that the engine of this epoch has started."""
        late_ms = self._begun_ms.get(epoch, 0) - firing["planned_ms"]
        is_planned = firing["overlap"] in AT_ONCE and firing["revision"] == 1 and not is_by_hand(firing)
        if not is_planned or late_ms <= ON_TIME_MS + firing["jitter_ms"]:
            return
        self._counts[firing["id"], epoch] += 1
        most = {"none": 0, "last": 1, "all": firing["catch_up_max"]}[firing["catch_up"]]
        if self._counts[firing["id"], epoch] > most:
            yield f"for a time that was missed when the engine began, against catch_up {firing['catch_up']}"
        if firing["catch_up_ms"] is not None and late_ms > firing["catch_up_ms"]:
            yield f"{late_ms} ms late, against catch_up_ms {firing['catch_up_ms']}"


async def _firing(reader: Reader, run_id: str) -> Fields | None:
    rows = await reader.fetch_named("checker_scheduled_run", run_id)
    return dict(rows[0]) if rows else None


async def _origin(load: Load, run_id: str) -> str:
    while run := await load(run_id):
        before = run.row["retry_of_run_id"] or run.row["forked_from_run_id"]
        if before is None:
            break
        run_id = str(before)
    return run_id


def _end(run: StoredRun | None) -> int | None:
    return next((event.sequence for event in run.events if event.type in _ENDS), None) if run else None
