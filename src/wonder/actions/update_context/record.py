"""What an `update_context` takes."""

from typing import Annotated

from pydantic import Field

from wonder.definitions.records.fields import Json, Record
from wonder.definitions.records.implementation_fields import Scope, Text


class Update(Record):
    """One assignment; `expr` is an expression if it is a text, otherwise a value (FIL-3)."""

    path: Text
    expr: Json


class UpdateContext(Record):
    """Assignments, in order, each seeing those before it."""

    updates: Annotated[list[Update], Field(max_length=1_000)]
    scope: Scope = "task"
