"""Schedules: runs at planned times, each once, with mapped inputs, whatever else the database has to do."""

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from support.systems import bundle, calls, running, until
from wonder.app.application import Application
from wonder.app.opening import open_app, open_wonder
from wonder.app.schedules import create_schedule, delete, next_times, pause, resume
from wonder.clock import SystemClock
from wonder.coordinator import scheduling
from wonder.coordinator.scheduling import LOOK_MS, Scheduler
from wonder.definitions.faults import DefinitionRefused
from wonder.definitions.loading import load_value
from wonder.definitions.records.workflows import Workflow
from wonder.storage.archive import archive_resource
from wonder.storage.errors import DiskFull
from wonder.storage.resource_errors import InUse
from wonder.storage.schedules import StoredSchedule, find_schedule
from wonder.storage.store import Store
from wonder.storage.zones import announce_zones

MINUTE = 60_000
INPUT = {"type": "object", "required": ["at"], "properties": {"at": {"type": "string"}}}


def ago(minutes: float) -> str:
    """Write a time that is so many minutes over."""
    return (datetime.now(UTC) - timedelta(minutes=minutes)).isoformat(timespec="seconds")


def definition(**schedule: Any) -> dict[str, Any]:
    """A workflow that holds its run until it is let go, and its schedule, every ten minutes, five minutes from now."""
    own = {"every_ms": 10 * MINUTE, "starts_at": ago(65), "input": {"at": "@time"}}
    work = calls("work", input_mapping={"at": "$.input.at"}, output_mapping={"output": "$"})
    return {**bundle("report", {"work": work}, input_schema=INPUT), "schedules": {"often": own | schedule}}


async def backdate(store: Store, minutes: int, name: str = "often") -> None:
    """Let it be as if no engine had run for so many minutes."""
    async with store.transaction() as transaction:
        await transaction.run(
            "UPDATE schedule_states SET after_ms = after_ms - $1, due_ms = after_ms - $1, revision = revision + 1 "
            "WHERE schedule_id = (SELECT id FROM schedules WHERE name = $2 AND archived_at IS NULL)",
            [(minutes * MINUTE, name)],
        )


async def prepare(url: str, *, minutes: int = 60, **schedule: Any) -> None:
    """Store the workflow and its schedule, and miss some times; they are planned 55, 45, … and 5 minutes ago."""
    async with open_app(url) as app:
        await app.deploy_loaded(load_value(definition(**schedule)))
        await backdate(app.store, minutes)


async def stored(wonder: Application, name: str = "often") -> StoredSchedule:
    return await find_schedule(wonder.store, wonder.home.project_id, name)


async def inputs(wonder: Application) -> list[str]:
    """Give what runs were started with, in the order of their planned times."""
    rows = await wonder.store.query(
        "SELECT f.run_id FROM schedule_firings AS f JOIN runs ON runs.id = f.run_id ORDER BY f.planned_ms"
    )
    return [str(run_id) for (run_id,) in rows]


async def settled(wonder: Application, minutes_due: float = 1) -> StoredSchedule:
    """Wait until the schedule has nothing to do for the next minutes."""

    async def look() -> StoredSchedule | None:
        one = await stored(wonder)
        due_ms = one.state.due_ms
        ahead = due_ms is None or due_ms > datetime.now(UTC).timestamp() * 1_000 + minutes_due * MINUTE
        return one if ahead else None

    found: StoredSchedule = await until(look)
    return found


async def quick(at: str) -> dict[str, Any]:
    return {"at": at}


