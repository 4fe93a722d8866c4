"""Drafts: definitions as they will be stored, except that they still name each other (LAY-1, LAY-2).

Everything that was written in line stands here under a name of its own. `path` is where a draft was written.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from wonder.definitions.faults import Path
from wonder.definitions.records.actions import ActionBody
from wonder.definitions.records.fields import Record
from wonder.definitions.records.graph import NodeBody, TransitionBody, WorkflowBody
from wonder.definitions.records.resources import (
    ArtifactTypeBody,
    HttpServer,
    ModelProfileBody,
    PromptBody,
    StdioServer,
    VectorIndexBody,
)
from wonder.definitions.records.tasks import StepBody, TaskBody
from wonder.definitions.records.workflows import TriggerBody
from wonder.definitions.references import Reference


@dataclass(frozen=True, slots=True)
class ActionDraft:
    """An action with its implementation read by its kind; None where it could not be read."""

    name: str
    body: ActionBody
    implementation: Record | None
    references: tuple[Reference, ...]
    path: Path


@dataclass(frozen=True, slots=True)
class StepDraft:
    """A step with the action that it names; None where the name has no right form."""

    body: StepBody
    action: Reference | None
    path: Path


@dataclass(frozen=True, slots=True)
class TaskDraft:
    """A task with its steps in order."""

    name: str
    body: TaskBody
    steps: tuple[StepDraft, ...]
    path: Path


@dataclass(frozen=True, slots=True)
class NodeDraft:
    """A node with the task that it names."""

    ref: str
    body: NodeBody
    task: Reference | None
    path: Path


@dataclass(frozen=True, slots=True)
class TransitionDraft:
    """A transition with the refs of its ends, numbered in the order written."""

    ordinal: int
    body: TransitionBody
    from_ref: str
    to_ref: str
    path: Path


@dataclass(frozen=True, slots=True)
class TriggerDraft:
    """A trigger with the workflow that it names."""

    ordinal: int
    body: TriggerBody
    target: Reference | None
    path: Path


@dataclass(frozen=True, slots=True)
class WorkflowDraft:
    """A workflow with its graph."""

    name: str
    body: WorkflowBody
    initial_node: str
    nodes: dict[str, NodeDraft]
    transitions: tuple[TransitionDraft, ...]
    triggers: tuple[TriggerDraft, ...]
    path: Path


@dataclass(frozen=True, slots=True)
class VectorIndexDraft:
    """A vector index with the artifact types that it names."""

    body: VectorIndexBody
    artifact_types: tuple[Reference, ...]
    path: Path


@dataclass(slots=True)
class Definitions:
    """Definitions of one owner, by name."""

    workflows: dict[str, WorkflowDraft] = field(default_factory=dict)
    tasks: dict[str, TaskDraft] = field(default_factory=dict)
    actions: dict[str, ActionDraft] = field(default_factory=dict)
    prompts: dict[str, PromptBody] = field(default_factory=dict)
    artifact_types: dict[str, ArtifactTypeBody] = field(default_factory=dict)

    def references(self) -> Iterator[Reference]:
        """Give every reference that stands in these definitions."""
        for action in self.actions.values():
            yield from action.references
        for task in self.tasks.values():
            yield from (step.action for step in task.steps if step.action)
        for workflow in self.workflows.values():
            yield from (node.task for node in workflow.nodes.values() if node.task)
            yield from (trigger.target for trigger in workflow.triggers if trigger.target)


@dataclass(slots=True)
class LibraryDraft:
    """The definitions of one library."""

    description: str | None
    definitions: Definitions


@dataclass(slots=True)
class Bundle:
    """All that one file holds; `main` is the workflow that `wonder run` starts."""

    main: str | None = None
    definitions: Definitions = field(default_factory=Definitions)
    libraries: dict[str, LibraryDraft] = field(default_factory=dict)
    models: dict[str, ModelProfileBody] = field(default_factory=dict)
    vector_indexes: dict[str, VectorIndexDraft] = field(default_factory=dict)
    mcp_servers: dict[str, StdioServer | HttpServer] = field(default_factory=dict)

    def references(self) -> Iterator[Reference]:
        """Give every reference that stands in the bundle."""
        yield from self.definitions.references()
        for library in self.libraries.values():
            yield from library.definitions.references()
        for index in self.vector_indexes.values():
            yield from index.artifact_types
