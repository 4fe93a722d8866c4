"""The declaration of `emit_metric`."""

import re
from collections.abc import Iterator

from wonder.actions.emit_metric.record import EmitMetric, MetricExpression
from wonder.definitions.checks.texts import WORKFLOW_ROOTS, check_template, read_expression
from wonder.definitions.faults import Path
from wonder.definitions.findings import Findings
from wonder.definitions.kinds import NOTHING, Kind, Named
from wonder.language.schemas import Schema

_QUERY = re.compile(r"\$(\.\.?[^\W\d][\w.\[\]*'\"-]*|\[[^\]]*\].*)?", re.DOTALL)
"""What a mapping would read as a JSONPath query: `$`, `$.input.region`, `$['input']`; not `$5` or `$ 5.00`."""


class Declaration(Kind):
    """Gives a number with dimensions."""

    kind = "emit_metric"
    configuration = EmitMetric
    summary = "gives a number with dimensions"
    gives = "{}"
    errors = ("METRIC_NOT_NUMBER",)
    carried_out = "on_context"
    scoped = True
    at_work = "wonder.actions.emit_metric.kind:EmitMetricKind"

    def check(self, implementation: EmitMetric, path: Path, findings: Findings) -> None:
        """Note an expression or templates that can't be read, and names that are not an author's to use."""
        if isinstance(implementation.value, MetricExpression):
            read_expression(implementation.value.expr, WORKFLOW_ROOTS, (*path, "value", "expr"), findings)
        for name, value in (implementation.dimensions or {}).items():
            check_template(value, (*path, "dimensions", name), findings)
            _check_no_query(value, (*path, "dimensions", name), findings)
            if name.startswith("__"):
                message = f"dimensions that begin with '__', as {name!r} does, belong to who collects metrics"
                findings.error("reserved_name", (*path, "dimensions", name), message, "choose another name")

    def output_schema(self, implementation: EmitMetric | None, named: Named) -> Schema:
        """Give nothing."""
        return NOTHING

    def expressions(self, implementation: EmitMetric) -> Iterator[tuple[Path, str]]:
        """Give the expression of the value, if it is one."""
        if isinstance(implementation.value, MetricExpression):
            yield ("value", "expr"), implementation.value.expr

    def templates(self, implementation: EmitMetric) -> Iterator[tuple[Path, str | None]]:
        """Give the dimensions."""
        for name, value in (implementation.dimensions or {}).items():
            yield ("dimensions", name), value


def _check_no_query(value: str, where: Path, findings: Findings) -> None:
    """Note a JSONPath query, which would be stored as that text."""
    if _QUERY.fullmatch(value):
        name = value.removeprefix("$").removeprefix(".")
        written = f"{{{{{name}}}}}" if re.fullmatch(r"[\w.]+", name) else "{{input.region}}"
        message = f"a dimension is a template, and '{value[:80]}' would be stored as this string"
        findings.error("query_in_template", where, message, f"write '{written}' to store the value")
