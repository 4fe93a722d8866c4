"""Snapshots: each is the run as its events have it at that number (RES-6)."""

from collections.abc import Iterator

from wonder.checker.fold import history
from wonder.checker.state import State
from wonder.checker.stored import Fields, StoredRun
from wonder.checker.values import same, shown
from wonder.checker.violations import Violation


def check_snapshots(run: StoredRun) -> Iterator[Violation]:
    """Compare each snapshot with the fold of the events up to its number."""
    snapshots = {row["sequence"]: row for row in run.snapshots}
    if not snapshots or not run.events:
        return
    last: State | None = None
    for event, state in history(run):
        if event.sequence - 1 in snapshots:
            yield from _check_snapshot(run, state, snapshots.pop(event.sequence - 1))
        last = state
    if last is not None and last.sequence in snapshots:
        yield from _check_snapshot(run, last, snapshots.pop(last.sequence))
    for number in snapshots:
        if number > run.events[-1].sequence:
            yield Violation("snapshots", run.id, f"there is a snapshot of event {number}, which is not there")


def _check_snapshot(run: StoredRun, state: State, row: Fields) -> Iterator[Violation]:
    where = f"the snapshot at event {row['sequence']}"
    folded: Fields = {"input": state.input, "state": state.state, "output": state.output}
    if state.input is None:
        folded = {}  # it never started, and no event tells of its context
    for name, value in folded.items():
        if not same(row["context"].get(name), value):
            message = (
                f"{where} has the {name} {shown(row['context'].get(name))}, and by the events it is {shown(value)}"
            )
            yield Violation("snapshots", run.id, message)
    stored = {token["id"]: token["status"] for token in row["tokens"]}
    if stored != {token.id: token.status for token in state.tokens.values()}:
        yield Violation("snapshots", run.id, f"{where} has other tokens than the events: {shown(stored)}")
