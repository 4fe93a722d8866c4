"""The outside log: what a test saw with its own eyes, in JSON lines, against what the database says.

Each line is an object with a `kind`; `at` is the true time in milliseconds since 1970, wherever it is named.

| kind | fields | what the test saw |
|---|---|---|
| `accepted` | `run`, `at`, `key`? | a client was told that its run was accepted (`key`: its idempotency key) |
| `told_end` | `run`, `status`, `output`? | a client was told how a run ended |
| `cancel_confirmed` | `run`, `at` | a client was told that its cancelling was carried out |
| `answer_accepted` | `item` | a person was told that an answer was taken |
| `event_accepted` | `project`, `event`, `key`?, `at` | a sender was told that its event was taken |
| `effect` | `run`, `token`, `at` | an action began to act in the world |
| `crash` | `at` | a process was killed; what it did may be done again |
| `scheduled` | `run`, `schedule`, `planned`, `at` | an action was told the schedule's name and the time it stands for |
| `clock_set` | `at` | a process's clock was set forward or back |
| `claimed` | `owner`, `epoch`, `at` | a process was told that the lease is its own |
| `wrote` | `run`, `sequence`, `epoch`, `at` | a process was told that its commit with this event is durable |
| `at_rest` | `at`, `live`? | nothing moved any more, with time enough; only the runs in `live` may not have ended |
"""

import json
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from wonder.checker.checking import Definitions
from wonder.checker.effects import check_cancelled, check_effects
from wonder.checker.families import check_family_at_rest
from wonder.checker.schedule_log import check_scheduled
from wonder.checker.stored import ENDED, StoredRun, load_run
from wonder.checker.values import same, shown
from wonder.checker.violations import Violation
from wonder.storage.store import Reader

# A timer that came due this shortly before all was at rest may still be on its way.
OVERDUE_MS: Final = 2_000
_RUNS_KEPT: Final = 200
Line = dict[str, Any]


def read_log(path: Path) -> Iterator[Line]:
    """Read a log; raises ValueError for an invalid line. A last line that was cut off by a crash is left out."""
    lines = path.read_text("utf-8").splitlines(keepends=True)
    for number, text in enumerate(lines, 1):
        if number == len(lines) and not text.endswith("\n"):
            return
        line = json.loads(text)
        if not isinstance(line, dict) or "kind" not in line:
            raise ValueError(f"line {number} of {path} is no object with a kind")
        yield line


async def check_log(reader: Reader, log: Iterable[Line]) -> AsyncIterator[Violation]:
    """Compare what a test saw with what the database has."""
    by_kind: dict[str, list[Line]] = {}
    for line in log:
        by_kind.setdefault(line["kind"], []).append(line)
    runs = _Runs(reader)
    for check in (_check_accepted, _check_told, _check_cancels, _check_answers, _check_events, _check_writes):
        async for violation in check(runs, by_kind):
            yield violation
    async for violation in _check_effects(runs, by_kind):
        yield violation
    async for violation in check_scheduled(reader, runs.get, by_kind):
        yield violation
    for at_rest in by_kind.get("at_rest", [])[-1:]:
        async for violation in _check_at_rest(runs, at_rest):
            yield violation


class _Runs:
    """The runs that a log names, loaded when they are asked for, the last ones kept: most lines name the same few."""

    def __init__(self, reader: Reader) -> None:
        self.reader, self.definitions = reader, Definitions(reader)
        self._kept: OrderedDict[str, tuple[StoredRun | None, frozenset[int]]] = OrderedDict()

    async def get(self, run_id: str) -> StoredRun | None:
        return (await self._get(run_id))[0]

    async def numbers(self, run_id: str) -> frozenset[int]:
        """Give the numbers of all events of a run."""
        return (await self._get(run_id))[1]

    async def _get(self, run_id: str) -> tuple[StoredRun | None, frozenset[int]]:
        if run_id not in self._kept:
            run = await load_run(self.reader, run_id)
            self._kept[run_id] = (run, frozenset(event.sequence for event in run.events) if run else frozenset())
            if len(self._kept) > _RUNS_KEPT:
                self._kept.popitem(last=False)
        return self._kept[run_id]

    async def status(self, run_id: str) -> str | None:
        rows = await self.reader.fetch_named("checker_position", run_id)
        return str(rows[0]["status"]) if rows else None


