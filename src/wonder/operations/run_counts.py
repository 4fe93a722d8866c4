"""How many runs there are, by status and by workflow (CMD-14)."""

from collections import Counter

from wonder.app.application import Application
from wonder.operations.declaring import Input, operation
from wonder.operations.outputs import Output
from wonder.operations.run_lists import definition_id
from wonder.storage.runs.counting import counts_of_project


class CountRuns(Input, frozen=True):
    """Which runs to count."""

    workflow: str | None = None
    """Only runs of the workflow with this name, or of `library/name`, of any version."""


class WorkflowCounts(Output, frozen=True):
    """How many runs of a workflow have each status; a status that none has is left out."""

    workflow: str
    """The name of its definition."""
    workflow_def_id: str
    statuses: dict[str, int]
    total: int


class RunCounts(Output, frozen=True):
    """How many runs there are; a status that none has is left out."""

    total: int
    statuses: dict[str, int]
    workflows: list[WorkflowCounts]
    """Those with the most runs first."""


@operation("runs.count", role="viewer")
async def count_runs(application: Application, given: CountRuns) -> RunCounts:
    """Say how many runs of the project have each status, in all and for each workflow, without counting them."""
    store, project_id = application.store, application.home.project_id
    wanted = None if given.workflow is None else await definition_id(application, given.workflow)
    totals: Counter[str] = Counter()
    by_workflow: dict[tuple[str, str], dict[str, int]] = {}
    for one in await counts_of_project(store, project_id, wanted):
        totals[one.status] += one.runs
        by_workflow.setdefault((one.workflow_def_id, one.workflow), {})[one.status] = one.runs
    workflows = [
        WorkflowCounts(workflow=name, workflow_def_id=id, statuses=statuses, total=sum(statuses.values()))
        for (id, name), statuses in by_workflow.items()
    ]
    workflows.sort(key=lambda one: (-one.total, one.workflow, one.workflow_def_id))
    return RunCounts(total=sum(totals.values()), statuses=dict(sorted(totals.items())), workflows=workflows)
