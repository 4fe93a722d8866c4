"""Pure actions with the scope `workflow`: carried out by the engine itself, on the workflow's context (FIL-2)."""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from wonder.engine.failure import Failure
from wonder.engine.writing import Draft, WriteTarget
from wonder.errors import WonderError
from wonder.language.assigning import as_boolean, becomes_boolean
from wonder.language.expressions import Expression, Names, compile_expression
from wonder.language.keys import KEY_BYTES_MAX
from wonder.language.schemas import Schema
from wonder.language.templates import Template, compile_template
from wonder.language.values import JsonValue, check_value, encode_json

View: TypeAlias = dict[str, Any]
ViewOf: TypeAlias = Callable[[Draft], View]
"""Gives the context as it is with the changes of a draft, for updates that see those before them (FIL-3)."""


METRIC_MAX: Final = 1e200
"""The largest value of a metric, positive or negative: a sum of these never overflows, which would fail a commit."""


class Metric:
    """A number with its dimensions, to be sent on."""

    __slots__ = ("dimensions", "name", "value")

    def __init__(self, name: str, value: float, dimensions: dict[str, str]) -> None:
        self.name, self.value, self.dimensions = name, value, dimensions


class MetricNotNumber(WonderError):
    """The value of a metric is not a number, or it is too large."""

    code = "METRIC_NOT_NUMBER"

    def __init__(self, name: str, value: JsonValue) -> None:
        wanted = f"a number from {-METRIC_MAX:g} to {METRIC_MAX:g}"
        super().__init__(f"the metric {name!r} needs {wanted}, found {encode_json(value)[:100]}; correct its value")
        self.name, self.value = name, value


class UpdateAction:
    """`update_context`: assignments in order, each seeing those before it."""

    __slots__ = ("reads_branch", "updates")

    def __init__(self, implementation: Any, names: Names, context_schema: Schema, output_schema: Schema) -> None:
        self.updates = [
            _Update(update.path, update.expr, names, context_schema, output_schema) for update in implementation.updates
        ]
        self.reads_branch = any(_reads_branch(update.expression) for update in self.updates)

    def run(self, draft: Draft, view_of: ViewOf) -> Failure | Metric | None:
        """Write all updates to the draft; raises WonderError where one can't be."""
        for update in self.updates:
            draft.write(update.target, update.value(view_of, draft))
        return None


class AssertAction:
    """`assert`: a failure unless an expression holds."""

    __slots__ = ("expression", "message", "reads_branch")

    def __init__(self, implementation: Any, names: Names) -> None:
        self.expression = compile_expression(implementation.expr, names)
        self.message = implementation.message
        self.reads_branch = _reads_branch(self.expression)

    def run(self, draft: Draft, view_of: ViewOf) -> Failure | Metric | None:
        """Give the failure, if the expression does not hold."""
        if self.expression.matches(view_of(draft)):
            return None
        message = self.message or f"{self.expression.text!r} does not hold"
        return Failure("ASSERTION_FAILED", message, details={"expression": self.expression.text})


class MetricAction:
    """`emit_metric`: a number with dimensions."""

    __slots__ = ("dimensions", "expression", "name", "reads_branch", "value")

    def __init__(self, implementation: Any, names: Names) -> None:
        self.name = implementation.metric_name
        self.value = 0.0
        self.expression: Expression | None = None
        if isinstance(implementation.value, int | float):
            self.value = implementation.value
        else:
            self.expression = compile_expression(implementation.value.expr, names)
        self.dimensions: dict[str, Template] = {
            name: compile_template(text, output_max=KEY_BYTES_MAX)
            for name, text in (implementation.dimensions or {}).items()
        }
        self.reads_branch = bool(self.dimensions) or _reads_branch(self.expression)

    def run(self, draft: Draft, view_of: ViewOf) -> Failure | Metric | None:
        """Give the metric with its value and dimensions as they are now."""
        view = view_of(draft)
        value: JsonValue = self.value
        if self.expression:
            value = self.expression.evaluate(view)
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= METRIC_MAX:
            raise MetricNotNumber(self.name, value)
        dimensions = {name: template.render(view) for name, template in self.dimensions.items()}
        return Metric(self.name, value, dimensions)


PureAction: TypeAlias = UpdateAction | AssertAction | MetricAction


class _Update:
    __slots__ = ("boolean", "constant", "expression", "target")

    def __init__(self, path: str, expr: JsonValue, names: Names, context_schema: Schema, output_schema: Schema) -> None:
        self.target = WriteTarget(path)
        self.expression = compile_expression(expr, names) if isinstance(expr, str) else None
        self.constant: JsonValue = None
        if self.expression is None:
            is_literal = isinstance(expr, dict) and set(expr) == {"$literal"}
            self.constant = expr["$literal"] if is_literal else expr  # type: ignore[call-overload, index]  # just seen
        place = self.target.in_run or self.target.in_branch
        schema = output_schema if place[0] == "output" else context_schema
        self.boolean = self.expression is not None and becomes_boolean(self.expression, schema, place[1:])

    def value(self, view_of: ViewOf, draft: Draft) -> JsonValue:
        if self.expression is None:
            return self.constant
        value = self.expression.evaluate(view_of(draft))
        if self.boolean:
            value = as_boolean(value)
        if isinstance(value, list | dict):
            # A path copies what it finds, so `state.a = state` again and again would nest without end.
            check_value(value)
        return value


def _reads_branch(expression: Expression | None) -> bool:
    return expression is not None and any(path[0] == "_branch" for path in expression.paths)
