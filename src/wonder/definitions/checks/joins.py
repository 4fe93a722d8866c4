"""Checks of joins: of a fan-out that is there, all alike, with enough branches, and one at a time for each branch."""

from wonder.definitions.checks.branches import Branches
from wonder.definitions.checks.two_joins import find_two_joins
from wonder.definitions.drafts import TransitionDraft, WorkflowDraft
from wonder.definitions.findings import Findings
from wonder.definitions.records.graph import MOfN, Synchronization
from wonder.language.schemas import closest
from wonder.language.values import show_path


def check_joins(workflow: WorkflowDraft, branches: Branches, findings: Findings) -> bool:
    """Check all joins of a graph; say whether they are sound."""
    before = len(findings.faults)
    _check_each(workflow, branches, findings)
    if len(findings.faults) > before:
        return False
    _check_who_comes(workflow, branches, findings)
    return _check_two_joins(workflow, branches, findings)


def _check_each(workflow: WorkflowDraft, branches: Branches, findings: Findings) -> None:
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
                f"the joins into '{transition.to_ref}' differ: {show_path(other.path)} does "
                f"not have the same {' and '.join(differing)}"
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
    wanted, group = join.strategy.m_of_n, join.sibling_group
    where = (*transition.path, "synchronization", "strategy", "m_of_n")
    most, coming = branches.most_branches(group), branches.most_branches(group, transition.to_ref)
    if most is not None and wanted > most:
        message = f"'{group}' makes {most} branches at the most, so {wanted} never arrive"
        findings.error("too_few_branches", where, message, f"write at most {most}, or make more branches")
    elif coming is not None and wanted > coming:
        to = transition.to_ref
        message = f"{coming} branches of '{group}' at the most can come to '{to}', so {wanted} never arrive"
        hint = f"write at most {coming}, or let more branches come to '{to}'"
        findings.error("too_few_branches", where, message, hint)


def _check_who_comes(workflow: WorkflowDraft, branches: Branches, findings: Findings) -> None:
    """Warn of a join of all branches that waits for some that can't come to it (CTL-9)."""
    seen: set[str] = set()
    for transition in workflow.transitions:
        join = transition.body.synchronization
        if join is None or join.strategy != "all" or transition.to_ref in seen:
            continue
        seen.add(transition.to_ref)
        if absent := branches.never_coming(join.sibling_group, transition.to_ref):
            refs = ", ".join(f"'{ref}'" for ref in dict.fromkeys(absent))
            message = (
                f"the join into '{transition.to_ref}' waits for all branches of '{join.sibling_group}', including "
                f"those that begin at {refs}, from which no path leads to it: these must end, or wait at another join"
            )
            hint = (
                "if it should not wait for them, let another node fan out to the branches that come here, and join "
                "those"
            )
            findings.warning("join_waits_for_others", (*transition.path, "synchronization"), message, hint)


def _check_two_joins(workflow: WorkflowDraft, branches: Branches, findings: Findings) -> bool:
    """Check that no branch can have tokens at two joins of its group: one of them would be lost (CTL-12)."""
    conflicts = find_two_joins(workflow, branches)
    first_into = {t.to_ref: t for t in reversed(workflow.transitions) if t.body.synchronization}
    for group, split, first, second in conflicts:
        message = (
            f"one branch of '{group}' can have tokens at the join into '{first}' and at the one into '{second}', "
            f"because its path splits at '{split}'; a branch arrives at one join only, so the other token would be lost"
        )
        hint = "join once, then fan out; to choose one of the two, give their transitions different priorities"
        findings.error("two_joins", (*first_into[second].path, "synchronization"), message, hint)
    return not conflicts
