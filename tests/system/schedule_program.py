"""A program whose processes run the schedules of a database, until they are killed or nothing is due any more."""

import asyncio
import json
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import engine_program

from support.faulty_stores import KillingStore, wonder_on
from support.systems import bundle, calls
from wonder.definitions.loading import load_value
from wonder.storage.schedules import find_schedule

MINUTE_MS = 60_000
MISSED = 6


def definition(starts_at: str, overlap: str) -> dict[str, Any]:
    """A workflow, and a schedule that has planned six times in the last hour, the last of them five minutes ago."""
    work = calls("work", input_mapping={"at": "$.input.at"}, output_mapping={"output": "$"})
    schedule = {"every_ms": 10 * MINUTE_MS, "starts_at": starts_at, "input": {"at": "@time"}}
    policy = {"overlap": overlap, "catch_up": "all"}
    return {**bundle("report", {"work": work}), "schedules": {"often": schedule | policy}}


async def prepare(app: Any, starts_at: str, overlap: str) -> None:
    """Store both, and let it be as if no engine had run for an hour."""
    await app.deploy_loaded(load_value(definition(starts_at, overlap)))
    async with app.store.transaction() as transaction:
        await transaction.run(
            "UPDATE schedule_states SET after_ms = after_ms - $1, due_ms = after_ms - $1", [(60 * MINUTE_MS,)]
        )
        # It was made then, too: each time since has to be accounted for.
        made = (datetime.now(UTC) - timedelta(minutes=60)).isoformat(timespec="microseconds").replace("+00:00", "Z")
        await transaction.run("UPDATE schedules SET created_at = $1, updated_at = $1", [(made,)])


async def schedules(url: str, moment: str, number: str) -> None:
    """Run schedules until nothing is due for minutes, and all runs have ended; MOMENT is as for `work`."""

    def wrap(store: Any) -> KillingStore:
        return KillingStore(store, moment, int(number))

    async def work(at: str) -> dict[str, str]:
        return {"at": at}

    async with wonder_on(url, wrap, {"work": work}, engine_program.LEASE_MS) as wonder:
        while True:
            one = await find_schedule(wonder.store, wonder.home.project_id, "often")
            live = await wonder.store.query("SELECT id FROM runs WHERE completed_ms IS NULL")
            is_ahead = one.state.due_ms is None or one.state.due_ms > time.time() * 1_000 + MINUTE_MS / 2
            if is_ahead and not live:
                print(json.dumps({"started": one.state.started}), flush=True)
                return
            await asyncio.sleep(0.01)


engine_program._DOES["schedules"] = schedules

if __name__ == "__main__":
    engine_program.main()
