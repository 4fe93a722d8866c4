"""The declaration of `assert`."""

from collections.abc import Iterator

from wonder.actions.assert_.record import Assert
from wonder.definitions.checks.texts import WORKFLOW_ROOTS, read_expression
from wonder.definitions.faults import Path
from wonder.definitions.findings import Findings
from wonder.definitions.kinds import NOTHING, Kind, Named
from wonder.language.schemas import Schema


class Declaration(Kind):
    """Fails unless an expression holds."""

    kind = "assert"
    configuration = Assert
    summary = "fails unless an expression holds"
    gives = "{}; or ASSERTION_FAILED"
    errors = ("ASSERTION_FAILED",)
    carried_out = "on_context"
    pure = True
    scoped = True
    at_work = "wonder.actions.assert_.kind:AssertKind"

    def check(self, implementation: Assert, path: Path, findings: Findings) -> None:
        """Note an expression that can't be read."""
        read_expression(implementation.expr, WORKFLOW_ROOTS, (*path, "expr"), findings)

    def output_schema(self, implementation: Assert | None, named: Named) -> Schema:
        """Give nothing."""
        return NOTHING

    def expressions(self, implementation: Assert) -> Iterator[tuple[Path, str]]:
        """Give the expression."""
        yield ("expr",), implementation.expr
