"""How long projects keep what they have (EVT-5)."""

from typing import Final, NamedTuple

from wonder.storage.runs.cells import number, number_or_none, text
from wonder.storage.store import Reader

DAY_MS: Final = 86_400_000


class ProjectRetention(NamedTuple):
    """The settings of one project, in days; None keeps for ever."""

    project_id: str
    events_days: int | None
    logs_days: int


async def retention_of_projects(reader: Reader) -> list[ProjectRetention]:
    """Load the settings of all projects, archived ones too."""
    rows = await reader.fetch("retention_of_projects")
    return [ProjectRetention(text(id), number_or_none(events), number(logs)) for id, events, logs in rows]
