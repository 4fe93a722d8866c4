"""Which record is stored in which table, and how its fields become columns and back."""

from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

from msgspec import Struct, field

from wonder.definitions.records.actions import ActionDef
from wonder.definitions.records.fields import Record
from wonder.definitions.records.graph import Node, Transition, WorkflowDef
from wonder.definitions.records.resources import ArtifactType, McpServer, ModelProfile, PromptSpec, VectorIndex
from wonder.definitions.records.schedules import Schedule
from wonder.definitions.records.tasks import Step, TaskDef
from wonder.definitions.records.tenancy import Library, Project, ProjectSettings, Workspace, WorkspaceSettings
from wonder.definitions.records.workflows import Trigger, Workflow
from wonder.language.values import JsonValue, encode_json, parse_json
from wonder.storage.store import Value

# What was stored is not measured again: a field can't be bigger than the document that it came in.
MAX_STORED_BYTES = 1 << 40

R = TypeVar("R", bound=Record)


class Table(Struct, Generic[R], frozen=True):
    """A table and its record: plain columns first, then those that hold JSON, in the order of its INSERT."""

    name: str
    record: type[R]
    plain: tuple[str, ...]
    json: tuple[str, ...] = ()
    flags: frozenset[str] = frozenset()
    # Columns whose field is written differently in the record's JSON form.
    spelling: Mapping[str, str] = field(default_factory=dict)
    # What a person calls it, in errors.
    noun: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns in the order of the INSERT's parameters."""
        return self.plain + self.json

    def row(self, fields: Mapping[str, Any]) -> tuple[Value, ...]:
        """Turn the dumped fields of a record into parameters."""
        plain = [fields[self.spelling.get(column, column)] for column in self.plain]
        return (*plain, *(_encode(fields[column]) for column in self.json))

    def fields(self, row: Mapping[str, Value]) -> dict[str, Any]:
        """Turn a row, which may have further columns, into the fields of a record."""
        fields: dict[str, Any] = {self.spelling.get(column, column): row[column] for column in self.plain}
        for column in self.flags:
            fields[column] = bool(row[column])  # SQLite has no booleans
        for column in self.json:
            fields[column] = decode_json(row[column])
        return fields

    def load(self, row: Mapping[str, Value]) -> R:
        """Turn a row into its record."""
        return self.build(self.fields(row))

    def build(self, fields: Mapping[str, Any]) -> R:
        """Make the record of these fields."""
        return self.record.model_validate(fields)


def changed(record: R, **fields: object) -> R:
    """Return the record with some fields changed."""
    return record.model_copy(update=fields)


def _encode(value: JsonValue) -> str | None:
    return None if value is None else encode_json(value)


def decode_json(text: Value) -> JsonValue:
    """Read what a column holds as JSON."""
    assert text is None or isinstance(text, str)
    return None if text is None else parse_json(text, max_bytes=MAX_STORED_BYTES)


_DEFINITION = (
    "id",
    "version",
    "name",
    "description",
    "project_id",
    "library_id",
    "content_hash",
    "created_at",
    "updated_at",
)
_NAMED = ("id", "project_id", "name", "created_at", "updated_at")
_PART = ("workflow_def_id", "workflow_def_version")

