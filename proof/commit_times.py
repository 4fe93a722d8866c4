"""Commit times: when PostgreSQL made a write durable and gave a lease away, by its own word instead of a process's.

A process that was stopped between its commit and the answer hears of it late; what counts is when it was made.
"""

from collections.abc import Iterable

from proof.outside_log import Line
from wonder.storage.opening import open_store

_TURNS = """SELECT run_id, last, CAST(extract(epoch FROM pg_xact_commit_timestamp(xmin)) * 1000 AS BIGINT)
FROM event_turns"""


async def with_commit_times(url: str, lines: Iterable[Line]) -> list[Line]:
    """Give a log with the server's time in each `wrote` line; one that the server does not know stays as it is."""
    store = await open_store(url, create=False)
    try:
        rows = await store.query(_TURNS)
    finally:
        await store.close()
    made = {(str(run_id), int(str(last))): int(str(at_ms)) for run_id, last, at_ms in rows}
    return [
        {**line, "at": made.get((line["run"], line["sequence"]), line["at"])} if line["kind"] == "wrote" else line
        for line in lines
    ]
