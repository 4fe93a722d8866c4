"""The declaration of `workflow_call`."""

from collections.abc import Iterator
from typing import ClassVar

from wonder.actions.waiting_kind import WaitingKind
from wonder.actions.workflow_call.record import WorkflowCall
from wonder.definitions.checks.texts import read_dotted
from wonder.definitions.faults import Path
from wonder.definitions.findings import Findings
from wonder.definitions.kinds import ANYTHING, Named
from wonder.definitions.records.fields import FromContext
from wonder.language.schemas import Schema


class Declaration(WaitingKind):
    """Runs another workflow, and waits for its end."""

    kind = "workflow_call"
    configuration = WorkflowCall
    summary = "runs another workflow, and waits for its end"
    gives = "the child's output; with `catch`, when it failed: {error: {code, message, run_id}}"
    errors = ("BAD_WORKFLOW_CALL", "CALL_DEPTH", "CHILD_CANCELLED", "CHILD_FAILED")
    references: ClassVar = {"workflow_def_id": "workflow"}

    def check(self, implementation: WorkflowCall, path: Path, findings: Findings) -> None:
        """Note paths that can't be read."""
        for place, text in self.context_paths(implementation):
            read_dotted(text, (*path, *place), findings)

    def input_schema(self, implementation: WorkflowCall | None, named: Named) -> Schema:
        """Give what the called workflow takes."""
        child = named("workflow")
        return child.input_schema if child else ANYTHING

    def output_schema(self, implementation: WorkflowCall | None, named: Named) -> Schema:
        """Give what the called workflow gives, unless its failure is an output too."""
        child = named("workflow")
        catches = implementation is not None and implementation.on_failure == "catch"
        return ANYTHING if child is None or catches else child.output_schema

    def context_paths(self, implementation: WorkflowCall) -> Iterator[tuple[Path, str]]:
        """Give where the context says which workflow is called."""
        for name in ("workflow_def_id", "version"):
            value = getattr(implementation, name)
            if isinstance(value, FromContext):
                yield (name, "from_context"), value.from_context
