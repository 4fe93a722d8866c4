"""The declaration of `update_context`."""

from collections.abc import Iterator

from wonder.actions.update_context.record import UpdateContext
from wonder.definitions.checks.texts import WORKFLOW_ROOTS, read_expression, read_target
from wonder.definitions.faults import Path
from wonder.definitions.findings import Findings
from wonder.definitions.kinds import NOTHING, Assignment, Kind, Named
from wonder.language.schemas import Schema


class Declaration(Kind):
    """Assigns the values of expressions, in order."""

    kind = "update_context"
    configuration = UpdateContext
    summary = "assigns the values of expressions, in order"
    gives = "{}"
    carried_out = "on_context"
    pure = True
    scoped = True
    at_work = "wonder.actions.update_context.kind:UpdateContextKind"

    def check(self, implementation: UpdateContext, path: Path, findings: Findings) -> None:
        """Note targets and expressions that can't be read."""
        for i, update in enumerate(implementation.updates):
            where = (*path, "updates", i)
            read_target(update.path, (*where, "path"), findings, in_workflow=implementation.scope == "workflow")
            if isinstance(update.expr, str):
                otherwise = 'fix the expression; write a literal string as {"$literal": "…"}'
                read_expression(update.expr, WORKFLOW_ROOTS, (*where, "expr"), findings, otherwise=otherwise)

    def output_schema(self, implementation: UpdateContext | None, named: Named) -> Schema:
        """Give nothing."""
        return NOTHING

    def expressions(self, implementation: UpdateContext) -> Iterator[tuple[Path, str]]:
        """Give the expressions of all updates that have one."""
        for i, update in enumerate(implementation.updates):
            if isinstance(update.expr, str):
                yield ("updates", i, "expr"), update.expr

    def assignments(self, implementation: UpdateContext) -> Iterator[Assignment]:
        """Give the updates."""
        for i, update in enumerate(implementation.updates):
            yield Assignment(("updates", i), update.path, update.expr)
