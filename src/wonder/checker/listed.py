"""Listed: what lists and counts of runs are made of agrees with the runs."""

from collections.abc import AsyncIterator

from wonder.checker.violations import Violation
from wonder.storage.store import Reader


async def check_listed(reader: Reader) -> AsyncIterator[Violation]:
    """Compare the counts, the failures and the costs with the runs and their events."""
    for project_id, definition_id, status, counted, runs in await reader.fetch("checker_miscounted_runs"):
        of = f"workflow {definition_id!s} of project {project_id!s}"
        yield Violation("counts", "", f"{of} has {runs!s} runs that are {status!s}, and {counted!s} are counted")
    for (run_id,) in await reader.fetch("checker_misfiled_runs"):
        yield Violation("listed", str(run_id), "its status is not what the list of failures says")
    for (run_id,) in await reader.fetch("checker_wrong_costs"):
        yield Violation("listed", str(run_id), "its cost is not the sum of what its events cost")
