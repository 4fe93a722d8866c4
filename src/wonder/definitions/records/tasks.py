"""TaskDef and Step: a short, automated sequence that one worker runs."""

from typing import Annotated, Literal

from pydantic import Field

from wonder.definitions.records.fields import (
    Description,
    Identifier,
    JsonSchema,
    MappingTemplate,
    Milliseconds,
    Name,
    Record,
    Ref,
    Retry,
    Tag,
    Timestamp,
    Version,
)
from wonder.definitions.records.tenancy import Owned

StepOutcome = Literal["continue", "skip", "succeed", "fail"]


class StepCondition(Record):
    """Whether a step runs (TSK-2); a condition that is NULL takes `else`."""

    if_: Annotated[str, Field(alias="if", min_length=1, max_length=10_000)]
    then: StepOutcome = "continue"
    else_: Annotated[StepOutcome, Field(alias="else")] = "skip"


class StepBody(Record):
    """What an author says of a step, besides its action."""

    ref: Ref
    input_mapping: MappingTemplate = None
    output_mapping: dict[str, MappingTemplate] | None = None
    on_failure: Literal["abort", "retry", "continue"] = "abort"
    condition: StepCondition | None = None


class Step(StepBody):
    """A point of a task: runs one action, and maps data in and out."""

    id: Identifier
    ordinal: Annotated[int, Field(ge=0)]
    action_id: Identifier
    action_version: Version


class TaskBody(Record):
    """What an author says of a task, besides its steps."""

    description: Description = ""
    tags: list[Tag] = []
    input_schema: JsonSchema = {}
    output_schema: JsonSchema = {}
    retry: Retry | None = None
    timeout_ms: Milliseconds | None = None
    queue: Name | None = None


class TaskDef(TaskBody, Owned):
    """One version of a task, which never changes."""

    id: Identifier
    version: Version
    name: Name
    steps: list[Step]
    content_hash: str
    created_at: Timestamp
    updated_at: Timestamp
