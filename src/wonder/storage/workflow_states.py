"""Workflows of a project, changed: stored anew, renamed, archived with their definition (RES-3, RES-5)."""

from wonder.definitions.records.graph import WorkflowDef
from wonder.definitions.records.workflows import Workflow
from wonder.storage.archive import archive_definition, archive_resource, find_users
from wonder.storage.definitions import Owner, lock_owners
from wonder.storage.named_resources import find_resource, put_resource
from wonder.storage.resource_errors import InUse, NameTaken
from wonder.storage.store import Transaction
from wonder.storage.tables import WORKFLOWS


async def put_workflow(transaction: Transaction, workflow: Workflow) -> None:
    """Store a workflow that is there, with other fields."""
    await put_resource(transaction, workflow)


async def rename_workflow(transaction: Transaction, workflow: Workflow, name: str, *, at: str) -> None:
    """Give a workflow another name; raises NameTaken, or InUse where a trigger finds it by its name."""
    await lock_owners(transaction, [Owner("project", workflow.project_id)])
    if await find_resource(transaction, Workflow, workflow.project_id, name):
        raise NameTaken("workflow", name)
    triggers = [user for user in await find_users(transaction, WORKFLOWS, workflow.id) if user.kind != "schedule"]
    if triggers:
        raise InUse("workflow", workflow.name, triggers)
    await transaction.execute("rename_workflow", workflow.id, name, at)


async def archive_workflow(transaction: Transaction, workflow: Workflow, *, at: str) -> None:
    """Archive a workflow, and its definition if that is the project's own; raises InUse."""
    await archive_resource(transaction, Workflow, workflow.id, at=at)
    rows = await transaction.fetch_named("versions(workflow_defs)", workflow.workflow_def_id)
    is_own = any(row["project_id"] == workflow.project_id and row["archived_at"] is None for row in rows)
    # Another workflow may bind the same definition, which then stays.
    if is_own and not await transaction.fetch("live_bindings", workflow.workflow_def_id):
        await archive_definition(transaction, WorkflowDef, workflow.workflow_def_id, at=at)
