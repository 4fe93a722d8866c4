"""What a `sleep` takes."""

from typing import Annotated

from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from wonder.definitions.records.fields import Record
from wonder.definitions.records.implementation_fields import Moment


class Sleep(Record):
    """A wait for a time or until a moment; a moment without a zone is UTC."""

    # For editors: the validator below is code, which they can't run.
    model_config = ConfigDict(
        json_schema_extra={
            "allOf": [
                {
                    "oneOf": [
                        {"required": ["ms"], "properties": {"ms": {"not": {"type": "null"}}}},
                        {"required": ["until"], "properties": {"until": {"not": {"type": "null"}}}},
                    ]
                }
            ]
        }
    )
    ms: Annotated[int, Field(ge=0, le=3_155_760_000_000)] | None = None
    until: Moment | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> "Sleep":
        if (self.ms is None) == (self.until is None):
            raise PydanticCustomError("ms_or_until", "a sleep has exactly one of 'ms' and 'until'")
        return self
