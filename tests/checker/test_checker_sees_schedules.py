"""Does the checker see it in schedules? Each way in which one can be wrong is made by hand, and reported (CTL-17)."""

import json
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest

from support.checked_runs import METADATA, Spoiler
from wonder.checker.outside import check_log
from wonder.checker.planned import read_plan
from wonder.checker.schedules import check_schedules
from wonder.definitions.planning import planned_times
from wonder.definitions.records.schedules import ScheduleBody
from wonder.storage.zones import find_zone

TEN_MINUTES = 600_000
OF = "(SELECT id FROM schedules WHERE name = '{}')"
FIRST = "planned_ms = (SELECT min(planned_ms) FROM schedule_firings WHERE schedule_id = {of})"
STATE = "UPDATE schedule_states SET {} WHERE schedule_id = {of}"

# What is changed, in which schedule, and a part of what is said of it.
TABLE: list[tuple[str, str, str, str]] = [
    ("a run is gone", "all", f"DELETE FROM schedule_firings WHERE schedule_id = {{of}} AND {FIRST}", "knows nothing"),
    (
        "the run that it started is not there",
        "all",
        f"UPDATE schedule_firings SET run_id = 'gone' WHERE schedule_id = {{of}} AND {FIRST}",
        "and it is not there",
    ),
    (
        "a run stands for two times",
        "all",
        "UPDATE schedule_firings SET run_id = (SELECT last_run_id FROM schedule_states WHERE schedule_id = {of}) "
        f"WHERE schedule_id = {{of}} AND {FIRST}",
        "and it was started as",
    ),
    (
        "a run was started early",
        "all",
        f"UPDATE schedule_firings SET at_ms = planned_ms - 1 WHERE schedule_id = {{of}} AND {FIRST}",
        "1 ms too early",
    ),
    (
        "a run that goes on is taken for ended",
        "queue",
        "UPDATE schedule_firings SET live = 0 WHERE schedule_id = {of}",
        "takes it for ended, while it is waiting",
    ),
    ("its times are others", "all", "UPDATE schedules SET every_ms = 420000 WHERE id = {of}", "which is not planned"),
    (
        "a time is not one of its cron",
        "all",
        "UPDATE schedules SET every_ms = NULL, cron = '0 0 1 1 *' WHERE id = {of}",
        "which is not planned",
    ),
    ("a time is behind its end", "all", "UPDATE schedules SET ends_at = '2020-01-01' WHERE id = {of}", "not planned"),
    (
        "a run is of another workflow",
        "all",
        "UPDATE schedules SET workflow_id = (SELECT max(id) FROM workflows WHERE name = 'held') WHERE id = {of}",
        "a run of another workflow",
    ),
    ("it has no state", "all", "DELETE FROM schedule_states WHERE schedule_id = {of}", "has no state"),
    (
        "it was archived, and goes on",
        "all",
        "UPDATE schedules SET archived_at = '2026' WHERE id = {of}",
        "is not there",
    ),
    ("it counts too many runs", "all", STATE.format("started = 7", of="{of}"), "says that it started 7 runs"),
    ("it counts too few runs", "all", STATE.format("started = 5", of="{of}"), "says that it started 5 runs"),
    ("its last run is none of its own", "all", STATE.format("last_run_id = 'x'", of="{of}"), "its last run is x"),
    (
        "a time may come again",
        "all",
        STATE.format(f"after_ms = after_ms - {TEN_MINUTES}, due_ms = after_ms", of="{of}"),
        "which may come again",
    ),
    ("it never goes on", "all", STATE.format("due_ms = NULL", of="{of}"), "never goes on, although 2"),
    ("what is queued is forgotten", "queue", STATE.format("due_ms = NULL", of="{of}"), "although a time is queued"),
    ("it sleeps through its next time", "all", STATE.format("due_ms = due_ms + 1", of="{of}"), "is planned before"),
    (
        "a skipped time is not counted",
        "queue",
        STATE.format("skipped = 3", of="{of}"),
        "does not account for its times",
    ),
    ("a time is skipped twice", "queue", STATE.format("skipped = 5", of="{of}"), "does not account for its times"),
    ("what was queued got lost", "queue", STATE.format("queued = '[]'", of="{of}"), "does not account for its times"),
    ("too much is queued", "queue", "UPDATE schedules SET overlap = 'skip' WHERE id = {of}", "against overlap skip"),
    ("a time is queued that is to come", "queue", STATE.format("queued = '[9000000000000]'", of="{of}"), "queued, and"),
    ("what was missed is not said", "last", STATE.format("last_missed_ms = NULL", of="{of}"), "does not account"),
    (
        "nothing was missed that is said to be",
        "all",
        STATE.format(f"last_missed_ms = after_ms - {TEN_MINUTES}", of="{of}"),
        "says that it missed",
    ),
    (
        "it should have caught up with all",
        "last",
        "UPDATE schedules SET catch_up = 'all' WHERE id = {of}",
        "catch_up all",
    ),
    (
        "it should have caught up with nothing",
        "all",
        "UPDATE schedules SET catch_up = 'none' WHERE id = {of}",
        "late, against catch_up none",
    ),
    (
        "it should have caught up with less",
        "all",
        "UPDATE schedules SET catch_up_ms = 1800000 WHERE id = {of}",
        "late, against catch_up_ms 1800000",
    ),
    (
        "two runs went at once",
        "all",
        "UPDATE schedules SET overlap = 'skip' WHERE id = {of}",
        "while another one of its runs went on, against overlap skip",
    ),
]


