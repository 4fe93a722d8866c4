"""Event rows: the events that a run has within one commit are one row, and come back one by one."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from wonder.engine.decisions import RecordEvent
from wonder.storage.runs.cells import from_json, text, to_json
from wonder.storage.store import Entry, Row

# Of more events in one commit the run gets several rows: whoever wants one event reads its whole row.
EVENTS_PER_ROW: Final = 250

_DECODER = msgspec.json.Decoder(list[RecordEvent])


class EventRows:
    """The events of a batch, by run."""

    def __init__(self) -> None:
        self._of_runs: dict[str, list[_Row]] = {}

    def add(self, run_id: str, events: Sequence[RecordEvent]) -> None:
        """Add the events of one turn, written down here and now: what they show may change with the next turn."""
        if len(events) > EVENTS_PER_ROW:
            self.add(run_id, events[:EVENTS_PER_ROW])
            self.add(run_id, events[EVENTS_PER_ROW:])
            return
        first, last, written = events[0].sequence, events[-1].sequence, to_json(events)
        rows = self._of_runs.get(run_id)
        if rows is None:
            self._of_runs[run_id] = [_Row(first, last, [written[1:-1]])]
        elif last - rows[-1].first < EVENTS_PER_ROW:
            rows[-1].last = last
            rows[-1].written.append(written[1:-1])
        else:
            rows.append(_Row(first, last, [written[1:-1]]))

    def entries(self) -> Iterator[Entry]:
        """Give the statement with its rows."""
        if self._of_runs:
            yield (
                "insert_events",
                [
                    (run_id, row.first, row.last, f"[{','.join(row.written)}]")
                    for run_id, rows in self._of_runs.items()
                    for row in rows
                ],
            )


class _Row:
    """A row in the making: the numbers of its first and last event, and its events without the brackets around."""

    __slots__ = ("first", "last", "written")

    def __init__(self, first: int, last: int, written: list[str]) -> None:
        self.first, self.last, self.written = first, last, written


def unpacked_events(rows: Iterable[Row], after: int, until: int) -> list[RecordEvent]:
    """Give the events in these rows that come after one number, up to another."""
    found: list[RecordEvent] = []
    for (packed,) in rows:
        found += [event for event in _events(text(packed)) if after < event.sequence <= until]
    return found


def _events(packed: str) -> list[RecordEvent]:
    try:
        return _DECODER.decode(packed)
    except msgspec.DecodeError:  # an integer of more digits than msgspec reads
        return [RecordEvent(*fields) for fields in from_json(packed)]
