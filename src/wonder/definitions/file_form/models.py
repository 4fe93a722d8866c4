"""The shape of a definition file: the records' fields, with names where records have ids, and actions in line."""

from typing import Annotated, Any

from pydantic import AliasChoices, BeforeValidator, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from wonder.definitions.kinds import KnownKind
from wonder.definitions.records.actions import ActionBody
from wonder.definitions.records.fields import Description, Identifier, Name, Record, Ref, Version
from wonder.definitions.records.graph import Condition, NodeBody, Text, TransitionBody, WorkflowBody
from wonder.definitions.records.resources import (
    ArtifactTypeBody,
    McpServerBody,
    ModelProfileBody,
    PromptBody,
    VectorIndexBody,
)
from wonder.definitions.records.schedules import ScheduleBody
from wonder.definitions.records.tasks import StepBody, TaskBody
from wonder.definitions.records.workflows import TriggerBody


def _plain_condition(value: object) -> object:
    """A condition may be written as a plain text: an expression (FIL-6)."""
    return {"type": "expression", "expr": value} if isinstance(value, str) else value


def _named_or_inline(value: object) -> str:
    return "named" if isinstance(value, str) else "inline"


class ActionFile(ActionBody):
    """An action, in `actions` or in line."""

    kind: KnownKind


ActionPlace = Annotated[
    Annotated[Identifier, Tag("named")] | Annotated[ActionFile, Tag("inline")], Discriminator(_named_or_inline)
]


class StepFile(StepBody):
    """A step names its action, or holds it in line."""

    action: Annotated[ActionPlace, Field(validation_alias=AliasChoices("action", "action_id"))]
    action_version: Version | None = None


class TaskFile(TaskBody):
    """A task, in `tasks` or in line."""

    steps: Annotated[list[StepFile], Field(min_length=1, max_length=1_000)]


TaskPlace = Annotated[
    Annotated[Identifier, Tag("named")] | Annotated[TaskFile, Tag("inline")], Discriminator(_named_or_inline)
]


class NodeFile(NodeBody):
    """A node names its task, or holds a task or an action in line (LAY-2)."""

    task: Annotated[TaskPlace | None, Field(validation_alias=AliasChoices("task", "task_id"))] = None
    task_version: Version | None = None
    action: ActionPlace | None = None

    @model_validator(mode="after")
    def _task_or_action(self) -> "NodeFile":
        if (self.task is None) == (self.action is None):
            raise PydanticCustomError("task_or_action", "a node has exactly one of 'task' and 'action'")
        return self


class TransitionFile(TransitionBody):
    """A transition names the nodes at its ends."""

    from_: Annotated[Ref, Field(validation_alias=AliasChoices("from", "from_node_id"))]
    to: Annotated[Ref, Field(validation_alias=AliasChoices("to", "to_node_id"))]
    condition: Annotated[
        Condition | None, BeforeValidator(_plain_condition, json_schema_input_type=Condition | Text | None)
    ] = None


class WorkflowFile(WorkflowBody):
    """A workflow with its graph; nodes are keyed by their refs."""

    name: Name | None = None
    initial_node: Annotated[Ref, Field(validation_alias=AliasChoices("initial_node", "initial_node_id"))]
    # What a graph of this size asks for is a foreach or a sub-workflow; a larger one could not be checked in seconds.
    nodes: Annotated[dict[Ref, NodeFile], Field(min_length=1, max_length=10_000)]
    transitions: Annotated[list[TransitionFile], Field(max_length=20_000)] = []
    triggers: list[TriggerBody] = []

    @model_validator(mode="before")
    @classmethod
    def _no_phases(cls, value: object) -> object:
        # Those of a project have become graphs by now (FIL-5).
        if isinstance(value, dict) and "steps" in value and "nodes" not in value:
            raise PydanticCustomError(
                "phase_form",
                "a workflow in the phase form can't be in a library: the servers of its tools are a project's",
            )
        return value


class BoundWorkflowFile(Record):
    """A workflow of the project that runs a stored definition, as a library has them, instead of its own (RES-1)."""

    name: Name | None = None
    description: Description = ""
    workflow_def_id: Identifier
    pinned_version: Version | None = None


def _graph_or_bound(value: object) -> str:
    return "bound form" if isinstance(value, dict) and "workflow_def_id" in value else "graph form"


WorkflowPlace = Annotated[
    Annotated[WorkflowFile, Tag("graph form")] | Annotated[BoundWorkflowFile, Tag("bound form")],
    Discriminator(_graph_or_bound),
]


class PartsFile(Record):
    """What workflows are made of; everything is keyed by its name."""

    tasks: dict[Name, TaskFile] = {}
    actions: dict[Name, ActionFile] = {}


class DefinitionsFile(PartsFile):
    """What may be in a project and in a library alike; everything is keyed by its name."""

    prompts: dict[Name, PromptBody] = {}
    artifact_types: dict[Name, ArtifactTypeBody] = {}


class LibraryFile(DefinitionsFile):
    """Definitions to be stored in a library of the workspace."""

    workflows: dict[Name, WorkflowFile] = {}
    description: Description | None = None


class PlainFile(PartsFile):
    """A file that has nothing else in it, as most have: a third of what there is to build for a `BundleFile`."""

    workflows: dict[Name, WorkflowFile] = {}
    workflow: WorkflowFile | None = None


class ScheduleFile(ScheduleBody):
    """A schedule names the workflow that it starts; without a name it is `workflow` of the file."""

    workflow: Identifier | None = None
    paused: bool = False


class BundleFile(DefinitionsFile):
    """A whole file; `workflow` is the one that `wonder run` starts."""

    workflows: dict[Name, WorkflowPlace] = {}
    workflow: WorkflowPlace | None = None
    models: dict[Name, ModelProfileBody] = {}
    vector_indexes: dict[Name, VectorIndexBody] = {}
    mcp_servers: dict[Name, McpServerBody] = {}
    libraries: dict[Name, LibraryFile] = {}
    schedules: dict[Name, ScheduleFile] = {}
    triggers: list[TriggerBody] = []


def field_names(model: type[Record]) -> dict[str, Any]:
    """Give every spelling that a model takes for its fields, with the field's annotation."""
    names: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        alias = field.validation_alias
        spellings = alias.choices if isinstance(alias, AliasChoices) else [alias or name]
        # The metadata of Annotated was taken off by pydantic; the bare annotation is enough to find models in it.
        names |= {str(spelling): field.annotation for spelling in spellings}
    return names
