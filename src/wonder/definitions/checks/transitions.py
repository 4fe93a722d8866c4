"""Checks of one transition: its condition, its foreach and its merge."""

from typing import assert_never

from wonder.definitions.checks.flow import ALL_NAMES, Sight, check_expression_reads, check_read
from wonder.definitions.checks.outputs import check_target
from wonder.definitions.checks.sights import Sights
from wonder.definitions.checks.texts import WORKFLOW_ROOTS, read_collection, read_condition, read_dotted, read_target
from wonder.definitions.drafts import TransitionDraft
from wonder.definitions.faults import Path
from wonder.definitions.findings import Findings
from wonder.definitions.records.graph import ExpressionCondition, Foreach, Merge, MergeStrategy, StructuredCondition
from wonder.language.expressions import RESERVED_WORDS, is_item_var
from wonder.language.schemas import closest, describe, disjoint
from wonder.language.values import show_path


def check_transition(transition: TransitionDraft, sights: Sights, findings: Findings) -> bool | None:
    """Note what is wrong with a transition by itself; say if its condition reads `_last_error`; None: unknown."""
    sight, body, path = sights.at_node(transition.from_ref), transition.body, transition.path
    reads_last_error: bool | None = False
    if body.condition:
        where = (*path, "condition")
        # Also the roots that are not here, so that they are told to be missing and not taken for fields of state.
        expression = read_condition(body.condition, sight.names, where, findings)
        if expression:
            check_expression_reads(expression, sight, where, findings)
            _check_reads(body.condition, sight, where, findings)
        reads_last_error = expression.reads_last_error if expression else None
    if body.foreach:
        _check_foreach(body.foreach, sight, (*path, "foreach"), findings)
    if body.synchronization and body.synchronization.merge:
        where = (*path, "synchronization", "merge")
        _check_merge(body.synchronization.merge, transition, sights, where, findings)
    return reads_last_error


def _check_reads(
    condition: ExpressionCondition | StructuredCondition, sight: Sight, path: Path, findings: Findings
) -> None:
    """Report every path of `reads` that is invalid or can't be there, whether the expression uses it or not (EXP-2)."""
    for i, text in enumerate(condition.reads if isinstance(condition, ExpressionCondition) else ()):
        where = (*path, "reads", i)
        read = read_dotted(text, where, findings)
        if read is not None:
            check_read(read if read[0] in sight.names else ("state", *read), sight, where, findings)


def _check_foreach(foreach: Foreach, sight: Sight, path: Path, findings: Findings) -> None:
    _check_item_var(foreach.item_var, (*path, "item_var"), findings)
    where = (*path, "collection")
    collection = read_collection(foreach.collection, sight.names, where, findings)
    if collection is None:
        return
    if collection.expression:
        check_expression_reads(collection.expression, sight, where, findings)
    elif collection.query and collection.query.prefix:
        check_read(collection.query.prefix, sight, where, findings)
    elif collection.path and check_read(collection.path, sight, where, findings):
        _check_list(collection.path, sight, where, findings)


def _check_list(path: Path, sight: Sight, where: Path, findings: Findings) -> None:
    shape = sight.shape(path)
    if shape and shape.kind == "known" and (mismatch := disjoint(shape.schema, {"type": "array"})):
        findings.error(
            "not_a_list",
            where,
            f"'{show_path(path)}' is not a list: its schema says {describe(shape.schema)}",
            "name a list",
            expected=mismatch.expected,
            actual=mismatch.actual,
        )


def _check_item_var(name: str, where: Path, findings: Findings) -> None:
    if is_item_var(name):
        return
    if name in WORKFLOW_ROOTS:
        reason, hint = "it already has a meaning", "choose another name, such as 'item'"
    elif name.lower() in RESERVED_WORDS:
        reason, hint = "it is a word of the expression language", "choose another name, such as 'item'"
    else:
        reason, hint = "it is not an identifier", "use letters, digits and _ only, and begin with a letter"
    findings.error("bad_item_var", where, f"'{name}' can't be the name of an item: {reason}", hint)


def _check_merge(merge: Merge, transition: TransitionDraft, sights: Sights, path: Path, findings: Findings) -> None:
    where = (*path, "source")
    source = read_dotted(merge.source, where, findings)
    if source is not None:
        if source[0] != "_branch":
            message = f"the source of a merge is a value of each branch, which '{merge.source}' is not in one"
            findings.error("bad_merge_source", where, message, "write _branch.output, or a field of it")
        elif _is_unwritten(source, sights):
            message = f"no node inside the fan-out writes '{merge.source}', so every branch gives null"
            near = closest(str(source[2]), sorted(sights.branch_names))
            hint = f"did you mean '_branch.output.{near}'?" if near else "write state.… in a node of the branch"
            findings.warning("merge_source_unwritten", where, message, hint)
    where = (*path, "target")
    target = read_target(merge.target, where, findings, in_workflow=True)
    if target:
        schema = check_target(target.path, sights, transition.to_ref, where, findings)
        made = _merged_type(merge.strategy)
        if schema is not None and made and (mismatch := disjoint({"type": made}, schema)):
            findings.error(
                "type_mismatch",
                where,
                f"the result of '{merge.strategy}' does not fit '{merge.target}': {mismatch.message}",
                "choose another strategy or target",
                expected=mismatch.expected,
                actual=mismatch.actual,
            )


def _merged_type(strategy: MergeStrategy) -> str | None:
    """Return the JSON type of what a merge makes; None if that is what a branch gave."""
    match strategy:
        case "append":
            return "array"
        case "keyed_by_branch" | "merge_object":
            return "object"
        case "last_wins":
            return None
        case _:
            assert_never(strategy)


def _is_unwritten(source: Path, sights: Sights) -> bool:
    is_field = source[:2] == ("_branch", "output") and len(source) > 2
    return is_field and not sights.branch_names & {source[2], ALL_NAMES}
