"""Warns of mappings that read what `context_schema` requires before any node can have written it (CTX-5c)."""

from collections.abc import Iterable, Mapping

from wonder.definitions.checks.branches import Branches
from wonder.definitions.checks.lookup import TaskView
from wonder.definitions.checks.sights import target_path, written_paths
from wonder.definitions.drafts import WorkflowDraft
from wonder.definitions.findings import Findings
from wonder.language.mapping_faults import MappingSyntax
from wonder.language.mappings import compile_mapping
from wonder.language.schemas import compile_defaults
from wonder.language.schemas.presence import required_names

# For all names of one workflow together; what is beyond it is not looked at, and a run tells.
STEPS_MAX = 1_000_000


def check_unwritten_reads(
    workflow: WorkflowDraft, branches: Branches, tasks: Mapping[str, TaskView | None], findings: Findings
) -> None:
    """Warn of each query of an input mapping for a value that the schema requires and that nothing has written yet."""
    schema = workflow.body.context_schema
    initial = compile_defaults(schema)({})
    given = initial if isinstance(initial, dict) else {}
    names = [name for name in required_names(schema) if name not in given]
    if not names or None in tasks.values():
        return
    written = _Written(workflow, branches, tasks)
    required = set(names)
    for ref, node in workflow.nodes.items():
        try:
            queries = compile_mapping(node.body.input_mapping).queries
        except MappingSyntax:
            continue  # noted where the mapping stands
        for place, query in queries:
            path = query.path or ()
            if path[:1] == ("state",) and len(path) > 1 and path[1] in required and not written.before(ref, path[1]):
                name = str(path[1])
                reason = f"context_schema requires '{name}', and no node before '{ref}' writes it"
                message = f"'{query.text}' finds nothing: {reason}"
                hint = f"write state.{name} before, give it a default, or don't require it"
                findings.warning("state_not_written", (*node.path, "input_mapping", *place), message, hint)


class _Written:
    """Which names of `state` may have been written when a node begins."""

    def __init__(self, workflow: WorkflowDraft, branches: Branches, tasks: Mapping[str, TaskView | None]) -> None:
        self._branches, self._steps = branches, 0
        self._after: dict[object, set[str] | None] = {}
        self._first: dict[object, set[str]] = {}
        """The nodes that begin right after a name was written, by the name; None for the whole state."""
        for ref, node in workflow.nodes.items():
            for path in written_paths(node.body.output_mapping, tasks[ref]):
                self._note(path, (transition.to_ref for transition in branches.outgoing(ref)))
        for transition in workflow.transitions:
            join = transition.body.synchronization
            if join and join.merge:
                self._note(target_path(join.merge.target), [transition.to_ref])

    def before(self, ref: str, name: object) -> bool:
        """Say whether some way leads from where a name is written to a node; True too if it would take too long."""
        for written in (name, None):
            if written not in self._after:
                self._after[written] = self._reached(self._first.get(written, set()))
            after = self._after[written]
            if after is None or ref in after:
                return True
        return False

    def _note(self, path: tuple[str | int, ...], refs: Iterable[str]) -> None:
        if path[:1] == ("state",):
            self._first.setdefault(path[1] if len(path) > 1 else None, set()).update(refs)

    def _reached(self, refs: set[str]) -> set[str] | None:
        found, todo = set(refs), list(refs)
        while todo:
            for transition in self._branches.outgoing(todo.pop()):
                self._steps += 1
                if transition.to_ref not in found:
                    found.add(transition.to_ref)
                    todo.append(transition.to_ref)
            if self._steps > STEPS_MAX:
                return None
        return found
