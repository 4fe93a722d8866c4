"""What each kind of action takes as its implementation (ACT-10)."""

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from wonder.definitions.records.fields import (
    EnvironmentName,
    FromContext,
    Identifier,
    Json,
    JsonSchema,
    MappingTemplate,
    Milliseconds,
    Name,
    Record,
    Version,
)

Text = Annotated[str, Field(min_length=1, max_length=10_000)]
TemplateText = Annotated[str, Field(max_length=100_000)]
StatusCode = Annotated[int, Field(ge=100, le=599)]
Scope = Literal["workflow", "task"]


def _check_leap_day(moment: str) -> str:
    year = int(moment[:4])
    if moment[4:10] == "-02-29" and (year % 4 or (year % 100 == 0 and year % 400)):
        raise PydanticCustomError(
            "no_such_day", "{year} is no leap year, so it has no 29th of February", {"year": year}
        )
    return moment


_DAY = r"[0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|[12][0-9]))"
_TIME = r"([01][0-9]|2[0-3]):[0-5][0-9]"
Moment = Annotated[
    str,
    Field(pattern=rf"^{_DAY}([T ]{_TIME}(:[0-5][0-9](\.[0-9]+)?)?(Z|[+-]{_TIME})?)?$", max_length=100),
    AfterValidator(_check_leap_day),
]
"""A day, or a point in time, of the calendar."""


def _literal_form(value: object) -> str:
    # Asked about what a person wrote and, when a record is written out again, about the record that it became.
    return "from_context" if isinstance(value, dict | Record) else "value"


class LlmCall(Record):
    """A prompt sent to a model; without a profile, the project's default."""

    prompt_spec_id: Identifier
    model_profile_id: Identifier | None = None


class McpTool(Record):
    """A tool of an MCP server."""

    mcp_server_id: Identifier
    tool_name: Identifier


class HttpRequest(Record):
    """An HTTP request from templates; a status of 400 or above fails unless accepted."""

    secret_fields: ClassVar = frozenset({"url_template", "headers", "body_template"})
    url_template: Text
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]
    headers: dict[Text, TemplateText] | None = None
    body_template: TemplateText | None = None
    accept_status: list[StatusCode] = []
    response: Literal["json", "text", "artifact"] = "json"


class DefaultAnswer(Record):
    """The answer that counts when nobody answered in time."""

    default: Json


class HumanInput(Record):
    """A question to a person, with the schema of the answer (ACT-4)."""

    prompt: Annotated[str, Field(min_length=1, max_length=100_000)]
    # `schema` is also a name of pydantic's, hence the alias.
    schema_: Annotated[JsonSchema, Field(alias="schema")] = {}
    deadline_ms: Milliseconds | None = None
    on_deadline: Annotated[
        Annotated[Literal["fail"], Tag("value")] | Annotated[DefaultAnswer, Tag("from_context")],
        Discriminator(_literal_form),
    ] = "fail"


class Update(Record):
    """One assignment; `expr` is an expression if it is a text, otherwise a value (FIL-3)."""

    path: Text
    expr: Json


class UpdateContext(Record):
    """Assignments, in order, each seeing those before it."""

    updates: Annotated[list[Update], Field(max_length=1_000)]
    scope: Scope = "task"


class WriteArtifact(Record):
    """Content for the object store, made by a template over the action's input."""

    artifact_type_id: Identifier
    content_mapping: MappingTemplate


class WorkflowCall(Record):
    """A sub-workflow; without a version, the newest when the call is made (RES-4)."""

    workflow_def_id: Annotated[
        Annotated[Identifier, Tag("value")] | Annotated[FromContext, Tag("from_context")], Discriminator(_literal_form)
    ]
    version: Annotated[
        Annotated[Version | None, Tag("value")] | Annotated[FromContext, Tag("from_context")],
        Discriminator(_literal_form),
    ] = None
    inherit_artifacts: bool = False
    on_failure: Literal["propagate", "catch"] = "propagate"


class VectorSearch(Record):
    """The artifacts nearest to a query."""

    vector_index_id: Identifier
    top_k: Annotated[int, Field(ge=1, le=1_000)]
    similarity_threshold: Annotated[float, Field(ge=-1, le=1)] | None = None


class MetricExpression(Record):
    """A metric's value as an expression."""

    expr: Text


class EmitMetric(Record):
    """A number with dimensions."""

    metric_name: Annotated[str, Field(pattern=r"^[a-zA-Z_:][a-zA-Z0-9_:.]*$", max_length=200)]
    value: Annotated[
        Annotated[float, Tag("value")] | Annotated[MetricExpression, Tag("from_context")], Discriminator(_literal_form)
    ]
    dimensions: dict[Name, TemplateText] | None = None
    scope: Scope = "task"


class ShellCommand(Record):
    """A program with its arguments; a single text is given to a shell, and only when `shell` asks for it."""

    secret_fields: ClassVar = frozenset({"env", "stdin"})
    command: Annotated[
        Annotated[list[str], Field(min_length=1), Tag("list")] | Annotated[Text, Tag("text")],
        Discriminator(lambda value: "text" if isinstance(value, str) else "list"),
    ]
    shell: bool = False
    cwd: Text | None = None
    env: dict[EnvironmentName, str] = {}
    stdin: str | None = None
    ok_exit_codes: list[Annotated[int, Field(ge=0, le=255)]] = [0]

    @model_validator(mode="after")
    def _shell_is_asked_for(self) -> "ShellCommand":
        if isinstance(self.command, str) != self.shell:
            raise PydanticCustomError(
                "shell_text", "a command is a list of arguments; one text, for a shell, needs 'shell: true' beside it"
            )
        return self


class Transform(Record):
    """Pure TypeScript."""

    source: Annotated[str, Field(min_length=1, max_length=200_000)]


class Sleep(Record):
    """A wait for a time or until a moment; a moment without a zone is UTC."""

    ms: Annotated[int, Field(ge=0, le=3_155_760_000_000)] | None = None
    until: Moment | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> "Sleep":
        if (self.ms is None) == (self.until is None):
            raise PydanticCustomError("ms_or_until", "a sleep has exactly one of 'ms' and 'until'")
        return self


class PythonFunction(Record):
    """A Python function, called with the input as keyword arguments."""

    function: Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$", max_length=500)]


class WaitForEvent(Record):
    """A wait for an event from outside."""

    event: Name
    key: Annotated[str, Field(max_length=10_000)] | None = None
    timeout_ms: Milliseconds | None = None


class Assert(Record):
    """A failure unless an expression holds."""

    expr: Text
    message: Annotated[str, Field(max_length=10_000)] | None = None
    scope: Scope = "task"


class ReadFile(Record):
    """A file of the project's `files_root`."""

    path: Text
    encoding: Literal["utf-8", "base64"] = "utf-8"


class WriteFile(Record):
    """A file of the project's `files_root`."""

    path: Text
    content: TemplateText


IMPLEMENTATIONS: dict[str, type[Record]] = {
    "llm_call": LlmCall,
    "mcp_tool": McpTool,
    "http_request": HttpRequest,
    "human_input": HumanInput,
    "update_context": UpdateContext,
    "write_artifact": WriteArtifact,
    "workflow_call": WorkflowCall,
    "vector_search": VectorSearch,
    "emit_metric": EmitMetric,
    "shell_command": ShellCommand,
    "transform": Transform,
    "sleep": Sleep,
    "python": PythonFunction,
    "wait_for_event": WaitForEvent,
    "assert": Assert,
    "read_file": ReadFile,
    "write_file": WriteFile,
}
