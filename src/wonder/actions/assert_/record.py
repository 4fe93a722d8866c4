"""What an `assert` takes."""

from typing import Annotated

from pydantic import Field

from wonder.definitions.records.fields import Record
from wonder.definitions.records.implementation_fields import Scope, Text


class Assert(Record):
    """A failure unless an expression holds."""

    expr: Text
    message: Annotated[str, Field(max_length=10_000)] | None = None
    scope: Scope = "task"
