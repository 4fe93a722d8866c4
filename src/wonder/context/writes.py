"""Writes of many runs as one batch, so that each statement is prepared once and run for all its rows."""

from bisect import bisect_left
from collections.abc import Iterable

from wonder.context.rows import Writes


def gather(batches: Iterable[Writes]) -> Writes:
    """Join writes into few statements with many rows, keeping the order of the writes of each run."""
    gathered: Writes = []
    places: dict[str, list[int]] = {}  # of each statement in the batch
    reached: dict[object, int] = {}  # the place of each run's last write so far
    for writes in batches:
        for statement, rows in writes:
            found = places.setdefault(statement, [])
            for row in rows:
                # The writes of different runs touch different rows, so only the run's own have to come before.
                number = bisect_left(found, reached.get(row[0], 0))
                if number == len(found):
                    found.append(len(gathered))
                    gathered.append((statement, []))
                place = reached[row[0]] = found[number]
                gathered[place][1].append(row)
    return gathered
