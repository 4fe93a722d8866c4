"""Checks of a workflow's graph as a whole: what can't be reached, left or ended."""

from collections.abc import Callable

from wonder.definitions.checks.branches import Branches
from wonder.definitions.checks.cycles import find_cycles
from wonder.definitions.checks.joins import check_joins
from wonder.definitions.drafts import TransitionDraft, WorkflowDraft
from wonder.definitions.findings import Findings

_SHOWN_NODES = 20

ReadsLastError = Callable[[TransitionDraft], bool | None]
"""Says whether a transition's condition reads `_last_error`; None where it can't be told."""


def check_graph(
    workflow: WorkflowDraft, branches: Branches, reads_last_error: ReadsLastError, findings: Findings
) -> bool:
    """Check a graph whose nodes and transitions are all there; say whether all its joins are sound."""
    _check_reachable(workflow, branches, findings)
    joins_are_sound = check_joins(workflow, branches, findings)
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


def _check_tiers(tiers: list[list[TransitionDraft]], reads_last_error: ReadsLastError, findings: Findings) -> None:
    blocker: TransitionDraft | None = None
    for tier in tiers:
        for transition in tier:
            if blocker and reads_last_error(transition) is False:
                message = (
                    f"this transition is never considered: the one to '{blocker.to_ref}' with priority "
                    f"{blocker.body.priority} always matches first"
                )
                hint = "give that one a condition or a loop_config, or give this one a smaller priority"
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
