"""Deaths: which runs were under way when a process ended without closing its engine (RES-6)."""

from collections.abc import Sequence
from typing import NamedTuple

from wonder.storage.runs.cells import number, text
from wonder.storage.runs.leases import check_lease
from wonder.storage.store import Entry, Fence, Reader, Store


class RunDeaths(NamedTuple):
    """How often processes have died while a run was under way."""

    run_id: str
    deaths: int
    """In a row, without a step forward of the run between them."""
    quick: int
    """In a row, each within a minute of the one before."""
    sequence: int
    """The run's last event when it was last taken up again."""
    taken_ms: int


async def load_deaths(reader: Reader) -> dict[str, RunDeaths]:
    """Load what is counted of all runs, by their ids."""
    rows = await reader.fetch("run_deaths")
    return {text(id): RunDeaths(text(id), *map(number, counts)) for id, *counts in rows}


async def store_deaths(store: Store, deaths: Sequence[RunDeaths], fence: Fence) -> None:
    """Store new counts, in the place of all that were there."""
    async with store.transaction() as transaction:
        await check_lease(transaction, fence)
        await transaction.execute("forget_run_deaths")
        if deaths:
            await transaction.execute_many("insert_run_deaths", deaths)


async def quarantined_runs(reader: Reader, project_id: str, *, limit: int = 10) -> list[str]:
    """List, by id, the first runs of a project that are set aside."""
    return [text(id) for (id,) in await reader.fetch("quarantined_runs", project_id, limit)]


def forget_deaths(run_id: str) -> Entry:
    """Give what forgets the counts of a run."""
    return "forget_deaths_of_run", [(run_id,)]
