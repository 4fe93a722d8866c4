"""The catalog: what is stored already of the things that a bundle names."""

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from wonder.definitions.records.actions import ActionDef
from wonder.definitions.records.graph import WorkflowDef
from wonder.definitions.records.resources import ArtifactType, McpServer, ModelProfile, PromptSpec, VectorIndex
from wonder.definitions.records.tasks import TaskDef
from wonder.definitions.records.tenancy import ProjectSettings, WorkspaceSettings
from wonder.definitions.references import Reference, ResourceKind
from wonder.definitions.secret_scopes import SecretScope
from wonder.language.schemas import Schema

Stored = WorkflowDef | TaskDef | ActionDef | PromptSpec | ArtifactType | ModelProfile | VectorIndex | McpServer


class Found(Struct, frozen=True):
    """One stored record that a reference may mean; `owner` says for people whose it is."""

    record: Stored
    owner: str
    is_bound: bool = False
    """Whether the name is that of a workflow of the project which binds the record, and not the record's own."""

    @property
    def id(self) -> str:
        """The record's id."""
        return self.record.id

    @property
    def is_of_project(self) -> bool:
        """Whether it belongs to the project, not to a library."""
        return self.is_bound or self.record.project_id is not None

    @property
    def version(self) -> int | None:
        """The record's version; None for what has no versions."""
        return getattr(self.record, "version", None)


class Allowed(Struct, frozen=True):
    """What the operator allows a bundle's project, as it is now."""

    workspace: WorkspaceSettings
    project: ProjectSettings
    project_id: str = ""
    secrets: Mapping[str, SecretScope | None] = field(default_factory=dict)
    """The secrets that are stored, each with its scope if it has one."""

    @property
    def has_budget(self) -> bool:
        """Whether what calls of models cost counts against a budget."""
        return self.workspace.budget.is_set or self.project.budget.is_set


class KnownFunction(Struct, frozen=True):
    """What is known of a Python function that an action calls, without importing anything (ACT-11)."""

    takes: Schema = field(default_factory=dict)
    """Its arguments, as the schema of an object; anything where they are not known."""
    refusal: str = ""
    """Why a call is certain to fail, if it is."""
    doubt: str = ""
    """Why nothing is known of it here, where another process may have it."""
    hint: str = ""
    """What to do about that."""


class Catalog(Struct, frozen=True):
    """What each reference may mean: nothing, one record, or several of which none comes first (RES-4)."""

    found: Mapping[tuple[ResourceKind, str], Sequence[Found]] = field(default_factory=dict)
    actions: Mapping[tuple[str, int], ActionDef] = field(default_factory=dict)
    """The actions of the tasks that were found, by id and version."""
    triggered: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """What the workflows that were found trigger, and those in turn, all by name (PHS-6)."""

    tools_only_as_tasks: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The tools that can't be called, by the name of their server, as far as servers were asked (ACT-2)."""
    functions: Mapping[str, KnownFunction] = field(default_factory=dict)
    """The Python functions that something is known of, by the names that actions call them by."""
    archived: Mapping[tuple[ResourceKind, str], str] = field(default_factory=dict)
    """The commands that would restore what references mean that find only something archived (RES-5)."""
    allowed: Allowed | None = None
    """None where it was not looked up; then nothing is said about it."""

    def find(self, reference: Reference) -> Sequence[Found]:
        """Give the stored records that a reference may mean."""
        return self.found.get(reference.key, ())