class TakenBack(Exception):
    """What was spoilt is to be as it was before."""


async def test_whatever_is_wrong_with_a_schedule_is_reported(spoiler: Spoiler) -> None:
    assert await spoiler.check() == []
    unseen = [what for what, name, statement, said in TABLE if not await is_seen(spoiler, name, statement, said)]
    assert unseen == []


async def is_seen(spoiler: Spoiler, name: str, statement: str, said: str) -> bool:
    """Spoil a schedule, look whether that is reported, and take it back."""
    found = list[str]()
    with suppress(TakenBack):
        async with spoiler.store.transaction() as transaction:
            if said.startswith("while another"):
                # They took no time: let the first one of them have taken an hour.
                longer = "UPDATE runs SET completed_ms = completed_ms + 3600000 WHERE id = $1"
                await transaction.run(longer, [(spoiler.runs["scheduled: all"],)])
            await transaction.run(statement.format(of=OF.format(name)), [()])
            found = [str(one) async for one in check_schedules(transaction) if one.rule == "schedules"]
            raise TakenBack
    return any(said in one for one in found)


async def test_a_schedule_that_was_changed_is_not_held_to_what_it_says_now(spoiler: Spoiler) -> None:
    """Runs from before the change were planned otherwise, with another input, and beside one another."""
    await spoiler.sql("UPDATE schedules SET every_ms = 420000, input = '{}', overlap = 'skip' WHERE name = 'all'")
    now = datetime.now(UTC)
    changed = now.isoformat(timespec="microseconds").replace("+00:00", "Z")
    await spoiler.sql("UPDATE schedules SET updated_at = $1 WHERE name = 'all'", changed)
    now_ms = int(now.timestamp() * 1_000)
    await spoiler.sql(STATE.format("revision = 2, after_ms = $1, due_ms = $1", of=OF.format("all")), now_ms)
    assert await spoiler.check() == []


async def test_the_input_that_a_scheduled_run_began_with_is_the_one_of_its_time(spoiler: Spoiler) -> None:
    name = "scheduled: last"
    await spoiler.change(name, "workflow_started", lambda event: event[METADATA]["input"].update(ms=1))
    assert ("schedules", spoiler.runs[name]) in {(one.rule, one.run_id) for one in await spoiler.check()}


async def firing(spoiler: Spoiler, run: str) -> tuple[str, int]:
    """Give the schedule and the planned time of a run."""
    ((name, planned),) = await spoiler.store.query(
        "SELECT name, planned_ms FROM schedule_firings JOIN schedules ON id = schedule_id WHERE run_id = $1",
        spoiler.runs[run],
    )
    assert isinstance(planned, int)
    return str(name), planned


async def log_says(spoiler: Spoiler, *log: dict[str, Any]) -> list[str]:
    """Give what a log shows to be wrong."""
    return [f"{one.rule}: {one.message}" async for one in check_log(spoiler.store, json.loads(json.dumps(log)))]


