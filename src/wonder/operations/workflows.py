"""Workflows that are stored: lists, one with its graph and versions, and what differs between two versions."""

from collections import deque
from typing import Any

from msgspec import UNSET, UnsetType

from wonder.app.application import Application
from wonder.definitions.differences import Difference, differences
from wonder.definitions.records.graph import ExpressionCondition, Node, Synchronization, Transition, WorkflowDef
from wonder.definitions.records.workflows import Workflow
from wonder.definitions.source import read_source
from wonder.definitions.written import comparable_forms
from wonder.language.values import encode_json, show_path
from wonder.operations.declaring import Input, operation
from wonder.operations.outputs import Output
from wonder.operations.workflow_records import WorkflowRecord, workflow_record
from wonder.storage.bound_workflows import bound_definition
from wonder.storage.listing import DefinitionSummary, list_versions
from wonder.storage.named_lists import NamedFilter, list_named
from wonder.storage.pages import LIMIT
from wonder.storage.tables import table_of
from wonder.storage.written import Written, load_written


class VersionRecord(Output, frozen=True):
    """One version of a definition, without its content."""

    version: int
    created_at: str
    content_hash: str
    archived_at: str | None


class WorkflowSummary(Output, frozen=True):
    """A workflow, with the versions of its definition, newest first."""

    id: str
    name: str
    description: str
    tags: list[str]
    workflow_def_id: str
    binds: str | None
    """The definition that it runs, as `common/orders`, if that is not its own; else null."""
    pinned_version: int | None
    enabled: bool
    versions: list[VersionRecord]


class WorkflowPage(Output, frozen=True):
    """Some workflows, by name; `cursor` gets the next page, or is null at the end."""

    workflows: list[WorkflowSummary]
    cursor: str | None


class ListWorkflows(Input, frozen=True):
    """Which workflows, and which page of them."""

    name: str | None = None
    """Only names that contain this, in upper or lower case."""
    tag: str | None = None
    """Only those whose definition has this tag."""
    archived: bool = False
    """Only what is archived; otherwise only what is not."""
    limit: int = LIMIT
    cursor: str | None = None


@operation("workflows.list", role="viewer")
async def list_workflows(application: Application, given: ListWorkflows) -> WorkflowPage:
    """List the workflows of the project."""
    store, project_id = application.store, application.home.project_id
    wanted = NamedFilter(
        name=given.name, tag=given.tag, archived=given.archived, limit=given.limit, cursor=given.cursor
    )
    page = await list_named(store, table_of(Workflow), project_id, wanted)
    summaries = [
        WorkflowSummary(
            **{key: one.fields[key] for key in ("id", "name", "workflow_def_id", "pinned_version", "enabled")},
            description=one.description,
            tags=one.tags,
            binds=await bound_definition(store, Workflow.model_validate(one.fields)),
            versions=[
                version_record(each) for each in await list_versions(store, WorkflowDef, one.fields["workflow_def_id"])
            ],
        )
        for one in page.items
    ]
    return WorkflowPage(workflows=summaries, cursor=page.cursor)


class Join(Output, frozen=True):
    """Where branches come together."""

    strategy: str
    sibling_group: str
    merge: dict[str, str] | None
    """The strategy, the source and the target of what is merged."""


class GraphTransition(Output, frozen=True):
    """A way from one node to another."""

    to: str
    priority: int
    condition: str | None
    foreach: dict[str, str] | None
    """The collection and the name of its item."""
    spawn_count: int | None
    join: Join | None
    loop: dict[str, int | None] | None
    """How often at most, and for how many milliseconds."""


class GraphNode(Output, frozen=True):
    """A node with its ways out, in the order of their priority."""

    node: str
    name: str | None
    """Its name for people, if it has one."""
    task: str
    kinds: list[str]
    transitions: list[GraphTransition]


class WorkflowDetails(Output, frozen=True):
    """A version of a workflow: as it was written, its graph, and its versions."""

    id: str
    """Of its definition."""
    name: str
    binds: str | None
    """The definition that it runs, as `common/orders`, if that is not its own; else null."""
    description: str
    tags: list[str]
    version: int
    definition: Any
    """In the file form; of a phase workflow, the phase form with its schemas (PHS-4)."""
    graph: list[GraphNode]
    """Nodes in the order in which a run can reach them."""
    triggers: list[dict[str, Any]]
    """The workflows that start when a run has completed, and for each item of what."""
    versions: list[VersionRecord]
    """Newest first."""
    written: str | UnsetType = UNSET
    """A phase workflow as its author wrote it, to the byte."""
    workflow: WorkflowRecord | None = None
    """The workflow of the project, as it is started; null for a definition that is asked for by its own name or id."""


class ShowWorkflow(Input, frozen=True):
    """Which workflow."""

    name: str
    """Its name or id."""
    version: int | None = None
    """The newest if it is null."""
    graph: bool = False
    """Of a phase workflow, give the graph that it was compiled to instead of the phase form."""


