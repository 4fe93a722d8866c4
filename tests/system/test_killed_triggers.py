"""Real processes, killed with SIGKILL while triggers fire: each run is started exactly once (PHS-6)."""

import signal
from pathlib import Path

import pytest
from engine_program import TRIGGERED

from support.nursery import Nursery, last_told
from support.systems import never_quarantine
from wonder.checker.checking import Count, Definitions, check_run
from wonder.storage.opening import open_store
from wonder.storage.store import Store

FIRST = [
    "before:insert_trigger_firing 1",  # its completion, and what it is to trigger, is not durable
    "after:insert_trigger_firing 1",  # it is, and nothing was begun with it
    "during:move_trigger_firing 1",
    "after:move_trigger_firing 1",
    "before:move_trigger_firing 2",
    "during:move_trigger_firing 3",
]
SECOND = [
    "after:insert_run 1",  # the run is accepted
    "after:move_trigger_firing 4",
    "read 10",
    "during:move_trigger_firing 5",
    "after:move_trigger_firing 2",  # the last page: nobody was told
    "before:insert_run 1",
]


@pytest.mark.parametrize("moments", [FIRST, SECOND], ids=["at the first pages", "up to the last page"])
async def test_a_thousand_items_fan_out_to_exactly_a_thousand_runs_however_often_processes_are_killed(
    store_url: str, tmp_path: Path, nursery: Nursery, moments: list[str]
) -> None:
    """PHS-6, INV-1: never lost, never doubled."""
    await never_quarantine(store_url)
    printed = tmp_path / "printed"
    killed = 0
    for moment in moments:
        status = nursery.run(printed, "fan_out", store_url, *moment.split())
        killed += status == -signal.SIGKILL
        assert status in (0, -signal.SIGKILL), printed.read_text()
    assert killed >= 3
    assert nursery.run(printed, "fan_out", store_url, "never", "0") == 0, printed.read_text()
    told = last_told(printed.read_text().splitlines())
    assert told["runs"] == TRIGGERED
    store = await open_store(store_url)
    try:
        await _assert_exactly_once(store, told["run_id"])
        assert await check_run(store, Definitions(store), told["run_id"], Count()) == []
    finally:
        await store.close()


async def _assert_exactly_once(store: Store, run_id: str) -> None:
    runs = await store.query("SELECT id, status FROM runs")
    assert len(runs) == TRIGGERED + 1
    assert {status for _, status in runs} == {"completed"}
    items = await store.query("SELECT item_index FROM triggered_runs WHERE triggered_by_run_id = $1 ORDER BY 1", run_id)
    assert items == [(index,) for index in range(TRIGGERED)]
    events = "SELECT count(*) FROM events WHERE run_id = $1 AND type IN ('workflow_completed', 'trigger_fired')"
    assert await store.query(events, run_id) == [(2,)]
