"""`emit_metric`: a number with dimensions, out of the task's context."""

from collections.abc import Callable

from wonder.actions.emit_metric.declaration import Declaration
from wonder.actions.emit_metric.record import EmitMetric, MetricExpression
from wonder.actions.protocol import TASK_NAMES, ActionKind, Metric, TaskContext, Use
from wonder.definitions.records.actions import ActionDef
from wonder.engine.pure import METRIC_MAX, MetricNotNumber
from wonder.language.expressions import Expression, compile_expression
from wonder.language.keys import KEY_BYTES_MAX
from wonder.language.templates import compile_template
from wonder.language.values import JsonValue


class EmitMetricKind(Declaration, ActionKind):
    """Gives one number each time it is run."""

    def compile(self, action: ActionDef, use: Use) -> "MetricEmission":
        """Compile the value and the templates of the dimensions."""
        return MetricEmission(self.read(action))


class MetricEmission:
    """A metric to emit."""

    __slots__ = ("_dimensions", "_name", "_value")

    def __init__(self, configured: EmitMetric) -> None:
        self._name = configured.metric_name
        self._value: Expression | float = (
            compile_expression(configured.value.expr, TASK_NAMES)
            if isinstance(configured.value, MetricExpression)
            else configured.value
        )
        self._dimensions = [
            (name, compile_template(text, output_max=KEY_BYTES_MAX))
            for name, text in (configured.dimensions or {}).items()
        ]

    def apply(self, context: TaskContext, emit: Callable[[Metric], None]) -> TaskContext:
        """Emit the metric and return the context as it is; raises MetricNotNumber or ExpressionFailed."""
        value = self._value.evaluate(context) if isinstance(self._value, Expression) else self._value
        dimensions = {name: template.render(context) for name, template in self._dimensions}
        emit(Metric(self._name, self._number(value), dimensions))
        return context

    def _number(self, value: JsonValue) -> float:
        if isinstance(value, int | float) and abs(value) <= METRIC_MAX:
            return float(value)
        raise MetricNotNumber(self._name, value)
