"""Drafts: definitions as they will be stored, except that they still name each other (LAY-1, LAY-2).

Everything that was written in line stands here under a name of its own. `path` is where a draft was written.
"""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct, field

from wonder.definitions.faults import Path
from wonder.definitions.kinds import KINDS
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
from wonder.definitions.records.schedules import ScheduleBody
from wonder.definitions.records.tasks import StepBody, TaskBody
from wonder.definitions.records.workflows import TriggerBody
from wonder.definitions.references import Reference


class ActionDraft(Struct, frozen=True):
    """An action with its implementation read by its kind; None where it could not be read."""

    name: str
    body: ActionBody
    implementation: Record | None
    references: tuple[Reference, ...]
    path: Path


class StepDraft(Struct, frozen=True):
    """A step with the action that it names; None where the name has no right form."""

    body: StepBody
    action: Reference | None
    path: Path


class TaskDraft(Struct, frozen=True):
    """A task with its steps in order."""

    name: str
    body: TaskBody
    steps: tuple[StepDraft, ...]
    path: Path


class NodeDraft(Struct, frozen=True):
    """A node with the task that it names."""

    ref: str
    body: NodeBody
    task: Reference | None
    path: Path


class TransitionDraft(Struct, frozen=True):
    """A transition with the refs of its ends, numbered in the order written."""

    ordinal: int
    body: TransitionBody
    from_ref: str
    to_ref: str
    path: Path


class TriggerDraft(Struct, frozen=True):
    """A trigger with the workflow that it names."""

    ordinal: int
    body: TriggerBody
    target: Reference | None
    path: Path


class WorkflowDraft(Struct, frozen=True):
    """A workflow with its graph."""

    name: str
    body: WorkflowBody
    initial_node: str
    nodes: dict[str, NodeDraft]
    transitions: tuple[TransitionDraft, ...]
    triggers: tuple[TriggerDraft, ...]
    path: Path


class BoundWorkflowDraft(Struct, frozen=True):
    """A workflow of the project that runs a definition which is stored under another name."""

    name: str
    description: str
    definition: Reference | None
    """With a version if the file pins one."""
    path: Path


class VectorIndexDraft(Struct, frozen=True):
    """A vector index with the artifact types that it names."""

    body: VectorIndexBody
    artifact_types: tuple[Reference, ...]
    path: Path


class PhaseDraft(Struct, frozen=True):
    """What is kept of the phase form that a workflow was compiled from (PHS-1, PHS-4)."""

    written: bytes
    """Its text, as its author wrote it."""
    schemas: dict[str, Any]
    """What each step takes and gives: `{step: {input, output}}`."""
    tools: list[dict[str, Any]]
    """The tools that it was checked with, as they were then: `[{server, tool, input, output}]`."""


class CompiledPhases(Struct, frozen=True):
    """A phase form without errors: its graph in the file form, and what is kept of itself."""

    graph: dict[str, Any]
    kept: PhaseDraft


class ScheduleDraft(Struct, frozen=True):
    """A schedule with the workflow that it names; `paused` is how it begins."""

    name: str
    body: ScheduleBody
    workflow: Reference | None
    paused: bool
    path: Path
    is_unnamed: bool = False
    """Whether nothing says which workflow it starts: neither itself, nor the file by having a main one."""


class Definitions(Struct):
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


class LibraryDraft(Struct):
    """The definitions of one library."""

    description: str | None
    definitions: Definitions


class Bundle(Struct):
    """All that one file holds; `main` is the workflow that `wonder run` starts."""

    main: str | None = None
    definitions: Definitions = field(default_factory=Definitions)
    bound_workflows: dict[str, BoundWorkflowDraft] = field(default_factory=dict)
    libraries: dict[str, LibraryDraft] = field(default_factory=dict)
    models: dict[str, ModelProfileBody] = field(default_factory=dict)
    vector_indexes: dict[str, VectorIndexDraft] = field(default_factory=dict)
    mcp_servers: dict[str, StdioServer | HttpServer] = field(default_factory=dict)
    server_ids: dict[str, str] = field(default_factory=dict)
    """The ids of servers that are new and were started already; others get one when they are stored."""
    phases: dict[str, PhaseDraft] = field(default_factory=dict)
    """The phase forms of the workflows that were written so, by their names."""
    schedules: dict[str, ScheduleDraft] = field(default_factory=dict)

    def references(self) -> Iterator[Reference]:
        """Give every reference that stands in the bundle."""
        yield from self.definitions.references()
        for library in self.libraries.values():
            yield from library.definitions.references()
        for index in self.vector_indexes.values():
            yield from index.artifact_types
        yield from (schedule.workflow for schedule in self.schedules.values() if schedule.workflow)
        yield from (bound.definition for bound in self.bound_workflows.values() if bound.definition)

    def transforms(self) -> Iterator[tuple[Path, str]]:
        """Give the source of every transform that stands in an action, with its place."""
        for definitions in (self.definitions, *(library.definitions for library in self.libraries.values())):
            for action in definitions.actions.values():
                kind = KINDS.find(action.body.kind)
                if kind and kind.typescript_field and action.implementation is not None:
                    source = getattr(action.implementation, kind.typescript_field)
                    yield (*action.path, "implementation", kind.typescript_field), source
