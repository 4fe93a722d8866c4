"""Schedules: which runs are started when some planned times have come, and which are not."""

from collections.abc import Iterator
from hashlib import sha256

from msgspec import Struct
from msgspec.structs import replace

from wonder.definitions.records.schedules import Schedule
from wonder.language.schedules import Times

# A time that is not older than this has not been missed: the engine was busy, or began just now.
ON_TIME_MS = 60_000
# When to look whether the run has ended that a queued one waits for, if nobody has said so.
QUEUE_LOOK_MS = 5_000
QUEUED_MAX = 1_000


class ScheduleState(Struct, frozen=True, kw_only=True):
    """What a schedule has done; times are milliseconds since 1970."""

    after_ms: int
    """All planned times up to this one are dealt with, and none of them comes again, whatever the clock says."""
    due_ms: int | None
    """When there is something to do next; None if that never comes."""
    queued: tuple[int, ...] = ()
    """Planned times whose runs wait for the one before them to end."""
    last_planned_ms: int | None = None
    last_run_id: str | None = None
    last_skipped_ms: int | None = None
    last_missed_ms: int | None = None
    last_error: str | None = None
    last_error_ms: int | None = None
    started: int = 0
    skipped: int = 0
    failed: int = 0


class ScheduleTurn(Struct, frozen=True):
    """What is to be done: runs for these planned times, in order, before which those that live may be cancelled."""

    starts: tuple[int, ...]
    cancels_live: bool
    state: ScheduleState
    """What is known once all of it is done."""
    before: ScheduleState

    def state_after(self, place: int) -> ScheduleState:
        """Give the state to be stored with one of the starts: those behind it are still to come after a crash."""
        start, before = self.starts[place], self.before
        if place == len(self.starts) - 1:
            return self.state
        if start <= before.after_ms:
            # It was queued, and so are those behind it: going back to its time, what was skipped would come again.
            waiting = tuple(planned_ms for planned_ms in before.queued if planned_ms > start)
            return replace(self.state, after_ms=before.after_ms, due_ms=start, queued=waiting)
        return replace(self.state, after_ms=start, due_ms=start, queued=())


def decide_turn(schedule: Schedule, times: Times, state: ScheduleState, *, live: int, now_ms: int) -> ScheduleTurn:
    """Decide what a schedule does now; `live` says how many of the runs that it started have not ended."""
    come, missed_ms = _come(schedule, times, state.after_ms, now_ms)
    latest_ms = _latest_due(schedule, times, now_ms)
    after_ms = state.after_ms if latest_ms is None else max(state.after_ms, latest_ms)
    starts, queued, skipped = _admit(schedule, state.queued, come, live)
    following = times.after(after_ms)
    due_ms = None if following is None else due_of(schedule, times, following)
    if queued:
        due_ms = min(due_ms or now_ms + QUEUE_LOOK_MS, now_ms + QUEUE_LOOK_MS)
    after = replace(
        state,
        after_ms=after_ms,
        due_ms=due_ms,
        queued=queued,
        last_missed_ms=missed_ms or state.last_missed_ms,
        last_skipped_ms=max(skipped, default=state.last_skipped_ms),
        skipped=state.skipped + len(skipped),
    )
    cancels = schedule.overlap == "cancel_previous" and bool(starts) and live > 0
    return ScheduleTurn(starts, cancels, after, state)


def due_of(schedule: Schedule, times: Times, planned_ms: int) -> int:
    """Say when a planned time is to be dealt with: spread by `jitter_ms`, always alike, never up to the next one."""
    if not schedule.jitter_ms:
        return planned_ms
    following = times.after(planned_ms)
    room = schedule.jitter_ms if following is None else min(schedule.jitter_ms, following - planned_ms)
    mark = sha256(f"{schedule.id} {planned_ms}".encode()).digest()
    return planned_ms + int.from_bytes(mark[:8]) % room


def _latest_due(schedule: Schedule, times: Times, now_ms: int) -> int | None:
    """Give the latest planned time that is due; only the very last that was planned can be not due yet."""
    latest = times.before(now_ms + 1)
    if latest is not None and due_of(schedule, times, latest) > now_ms:
        return times.before(latest)
    return latest


def _come(schedule: Schedule, times: Times, after_ms: int, now_ms: int) -> tuple[tuple[int, ...], int | None]:
    """Give the planned times that runs are wanted for, in order, and the latest that was missed for good."""
    on_time: list[int] = []
    caught_up: list[int] = []
    most = {"none": 0, "last": 1, "all": schedule.catch_up_max}[schedule.catch_up]
    for planned_ms in _back_from(_latest_due(schedule, times, now_ms), times, after_ms):
        if due_of(schedule, times, planned_ms) >= now_ms - ON_TIME_MS:
            on_time.append(planned_ms)
            continue
        if schedule.catch_up == "last" and on_time:
            most = 0  # the last one is not missed
        is_too_old = schedule.catch_up_ms is not None and now_ms - planned_ms > schedule.catch_up_ms
        if len(caught_up) == most or is_too_old:
            return tuple(reversed(on_time + caught_up)), planned_ms
        caught_up.append(planned_ms)
    return tuple(reversed(on_time + caught_up)), None


def _back_from(planned_ms: int | None, times: Times, after_ms: int) -> Iterator[int]:
    while planned_ms is not None and planned_ms > after_ms:
        yield planned_ms
        planned_ms = times.before(planned_ms)


def _admit(
    schedule: Schedule, queued: tuple[int, ...], come: tuple[int, ...], live: int
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Say which times get a run now, which wait for the one before them, and which get none."""
    waiting = (*queued, *come)
    match schedule.overlap:
        case "allow":
            return waiting, (), ()
        case "cancel_previous":
            return waiting[-1:], (), waiting[:-1]
        case "skip":
            return ((), (), waiting) if live else (waiting[:1], (), waiting[1:])
        case "queue_one" | "queue_all":
            starts, rest = ((), waiting) if live else (waiting[:1], waiting[1:])
            most = 1 if schedule.overlap == "queue_one" else QUEUED_MAX
            return starts, rest[:most], rest[most:]
