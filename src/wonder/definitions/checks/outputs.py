"""Checks of what nodes write: targets that are not in the schema, values that can't fit them, writes that are lost."""

from collections.abc import Mapping

from wonder.definitions.checks.branches import MAYBE, Branches
from wonder.definitions.checks.flow import Sight, check_fit, check_mapping
from wonder.definitions.checks.lookup import ActionView, TaskView
from wonder.definitions.checks.sights import Sights, target_path, writes, written_paths
from wonder.definitions.checks.texts import read_target
from wonder.definitions.drafts import NodeDraft, WorkflowDraft
from wonder.definitions.faults import Path
from wonder.definitions.findings import Findings
from wonder.errors import WonderError
from wonder.language.expressions import parse_path
from wonder.language.schemas import Schema, closest
from wonder.language.values import show_path


def check_output_mapping(node: NodeDraft, gives: Schema, sights: Sights, findings: Findings) -> None:
    """Check what a node's output mapping reads of its task's output, and where it writes that."""
    sight = sights.of_output(gives)
    for key, template in (node.body.output_mapping or {}).items():
        where = (*node.path, "output_mapping", key)
        target = read_target(key, where, findings, in_workflow=True)
        sound = check_mapping(template, sight, where, findings)
        schema = check_target(target.path, sights, node.ref, where, findings) if target else None
        if sound and schema is not None:
            check_fit(template, sight, schema, f"'{key}'", where, findings)


def check_update_targets(action: ActionView, sights: Sights, ref: str, path: Path, findings: Findings) -> None:
    """Check where an action on the workflow's context writes."""
    for place, text, expr in action.assignments():
        where = (*path, "implementation", *place)
        # A path that can't be read was noted where the action stands.
        target = read_target(text, where, Findings(), in_workflow=True)
        schema = check_target(target.path, sights, ref, (*where, "path"), findings) if target else None
        if schema is not None and isinstance(expr, str):
            _check_copied(expr, sights.at_node(ref), schema, f"'{text}'", (*where, "expr"), findings)
        elif schema is not None:
            value = expr if isinstance(expr, dict) and "$literal" in expr else {"$literal": expr}
            check_fit(value, Sight({}), schema, f"'{text}'", (*where, "expr"), findings)


def _check_copied(text: str, sight: Sight, target: Schema, taker: str, where: Path, findings: Findings) -> None:
    """Note a value that an expression only copies (EXP-6), and that can never fit where it goes."""
    try:
        path = parse_path(text.strip())
    except WonderError:
        return  # it computes something: what that gives is known when it runs
    shape = sight.shape(path if path[0] in sight.names else ("state", *path))
    if shape is None or shape.kind != "known":
        return
    source: Schema = {"anyOf": [shape.schema, {"type": "null"}]}  # what is not there is copied as null
    if mismatch := sight.memory.disjoint(source, target):
        findings.error(
            "type_mismatch",
            where,
            f"{mismatch.message} for {taker}",
            "copy another value, or correct the schema",
            expected=mismatch.expected,
            actual=mismatch.actual,
        )


def check_output_written(workflow: WorkflowDraft, tasks: Mapping[str, TaskView | None], findings: Findings) -> None:
    """Warn of what `output_schema` requires and nothing ever writes: such a run can't complete (CTL-18)."""
    schema = workflow.body.output_schema
    if not isinstance(schema, dict) or not isinstance(schema.get("required"), list) or None in tasks.values():
        return
    paths = [path for ref, node in workflow.nodes.items() for _, path in writes(node.body.output_mapping, tasks[ref])]
    joins = [t.body.synchronization for t in workflow.transitions if t.body.synchronization]
    paths += [target_path(join.merge.target) for join in joins if join.merge]
    of_output = [path for path in paths if path[:1] == ("output",)]
    if () in paths or ("output",) in of_output:
        return
    written = {path[1] for path in of_output}
    for name in schema["required"]:
        if name not in written:
            message = f"output_schema requires '{name}', which no node writes: no run can complete"
            where = (*workflow.path, "output_schema", "required")
            findings.warning("output_not_written", where, message, f"write to output.{name}, or don't require it")


def check_target(path: Path, sights: Sights, ref: str, where: Path, findings: Findings) -> Schema | None:
    """Check that a target exists; give its schema, or None where nothing is known of it or it is a branch's own."""
    if path[0] == "_branch":
        if not sights.branches.in_branch(ref):
            message = f"'{ref}' is not inside a fan-out, so it has no _branch to write to"
            findings.error("unknown_target", where, message, "write to state")
        return None
    if path[0] == "state" and sights.branches.always_in_branch(ref):
        return None  # goes to _branch.output, which has no schema
    root = sights.workflow.body.context_schema if path[0] == "state" else sights.workflow.body.output_schema
    shape = sights.memory.shape_at(root, path[1:])
    if shape.kind == "absent":
        name = "context_schema" if path[0] == "state" else "output_schema"
        assert shape.at is not None
        near = closest(str(path[shape.at + 1]), list(shape.available))
        hint = f"did you mean '{near}'?" if near else f"add it to {name}"
        findings.error("unknown_target", where, f"{name} has no field for '{show_path(path)}'", hint)
    return shape.schema if shape.kind == "known" else None


def check_branch_writes(
    workflow: WorkflowDraft, branches: Branches, tasks: Mapping[str, TaskView | None], findings: Findings
) -> None:
    """Warn of writes in branches that are dropped, or of which only the last counts (CTL-7, CTL-7a)."""
    for ref, node in workflow.nodes.items():
        stacks = [stack for stack in branches.of_node.get(ref, ()) if stack]
        if not stacks or ref in branches.unknown:
            continue
        # What a node writes goes to the innermost branch; one that is only perhaps there is no reason to complain.
        innermost = {stack[-1] for stack in stacks} - {MAYBE}
        joined = all(branches.is_joined_after(ref, frame) for frame in innermost)
        if written_paths(node.body.output_mapping, tasks[ref]) and not joined:
            message = f"'{ref}' writes to state inside a fan-out that is never joined: what it writes is dropped"
            hint = "join the branches with a synchronization and merge, or write to output"
            findings.warning("write_dropped", node.path, message, hint)
        targets = [text for text, path in writes(node.body.output_mapping, tasks[ref]) if path[:1] == ("output",)]
        if targets and any(frame.item_var for stack in stacks for frame in stack):
            message = f"every branch of a foreach writes '{targets[0]}': only the last write counts"
            hint = "write to state, and merge at a join"
            where = (*node.path, "output_mapping", targets[0]) if node.body.output_mapping else node.path
            findings.warning("last_write_wins", where, message, hint)