class Gate:
    """Work that goes on when it is let."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.begun: list[str] = []

    async def __call__(self, at: str) -> dict[str, Any]:
        self.begun.append(at)
        await self.open.wait()
        return {"at": at}


@pytest.mark.parametrize(
    ("policy", "count"),
    [
        ({"catch_up": "none"}, 0),
        ({"catch_up": "last"}, 1),
        ({"catch_up": "all"}, 6),
        ({"catch_up": "all", "catch_up_max": 4}, 4),
        ({"catch_up": "all", "catch_up_ms": 30 * MINUTE}, 3),
    ],
)
async def test_what_was_missed_while_no_engine_ran_is_caught_up_with_in_order(
    store_url: str, policy: dict[str, Any], count: int
) -> None:
    await prepare(store_url, overlap="allow", **policy)
    async with running(store_url, work=quick) as wonder:
        one = await settled(wonder)
        runs = await inputs(wonder)
        outputs: list[Any] = [(await wonder.wait(run_id)).output for run_id in runs]
    planned = [output["at"] for output in outputs]
    assert len(planned) == count
    assert planned == sorted(set(planned))
    moments = [datetime.fromisoformat(at) for at in planned]
    assert {later - earlier for earlier, later in pairwise(moments)} <= {timedelta(minutes=10)}
    assert all(timedelta(minutes=4) < datetime.now(UTC) - at < timedelta(minutes=60) for at in moments)
    assert (one.state.started, one.state.failed) == (count, 0)


@pytest.mark.parametrize(
    ("overlap", "begun", "after"),
    [("skip", 1, 1), ("queue_one", 1, 2), ("queue_all", 1, 6), ("allow", 6, 6)],
)
async def test_overlap_holds_while_a_run_of_the_schedule_goes_and_ends_with_it(
    store_url: str, overlap: str, begun: int, after: int
) -> None:
    await prepare(store_url, overlap=overlap, catch_up="all")
    gate = Gate()
    async with running(store_url, work=gate) as wonder:
        await until(lambda: _true(len(gate.begun) == begun))
        one = await stored(wonder)
        assert len(one.state.queued) == (after - begun)
        gate.open.set()
        one = await settled(wonder)
        runs = await inputs(wonder)
        for run_id in runs:
            assert (await wonder.wait(run_id)).status == "completed"
        assert (len(runs), one.state.started, one.state.skipped) == (after, after, 6 - after)
    # Those that go at the same time begin in any order.
    begun_in_order = sorted(gate.begun) if overlap == "allow" else gate.begun
    assert begun_in_order == sorted(set(gate.begun))


async def test_cancel_previous_ends_the_run_before_and_starts_the_next(store_url: str) -> None:
    gate = Gate()
    async with running(store_url, work=gate) as wonder:
        await wonder.deploy(definition(every_ms=1_000, starts_at=None, overlap="cancel_previous"))
        await until(lambda: _true(len(gate.begun) >= 2))
        await pause(wonder, "often")
        first, second, *_ = await inputs(wonder)
        assert (await wonder.wait(first)).status == "cancelled"
        gate.open.set()
        last = (await inputs(wonder))[-1]
        assert (await wonder.wait(last)).status == "completed"
        assert first != second


async def _true(value: bool) -> bool:
    return value


async def _true_of(found: Any, count: int) -> bool:
    return len(await found) == count


async def test_a_schedule_that_is_deployed_while_the_engine_runs_starts_runs_at_its_times(store_url: str) -> None:
    async with running(store_url, work=quick) as wonder:
        await wonder.deploy(definition(every_ms=1_000, starts_at=None, overlap="allow"))
        await until(lambda: _true_at_least(wonder, 2))
        await pause(wonder, "often")
        for run_id in await inputs(wonder):
            output: Any = (await wonder.wait(run_id)).output
            assert datetime.fromisoformat(output["at"]).microsecond == 0


async def _true_at_least(wonder: Application, count: int) -> bool:
    return len(await inputs(wonder)) >= count


async def test_the_input_tells_of_the_planned_time_in_the_schedules_zone(store_url: str) -> None:
    """A text such as `@time` is what was planned, at any depth; only a whole text, and `@@x` is the text `@x`."""
    given = {
        "at": "@time",
        "more": [{"local": "@local_time", "day": "@date", "ms": "@time_ms", "name": "@schedule"}, "@@time", "at @time"],
    }
    whole = definition(input=given, time_zone="Asia/Kolkata", starts_at="2026-01-01T22:15:00Z", every_ms=31_536_000_000)
    whole["workflow"]["nodes"]["work"]["input_mapping"] = {"at": "$.input"}
    announce_zones()
    async with open_app(store_url) as app:
        await app.deploy_loaded(load_value(whole))
        await backdate(app.store, 1_000_000)
    async with running(store_url, work=quick) as wonder:
        await settled(wonder)
        (run_id,) = await inputs(wonder)
        output: Any = (await wonder.wait(run_id)).output
    local = {"local": "2026-01-02T03:45:00+05:30", "day": "2026-01-02", "ms": 1_767_305_700_000, "name": "often"}
    assert output["at"] == {"at": "2026-01-01T22:15:00Z", "more": [local, "@time", "at @time"]}


async def test_a_start_that_is_refused_is_told_and_holds_up_no_other_schedule(
    store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """RES-3, CTL-17."""
    caplog.set_level(logging.CRITICAL)
    async with open_app(store_url) as app:
        await app.deploy_loaded(load_value(definition()))
        off = {**bundle("off", {"work": calls("work", input_mapping={"at": "$.input.at"})}), "schedules": {}}
        off["schedules"] = {"other": definition()["schedules"]["often"]}
        await app.deploy_loaded(load_value(off))
        async with app.store.transaction() as transaction:
            await transaction.run("UPDATE workflows SET enabled = $1 WHERE name = 'off'", [(False,)])
        for name in ("often", "other"):
            await backdate(app.store, 60, name)
    async with running(store_url, work=quick) as wonder:
        await settled(wonder)

        async def failed() -> StoredSchedule | None:
            one = await stored(wonder, "other")
            return one if one.state.failed else None

        other: StoredSchedule = await until(failed)
        told = "the workflow 'off' is disabled; `wonder workflows enable off` lets runs of it be started"
        assert other.state.last_error == told
        assert (other.state.started, other.state.failed) == (0, 1)
        assert len(await inputs(wonder)) == 1


async def test_an_input_that_a_newer_version_refuses_is_told_at_its_time(
    store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    await prepare(store_url)
    async with open_app(store_url) as app:
        newer = definition()
        del newer["schedules"]
        newer["workflow"]["input_schema"] = {"type": "object", "properties": {"at": {"type": "integer"}}}
        newer["workflow"]["nodes"]["work"]["input_mapping"] = {}
        await app.deploy_loaded(load_value(newer))
    async with running(store_url, work=quick) as wonder:
        one = await settled(wonder)
    assert one.state.failed == 1
    assert one.state.last_error is not None
    assert one.state.last_error.startswith("the input of 'report' does not fit its schema")


async def test_a_paused_schedule_starts_nothing_and_does_not_catch_up_when_it_is_resumed(store_url: str) -> None:
    await prepare(store_url, catch_up="all", overlap="allow")
    async with open_app(store_url) as app:
        assert (await pause(app, "often", "for a reason")).note == "for a reason"
    async with running(store_url, work=quick) as wonder:
        assert wonder.engine
        await wonder.engine.collaborators.scheduler.look()
        assert await inputs(wonder) == []
        assert not (await resume(wonder, "often")).paused
        one = await settled(wonder)
        assert (await inputs(wonder), one.state.started) == ([], 0)


async def test_a_schedule_that_has_much_to_catch_up_with_lets_others_have_their_turn_in_between(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduling, "_STARTS_AT_ONCE", 4)
    turn, counts = Scheduler._turn, list[int]()

    async def counted(self: Scheduler, one: StoredSchedule, now_ms: int) -> None:
        before = (await find_schedule(self._coordinator.store, one.schedule.project_id, "often")).state.started
        await turn(self, one, now_ms)
        after = (await find_schedule(self._coordinator.store, one.schedule.project_id, "often")).state.started
        counts.append(after - before)

    monkeypatch.setattr(Scheduler, "_turn", counted)
    await prepare(store_url, catch_up="all", overlap="allow")
    async with running(store_url, work=quick) as wonder:
        one = await settled(wonder)

        async def both_turns_over() -> bool:
            return len(counts) == 2

        await until(both_turns_over)
        assert (counts, one.state.started, len(await inputs(wonder))) == ([4, 2], 6, 6)


async def test_a_schedule_that_fails_while_it_catches_up_keeps_what_it_has_done(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found by the simulation, seed 7451: it said that it had started nothing."""

    async def fail(self: Scheduler, one: StoredSchedule) -> bool:
        raise DiskFull("the disk")

    await prepare(store_url, catch_up="all", overlap="allow")
    monkeypatch.setattr(Scheduler, "_is_as_read", fail)
    async with running(store_url, work=quick) as wonder:
        one = await until(lambda: _with_error(wonder))
        assert (one.state.started, len(await inputs(wonder))) == (1, 1)
        assert "DiskFull" in one.state.last_error