@operation("workflows.show", role="viewer")
async def show_workflow(application: Application, given: ShowWorkflow) -> WorkflowDetails:
    """Show a workflow: as it was written or its graph, and its versions."""
    written = await load_written(application.store, application.home.project_id, given.name, given.version)
    definition = written.definition
    versions = await list_versions(application.store, WorkflowDef, definition.id)
    text: str | UnsetType = UNSET
    form: Any = written.form
    if written.phases and not given.graph:
        text = written.phases.written.decode("utf-8")
        value: Any = read_source(written.phases.written, "stored").value
        form = {**value, "_schemas": written.phases.schemas}
    binds = await bound_definition(application.store, written.workflow) if written.workflow else None
    triggers = written.form.get("triggers") or written.form["workflow"].get("triggers") or ()
    return WorkflowDetails(
        id=definition.id,
        name=written.workflow.name if binds and written.workflow else definition.name,
        binds=binds,
        description=(written.workflow.description if binds and written.workflow else "") or definition.description,
        tags=definition.tags,
        version=definition.version,
        definition=form,
        written=text,
        graph=_graph(written),
        triggers=[{"workflowId": one["workflowId"], "forEach": one.get("forEach")} for one in triggers],
        versions=[version_record(one) for one in versions],
        workflow=workflow_record(written.workflow) if written.workflow else None,
    )


class CompareVersions(Input, frozen=True):
    """Which two versions of a workflow."""

    name: str
    before: int | None = None
    """The one before `after` if it is null."""
    after: int | None = None
    """The newest if it is null."""


class DifferenceRecord(Output, frozen=True):
    """Something that two versions don't have in common; `before` or `after` is missing where there was nothing."""

    path: str
    before: Any | UnsetType = UNSET
    after: Any | UnsetType = UNSET


class Comparison(Output, frozen=True):
    """What differs between two versions."""

    before: int
    after: int
    differences: list[DifferenceRecord]


@operation("workflows.diff", role="viewer")
async def compare_versions(application: Application, given: CompareVersions) -> Comparison:
    """Show what differs between two versions of a workflow."""
    store, project_id = application.store, application.home.project_id
    newest = await load_written(store, project_id, given.name, given.after)
    before = given.before if given.before is not None else max(newest.definition.version - 1, 1)
    older = await load_written(store, project_id, given.name, before)
    found = differences(*comparable_forms(older.form, newest.form))
    return Comparison(
        before=older.definition.version,
        after=newest.definition.version,
        differences=[_difference(one) for one in found],
    )


def version_record(version: DefinitionSummary) -> VersionRecord:
    """Give a version as it is shown."""
    return VersionRecord(
        version=version.version,
        created_at=version.created_at,
        content_hash=version.content_hash,
        archived_at=version.archived_at,
    )


def _difference(one: Difference) -> DifferenceRecord:
    return DifferenceRecord(
        path=show_path(one.path),
        before=UNSET if one.added else one.before,
        after=UNSET if one.removed else one.after,
    )


def _graph(written: Written) -> list[GraphNode]:
    workflow = written.definition
    nodes = {node.id: node for node in workflow.nodes}
    leaving: dict[str, list[Transition]] = {}
    for transition in workflow.transitions:
        leaving.setdefault(transition.from_node_id, []).append(transition)
    return [
        _node(written, nodes[node_id], leaving.get(node_id, []), nodes)
        for node_id in _reached_in_order(workflow.initial_node_id, leaving)
    ]


def _reached_in_order(start: str, leaving: dict[str, list[Transition]]) -> list[str]:
    order, todo = {start: None}, deque([start])
    while todo:
        for transition in leaving.get(todo.popleft(), []):
            if transition.to_node_id not in order:
                order[transition.to_node_id] = None
                todo.append(transition.to_node_id)
    return list(order)


def _node(written: Written, node: Node, leaving: list[Transition], nodes: dict[str, Node]) -> GraphNode:
    task = written.tasks[node.task_id, node.task_version]
    ways = sorted(leaving, key=lambda transition: transition.priority)
    return GraphNode(
        node=node.ref,
        name=node.name,
        task=f"{task.name}@{task.version}",
        kinds=[written.actions[step.action_id, step.action_version].kind for step in task.steps],
        transitions=[_transition(one, nodes[one.to_node_id].ref) for one in ways],
    )


def _transition(transition: Transition, to: str) -> GraphTransition:
    condition, foreach, loop = transition.condition, transition.foreach, transition.loop_config
    if isinstance(condition, ExpressionCondition):
        says: str | None = condition.expr
    else:
        says = encode_json(condition.definition) if condition else None
    return GraphTransition(
        to=to,
        priority=transition.priority,
        condition=says,
        foreach={"collection": foreach.collection, "item_var": foreach.item_var} if foreach else None,
        spawn_count=transition.spawn_count,
        join=_join(transition.synchronization) if transition.synchronization else None,
        loop={"max_iterations": loop.max_iterations, "timeout_ms": loop.timeout_ms} if loop else None,
    )


def _join(join: Synchronization) -> Join:
    strategy = join.strategy if isinstance(join.strategy, str) else f"{join.strategy.m_of_n} of n"
    merge = join.merge
    return Join(
        strategy=strategy,
        sibling_group=join.sibling_group,
        merge={"strategy": merge.strategy, "source": merge.source, "target": merge.target} if merge else None,
    )
