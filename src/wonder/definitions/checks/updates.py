"""Checks of the actions that work on a context itself: `update_context`, `assert`, `emit_metric` (FIL-2)."""

from collections.abc import Iterator

from wonder.definitions.checks.findings import Findings
from wonder.definitions.checks.flow import Sight, check_expression_reads
from wonder.definitions.checks.lookup import ActionView
from wonder.definitions.checks.texts import read_expression
from wonder.definitions.faults import Path
from wonder.definitions.records.implementations import Assert, EmitMetric, MetricExpression, UpdateContext


def check_scoped_action(
    action: ActionView, sight: Sight, roots: frozenset[str], path: Path, findings: Findings
) -> None:
    """Note what such an action reads at one place of use that can't be there; `path` is that of the action."""
    for where, text in _expressions(action, (*path, "implementation")):
        # A text that can't be compiled was noted where the action stands.
        if expression := read_expression(text, roots, where, Findings()):
            check_expression_reads(expression, sight, where, findings)


def _expressions(action: ActionView, path: Path) -> Iterator[tuple[Path, str]]:
    match action.implementation:
        case UpdateContext(updates=updates):
            for i, update in enumerate(updates):
                if isinstance(update.expr, str):
                    yield (*path, "updates", i, "expr"), update.expr
        case Assert(expr=expr):
            yield (*path, "expr"), expr
        case EmitMetric(value=MetricExpression(expr=expr)):
            yield (*path, "value", "expr"), expr