async def _with_error(wonder: Application) -> StoredSchedule | None:
    one = await stored(wonder)
    return one if one.state.last_error else None


@pytest.mark.parametrize("change", ["pause", "input"])
async def test_a_schedule_that_is_changed_while_it_catches_up_does_nothing_more_as_it_was(
    store_url: str, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    await prepare(store_url, catch_up="all", overlap="allow")
    start, begun = Scheduler._start_planned, list[int]()

    async def start_and_change(self: Scheduler, one: StoredSchedule, planned_ms: int, *others: Any) -> Any:
        started = await start(self, one, planned_ms, *others)
        begun.append(planned_ms)
        if len(begun) == 1:
            async with open_app(store_url) as app:
                if change == "pause":
                    await pause(app, "often")
                else:
                    again = one.schedule.model_dump(include={"every_ms", "starts_at", "catch_up", "overlap"})
                    again |= {"workflow": "report", "input": {"at": "@date"}}
                    await create_schedule(app, "often", again, replaces=True)
        return started

    monkeypatch.setattr(Scheduler, "_start_planned", start_and_change)
    count = 1 if change == "pause" else 6
    async with running(store_url, work=quick) as wonder:
        await until(lambda: _true_of(inputs(wonder), count))
        assert wonder.engine
        # Behind the turn that is under way.
        await wonder.engine.collaborators.scheduler.look()
        runs = await inputs(wonder)
        outputs: list[Any] = [(await wonder.wait(run_id)).output for run_id in runs]
        assert len(runs) == count
        # The first had been started; all others are as the schedule has it now.
        assert [len(output["at"]) for output in outputs[1:]] == [len("2026-11-16")] * (count - 1)


async def test_deploying_again_keeps_what_was_paused_and_done_and_other_times_count_from_now(store_url: str) -> None:
    async with running(store_url, work=quick) as wonder:
        first = definition()
        await wonder.deploy(first)
        await pause(wonder, "often")
        before = await stored(wonder)
        await wonder.deploy(first)
        assert await stored(wonder) == before
        first["schedules"]["often"]["input"] = {"at": "@date"}
        await wonder.deploy(first)
        changed = await stored(wonder)
        assert (changed.paused, changed.state) == (True, before.state)
        assert changed.schedule.input == {"at": "@date"}
        first["schedules"]["often"]["every_ms"] = 5 * MINUTE
        await wonder.deploy(first)
        replanned = await stored(wonder)
        assert replanned.paused
        assert replanned.state.after_ms > before.state.after_ms
        assert replanned.schedule.id == before.schedule.id


async def test_a_deleted_schedule_starts_nothing_and_its_name_is_free(store_url: str) -> None:
    await prepare(store_url)
    async with open_app(store_url) as app:
        old = await find_schedule(app.store, app.home.project_id, "often")
        await delete(app, "often")
    async with running(store_url, work=quick) as wonder:
        assert wonder.engine
        await wonder.engine.collaborators.scheduler.look()
        assert await inputs(wonder) == []
        fields = {"workflow": "report", "every_ms": 10 * MINUTE, "input": {"at": "@time"}}
        again = await create_schedule(wonder, "often", fields, replaces=False)
        assert again.schedule.id != old.schedule.id


async def test_a_run_can_be_fired_by_hand_whatever_the_schedule_does(store_url: str) -> None:
    gate = Gate()
    async with running(store_url, work=gate) as wonder:
        await wonder.deploy(definition(paused=True))
        runs = [await wonder.fire_schedule("often") for _ in range(2)]
        await until(lambda: _true(len(gate.begun) == 2))
        gate.open.set()
        assert [(await run.wait()).status for run in runs] == ["completed", "completed"]
        one = await stored(wonder)
        assert (one.paused, one.state.started, one.state.last_run_id) == (True, 2, runs[1].id)


async def test_runs_that_are_fired_by_hand_in_one_millisecond_are_as_many_and_take_no_planned_time(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has a row of its own among the schedule's runs: what is planned for that millisecond keeps its row."""
    async with running(store_url, work=quick) as wonder:
        await wonder.deploy(definition(paused=True))
        assert wonder.engine
        at_ms = (await planned(wonder))[0]
        monkeypatch.setattr(wonder.engine.coordinator, "clock", StoodStill(at_ms))
        runs = [await wonder.fire_schedule("often") for _ in range(3)]
        assert len({run.id for run in runs}) == 3
        rows = await wonder.store.query("SELECT planned_ms, run_id FROM schedule_firings ORDER BY planned_ms")
        assert rows == [(at_ms + number, run.id) for number, run in enumerate(runs, 1)]
        for run in runs:
            await run.wait()


class StoodStill(SystemClock):
    """A clock that shows one time of day."""

    def __init__(self, at_ms: int) -> None:
        self._at_ms = at_ms

    def now_ms(self) -> int:
        return self._at_ms


async def planned(wonder: Application) -> list[int]:
    """Give the next time of the schedule."""
    return next_times((await stored(wonder)).schedule, (await stored(wonder)).state.after_ms, 1)


async def test_a_run_that_is_there_for_a_planned_time_is_found_and_not_started_twice(store_url: str) -> None:
    """CTL-17: the idempotency key of a firing is its schedule and its planned time."""
    await prepare(store_url, catch_up="all", overlap="allow")
    async with running(store_url, work=quick) as wonder:
        await settled(wonder)
        before = await inputs(wonder)
        await backdate(wonder.store, 60)
        await settled(wonder)
        assert await inputs(wonder) == before
        # Also with another input: the run of that time was started before the input was changed.
        other = definition(catch_up="all", overlap="allow", input={"at": "@date"})
        other["schedules"]["often"]["starts_at"] = (await stored(wonder)).schedule.starts_at
        await wonder.deploy(other)
        await backdate(wonder.store, 60)
        one = await settled(wonder)
        assert (await inputs(wonder), one.state.last_error) == (before, None)
        assert len(before) == 6


async def test_an_engine_that_runs_only_its_own_runs_fires_no_schedule(store_url: str) -> None:
    await prepare(store_url)
    async with open_wonder(store_url, runs="own") as wonder:
        await asyncio.sleep(0)
        assert wonder.engine
        assert await inputs(wonder) == []
    async with running(store_url, work=quick) as wonder:
        await settled(wonder)
        assert len(await inputs(wonder)) == 1


async def test_ten_thousand_schedules_that_are_not_due_cost_one_look(store_url: str) -> None:
    # An engine for its own runs does not look by itself.
    async with open_wonder(store_url, runs="own") as wonder:
        await wonder.deploy(definition(paused=True))
        one = await stored(wonder)
        async with wonder.store.transaction() as transaction:
            rows = [(f"S{number:05}", number) for number in range(10_000)]
            await transaction.run(
                "INSERT INTO schedules (id, project_id, name, created_at, updated_at, description, workflow_id, cron, "
                "time_zone, overlap, catch_up, catch_up_max, jitter_ms, input) SELECT $1, project_id, $1, created_at, "
                "updated_at, '', workflow_id, '@yearly', 'UTC', overlap, catch_up, 1, 0, input FROM schedules "
                f"WHERE id = '{one.schedule.id}' AND CAST($2 AS BIGINT) IS NOT NULL",
                rows,
            )
            await transaction.run(
                "INSERT INTO schedule_states "
                "(schedule_id, revision, paused, after_ms, due_ms, queued, started, skipped, failed) "
                "VALUES ($1, 1, 0, 0, 32503680000000 + CAST($2 AS BIGINT), '[]', 0, 0, 0)",
                rows,
            )
        assert wonder.engine
        counting = _count_reads(wonder)
        assert await wonder.engine.collaborators.scheduler.look() == LOOK_MS
        assert counting() == (2, 1)


def _count_reads(wonder: Application) -> Callable[[], tuple[int, int]]:
    """Count how often the database is asked, and how many rows it gives."""
    assert wonder.engine
    coordinator, asked, given = wonder.engine.coordinator, 0, 0
    real = coordinator.store

    class Counting:
        @property
        def unsettled(self) -> Any:
            return self

        def __getattr__(self, name: str) -> Any:
            found = getattr(real, name)
            if not name.startswith("fetch"):
                return found

            async def fetch(query: str, *parameters: Any) -> Any:
                nonlocal asked, given
                rows = await found(query, *parameters)
                if "schedule" in query:
                    asked, given = asked + 1, given + len(rows)
                return rows

            return fetch

    coordinator.store = Counting()  # type: ignore[assignment]

    def counted() -> tuple[int, int]:
        coordinator.store = real
        return asked, given

    return counted


async def test_a_workflow_that_a_schedule_starts_is_not_archived(store_url: str) -> None:
    """RES-5."""
    await prepare(store_url)
    async with open_app(store_url) as app:
        workflow = (await find_schedule(app.store, app.home.project_id, "often")).schedule.workflow_id
        with pytest.raises(InUse, match="is used by schedule often"):
            async with app.store.transaction() as transaction:
                await archive_resource(transaction, Workflow, workflow, at=app.clock())
        await delete(app, "often")
        async with app.store.transaction() as transaction:
            await archive_resource(transaction, Workflow, workflow, at=app.clock())


async def test_what_a_schedule_can_not_start_is_refused_before_it_is_stored(store_url: str) -> None:
    async with running(store_url, work=quick) as wonder:
        with pytest.raises(DefinitionRefused) as refusal:
            await wonder.deploy(definition(input={"at": 3}))
        assert [fault.code for fault in refusal.value.faults] == ["input_refused"]
        assert await wonder.store.query("SELECT id FROM schedules") == []
