"""What a run has triggered, waited for as long as it moves by itself (PHS-6)."""

import asyncio
from collections import Counter

from wonder.app.api import Wonder
from wonder.storage.runs.headers import RunHeader, load_header
from wonder.storage.runs.standing import only_outside_moves
from wonder.storage.runs.triggering import firings_of_run, runs_triggered_by, trigger_status

_LOOK_SECONDS = 0.05


async def follow_triggered(wonder: Wonder, run_id: str) -> Counter[str]:
    """Wait until all that a run has triggered, and what that has triggered, is at rest; count it by status."""
    statuses: Counter[str] = Counter()
    ahead = [run_id]
    while ahead:
        source_id = ahead.pop()
        await _fired(wonder, source_id)
        seen: set[str] = set()
        while found := [id for id in await _started_by(wonder, source_id) if id not in seen]:
            for triggered_id in found:
                seen.add(triggered_id)
                header = await _at_rest(wonder, triggered_id)
                statuses[header.status] += 1
                if header.status == "completed":
                    ahead.append(triggered_id)
    return statuses


async def _fired(wonder: Wonder, run_id: str) -> None:
    while True:
        if trigger_status(await firings_of_run(wonder.app.store, run_id)) != "pending":
            return
        await asyncio.sleep(_LOOK_SECONDS)


async def _started_by(wonder: Wonder, run_id: str) -> list[str]:
    return [id async for id in runs_triggered_by(wonder.app.store, run_id, retries=True)]


async def _at_rest(wonder: Wonder, run_id: str) -> RunHeader:
    """Wait until a run has ended, with its retry begun if one is due, or only somebody outside can move it on."""
    store = wonder.app.store
    while True:
        header = await load_header(store, run_id)
        if header.has_ended and not header.retry_due:
            return header
        if not header.has_ended and await only_outside_moves(store, header):
            return header
        await asyncio.sleep(_LOOK_SECONDS)
