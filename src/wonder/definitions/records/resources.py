"""What actions refer to: PromptSpec, ModelProfile, ArtifactType, VectorIndex, McpServer."""

from typing import Annotated, ClassVar, Literal

from pydantic import Discriminator, Field

from wonder.definitions.records.fields import (
    Description,
    EnvironmentName,
    Identifier,
    Json,
    JsonSchema,
    Name,
    Record,
    Tag,
    Timestamp,
    Version,
)
from wonder.definitions.records.tenancy import ModelProvider, Owned

Template = Annotated[str, Field(max_length=100_000)]
Money = Annotated[float, Field(ge=0, le=1_000_000)]


class PromptExample(Record):
    """One turn shown to the model before the real one."""

    input: Json
    output: Json


class PromptBody(Record):
    """What an author says of a prompt."""

    description: Description = ""
    tags: list[Tag] | None = None
    system_prompt: Template | None = None
    template: Annotated[str, Field(min_length=1, max_length=100_000)]
    requires: JsonSchema = {}
    produces: JsonSchema = {}
    examples: list[PromptExample] | None = None


class PromptSpec(PromptBody, Owned):
    """One version of a prompt, which never changes."""

    id: Identifier
    version: Version
    name: Name
    content_hash: str
    created_at: Timestamp
    updated_at: Timestamp


class ArtifactTypeBody(Record):
    """What an author says of a type of artifact."""

    description: Description = ""
    # `schema` is also a name of pydantic's, hence the alias.
    schema_: Annotated[JsonSchema, Field(alias="schema")] = {}


class ArtifactType(ArtifactTypeBody, Owned):
    """One version of a type of artifact, which never changes."""

    id: Identifier
    version: Version
    name: Name
    content_hash: str
    created_at: Timestamp
    updated_at: Timestamp


class ModelParameters(Record):
    """How the model answers."""

    temperature: Annotated[float, Field(ge=0, le=2)] = 1.0
    max_tokens: Annotated[int, Field(ge=1, le=10_000_000)] = 4_096
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    stop_sequences: list[Annotated[str, Field(min_length=1)]] | None = None


class ModelProfileBody(Record):
    """What an author says of a model; without prices, the published ones count."""

    secret_fields: ClassVar = frozenset({"execution_config"})
    provider: ModelProvider
    model_id: Identifier
    # Made when it is used: making one here would build the record, and that takes every start some milliseconds.
    parameters: ModelParameters = Field(
        default_factory=ModelParameters,
        json_schema_extra=lambda schema: schema.update(default=ModelParameters().model_dump()),
    )
    execution_config: dict[str, Json] | None = None
    cost_per_1k_input_tokens: Money | None = None
    cost_per_1k_output_tokens: Money | None = None


class ModelProfile(ModelProfileBody):
    """A model with its parameters and prices; read when used, without versions."""

    id: Identifier
    project_id: Identifier
    name: Name
    created_at: Timestamp
    updated_at: Timestamp


class VectorIndexBody(Record):
    """What an author says of a vector index."""

    artifact_type_ids: Annotated[list[Identifier], Field(min_length=1)]
    embedding_provider: Literal["openai", "cloudflare_ai", "local"]
    embedding_model: Identifier
    dimensions: Annotated[int, Field(ge=1, le=16_000)]
    content_fields: Annotated[list[Identifier], Field(min_length=1)]
    auto_index: bool = True


class VectorIndex(VectorIndexBody):
    """Semantic search over artifacts; read when used, without versions."""

    id: Identifier
    project_id: Identifier
    name: Name
    created_at: Timestamp
    updated_at: Timestamp


class StdioServer(Record):
    """An MCP server that is a command of this machine."""

    secret_fields: ClassVar = frozenset({"env"})
    transport: Literal["stdio"]
    command: Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1)]
    env: dict[EnvironmentName, str] = {}


class HttpServer(Record):
    """An MCP server that is spoken to over HTTP."""

    secret_fields: ClassVar = frozenset({"headers"})
    transport: Literal["http"]
    url: Annotated[str, Field(pattern=r"^https?://[^\s/]+", max_length=2_000)]
    headers: dict[Name, str] = {}


McpServerBody = Annotated[StdioServer | HttpServer, Discriminator("transport")]


class McpServer(Record):
    """A server of tools, known by its name (FIL-4); read when used, without versions."""

    id: Identifier
    project_id: Identifier
    name: Name
    connection: McpServerBody
    created_at: Timestamp
    updated_at: Timestamp
