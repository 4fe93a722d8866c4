"""Checks of a workflow's graph as a whole: what can't be reached, joined, left or ended."""

from collections.abc import Callable

from wonder.definitions.checks.branches import Branches
from wonder.definitions.checks.cycles import find_cycles
from wonder.definitions.drafts import TransitionDraft, WorkflowDraft
from wonder.definitions.findings import Findings
from wonder.definitions.records.graph import MOfN, Synchronization
from wonder.language.schemas import closest
from wonder.language.values import show_path

_SHOWN_NODES = 20

ReadsLastError = Callable[[TransitionDraft], bool | None]
"""Says whether a transition's condition reads `_last_error`; None where it can't be told."""


def check_graph(
    workflow: WorkflowDraft, branches: Branches, reads_last_error: ReadsLastError, findings: Findings
) -> bool:
    """Check a graph whose nodes and transitions are all there; say whether all its joins are sound."""
    _check_reachable(workflow, branches, findings)
    before = len(findings.faults)
    _check_joins(workflow, branches, findings)
    joins_are_sound = len(findings.faults) == before
    for ref in workflow.nodes:
        _check_tiers(branches.tiers(ref), reads_last_error, findings)
        _check_way_out(ref, workflow, branches, reads_last_error, findings)
    _check_endless_cycles(workflow, findings)
    return joins_are_sound


def _check_reachable(workflow: WorkflowDraft, branches: Branches, findings: Findings) -> None:
    for ref, node in workflow.nodes.items():
        if ref not in branches.of_node:
            message = f"no transition leads from the initial node '{workflow.initial_node}' to '{ref}'"
            findings.error("unreachable_node", node.path, message, "add a transition to it, or remove the node")


def _check_joins(workflow: WorkflowDraft, branches: Branches, findings: Findings) -> None:
    first: dict[str, tuple[Synchronization, TransitionDraft]] = {}
    transition_refs = {transition.body.ref for transition in workflow.transitions if transition.body.ref}
    for transition in workflow.transitions:
        join = transition.body.synchronization
        if join is None:
            continue
        path = (*transition.path, "synchronization")
        if join.sibling_group not in workflow.nodes and join.sibling_group not in transition_refs:
            message = f"'{join.sibling_group}' is neither a node nor the ref of a transition"
            near = closest(join.sibling_group, [*workflow.nodes, *sorted(transition_refs)])
            named = "name the node that fans out, or the transition that makes the branches"
            hint = f"did you mean '{near}'?" if near else named
            findings.error("unknown_sibling_group", (*path, "sibling_group"), message, hint)
        elif transition.from_ref in branches.of_node:
            _check_fans_out_upstream(transition, join, branches, findings)
        earlier, other = first.setdefault(transition.to_ref, (join, transition))
        if earlier != join:
            differing = [name for name in type(join).model_fields if getattr(join, name) != getattr(earlier, name)]
            message = (
                f"the node '{transition.to_ref}' is joined in another way at {show_path(other.path)}: "
                f"not with the same {' and '.join(differing)}"
            )
            findings.error("joins_disagree", path, message, "write the same synchronization on both (CTL-8)")


def _check_fans_out_upstream(
    transition: TransitionDraft, join: Synchronization, branches: Branches, findings: Findings
) -> None:
    if transition.from_ref in branches.unknown:
        return
    group = join.sibling_group
    if any(branches.names_frame(group, frame) for stack in branches.into(transition) for frame in stack):
        _check_enough_branches(transition, join, branches, findings)
        return
    if not branches.can_fan_out(group):
        beside = (
            "no second transition beside it" if group not in branches.of_node else "no two transitions of one priority"
        )
        message = f"'{group}' never fans out: it has no foreach, no spawn_count and {beside}"
        hint = "add foreach or spawn_count there, or remove the synchronization"
    else:
        message = f"no branch of '{group}' ever comes this way"
        hint = "name a fan-out that lies before this transition and is not joined yet"
    findings.error("join_without_fan_out", (*transition.path, "synchronization", "sibling_group"), message, hint)


def _check_enough_branches(
    transition: TransitionDraft, join: Synchronization, branches: Branches, findings: Findings
) -> None:
    if not isinstance(join.strategy, MOfN):
        return
    wanted, most = join.strategy.m_of_n, branches.most_branches(join.sibling_group)
    if most is not None and wanted > most:
        message = f"'{join.sibling_group}' makes {most} branches at the most, so {wanted} never arrive"
        where = (*transition.path, "synchronization", "strategy", "m_of_n")
        findings.error("too_few_branches", where, message, f"write at most {most}, or make more branches")


def _check_tiers(tiers: list[list[TransitionDraft]], reads_last_error: ReadsLastError, findings: Findings) -> None:
    blocker: TransitionDraft | None = None
    for tier in tiers:
        for transition in tier:
            if blocker and reads_last_error(transition) is False:
                message = (
                    f"this transition is never looked at: the one to '{blocker.to_ref}' with priority "
                    f"{blocker.body.priority} always matches first"
                )
                hint = "give that one a condition or a loop_config, or this one a smaller priority, to come first"
                findings.error("unreachable_tier", transition.path, message, hint)
        unconditional = [t for t in tier if t.body.condition is None]
        ordinary = [t for t in tier if t.body.condition is not None and reads_last_error(t) is False]
        if unconditional and ordinary:
            message = (
                f"priority {tier[0].body.priority} mixes a transition without a condition (to "
                f"'{unconditional[0].to_ref}') with this conditional one: when its condition holds, both fire"
            )
            hint = "did you mean a later priority for the one without a condition?"
            findings.warning("mixed_tier", ordinary[0].path, message, hint)
        blocker = blocker or next((t for t in unconditional if t.body.loop_config is None), None)


def _check_way_out(
    ref: str, workflow: WorkflowDraft, branches: Branches, reads_last_error: ReadsLastError, findings: Findings
) -> None:
    outgoing = branches.outgoing(ref)
    if not outgoing or any(t.body.condition is None or reads_last_error(t) is None for t in outgoing):
        return
    if all(reads_last_error(t) for t in outgoing):
        message = f"'{ref}' can be left only when it failed: when it succeeds, no transition matches"
    else:
        message = f"every transition out of '{ref}' has a condition: when none holds, the run fails"
    hint = "add one without a condition at a later priority (NO_TRANSITION_MATCHED otherwise)"
    findings.warning("no_way_out", workflow.nodes[ref].path, message, hint)


def _check_endless_cycles(workflow: WorkflowDraft, findings: Findings) -> None:
    unlimited = [t for t in workflow.transitions if t.body.loop_config is None]
    cycles = find_cycles(workflow.nodes, unlimited)
    of_node = {ref: number for number, cycle in enumerate(cycles) for ref in cycle}
    # The last written of each cycle's transitions: that is the one that leads back, as people write.
    leading_back = {of_node[t.from_ref]: t for t in unlimited if of_node.get(t.from_ref, -1) == of_node.get(t.to_ref)}
    in_order: dict[int, list[str]] = {}
    for ref in workflow.nodes:
        if ref in of_node:
            in_order.setdefault(of_node[ref], []).append(ref)
    for number, refs in in_order.items():
        back = leading_back[number]
        shown = ", ".join(f"'{ref}'" for ref in refs[:_SHOWN_NODES]) + (", …" if len(refs) > _SHOWN_NODES else "")
        message = f"a cycle without any limit goes through {shown}"
        hint = "add loop_config with max_iterations or timeout_ms to one of its transitions"
        findings.warning("endless_cycle", back.path, message, hint)
