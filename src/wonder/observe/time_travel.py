"""Time travel: a run as it was after any of its events (EVT-3)."""

import msgspec

from wonder.engine.decisions import RecordEvent
from wonder.engine.events import CONTEXT_SNAPSHOT
from wonder.engine.replay import Folding
from wonder.engine.restore import Snapshot
from wonder.errors import WonderError
from wonder.storage.runs.headers import RunHeader
from wonder.storage.runs.reading import each_event
from wonder.storage.runs.snapshots import load_snapshot
from wonder.storage.store import Reader


class EventNotThere(WonderError):
    """A run has no event with this number, or its events up to there are not kept any more."""

    code = "EVENT_NOT_THERE"

    def __init__(self, run_id: str, sequence: int, reason: str) -> None:
        super().__init__(f"the run {run_id} can't be shown after event {sequence}: {reason}")
        self.run_id, self.sequence, self.reason = run_id, sequence, reason


async def run_at(reader: Reader, header: RunHeader, sequence: int) -> Snapshot:
    """Give a run as it was after an event: from the last snapshot before it on. Raises EventNotThere."""
    if not 1 <= sequence <= header.sequence:
        raise EventNotThere(header.id, sequence, f"its events are 1 to {header.sequence}; give one of them")
    folding, last = Folding(header.id), 0
    snapshot = await load_snapshot(reader, header.id, sequence)
    if snapshot is not None:
        last = snapshot.run.sequence
        type, metadata = CONTEXT_SNAPSHOT({"snapshot": msgspec.to_builtins(snapshot)})
        folding.take(RecordEvent(last, last, type, 0, None, None, None, metadata))
    async for event in each_event(reader, header.id, after=last, limit=sequence - last):
        if event.sequence > sequence:
            break
        if event.sequence != last + 1:
            raise EventNotThere(header.id, sequence, "events before it are not kept any more; give a later one")
        folding.take(event)
        last = event.sequence
    return folding.result()
