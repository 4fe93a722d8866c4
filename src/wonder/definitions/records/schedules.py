"""Schedule: which workflow is started when, with which input."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from wonder.definitions.records.fields import (
    Count,
    Description,
    Identifier,
    Json,
    Milliseconds,
    Name,
    Record,
    Timestamp,
)

Overlap = Literal["skip", "queue_one", "queue_all", "allow", "cancel_previous"]
CatchUp = Literal["none", "last", "all"]

_YEAR_MS = 31_622_400_000
# More often than once a second is no schedule, but a loop.
Interval = Annotated[int, Field(ge=1_000, le=_YEAR_MS)]
Jitter = Annotated[int, Field(ge=0, le=86_400_000)]
CatchUpCount = Annotated[Count, Field(le=10_000)]
Moment = Annotated[str, Field(min_length=1, max_length=40)]
"""A date, or a date and time, as ISO 8601 writes it; in the schedule's zone unless it has one of its own."""


class ScheduleBody(Record):
    """What an author says of a schedule beside its name and workflow."""

    description: Description = ""
    cron: Annotated[str, Field(min_length=1, max_length=1_000)] | None = None
    every_ms: Interval | None = None
    time_zone: Identifier = "UTC"
    input: Json = {}
    overlap: Overlap = "skip"
    catch_up: CatchUp = "last"
    catch_up_ms: Milliseconds | None = None
    catch_up_max: CatchUpCount = 100
    jitter_ms: Jitter = 0
    starts_at: Moment | None = None
    ends_at: Moment | None = None

    @model_validator(mode="after")
    def _cron_or_interval(self) -> Any:
        if (self.cron is None) == (self.every_ms is None):
            raise PydanticCustomError("cron_or_interval", "a schedule has exactly one of 'cron' and 'every_ms'")
        return self


class Schedule(ScheduleBody):
    """A schedule of a project; whether it is paused, and what it has done, is known to storage."""

    id: Identifier
    project_id: Identifier
    name: Name
    workflow_id: Identifier
    created_at: Timestamp
    updated_at: Timestamp
