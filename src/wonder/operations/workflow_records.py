"""A workflow as operations give it: what is started, and with which version of which definition (RES-3)."""

from wonder.definitions.records.workflows import Workflow
from wonder.operations.outputs import Output


class WorkflowRecord(Output, frozen=True):
    """A workflow of a project, without its definition."""

    id: str
    project_id: str
    name: str
    description: str
    workflow_def_id: str
    pinned_version: int | None
    enabled: bool
    created_at: str
    updated_at: str


def workflow_record(workflow: Workflow) -> WorkflowRecord:
    """Give a workflow as operations give it."""
    return WorkflowRecord(**workflow.model_dump(mode="json"))
