"""Checks of a workflow: its nodes and transitions one by one, and what flows between them."""

from wonder.definitions.checks.branches import Branches
from wonder.definitions.checks.flow import Sight, check_fit, check_mapping, check_read
from wonder.definitions.checks.functions import check_arguments, first_action_given_all
from wonder.definitions.checks.graph import check_graph
from wonder.definitions.checks.lookup import ActionView, Lookup, TaskView
from wonder.definitions.checks.outputs import (
    check_branch_writes,
    check_output_mapping,
    check_output_written,
    check_update_targets,
)
from wonder.definitions.checks.sights import Sights
from wonder.definitions.checks.signatures import task_gives, task_takes
from wonder.definitions.checks.texts import read_dotted
from wonder.definitions.checks.transitions import check_transition
from wonder.definitions.checks.unwritten import check_unwritten_reads
from wonder.definitions.checks.updates import check_scoped_action
from wonder.definitions.checks.variables import check_variables
from wonder.definitions.drafts import NodeDraft, TransitionDraft, WorkflowDraft
from wonder.definitions.faults import Path
from wonder.definitions.file_form.reading import Reading
from wonder.definitions.findings import Findings
from wonder.language.schemas import closest


def check_workflow(workflow: WorkflowDraft, lookup: Lookup, reading: Reading, findings: Findings) -> None:
    """Note all that is wrong with a workflow; where parts of it were cut out, only what does not depend on those."""
    whole = all(
        [_graph_is_whole(workflow, reading), _check_ends(workflow, reading, findings), _check_refs(workflow, findings)]
    )
    tasks = {ref: lookup.task(node.task) for ref, node in workflow.nodes.items()}
    for node in workflow.nodes.values():
        lookup.check(node.task, findings)
        _check_mappings_possible(node, tasks[node.ref], findings)
        _check_timeout(node, tasks[node.ref], workflow, findings)
    branches = Branches(workflow) if whole else Branches.unknown_for(workflow)
    nodes_are_whole = reading.is_whole(_nodes_of(workflow))
    sights = Sights(workflow, branches, tasks, whole=nodes_are_whole)
    errors_read = {t.ordinal: check_transition(t, sights, findings) for t in workflow.transitions}

    def reads_last_error(transition: TransitionDraft) -> bool | None:
        return errors_read[transition.ordinal]

    for node in workflow.nodes.values():
        _check_flow(node, tasks[node.ref], sights, lookup, findings)
    if whole and check_graph(workflow, branches, reads_last_error, findings) and nodes_are_whole:
        check_branch_writes(workflow, branches, tasks, findings)
        check_output_written(workflow, tasks, findings)
        check_unwritten_reads(workflow, branches, tasks, findings)


def _nodes_of(workflow: WorkflowDraft) -> Path:
    return (*workflow.path, "nodes")


def _graph_is_whole(workflow: WorkflowDraft, reading: Reading) -> bool:
    """Say whether no node, nor anything of a transition, was cut out: what a node lacks does not change the graph."""
    cuts = reading.pruning.cuts if reading.pruning else set()
    nodes = _nodes_of(workflow)
    kept = [(*workflow.path, "transitions"), (*workflow.path, "initial_node")]
    return all(map(reading.is_whole, kept)) and not any(
        cut[: len(nodes)] == nodes and len(cut) <= len(nodes) + 1 for cut in cuts
    )


def _check_ends(workflow: WorkflowDraft, reading: Reading, findings: Findings) -> bool:
    """Check that every ref of a node leads to one; a node that was cut out was there."""
    ends = [((*workflow.path, "initial_node"), workflow.initial_node)]
    for transition in workflow.transitions:
        ends += [((*transition.path, "from"), transition.from_ref), ((*transition.path, "to"), transition.to_ref)]
    missing = [
        (path, ref)
        for path, ref in ends
        if ref not in workflow.nodes and not reading.was_cut((*_nodes_of(workflow), ref))
    ]
    for path, ref in missing:
        near = closest(ref, list(workflow.nodes))
        hint = f"did you mean '{near}'?" if near else "add it to 'nodes', or name another"
        findings.error("missing_node", path, f"the workflow has no node '{ref}'", hint)
    return not missing


def _check_refs(workflow: WorkflowDraft, findings: Findings) -> bool:
    seen: dict[str, str] = dict.fromkeys(workflow.nodes, "a node")
    before = len(findings.faults)
    for transition in workflow.transitions:
        ref = transition.body.ref
        if ref is None:
            continue
        if ref in seen:
            message = f"'{ref}' is the ref of {seen[ref]} already; a sibling_group could mean either"
            findings.error("duplicate_ref", (*transition.path, "ref"), message, "rename one of them")
        seen.setdefault(ref, "a transition")
    return len(findings.faults) == before


def _check_mappings_possible(node: NodeDraft, task: TaskView | None, findings: Findings) -> None:
    action = task.on_workflow_context if task else None
    if action is None:
        return
    for name in ("input_mapping", "output_mapping"):
        if getattr(node.body, name) is not None:
            message = f"'{node.ref}' works on the workflow's context itself ({action.body.kind}), so it has no mappings"
            findings.error("mapping_not_possible", (*node.path, name), message, f"leave {name} out (FIL-2)")


def _check_timeout(node: NodeDraft, task: TaskView | None, workflow: WorkflowDraft, findings: Findings) -> None:
    limit, most = (task.body.timeout_ms if task else None), workflow.body.timeout_ms
    if task and limit and most and limit > most:
        message = f"the task '{task.name}' may take {limit:,} ms, but its workflow only {most:,} ms"
        findings.warning("timeout_order", node.path, message, "raise the workflow's timeout_ms, or lower the task's")


def _check_flow(node: NodeDraft, task: TaskView | None, sights: Sights, lookup: Lookup, findings: Findings) -> None:
    sight = sights.at_node(node.ref)
    action = task.on_workflow_context if task else None
    if action:
        where = action.path or node.path
        check_scoped_action(action, sight, sight.names, where, findings)
        check_update_targets(action, sights, node.ref, where, findings)
        return
    where = (*node.path, "input_mapping")
    if check_mapping(node.body.input_mapping, sight, where, findings) and task:
        mapping = {} if node.body.input_mapping is None else node.body.input_mapping
        check_fit(mapping, sight, task_takes(task, lookup), _taker(node, task), where, findings)
        if first := first_action_given_all(task):
            check_arguments(mapping, sight, first, lookup, where, findings)
    if task and task.sole_action:
        _check_called(task.sole_action, sight, node, findings)
        if getattr(node.body, "action", None):
            check_variables(task.sole_action, node.body.input_mapping, findings)
    gives = task_gives(task, lookup) if task else {}
    check_output_mapping(node, gives, sights, findings)


def _check_called(action: ActionView, sight: Sight, node: NodeDraft, findings: Findings) -> None:
    """Check what an action reads out of the context, such as whom to call; an invalid path was reported there."""
    kind = action.kind
    if kind is None or action.implementation is None:
        return
    for place, text in kind.context_paths(action.implementation):
        where = (*action.path, "implementation", *place) if action.path else node.path
        if path := read_dotted(text, where, Findings()):
            check_read(path, sight, where, findings)


def _taker(node: NodeDraft, task: TaskView) -> str:
    """Name what takes a node's input as its author knows it: the task of an action in line is nobody's word."""
    child = task.sole_action.references.get("workflow") if task.sole_action else None
    if child:
        return f"the workflow '{child}'"
    return f"the action of '{node.ref}'" if getattr(node.body, "action", None) else f"the task '{task.name}'"
