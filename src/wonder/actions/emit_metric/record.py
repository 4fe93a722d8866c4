"""What an `emit_metric` takes."""

from typing import Annotated

from pydantic import Discriminator, Field, Tag

from wonder.definitions.records.fields import Name, Record
from wonder.definitions.records.implementation_fields import Scope, TemplateText, Text, value_or_record


class MetricExpression(Record):
    """A metric's value as an expression."""

    expr: Text


class EmitMetric(Record):
    """A number with dimensions."""

    metric_name: Annotated[str, Field(pattern=r"^[a-zA-Z_:][a-zA-Z0-9_:.]*$", max_length=200)]
    value: Annotated[
        Annotated[float, Tag("value")] | Annotated[MetricExpression, Tag("from_context")],
        Discriminator(value_or_record),
    ]
    dimensions: dict[Name, TemplateText] | None = None
    scope: Scope = "task"
