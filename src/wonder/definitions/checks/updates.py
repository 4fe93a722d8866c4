"""Checks of the actions that work on a context itself: `update_context`, `assert`, `emit_metric` (FIL-2)."""

from collections.abc import Iterator

from wonder.definitions.checks.findings import Findings
from wonder.definitions.checks.flow import Sight, check_expression_reads, check_read
from wonder.definitions.checks.lookup import ActionView
from wonder.definitions.checks.resources import up_to_element
from wonder.definitions.checks.secret_places import SECRETS
from wonder.definitions.checks.texts import read_expression
from wonder.definitions.faults import Path
from wonder.definitions.records.implementations import Assert, EmitMetric, MetricExpression, UpdateContext
from wonder.errors import WonderError
from wonder.language.templates import compile_template


def check_scoped_action(
    action: ActionView, sight: Sight, roots: frozenset[str], path: Path, findings: Findings
) -> None:
    """Note what such an action reads at one place of use that can't be there; `path` is that of the action."""
    for where, text in _expressions(action, (*path, "implementation")):
        # A text that can't be compiled was noted where the action stands.
        if expression := read_expression(text, roots, where, Findings()):
            check_expression_reads(expression, sight, where, findings)
    if isinstance(action.implementation, EmitMetric):
        for name, text in (action.implementation.dimensions or {}).items():
            _check_dimension(text, sight, (*path, "implementation", "dimensions", name), findings)


def _check_dimension(text: str, sight: Sight, where: Path, findings: Findings) -> None:
    try:
        names = compile_template(text).names
    except WonderError:
        return  # noted where the action stands
    for name in names:
        if name and name[0] != SECRETS:
            check_read(up_to_element(name), sight, where, findings)


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
