"""What can be read at each node and transition of a workflow, with what is known of its shape."""

from collections import Counter
from collections.abc import Iterable, Mapping

from wonder.definitions.checks.branches import Branches, Frame
from wonder.definitions.checks.flow import ALL_NAMES, ANYTHING, Sight
from wonder.definitions.checks.lookup import TaskView
from wonder.definitions.checks.memory import Memory
from wonder.definitions.drafts import WorkflowDraft
from wonder.definitions.faults import Path
from wonder.errors import WonderError
from wonder.language.expressions import is_item_var
from wonder.language.paths import parse_dotted
from wonder.language.schemas import Schema
from wonder.language.targets import parse_target

_TEXT: Schema = {"type": "string"}
_WHOLE: Schema = {"type": "integer"}
BRANCH_SCHEMA: Schema = {
    "type": "object",
    "properties": {
        "index": _WHOLE,
        "total": _WHOLE,
        "fan_out_node_id": _TEXT,
        "fan_out_transition_id": _TEXT,
        "item": ANYTHING,
        "item_index": _WHOLE,
        "output": ANYTHING,
        "parent": ANYTHING,
    },
}
ERROR_SCHEMA: Schema = {
    "type": "object",
    "properties": {
        "node": _TEXT,
        "code": _TEXT,
        "message": _TEXT,
        "attempts": _WHOLE,
        "retryable": {"type": "boolean"},
        "details": ANYTHING,
    },
}


class Sights:
    """The sight from each node of one workflow."""

    def __init__(
        self, workflow: WorkflowDraft, branches: Branches, tasks: Mapping[str, TaskView | None], *, whole: bool = True
    ) -> None:
        self.workflow, self.branches, self.memory = workflow, branches, Memory()
        self._sights: dict[str | None, Sight] = {}
        self._item_vars = Counter(t.body.foreach.item_var for t in workflow.transitions if t.body.foreach)
        self._elsewhere = dict.fromkeys(self._item_vars, "an item exists only inside its foreach")
        self._elsewhere["_branch"] = "this is not inside a fan-out"
        unknown = {ALL_NAMES} if not whole or None in tasks.values() else set()
        self.branch_names = frozenset({*self._names_written_in_branches(tasks), *unknown})
        """Names of `state` that nodes inside fan-outs write: they are there in the branch, if not in the schema."""

    def at_node(self, ref: str) -> Sight:
        """Say what a node's input mapping, its update_context and the conditions behind it can read."""
        # All nodes of which nothing is known see the same; there may be many, and many items.
        key = None if ref in self.branches.unknown else ref
        if key not in self._sights:
            written = self.branch_names if self.branches.in_branch(ref) else frozenset()
            self._sights[key] = Sight(self._roots(ref), None, written, self._elsewhere, self.memory)
        return self._sights[key]

    def of_output(self, schema: Schema) -> Sight:
        """Say what an output mapping can read of what its task gives."""
        return Sight({}, whole=schema, memory=self.memory)

    def _roots(self, ref: str) -> dict[str, Schema]:
        roots: dict[str, Schema] = {
            "input": self.workflow.body.input_schema,
            "state": self.workflow.body.context_schema,
            "output": self.workflow.body.output_schema,
            "_last_error": ERROR_SCHEMA,
        }
        if self.branches.in_branch(ref):
            roots["_branch"] = BRANCH_SCHEMA
        if ref in self.branches.unknown:
            return roots | dict.fromkeys(filter(is_item_var, self._item_vars), ANYTHING)
        for frame in self._frames(ref):
            # A name that can't be an item's was noted where the foreach stands, and must not hide a root here.
            if frame.item_var and is_item_var(frame.item_var):
                roots[frame.item_var] = self._item_schema(frame, roots)
        return roots

    def _frames(self, ref: str) -> list[Frame]:
        """Give the frames around a node, outer ones first, so that the innermost of a name wins."""
        stacks = self.branches.of_node.get(ref, set())
        in_order = sorted(stacks, key=lambda stack: (-len(stack), [frame.transition for frame in stack]))
        return list({frame: None for stack in in_order for frame in stack})

    def _item_schema(self, frame: Frame, roots: Mapping[str, Schema]) -> Schema:
        foreach = self.workflow.transitions[frame.transition].body.foreach
        if foreach is None or self._item_vars[foreach.item_var] > 1:
            return ANYTHING
        try:
            shape = Sight(roots).shape((*parse_dotted(foreach.collection), 0))
        except WonderError:
            return ANYTHING  # noted where the foreach stands
        return shape.schema if shape and shape.kind == "known" else ANYTHING

    def _names_written_in_branches(self, tasks: Mapping[str, TaskView | None]) -> Iterable[str]:
        for ref, node in self.workflow.nodes.items():
            if self.branches.in_branch(ref):
                for path in written_paths(node.body.output_mapping, tasks[ref]):
                    yield str(path[1]) if len(path) > 1 else ALL_NAMES
        # A join writes in the scope of the node that fanned out, which may be a branch as well.
        for transition in self.workflow.transitions:
            join = transition.body.synchronization
            if join and join.merge:
                path = target_path(join.merge.target)
                if path[:1] == ("state",) and self.branches.in_branch(transition.to_ref):
                    yield str(path[1]) if len(path) > 1 else ALL_NAMES


def written_paths(output_mapping: Mapping[str, object] | None, task: TaskView | None) -> list[Path]:
    """Give the target paths in `state` that a node writes; `_branch.output.x` counts as `state.x`."""
    return [path for _, path in writes(output_mapping, task) if path[:1] == ("state",)]


def writes(output_mapping: Mapping[str, object] | None, task: TaskView | None) -> list[tuple[str, Path]]:
    """Give all targets of a node as they are written, and their paths; a path that can't be read is empty."""
    texts = list(output_mapping or {})
    action = task.on_workflow_context if task else None
    if action:
        texts += [assignment.target for assignment in action.assignments()]
    return [(text, target_path(text)) for text in texts]


def target_path(text: str) -> Path:
    """Give the path of a target, `_branch.output.x` as `state.x`; empty if it can't be read."""
    try:
        path = parse_target(text, ("state", "output", "_branch")).path
    except WonderError:
        return ()
    return ("state", *path[2:]) if path[:2] == ("_branch", "output") else path
