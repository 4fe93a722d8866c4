"""Schedules whose process is killed with SIGKILL around a firing: each planned time has exactly one run."""

import signal
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import schedule_program

from support.nursery import Nursery, last_told
from support.systems import assert_sound, never_quarantine
from wonder.app.opening import open_app
from wonder.storage.opening import open_store


@pytest.fixture(scope="module")
def scheduling() -> Iterator[Nursery]:
    """Makes processes that run schedules."""
    made = Nursery(Path(schedule_program.__file__))
    yield made
    made.close()


MOMENTS = [
    ["before:put_schedule_firing 1"],  # nothing of the first run is durable
    ["during:put_schedule_firing 2"],
    ["after:put_schedule_firing 1"],  # it is durable, and nothing has begun
    ["after:put_schedule_firing 6"],  # all are
    ["before:move_schedule 1", "after:move_schedule 1", "during:move_schedule 3"],
    ["before:put_schedule_firing 3", "read 7", "read 11", "read 15"],
]
CASES = [("allow", moments) for moments in MOMENTS] + [("queue_all", MOMENTS[1]), ("queue_all", MOMENTS[2])]


@pytest.mark.parametrize(("overlap", "moments"), CASES, ids=[f"{one} {' then '.join(many)}" for one, many in CASES])
async def test_each_planned_time_has_one_run_whenever_the_process_is_killed(
    store_url: str, tmp_path: Path, scheduling: Nursery, overlap: str, moments: list[str]
) -> None:
    """INV-1, INV-2, INV-5."""
    starts = datetime.now(UTC) - timedelta(minutes=65)
    async with open_app(store_url) as app:
        await schedule_program.prepare(app, starts.isoformat(timespec="seconds"), overlap)
    await never_quarantine(store_url)
    printed = tmp_path / "printed"
    for moment in moments:
        status = scheduling.run(printed, "schedules", store_url, *moment.split())
        # How often it reads before all is done depends on how fast it is.
        assert status == -signal.SIGKILL or (status == 0 and moment.startswith("read")), printed.read_text()
    assert scheduling.run(printed, "schedules", store_url, "never", "0") == 0, printed.read_text()
    assert last_told(printed.read_text().splitlines()) == {"started": schedule_program.MISSED}
    store = await open_store(store_url)
    try:
        fired = await store.query("SELECT planned_ms, run_id FROM schedule_firings ORDER BY planned_ms")
        runs = await store.query("SELECT id, status FROM runs")
    finally:
        await store.close()
    first_ms = int(starts.replace(microsecond=0).timestamp()) * 1_000
    planned = [first_ms + count * 10 * schedule_program.MINUTE_MS for count in range(1, 1 + schedule_program.MISSED)]
    assert [planned_ms for planned_ms, _ in fired] == planned
    assert {run_id for _, run_id in fired} == {id for id, _ in runs}
    assert [status for _, status in runs] == ["completed"] * schedule_program.MISSED
    await assert_sound(store_url)