async def _check_accepted(runs: _Runs, log: dict[str, list[Line]]) -> AsyncIterator[Violation]:
    keys: dict[str, str] = {}
    for line in log.get("accepted", ()):
        run_id = line["run"]
        if await runs.status(run_id) is None:
            yield Violation("accepted", run_id, "it was accepted, and is not there")
        key = line.get("key")
        if key is not None and keys.setdefault(key, run_id) != run_id:
            yield Violation("accepted", run_id, f"the key {key} was accepted for run {keys[key]} before")


async def _check_told(runs: _Runs, log: dict[str, list[Line]]) -> AsyncIterator[Violation]:
    for line in log.get("told_end", ()):
        run = await runs.get(line["run"])
        status = None if run is None else run.row["status"]
        if status != line["status"]:
            message = f"a client was told that it is {line['status']}, and it is {status or 'not there'}"
            yield Violation("told", line["run"], message)
        elif run is not None and "output" in line and not same(run.row["output"], line["output"]):
            message = f"a client was told the output {shown(line['output'])}, and it is {shown(run.row['output'])}"
            yield Violation("told", line["run"], message)


async def _check_cancels(runs: _Runs, log: dict[str, list[Line]]) -> AsyncIterator[Violation]:
    for line in log.get("cancel_confirmed", ()):
        status = await runs.status(line["run"])
        if status not in ENDED:
            yield Violation("cancel", line["run"], f"its cancelling was confirmed, and it is {status or 'not there'}")


async def _check_answers(runs: _Runs, log: dict[str, list[Line]]) -> AsyncIterator[Violation]:
    taken: set[str] = set()
    for line in log.get("answer_accepted", ()):
        item = line["item"]
        rows = await runs.reader.fetch_named("checker_inbox_item", item)
        run_id, status = (str(rows[0]["run_id"]), str(rows[0]["status"])) if rows else ("", "not there")
        if status != "answered":
            yield Violation("answers", run_id, f"an answer to item {item} was accepted, and the item is {status}")
        if item in taken:
            yield Violation("answers", run_id, f"two answers to item {item} were accepted")
        taken.add(item)


async def _check_events(runs: _Runs, log: dict[str, list[Line]]) -> AsyncIterator[Violation]:
    for line in log.get("event_accepted", ()):
        key = line.get("key") or ""
        named = f"the event {line['event']!r} with the key {key!r}"
        kept = await runs.reader.fetch("checker_kept_events", line["project"], line["event"], key)
        waiting = await runs.reader.fetch_named("checker_waits_for_event", line["project"], line["event"], key)
        unused = [id for id, _, used_ms, expires_ms in kept if used_ms is None and int(str(expires_ms)) > line["at"]]
        if unused and waiting and log.get("at_rest"):
            run_id, token_id = str(waiting[0]["run_id"]), str(waiting[0]["token_id"])
            yield Violation("events", run_id, f"token {token_id} waits for {named}, which is kept unused")
        if not kept and not await _has_woken(runs, line["event"], key):
            yield Violation("events", "", f"{named} was accepted, is not kept, and has woken nobody")


async def _has_woken(runs: _Runs, event: str, key: str) -> bool:
    rows = await runs.reader.fetch("checker_suspended_for_events")
    for run_id in {str(run_id) for (run_id,) in rows}:
        run = await runs.get(run_id)
        if run is None:
            continue
        waits = {e.token_id: e.metadata["wait"] for e in run.events if e.type == "token_suspended"}
        for resumed in run.events:
            wait = waits.get(resumed.token_id) or {}
            named = (wait.get("event"), wait.get("key") or "") == (event, key)
            if resumed.type == "token_resumed" and resumed.metadata["by"] == "event" and named:
                return True
    return False


