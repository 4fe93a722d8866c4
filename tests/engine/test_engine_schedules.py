"""What a schedule does when planned times have come: which runs start, which wait, which are skipped or missed."""

from typing import Any

import pytest

from wonder.definitions.planning import planned_times
from wonder.definitions.records.schedules import Schedule
from wonder.engine.schedules import ON_TIME_MS, QUEUED_MAX, ScheduleState, ScheduleTurn, decide_turn, due_of
from wonder.language.schedules import UTC

MINUTE = 60_000
HOUR = 60 * MINUTE
NOW = 1_000 * HOUR + MINUTE // 2
"""Half a minute behind a full hour."""


def schedule(**fields: Any) -> Schedule:
    times = {} if "every_ms" in fields else {"cron": "@hourly"}
    own = {"id": "S", "project_id": "P", "name": "s", "workflow_id": "W", "created_at": "", "updated_at": ""}
    return Schedule.model_validate(own | times | fields)


def turn(
    one: Schedule, *, after_ms: int, now_ms: int = NOW, live: int = 0, queued: tuple[int, ...] = ()
) -> ScheduleTurn:
    state = ScheduleState(after_ms=after_ms, due_ms=0, queued=queued)
    return decide_turn(one, planned_times(one, UTC), state, live=live, now_ms=now_ms)


def hours(times: tuple[int, ...]) -> list[float]:
    return [at_ms / HOUR for at_ms in times]


def test_a_time_that_has_come_starts_one_run_and_is_over() -> None:
    one = schedule()
    first = turn(one, after_ms=999 * HOUR)
    assert hours(first.starts) == [1_000]
    assert (first.state.after_ms, first.state.due_ms) == (1_000 * HOUR, 1_001 * HOUR)
    again = decide_turn(one, planned_times(one, UTC), first.state, live=0, now_ms=NOW)
    assert (again.starts, again.state) == ((), first.state)


def test_nothing_comes_again_when_the_clock_goes_back() -> None:
    one = schedule(catch_up="all")
    first = turn(one, after_ms=999 * HOUR).state
    back = decide_turn(one, planned_times(one, UTC), first, live=0, now_ms=NOW - 5 * HOUR)
    assert (back.starts, back.state.after_ms, back.state.due_ms) == ((), 1_000 * HOUR, 1_001 * HOUR)


@pytest.mark.parametrize(
    ("policy", "starts", "missed"),
    [
        ({"catch_up": "none"}, [], 1_000),
        ({"catch_up": "last"}, [1_000], 999),
        ({"catch_up": "all"}, [997, 998, 999, 1_000], None),
        ({"catch_up": "all", "catch_up_max": 2}, [999, 1_000], 998),
        ({"catch_up": "all", "catch_up_ms": 2 * HOUR}, [999, 1_000], 998),
        ({"catch_up": "last", "catch_up_ms": 10 * MINUTE}, [], 1_000),
    ],
)
def test_what_was_missed_while_no_engine_ran_is_caught_up_with_as_the_policy_says(
    policy: dict[str, Any], starts: list[int], missed: int | None
) -> None:
    done = turn(schedule(overlap="allow", **policy), after_ms=996 * HOUR, now_ms=1_000 * HOUR + 20 * MINUTE)
    assert hours(done.starts) == starts
    assert done.state.last_missed_ms == (None if missed is None else missed * HOUR)
    assert (done.state.after_ms, done.state.due_ms) == (1_000 * HOUR, 1_001 * HOUR)


@pytest.mark.parametrize("catch_up", ["none", "last", "all"])
def test_a_time_that_is_a_little_late_is_not_missed(catch_up: str) -> None:
    one = schedule(catch_up=catch_up, overlap="allow")
    assert hours(turn(one, after_ms=999 * HOUR, now_ms=1_000 * HOUR + ON_TIME_MS).starts) == [1_000]
    late = turn(one, after_ms=999 * HOUR, now_ms=1_000 * HOUR + ON_TIME_MS + 1)
    assert hours(late.starts) == ([] if catch_up == "none" else [1_000])


def test_the_last_of_the_missed_is_not_wanted_where_a_later_time_is_on_time() -> None:
    done = turn(schedule(overlap="allow"), after_ms=990 * HOUR)
    assert hours(done.starts) == [1_000]
    assert done.state.last_missed_ms == 999 * HOUR