async def test_the_time_that_a_run_was_seen_to_stand_for_is_the_one_that_its_schedule_has(spoiler: Spoiler) -> None:
    name, planned = await firing(spoiler, "scheduled: last")
    seen = {"kind": "scheduled", "run": spoiler.runs["scheduled: last"], "schedule": name, "planned": planned}
    seen |= {"at": planned + 1}
    assert await log_says(spoiler, seen, seen) == []
    (early,) = await log_says(spoiler, {**seen, "at": planned - 10})
    assert early.endswith("10 ms too early")
    (other,) = await log_says(spoiler, {**seen, "planned": planned - 1_000})
    assert "the schedule that says that it started it is 'last'" in other
    twice = await log_says(spoiler, seen, {**seen, "run": spoiler.runs["line"]})
    assert len(twice) == 2
    assert f"for which run {spoiler.runs['scheduled: last']} acts" in twice[0]


async def test_a_planned_run_that_was_stored_before_the_one_before_it_had_ended_is_seen_whatever_clocks_say(
    spoiler: Spoiler,
) -> None:
    await spoiler.sql(f"UPDATE schedules SET overlap = 'skip' WHERE id = {OF.format('all')}")
    rows = await spoiler.store.query(
        "SELECT schedule_firings.run_id, max(sequence) FROM schedule_firings "
        f"JOIN events ON events.run_id = schedule_firings.run_id WHERE schedule_id = {OF.format('all')} "
        "GROUP BY schedule_firings.run_id ORDER BY min(planned_ms)"
    )
    (first, end), (second, _), *_ = rows
    ((epoch,),) = await spoiler.store.query("SELECT epoch FROM leases")
    wrote = {"kind": "wrote", "epoch": epoch, "at": 1}
    begins = [{**wrote, "run": run, "sequence": 1} for run in (first, second)]
    ends = {**wrote, "run": first, "sequence": end}
    assert await log_says(spoiler, begins[0], ends, begins[1]) == []
    (found,) = await log_says(spoiler, begins[0], begins[1], ends)
    assert found.endswith(f"started it while its run {first} went on, against overlap skip")


async def test_once_all_is_at_rest_no_schedule_is_overdue_unless_it_is_paused(spoiler: Spoiler) -> None:
    live = [str(id) for (id,) in await spoiler.store.query("SELECT id FROM runs WHERE completed_ms IS NULL")]
    ((due_ms,),) = await spoiler.store.query(
        f"SELECT due_ms FROM schedule_states WHERE schedule_id = {OF.format('all')}"
    )
    assert isinstance(due_ms, int)
    await spoiler.sql(f"UPDATE schedule_states SET paused = 1 WHERE schedule_id <> {OF.format('all')}")
    await spoiler.sql("DELETE FROM timers")
    at_rest = {"kind": "at_rest", "at": due_ms, "live": live}
    assert await log_says(spoiler, at_rest) == []
    late = {**at_rest, "at": due_ms + 5_000}
    assert await log_says(spoiler, late) == ["overdue: the schedule all is 5000 ms overdue, and was not dealt with"]
    await spoiler.sql("UPDATE schedule_states SET paused = 1")
    assert await log_says(spoiler, late) == []


ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Asia/Beirut")
CRONS = (
    *("30 2 * * *", "*/20 * * * *", "0 0 * * sun", "15 1-3 * * *", "0 0 13 * fri", "5/20 */6 1,15 mar-nov ?"),
    *("@daily", "59 23 31 * *", "0 3 * * 5-7", "10 0 29 2 *"),
)


@pytest.mark.parametrize("cron", CRONS)
def test_the_checkers_own_count_of_planned_times_agrees_with_the_engines(cron: str) -> None:
    """Around changes of clocks too; the two were written apart, and count in other ways."""
    random = Random(cron)
    changes = [datetime(2026, 3, 29, tzinfo=UTC), datetime(2026, 10, 25, tzinfo=UTC), datetime(2028, 2, 28, tzinfo=UTC)]
    for name in ZONES:
        zone = find_zone(name)
        assert zone is not None
        times = planned_times(ScheduleBody(cron=cron, time_zone=name), zone)
        row = {"cron": cron, "every_ms": None, "time_zone": name, "starts_at": None, "ends_at": None}
        plan = read_plan(row)
        assert plan is not None
        begin = random.choice(changes) - timedelta(seconds=random.randint(0, 90_000))
        at_ms = int(begin.timestamp()) * 1_000
        end_ms, wanted = at_ms + 5 * 86_400_000, list[int]()
        while (following := times.after(wanted[-1] if wanted else at_ms)) is not None and following <= end_ms:
            wanted.append(following)
        assert list(plan.moments(at_ms, end_ms)) == wanted
        assert all(map(plan.fits, wanted))
