"""Workspace, Project and Library, with the settings that each enforces (RES-1, RES-6)."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from wonder.definitions.addresses import base_url_of, why_no_address
from wonder.definitions.records.fields import (
    Cents,
    Count,
    Description,
    Identifier,
    Milliseconds,
    Name,
    Record,
    Timestamp,
    Total,
)
from wonder.language.steps import STEPS_MAX

ModelProvider = Literal["anthropic", "openai", "google", "cloudflare", "local", "mock"]


def _base_url(text: str) -> str:
    if why := why_no_address(text):
        raise PydanticCustomError("base_url", "{text} {why}", {"text": text[:200], "why": why})
    return base_url_of(text)


BaseUrl = Annotated[str, Field(max_length=2_000), AfterValidator(_base_url)]
_Usd = Annotated[float, Field(ge=0, le=1_000_000)]


class ModelPrice(Record):
    """What the operator says a model costs, at the provider's own address or at `base_url`."""

    provider: ModelProvider
    model_id: Identifier
    base_url: BaseUrl | None = None
    input_usd_per_million: _Usd
    output_usd_per_million: _Usd


class Budget(Record):
    """What may be spent in one UTC calendar month, and from where on to warn."""

    max_monthly_spend_cents: Cents | None = None
    alert_threshold_cents: Cents | None = None

    @property
    def is_set(self) -> bool:
        """Whether spending is watched at all."""
        return self.max_monthly_spend_cents is not None or self.alert_threshold_cents is not None


class ProjectBudget(Budget):
    """A project's budget also says what happens to a call that would overspend."""

    on_exceeded: Literal["fail", "human_gate"] = "fail"


class WorkspaceSettings(Record):
    """Null allows all, an empty list none; without `allowed_model_base_urls`, long-running processes allow none."""

    allowed_model_providers: list[ModelProvider] | None = None
    allowed_model_base_urls: list[BaseUrl] | None = None
    model_prices: list[ModelPrice] = []
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
    """How long events (null: for ever), logs and audit records are kept."""

    events_days: Annotated[int, Field(ge=90, le=36_500)] | None = None
    logs_days: Annotated[int, Field(ge=1, le=36_500)] = 30
    audit_days: Annotated[int, Field(ge=90, le=36_500)] = 365


class RunLimits(Record):
    """How much one run may do before it fails, so that it can't take the machine with it."""

    live_tokens: Count | None = None
    """Null for twice `foreach_limit`."""
    tokens: Total = 10_000_000
    events: Total = 100_000_000
    context_bytes: Total = 256_000_000
    bytes_written: Total = 20_000_000_000
    pure_steps: Total = 100_000
    evaluation_steps: Total = STEPS_MAX
    function_wait_ms: Milliseconds = 86_400_000
    """For how long a task waits for a process that has its function."""
    triggered_runs: Total = 1_000_000
    """Of all that triggers start from one run on."""
    deaths: Count | None = 3
    """Null for as many as there are."""
    log_bytes: Total = 100_000_000
    """Of logs; more are dropped, and the run goes on."""


class ProjectSettings(Record):
    """What a project allows its runs."""

    default_model_profile_id: Identifier | None = None
    rate_limits: RateLimits = Field(default_factory=RateLimits)
    budget: ProjectBudget = Field(default_factory=ProjectBudget)
    snapshot_policy: SnapshotPolicy = Field(default_factory=SnapshotPolicy)
    files_root: Annotated[str, Field(min_length=1)] | None = None
    foreach_limit: Count = 100_000
    run_limits: RunLimits = Field(default_factory=RunLimits)
    call_depth_max: Count = 20
    retention: Retention = Field(default_factory=Retention)
    record_io: Literal["all", "failed", "none"] = "all"
    """Of which executions of nodes the input and the output are kept for people."""


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
