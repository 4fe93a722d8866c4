"""Counts of runs by status, read as they are kept: nothing is counted here (CMD-14)."""

from typing import NamedTuple

from wonder.storage.runs.cells import number, text
from wonder.storage.store import Reader


class RunCount(NamedTuple):
    """How many runs of a workflow have a status."""

    workflow_def_id: str
    workflow: str
    status: str
    runs: int


async def counts_of_project(reader: Reader, project_id: str, workflow_def_id: str | None = None) -> list[RunCount]:
    """Give how many runs each workflow of a project has in each status, or one of them; a 0 is left out."""
    rows = await reader.fetch("run_counts_of_project", project_id, workflow_def_id)
    return [RunCount(text(id), text(name), text(status), number(runs)) for id, name, status, runs in rows]
