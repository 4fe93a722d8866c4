"""Workspace, Project and Library, with the settings that each enforces (RES-1, RES-6)."""

from typing import Annotated, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from wonder.definitions.records.fields import Cents, Count, Description, Identifier, Name, Record, Timestamp

ModelProvider = Literal["anthropic", "openai", "google", "cloudflare", "local", "mock"]


class Budget(Record):
    """What may be spent in one UTC calendar month, and from where on to warn."""

    max_monthly_spend_cents: Cents | None = None
    alert_threshold_cents: Cents | None = None


class ProjectBudget(Budget):
    """A project's budget also says what happens to a call that would overspend."""

    on_exceeded: Literal["fail", "human_gate"] = "fail"


class WorkspaceSettings(Record):
    """Null allows all, an empty list none."""

    allowed_model_providers: list[ModelProvider] | None = None
    allowed_mcp_servers: list[Name] | None = None
    budget: Budget = Field(default_factory=Budget)
    allow_private_addresses: bool = False
    allow_shell: bool = False


class RateLimits(Record):
    """Further runs queue in order; further calls wait in line."""

    max_concurrent_runs: Count | None = None
    max_llm_calls_per_hour: Count | None = None


class SnapshotPolicy(Record):
    """When context, tokens and sequence number are written down as a whole."""

    every_events: Count | None = 1_000
    at_end: bool = True


class Retention(Record):
    """How long events (null: for ever) and logs are kept."""

    events_days: Annotated[int, Field(ge=90, le=36_500)] | None = None
    logs_days: Annotated[int, Field(ge=1, le=36_500)] = 30


class ProjectSettings(Record):
    """What a project allows its runs."""

    default_model_profile_id: Identifier | None = None
    rate_limits: RateLimits = Field(default_factory=RateLimits)
    budget: ProjectBudget = Field(default_factory=ProjectBudget)
    snapshot_policy: SnapshotPolicy = Field(default_factory=SnapshotPolicy)
    files_root: Annotated[str, Field(min_length=1)] | None = None
    foreach_limit: Count = 100_000
    call_depth_max: Count = 20
    retention: Retention = Field(default_factory=Retention)


class Workspace(Record):
    """The top-level tenant: nothing of one workspace is seen from another."""

    id: Identifier
    name: Name
    settings: WorkspaceSettings = Field(default_factory=WorkspaceSettings)
    created_at: Timestamp
    updated_at: Timestamp


class Project(Record):
    """Where workflows run: their environment, limits and runs."""

    id: Identifier
    workspace_id: Identifier
    name: Name
    description: Description | None = None
    settings: ProjectSettings = Field(default_factory=ProjectSettings)
    created_at: Timestamp
    updated_at: Timestamp


class Library(Record):
    """Definitions to share; without a workspace it is public."""

    id: Identifier
    workspace_id: Identifier | None
    name: Name
    description: Description | None = None
    created_at: Timestamp
    updated_at: Timestamp


class Owned(Record):
    """What belongs to exactly one of project or library (RES-2)."""

    project_id: Identifier | None = None
    library_id: Identifier | None = None

    @model_validator(mode="after")
    def _one_owner(self) -> "Owned":
        if (self.project_id is None) == (self.library_id is None):
            raise PydanticCustomError("owner", "a definition belongs to exactly one of project_id or library_id")
        return self
