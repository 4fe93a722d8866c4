"""PhaseWorkflow: a workflow in the phase form, with the fields and the spelling of its author (PHS-2)."""

from typing import Annotated

from pydantic import Field

from wonder.definitions.records.fields import (
    Count,
    Delay,
    Description,
    Identifier,
    Json,
    JsonSchema,
    Milliseconds,
    Name,
    Record,
    Ref,
)
from wonder.definitions.records.resources import McpServerBody
from wonder.definitions.records.workflows import TriggerBody

STEP_NAME_MAX = 180
"""Shorter than a ref may be: the nodes around a step are called after it."""

RefText = Annotated[str, Field(min_length=1, max_length=10_000)]


class PhaseTool(Record):
    """A tool of an MCP server."""

    connection_id: Annotated[Identifier, Field(alias="connectionId")]
    tool_name: Annotated[Identifier, Field(alias="toolName")]


class PhaseSleep(Record):
    """A wait for so many milliseconds, or until a moment or what a ref gives."""

    ms: Annotated[float, Field(ge=0, le=3_155_760_000_000)] | None = None
    until: RefText | None = None


class PhaseRetry(Record):
    """How often a tool is called, the first time included, and how long to wait in between."""

    max_attempts: Annotated[int, Field(alias="maxAttempts", ge=1, le=1_000)] = 3
    backoff_ms: Annotated[Delay, Field(alias="backoffMs")] = 1_000


class PhaseStep(Record):
    """One step. That it has exactly one of tool, transform and sleep is checked with the whole (PHS-4)."""

    name: Annotated[Ref, Field(max_length=STEP_NAME_MAX)]
    tool: PhaseTool | None = None
    transform: Annotated[str, Field(min_length=1, max_length=200_000)] | None = None
    sleep: PhaseSleep | None = None
    input: dict[str, Json] | None = None
    for_each: Annotated[RefText | None, Field(alias="forEach")] = None
    # `as` is a word of Python's.
    as_: Annotated[str, Field(alias="as", min_length=1, max_length=200)] = "item"
    max_iterations: Annotated[Count, Field(alias="maxIterations")] = 100
    max_parallel: Annotated[Count | None, Field(alias="maxParallel")] = None
    retry: PhaseRetry | None = None
    timeout_ms: Annotated[Milliseconds | None, Field(alias="timeoutMs")] = None
    """How long one execution may take: of a transform, or one call of a tool."""
    output_schema: Annotated[JsonSchema, Field(alias="outputSchema")] = None
    """Stands in for the output schema that a tool does not have (PHS-4)."""


class PhaseTrigger(TriggerBody):
    """A workflow to start when this one has completed (PHS-6)."""


class PhaseWorkflow(Record):
    """A whole file in the phase form (FIL-5)."""

    name: Name
    description: Description = ""
    input_schema: JsonSchema = None
    # One join brings the outputs of a phase together, with an update for each; an update_context has 1,000 at most.
    steps: Annotated[
        list[Annotated[list[PhaseStep], Field(max_length=500)]],
        Field(max_length=1_000),
    ]
    triggers: list[PhaseTrigger] = Field(default_factory=list)
    mcp_servers: dict[Name, McpServerBody] = Field(default_factory=dict)
    # Computed, not given: a workflow that was read from the API may be sent back as it is.
    schemas: Annotated[Json, Field(alias="_schemas")] = None
