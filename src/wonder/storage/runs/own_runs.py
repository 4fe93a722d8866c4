"""Runs and their questions, loaded for one project by an id that somebody gave: its own only (INV-7).

An id of another project gets the same answer as an id that does not exist. The rooms above load runs by a given id
through this module alone, and so does the engine when it carries out an order; all else that the engine loads it knows
from its own rows, as it runs the runs of all projects.
"""

from collections.abc import Sequence

from wonder.storage.resource_errors import NotFound
from wonder.storage.runs.headers import RunHeader, load_header, load_headers
from wonder.storage.runs.reading import InboxItem, load_inbox_item
from wonder.storage.store import Reader


async def load_own_run(reader: Reader, project_id: str, run_id: str) -> RunHeader:
    """Load a run of a project; raises NotFound."""
    header = await load_header(reader, run_id)
    if header.project_id != project_id:
        raise NotFound("run", run_id)
    return header


async def load_own_runs(reader: Reader, project_id: str, run_ids: Sequence[str]) -> list[RunHeader]:
    """Load many runs of a project at once; those that it does not have are left out."""
    return [header for header in await load_headers(reader, run_ids) if header.project_id == project_id]


async def load_own_item(reader: Reader, project_id: str, item_id: str) -> InboxItem:
    """Load a question that a run of a project asks people, open or not; raises NotFound."""
    item = await load_inbox_item(reader, item_id)
    if item.project_id != project_id:
        raise NotFound("inbox item", item_id)
    return item
