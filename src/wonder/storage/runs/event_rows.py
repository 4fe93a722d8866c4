"""Event rows: the events that a run has within one commit are one row, and come back one by one."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from wonder.engine.decisions import RecordEvent
from wonder.storage.runs.cells import from_json, text, to_json
from wonder.storage.runs.headers import RunHeader
from wonder.storage.runs.records import Recorded
from wonder.storage.store import Entry, Row

# Of more events in one commit the run gets several rows: to read one event, its whole row is read.
EVENTS_PER_ROW: Final = 250

_DECODER = msgspec.json.Decoder(list[RecordEvent])


class EventRows:
    """The events of a batch, by run."""

    def __init__(self) -> None:
        self._of_runs: dict[str, list[_Row]] = {}

    def add(self, record: Recorded, events: Sequence[RecordEvent]) -> None:
        """Add the events of one turn, written down here and now: what they show may change with the next turn."""
        for start in range(0, len(events), EVENTS_PER_ROW):
            last = self._add(record.id, events[start : start + EVENTS_PER_ROW], record)
        last.tokens_made, last.bytes_written = record.run.tokens_made, record.written

    def add_unloaded(self, header: RunHeader, events: Sequence[RecordEvent]) -> None:
        """Add a few events of a run that is not in memory."""
        last = self._add(header.id, events)
        last.tokens_made, last.bytes_written = header.tokens_made, header.bytes_written

    def _add(self, run_id: str, events: Sequence[RecordEvent], record: Recorded | None = None) -> "_Row":
        first, last, written = events[0].sequence, events[-1].sequence, to_json(events)
        if record is not None:
            record.written += len(written)
        rows = self._of_runs.setdefault(run_id, [])
        if rows and last - rows[-1].first < EVENTS_PER_ROW:
            row = rows[-1]
            row.last = last
            row.written.append(written)
            return row
        if rows:
            rows[-1].join()
        row = _Row(first, last, [written])
        rows.append(row)
        return row

    def entries(self) -> Iterator[Entry]:
        """Give the statement with its rows."""
        if self._of_runs:
            yield (
                "insert_events",
                [
                    (run_id, row.first, row.last, row.join(), row.tokens_made, row.bytes_written)
                    for run_id, rows in self._of_runs.items()
                    for row in rows
                ],
            )


class _Row:
    """A row in the making: the numbers of its first and last event, and lists of its events, as they came."""

    __slots__ = ("bytes_written", "first", "last", "tokens_made", "written")

    def __init__(self, first: int, last: int, written: list[str]) -> None:
        self.first, self.last, self.written = first, last, written
        self.tokens_made: int | None = None
        self.bytes_written: int | None = None
        """Set only in the last row of a turn: loading a run reads its last row."""

    def join(self) -> str:
        """Give all events as one list, of which the parts are let go."""
        if len(self.written) > 1:
            self.written = [f"[{','.join([part[1:-1] for part in self.written])}]"]
        return self.written[0]


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
