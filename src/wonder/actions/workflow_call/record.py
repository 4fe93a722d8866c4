"""What a `workflow_call` takes."""

from typing import Annotated, Literal

from pydantic import Discriminator, Tag

from wonder.definitions.records.fields import FromContext, Identifier, Record, Version
from wonder.definitions.records.implementation_fields import value_or_record


class WorkflowCall(Record):
    """A sub-workflow; without a version, the newest when the call is made (RES-4)."""

    workflow_def_id: Annotated[
        Annotated[Identifier, Tag("value")] | Annotated[FromContext, Tag("from_context")],
        Discriminator(value_or_record),
    ]
    version: Annotated[
        Annotated[Version | None, Tag("value")] | Annotated[FromContext, Tag("from_context")],
        Discriminator(value_or_record),
    ] = None
    inherit_artifacts: bool = False
    on_failure: Literal["propagate", "catch"] = "propagate"
