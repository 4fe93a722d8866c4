"""Workflow, which binds a definition to a project, and Trigger, which chains one workflow to the next."""

from typing import Annotated, NamedTuple, TypeAlias

from pydantic import Field

from wonder.definitions.records.fields import (
    Description,
    Identifier,
    Json,
    Milliseconds,
    Name,
    Record,
    Timestamp,
    Version,
)
from wonder.definitions.records.graph import OnWorkflowTimeout


class Workflow(Record):
    """What a person starts: a definition, pinned or at its newest version, enabled or not (RES-3)."""

    id: Identifier
    project_id: Identifier
    name: Name
    description: Description = ""
    workflow_def_id: Identifier
    pinned_version: Version | None = None
    enabled: bool = True
    created_at: Timestamp
    updated_at: Timestamp


class LibraryWorkflow(NamedTuple):
    """A workflow definition of a library that is started by its own name: no Workflow of the project binds it (RES-1).

    It has neither a pin nor a switch, so it starts with its newest version unless a start names one.
    """

    project_id: str
    """The project in which it runs."""
    name: str
    """As a person writes it: `library/name`."""
    workflow_def_id: str
    id: None = None
    pinned_version: None = None
    enabled: bool = True


Startable: TypeAlias = Workflow | LibraryWorkflow


class TriggerBody(Record):
    """What an author says of a trigger, in the spelling of the phase form (PHS-6)."""

    workflow_id: Annotated[Identifier, Field(alias="workflowId")]
    inputs: dict[str, Json]
    for_each: Annotated[Identifier | None, Field(alias="forEach")] = None
    workflow_timeout_ms: Milliseconds | None = None
    on_timeout: OnWorkflowTimeout | None = None
    """What happens at `workflow_timeout_ms`: `fail` if nothing is said, whatever the started workflow says."""
    max_retries: Annotated[int, Field(ge=0, le=1_000)] | None = None


class Trigger(TriggerBody):
    """A workflow to start when a run of this definition version has completed."""

    id: Identifier
    workflow_def_id: Identifier
    workflow_def_version: Version
    ordinal: Annotated[int, Field(ge=0)]