async def _check_writes(runs: _Runs, log: dict[str, list[Line]]) -> AsyncIterator[Violation]:
    """A write counts if no newer lease was claimed before, and what was written is there."""
    claims = sorted(log.get("claimed", ()), key=lambda line: int(line["at"]))
    owners: dict[int, str] = {}
    for line in claims:
        if owners.setdefault(line["epoch"], line["owner"]) != line["owner"]:
            yield Violation(
                "lease", "", f"{owners[line['epoch']]} and {line['owner']} both claimed epoch {line['epoch']}"
            )
    stored = [int(str(epoch)) for _, _, epoch in await runs.reader.fetch("checker_leases")]
    if owners and max(owners) > max(stored, default=0):
        yield Violation(
            "lease", "", f"epoch {max(owners)} was claimed, and the database is at {max(stored, default=0)}"
        )
    for line in log.get("wrote", ()):
        newest = max((c["epoch"] for c in claims if c["at"] < line["at"]), default=line["epoch"])
        if line["epoch"] < newest:
            message = f"event {line['sequence']} was written in epoch {line['epoch']}, when epoch {newest} was claimed"
            yield Violation("lease", line["run"], message)
        if line["sequence"] not in await runs.numbers(line["run"]):
            yield Violation("lease", line["run"], f"event {line['sequence']} was durable, and is not there")


async def _check_effects(runs: _Runs, log: dict[str, list[Line]]) -> AsyncIterator[Violation]:
    by_run: dict[str, list[Line]] = {}
    for line in log.get("effect", ()):
        by_run.setdefault(line["run"], []).append(line)
    cancelled = {line["run"]: line["at"] for line in log.get("cancel_confirmed", ())}
    # Who claims the lease does again what the owner before had under way, whether that was killed or only too slow.
    crashes = [line["at"] for name in ("crash", "claimed") for line in log.get(name, ())]
    for run_id, effects in by_run.items():
        run = await runs.get(run_id)
        if run is None:
            yield Violation("effects", run_id, "its actions had effects, and it is not there")
            continue
        definition = await runs.definitions.of(run)
        if definition is not None:
            for violation in check_effects(run, definition, effects, losses=crashes):
                yield violation
        if run_id in cancelled:
            for violation in check_cancelled(run, effects, cancelled[run_id]):
                yield violation


async def _check_at_rest(runs: _Runs, at_rest: Line) -> AsyncIterator[Violation]:
    """Once nothing moves any more, every run has ended, nothing is overdue, and no call waits in vain."""
    may_live = set(at_rest.get("live", ()))
    for id, status in await runs.reader.fetch("checker_live_runs"):
        if id not in may_live:
            yield Violation("overdue", str(id), f"all was at rest, and it is {status!s}")
        elif (run := await runs.get(str(id))) is not None:
            for violation in check_family_at_rest(run):
                yield violation
    rows = await runs.reader.fetch("checker_overdue_timers", at_rest["at"] - OVERDUE_MS)
    for run_id, key, due_ms in rows:
        late_ms = at_rest["at"] - int(str(due_ms))
        yield Violation("overdue", str(run_id), f"the timer {key!s} is {late_ms} ms overdue, and has not fired")
    for run_id, what in await runs.reader.fetch("checker_pending_triggers"):
        yield Violation("overdue", str(run_id), f"all was at rest, and {what!s}")
    for name, due_ms in await runs.reader.fetch("checker_overdue_schedules", at_rest["at"] - OVERDUE_MS):
        late_ms = at_rest["at"] - int(str(due_ms))
        yield Violation("overdue", "", f"the schedule {name!s} is {late_ms} ms overdue, and was not dealt with")
