"""Metric rows: numbers that runs give, added up within a batch so that each row is written once (EVT-4)."""

from collections.abc import Iterator
from hashlib import sha256
from typing import Final

from wonder.engine.decisions import SendMetric
from wonder.language.values import encode_json
from wonder.storage.runs.records import Recorded
from wonder.storage.store import Entry

MINUTE_MS: Final = 60_000


class MetricRows:
    """The metrics of a batch."""

    def __init__(self) -> None:
        # By project, name, hash of the dimensions and minute: the dimensions, count, sum, smallest and largest.
        self._sums: dict[tuple[str, str, str, int], tuple[str, int, float, float, float]] = {}

    def add(self, record: Recorded, decision: SendMetric, now_ms: int) -> None:
        """Add a number; it counts once, because it is written with what the run has decided."""
        written = encode_json(dict(sorted(decision.dimensions.items())))
        digest = sha256(written.encode()).hexdigest()[:32]
        key = (record.project_id, decision.name, digest, now_ms - now_ms % MINUTE_MS)
        value = decision.value
        if key not in self._sums:
            # A row of the run's as any other, and with dimensions of its choice a new one each time.
            record.written += len(written)
        _, count, total, least, most = self._sums.get(key, (written, 0, 0.0, value, value))
        self._sums[key] = (written, count + 1, total + value, min(least, value), max(most, value))

    def entries(self) -> Iterator[Entry]:
        """Give the statement with its rows."""
        if self._sums:
            yield "add_metric", [(*key, *sums) for key, sums in sorted(self._sums.items())]
