"""Workflows of the project, changed: bound, enabled, pinned, renamed, archived and restored (RES-3, RES-5)."""

from wonder.app.application import Application
from wonder.definitions.records.workflows import Workflow
from wonder.definitions.references import parse_reference
from wonder.operations.declaring import Input, operation
from wonder.operations.names import check_name
from wonder.operations.outputs import Output
from wonder.storage import bound_workflows as kept_bound
from wonder.storage import workflow_states as kept
from wonder.storage.archive import restore_resource
from wonder.storage.definitions import require_version
from wonder.storage.finding import find_stored
from wonder.storage.own_resources import find_live_resource
from wonder.storage.resource_errors import AmbiguousName, NotFound
from wonder.storage.store import Reader, Transaction


class WorkflowState(Output, frozen=True):
    """How a workflow is started: whether it can be, and with which version."""

    id: str
    name: str
    workflow_def_id: str
    binds: str | None
    """The definition that it runs, as `common/orders`, if that is not its own; else null."""
    enabled: bool
    pinned_version: int | None
    """Null for the newest."""


class OneWorkflow(Input, frozen=True):
    """A workflow of the project."""

    name: str
    """Its name or its id."""


@operation("workflows.enable", role="operator", changes=True)
async def enable_workflow(application: Application, given: OneWorkflow) -> WorkflowState:
    """Let runs of a workflow be started again."""
    return await _change(application, given.name, enabled=True)


@operation("workflows.disable", role="operator", changes=True)
async def disable_workflow(application: Application, given: OneWorkflow) -> WorkflowState:
    """Let no run of a workflow be started, by anybody or anything; those under way go on."""
    return await _change(application, given.name, enabled=False)


class BindWorkflow(Input, frozen=True):
    """A workflow of the project, and the stored definition that it is to run."""

    name: str
    definition: str
    """`library/name`, or `library/name@version` to pin it."""
    description: str | None = None
    """Of the workflow; one that is there keeps its own if this is null."""


@operation("workflows.bind", role="author", changes=True)
async def bind_workflow(application: Application, given: BindWorkflow) -> WorkflowState:
    """Let a workflow of the project, new or not, run a definition of a library, or another one of the project."""
    name, now, home = check_name("workflow", given.name), application.clock(), application.home
    reference = parse_reference("workflow", given.definition, ())
    async with application.store.transaction() as transaction:
        found = await find_stored(transaction, home.project_id, reference) if reference else []
        if len(found) > 1:
            raise AmbiguousName("workflow", given.definition, [one.owner for one in found])
        if not found or found[0].is_bound or reference is None:
            raise NotFound("workflow definition", given.definition)
        there = await find_live_resource(transaction, Workflow, home.project_id, name)
        workflow = Workflow(
            id=application.new_id(),
            project_id=home.project_id,
            name=name,
            description=given.description if given.description is not None else there.description if there else "",
            workflow_def_id=found[0].id,
            created_at=now,
            updated_at=now,
        )
        put = await kept_bound.bind_workflow(transaction, workflow, kept_bound.Meant(found[0].id, reference.version))
        return await _state(transaction, put.record)


class PinWorkflow(Input, frozen=True):
    """A workflow, and the version that its runs are to have."""

    name: str
    version: int


@operation("workflows.pin", role="author", changes=True)
async def pin_workflow(application: Application, given: PinWorkflow) -> WorkflowState:
    """Have all runs of a workflow start with one version, also after newer ones are deployed."""
    return await _change(application, given.name, pinned_version=given.version)


@operation("workflows.unpin", role="author", changes=True)
async def unpin_workflow(application: Application, given: OneWorkflow) -> WorkflowState:
    """Have runs of a workflow start with its newest version again."""
    return await _change(application, given.name, pinned_version=None)


class RenameWorkflow(Input, frozen=True):
    """A workflow, and its new name."""

    name: str
    to: str


@operation("workflows.rename", role="author", changes=True)
async def rename_workflow(application: Application, given: RenameWorkflow) -> WorkflowState:
    """Give a workflow another name; its definition, its runs and its schedules stay as they are."""
    to = check_name("workflow", given.to)
    async with application.store.transaction() as transaction:
        workflow = await _find(application, transaction, given.name)
        await kept.rename_workflow(transaction, workflow, to, at=application.clock())
        return await _state(transaction, await _find(application, transaction, to))


@operation("workflows.archive", role="author", changes=True)
async def archive_workflow(application: Application, given: OneWorkflow) -> WorkflowState:
    """Archive a workflow with all versions of its definition, if nothing live needs it."""
    async with application.store.transaction() as transaction:
        workflow = await _find(application, transaction, given.name)
        await kept.archive_workflow(transaction, workflow, at=application.clock())
        return await _state(transaction, workflow)


@operation("workflows.restore", role="author", changes=True)
async def restore_workflow(application: Application, given: OneWorkflow) -> WorkflowState:
    """Make an archived workflow live again, with the versions that were archived with it."""
    async with application.store.transaction() as transaction:
        project_id = application.home.project_id
        restored = await restore_resource(transaction, Workflow, project_id, given.name, at=application.clock())
        return await _state(transaction, restored)


async def _change(application: Application, name: str, **fields: object) -> WorkflowState:
    async with application.store.transaction() as transaction:
        workflow = await _find(application, transaction, name)
        version = fields.get("pinned_version")
        if isinstance(version, int):
            await require_version(transaction, workflow.workflow_def_id, version, name=workflow.name)
        changed = workflow.model_copy(update={**fields, "updated_at": application.clock()})
        await kept.put_workflow(transaction, changed)
        return await _state(transaction, changed)


async def _find(application: Application, transaction: Transaction, wanted: str) -> Workflow:
    workflow = await find_live_resource(transaction, Workflow, application.home.project_id, wanted)
    if workflow is None:
        raise NotFound("workflow", wanted)
    return workflow


async def _state(reader: Reader, workflow: Workflow) -> WorkflowState:
    return WorkflowState(
        id=workflow.id,
        name=workflow.name,
        workflow_def_id=workflow.workflow_def_id,
        binds=await kept_bound.bound_definition(reader, workflow),
        enabled=workflow.enabled,
        pinned_version=workflow.pinned_version,
    )
