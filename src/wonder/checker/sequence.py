"""Sequence: the numbers of a run's events, and its one end (EVT-1, INV-1, CTL-18)."""

from collections.abc import Iterator
from itertools import pairwise

from wonder.checker.stored import ENDED, Event, StoredRun
from wonder.checker.values import same, shown
from wonder.checker.violations import Violation

_ENDS = {f"workflow_{status}" for status in ENDED}
_BEHIND_THE_END = {*_ENDS, "late_result_ignored", "trigger_fired", "trigger_skipped", "trigger_failed"}


def check_sequence(run: StoredRun) -> Iterator[Violation]:
    """Look for numbers that are missing or doubled, and for steps that begin in the future."""
    first = oldest_number(run)
    if not run.events:
        if not run.snapshots:
            yield Violation("sequence", run.id, "the run has no events")
        return
    if run.events[0].sequence != first:
        message = f"the first event is number {run.events[0].sequence}, and should be {first}"
        yield Violation("sequence", run.id, message)
    for before, event in pairwise(run.events):
        if event.sequence == before.sequence:
            yield Violation("sequence", run.id, f"there are two events {event.sequence}: {before.type}, {event.type}")
        elif event.sequence != before.sequence + 1:
            gap = f"events {before.sequence + 1} to {event.sequence - 1} are missing"
            yield Violation("sequence", run.id, gap)
        elif event.step < before.step:
            message = f"event {event.sequence} is of step {event.step}, and the one before of step {before.step}"
            yield Violation("sequence", run.id, message)
    for event in run.events:
        if event.step > event.sequence:
            yield Violation("sequence", run.id, f"event {event.sequence} says that its step begins at {event.step}")
    yield from _check_rows(run)


def oldest_number(run: StoredRun) -> int:
    """Give the number that the first event has to have: behind the oldest snapshot, where older ones have gone."""
    numbers = [snapshot["sequence"] for snapshot in run.snapshots]
    if run.events and run.events[0].sequence > 1 and run.events[0].sequence - 1 in numbers:
        return run.events[0].sequence
    return 1


def _check_rows(run: StoredRun) -> Iterator[Violation]:
    """The rows that hold the events say of themselves which those are."""
    told = sorted(number for first, last, _ in run.event_rows for number in range(first, last + 1))
    if told != [event.sequence for event in run.events]:
        message = f"the rows of the events say that they hold {len(told)}, and hold {len(run.events)} others"
        yield Violation("sequence", run.id, message)


def check_end(run: StoredRun) -> Iterator[Violation]:
    """Look for a second end, for anything behind the end, and for a row that says another end than its event."""
    ends = [event for event in run.events if event.type in _ENDS]
    for event in ends[1:]:
        message = f"the run ended at event {ends[0].sequence}, and once more at event {event.sequence} ({event.type})"
        yield Violation("end", run.id, message)
    if ends:
        for event in run.events:
            if event.sequence > ends[0].sequence and event.type not in _BEHIND_THE_END:
                message = (
                    f"event {event.sequence} ({event.type}) is behind the end of the run, event {ends[0].sequence}"
                )
                yield Violation("end", run.id, message)
    yield from _check_row(run, ends[0] if ends else None)


def _check_row(run: StoredRun, end: Event | None) -> Iterator[Violation]:
    row = run.row
    if run.has_ended != (row["completed_ms"] is not None):
        yield Violation("end", run.id, f"its status is {row['status']}, and completed_ms {row['completed_ms']}")
    if end is None:
        if run.has_ended and run.events:
            yield Violation("end", run.id, f"its status is {row['status']}, and no event says so")
        return
    told = end.type.removeprefix("workflow_")
    if row["status"] != told:
        yield Violation("end", run.id, f"its status is {row['status']}, and event {end.sequence} says {told}")
    elif told == "completed" and not same(row["output"], end.metadata.get("output")):
        message = f"its output is {shown(row['output'])}, and event {end.sequence} says {shown(end.metadata['output'])}"
        yield Violation("end", run.id, message)
    elif told == "failed" and (row["error"] or {}).get("code") != end.metadata.get("error", {}).get("code"):
        message = f"its error is {shown(row['error'])}, and event {end.sequence} says {shown(end.metadata['error'])}"
        yield Violation("end", run.id, message)
