"""Workflows that bind a definition under another name: one of a library, or an older version (RES-1, RES-3)."""

from msgspec import Struct

from wonder.definitions.records.graph import WorkflowDef
from wonder.definitions.records.workflows import Workflow
from wonder.errors import WonderError
from wonder.storage.definitions import Owner, lock_owners, require_version
from wonder.storage.listing import list_versions
from wonder.storage.named_resources import Put, find_resource, put_resource
from wonder.storage.names import find_owned
from wonder.storage.store import Reader, Transaction
from wonder.storage.tables import changed
from wonder.storage.tenancy import load_library


class NameBound(WonderError):
    """A name of the project is both a workflow that binds another definition, and a definition of its own."""

    code = "NAME_BOUND"

    def __init__(self, name: str, runs: str) -> None:
        super().__init__(
            f"the workflow {name!r} of the project runs {runs}, so a definition {name!r} of the project's own can't "
            f"be stored beside it; nothing was stored. Choose another name, or archive it with "
            f"`wonder workflows archive {name}`"
        )
        self.name, self.runs = name, runs


class Meant(Struct, frozen=True):
    """The definition that a workflow is to run, pinned to a version or not."""

    id: str
    version: int | None


async def bind_workflow(transaction: Transaction, workflow: Workflow, meant: Meant) -> Put[Workflow]:
    """Let a workflow run a definition: a new one, or the one of its name with its id, switch and description.

    A pin stays where no version is given, unless the definition is another one. Raises NameBound or NotFound.
    """
    project = Owner("project", workflow.project_id)
    await lock_owners(transaction, [project])
    if meant.version is not None:
        await require_version(transaction, meant.id, meant.version, name=workflow.name)
    own = await find_owned(transaction, WorkflowDef, project, workflow.name)
    if own is not None and own.id != meant.id:
        raise NameBound(workflow.name, await definition_name(transaction, meant.id, workflow.project_id))
    existing = await find_resource(transaction, Workflow, workflow.project_id, workflow.name)
    if existing is not None:
        kept = existing.pinned_version if existing.workflow_def_id == meant.id else None
        workflow = changed(workflow, enabled=existing.enabled, pinned_version=kept)
    if meant.version is not None:
        workflow = changed(workflow, pinned_version=meant.version)
    return await put_resource(transaction, changed(workflow, workflow_def_id=meant.id))


async def require_own_definition(reader: Reader, workflow: Workflow, workflow_def_id: str) -> None:
    """Raise NameBound if a workflow runs another definition than the one that was just stored under its name."""
    if workflow.workflow_def_id != workflow_def_id:
        runs = await definition_name(reader, workflow.workflow_def_id, workflow.project_id)
        raise NameBound(workflow.name, runs)


async def definition_name(reader: Reader, workflow_def_id: str, project_id: str) -> str:
    """Write a workflow definition as a project names it: `name`, or `library/name`."""
    newest = (await list_versions(reader, WorkflowDef, workflow_def_id))[0]
    if newest.owner == Owner("project", project_id):
        return newest.name
    return f"{(await load_library(reader, newest.owner.id)).name}/{newest.name}"


async def bound_definition(reader: Reader, workflow: Workflow) -> str | None:
    """Write the definition that a workflow runs, if that is not the project's own of its name."""
    name = await definition_name(reader, workflow.workflow_def_id, workflow.project_id)
    return None if name == workflow.name else name