@pytest.mark.parametrize(
    ("overlap", "live", "starts", "queued", "skipped", "cancels"),
    [
        ("skip", 0, [998], [], 2, False),
        ("skip", 1, [], [], 3, False),
        ("queue_one", 0, [998], [999], 1, False),
        ("queue_one", 1, [], [998], 2, False),
        ("queue_all", 0, [998], [999, 1_000], 0, False),
        ("queue_all", 1, [], [998, 999, 1_000], 0, False),
        ("allow", 5, [998, 999, 1_000], [], 0, False),
        ("cancel_previous", 0, [1_000], [], 2, False),
        ("cancel_previous", 1, [1_000], [], 2, True),
    ],
)
def test_overlap_says_what_becomes_of_a_time_while_a_run_of_the_schedule_goes(
    overlap: str, live: int, starts: list[int], queued: list[int], skipped: int, cancels: bool
) -> None:
    done = turn(schedule(overlap=overlap, catch_up="all"), after_ms=997 * HOUR, live=live)
    assert (hours(done.starts), hours(done.state.queued)) == (starts, queued)
    assert (done.state.skipped, done.cancels_live) == (skipped, cancels)


def test_what_is_queued_starts_once_the_run_before_it_has_ended() -> None:
    one = schedule(overlap="queue_one")
    waiting = turn(one, after_ms=1_000 * HOUR, live=1, queued=(999 * HOUR,))
    assert (waiting.starts, hours(waiting.state.queued)) == ((), [999])
    assert waiting.state.due_ms is not None
    assert NOW < waiting.state.due_ms <= NOW + MINUTE
    free = turn(one, after_ms=1_000 * HOUR, live=0, queued=(999 * HOUR,))
    assert (hours(free.starts), free.state.queued, free.state.due_ms) == ([999], (), 1_001 * HOUR)


def test_a_queue_has_a_limit() -> None:
    queued = tuple(range(QUEUED_MAX))
    done = turn(schedule(overlap="queue_all"), after_ms=999 * HOUR, live=1, queued=queued)
    assert (done.state.queued, done.state.skipped, done.state.last_skipped_ms) == (queued, 1, 1_000 * HOUR)


def test_after_a_crash_between_two_starts_the_second_is_still_to_come() -> None:
    one = schedule(overlap="allow", catch_up="all")
    done = turn(one, after_ms=997 * HOUR)
    between = done.state_after(0)
    again = decide_turn(one, planned_times(one, UTC), between, live=1, now_ms=NOW)
    assert between.due_ms is not None
    assert between.due_ms <= NOW
    assert again.starts == done.starts[1:]
    assert done.state_after(2) == done.state


def test_after_a_crash_among_those_that_were_queued_the_others_still_wait_and_nothing_skipped_comes() -> None:
    """What was queued is started at once when `overlap` is changed to `allow`; a crash comes behind the first."""
    one = schedule(overlap="allow", catch_up="none")
    queued = (996 * HOUR, 998 * HOUR)
    whole = turn(one, after_ms=999 * HOUR, queued=queued)
    assert hours(whole.starts) == [996, 998, 1_000]
    first = whole.state_after(0)
    assert (first.after_ms, first.queued, first.due_ms) == (999 * HOUR, queued[1:], 996 * HOUR)
    rest = decide_turn(one, planned_times(one, UTC), first, live=1, now_ms=NOW)
    assert hours(rest.starts) == [998, 1_000]
    second = decide_turn(one, planned_times(one, UTC), whole.state_after(1), live=2, now_ms=NOW)
    assert hours(second.starts) == [1_000]


def test_jitter_puts_a_start_off_always_alike_and_never_up_to_the_next_time() -> None:
    one = schedule(jitter_ms=24 * HOUR)
    times = planned_times(one, UTC)
    offsets = [due_of(one, times, hour * HOUR) - hour * HOUR for hour in range(1_000, 1_200)]
    assert all(0 <= offset < HOUR for offset in offsets)
    assert len(set(offsets)) > 150
    assert [due_of(one, times, hour * HOUR) - hour * HOUR for hour in range(1_000, 1_200)] == offsets
    due_ms = due_of(one, times, 1_000 * HOUR)
    early = turn(one, after_ms=999 * HOUR, now_ms=due_ms - 1)
    assert (early.starts, early.state.after_ms, early.state.due_ms) == ((), 999 * HOUR, due_ms)
    assert hours(turn(one, after_ms=999 * HOUR, now_ms=due_ms).starts) == [1_000]


def test_behind_its_end_a_schedule_is_never_due() -> None:
    one = schedule(ends_at="1970-02-11T16:00:00Z")
    done = turn(one, after_ms=999 * HOUR)
    assert (hours(done.starts), done.state.due_ms) == ([1_000], None)


def test_years_of_missed_seconds_are_not_counted_one_by_one() -> None:
    done = turn(schedule(every_ms=1_000, catch_up="all", overlap="allow", catch_up_max=3), after_ms=0)
    assert len(done.starts) == ON_TIME_MS // 1_000 + 1 + 3