ACTION_DEFS = Table(
    "action_defs",
    ActionDef,
    (*_DEFINITION, "kind"),
    ("tags", "implementation", "requires", "produces", "execution", "idempotency"),
    noun="action",
)
PROMPT_SPECS = Table(
    "prompt_specs",
    PromptSpec,
    (*_DEFINITION, "system_prompt", "template"),
    ("tags", "requires", "produces", "examples"),
    noun="prompt",
)
ARTIFACT_TYPES = Table("artifact_types", ArtifactType, _DEFINITION, ("schema",), noun="artifact type")
TASK_DEFS = Table(
    "task_defs",
    TaskDef,
    (*_DEFINITION, "timeout_ms", "queue"),
    ("tags", "input_schema", "output_schema", "retry"),
    noun="task",
)
STEPS = Table(
    "steps",
    Step,
    ("task_def_id", "task_def_version", "id", "ref", "ordinal", "action_id", "action_version", "on_failure"),
    ("input_mapping", "output_mapping", "condition"),
)
WORKFLOW_DEFS = Table(
    "workflow_defs",
    WorkflowDef,
    (*_DEFINITION, "initial_node_id", "timeout_ms", "on_timeout"),
    ("tags", "input_schema", "output_schema", "context_schema"),
    noun="workflow",
)
NODES = Table(
    "nodes",
    Node,
    (*_PART, "ordinal", "id", "ref", "name", "task_id", "task_version"),
    ("input_mapping", "output_mapping"),
)
TRANSITIONS = Table(
    "transitions",
    Transition,
    (*_PART, "ordinal", "id", "ref", "from_node_id", "to_node_id", "priority", "spawn_count"),
    ("condition", "foreach", "synchronization", "loop_config"),
)
TRIGGERS = Table(
    "triggers",
    Trigger,
    (*_PART, "id", "ordinal", "workflow_id", "for_each", "workflow_timeout_ms", "on_timeout", "max_retries"),
    ("inputs",),
    spelling={"workflow_id": "workflowId", "for_each": "forEach"},
)
MODEL_PROFILES = Table(
    "model_profiles",
    ModelProfile,
    (*_NAMED, "provider", "model_id", "cost_per_1k_input_tokens", "cost_per_1k_output_tokens"),
    ("parameters", "execution_config"),
    noun="model profile",
)
MCP_SERVERS = Table("mcp_servers", McpServer, _NAMED, ("connection",), noun="MCP server")
VECTOR_INDEXES = Table(
    "vector_indexes",
    VectorIndex,
    (*_NAMED, "embedding_provider", "embedding_model", "dimensions", "auto_index"),
    ("artifact_type_ids", "content_fields"),
    flags=frozenset({"auto_index"}),
    noun="vector index",
)
WORKFLOWS = Table(
    "workflows",
    Workflow,
    (*_NAMED, "description", "workflow_def_id", "pinned_version", "enabled"),
    flags=frozenset({"enabled"}),
    noun="workflow",
)
SCHEDULES = Table(
    "schedules",
    Schedule,
    (
        *_NAMED,
        "description",
        "workflow_id",
        "cron",
        "every_ms",
        "time_zone",
        "overlap",
        "catch_up",
        "catch_up_ms",
        "catch_up_max",
        "jitter_ms",
        "starts_at",
        "ends_at",
    ),
    ("input",),
    noun="schedule",
)
WORKSPACES = Table("workspaces", Workspace, ("id", "name", "created_at", "updated_at"), noun="workspace")
PROJECTS = Table(
    "projects",
    Project,
    ("id", "workspace_id", "name", "description", "created_at", "updated_at"),
    noun="project",
)
LIBRARIES = Table(
    "libraries",
    Library,
    ("id", "workspace_id", "name", "description", "created_at", "updated_at"),
    noun="library",
)
WORKSPACE_SETTINGS = Table(
    "workspace_settings",
    WorkspaceSettings,
    ("allow_private_addresses", "allow_shell"),
    ("allowed_model_providers", "allowed_mcp_servers", "budget", "allowed_model_base_urls", "model_prices"),
    flags=frozenset({"allow_private_addresses", "allow_shell"}),
)
PROJECT_SETTINGS = Table(
    "project_settings",
    ProjectSettings,
    ("default_model_profile_id", "files_root", "foreach_limit", "call_depth_max", "record_io"),
    ("rate_limits", "budget", "snapshot_policy", "retention", "run_limits"),
)

TABLES: Sequence[Table[Any]] = (
    ACTION_DEFS,
    PROMPT_SPECS,
    ARTIFACT_TYPES,
    TASK_DEFS,
    WORKFLOW_DEFS,
    MODEL_PROFILES,
    MCP_SERVERS,
    VECTOR_INDEXES,
    WORKFLOWS,
    SCHEDULES,
)
_BY_RECORD = {table.record: table for table in TABLES}


def table_of(record: type[R]) -> Table[R]:
    """Find the table of a kind of definition or named resource."""
    return _BY_RECORD[record]
