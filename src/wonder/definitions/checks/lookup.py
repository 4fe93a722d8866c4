"""What a reference means: something of the file, or something stored (RES-4)."""

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace
from pydantic import ValidationError

from wonder.definitions.catalog import Catalog, Found, KnownFunction
from wonder.definitions.drafts import ActionDraft, Bundle, Definitions, TaskDraft, WorkflowDraft
from wonder.definitions.faults import Path
from wonder.definitions.file_form.reading import Reading
from wonder.definitions.findings import Findings
from wonder.definitions.kinds import KINDS, Assignment, Kind
from wonder.definitions.records.actions import ActionBody, ActionDef
from wonder.definitions.records.fields import Record
from wonder.definitions.records.graph import WorkflowBody
from wonder.definitions.records.tasks import StepBody, TaskBody, TaskDef
from wonder.definitions.references import Reference, ResourceKind
from wonder.language.schemas import closest

_SECTIONS: dict[ResourceKind, str] = {
    "workflow": "workflows",
    "task": "tasks",
    "action": "actions",
    "prompt": "prompts",
    "artifact_type": "artifact_types",
    "model": "models",
    "vector_index": "vector_indexes",
    "mcp_server": "mcp_servers",
}
BUILT_IN_ARTIFACT_TYPE = "blob"
_OF_PROJECT = frozenset({"model", "vector_index", "mcp_server"})
"""Kinds that belong to a project only, never to a library (RES-2)."""


class ActionView(Struct, frozen=True):
    """An action, of the file or stored."""

    name: str
    body: ActionBody
    implementation: Record | None
    references: dict[ResourceKind, Reference]
    """What its implementation names; empty for a stored action, whose ids are resolved already."""
    path: Path | None
    """Where it stands in the document; None for a stored action."""

    @property
    def kind(self) -> Kind | None:
        """Its kind; None where the package is missing that adds it."""
        return KINDS.find(self.body.kind)

    def assignments(self) -> Iterable[Assignment]:
        """Give what it assigns in the context that it works on."""
        kind = self.kind
        return kind.assignments(self.implementation) if kind and self.implementation is not None else ()


class StepView(Struct, frozen=True):
    """A step with its action; None where that could not be found."""

    body: StepBody
    action: ActionView | None


class TaskView(Struct, frozen=True):
    """A task with its steps, of the file or stored."""

    name: str
    body: TaskBody
    steps: tuple[StepView, ...]

    @property
    def sole_action(self) -> ActionView | None:
        """The action of a task that has one step."""
        return self.steps[0].action if len(self.steps) == 1 else None

    @property
    def waits(self) -> bool:
        """Whether the coordinator carries it out as a durable wait (LAY-3)."""
        return self.sole_action is not None and KINDS.waits(self.sole_action.body.kind)

    @property
    def on_workflow_context(self) -> ActionView | None:
        """Its action, if the coordinator carries that out on the workflow's context (FIL-2)."""
        action = self.sole_action
        return action if action and getattr(action.implementation, "scope", None) == "workflow" else None


class Lookup:
    """Finds what the references in one set of definitions mean: the file comes first, then what is stored."""

    def __init__(self, reading: Reading, definitions: Definitions, catalog: Catalog, section: Path = ()) -> None:
        self._reading, self._definitions, self._catalog = reading, definitions, catalog
        self._bundle: Bundle = reading.bundle
        self._section = section

    def check(self, reference: Reference | None, findings: Findings) -> None:
        """Note a fault if a reference means nothing, or more than one thing."""
        if reference is None or self.is_held(reference):
            return
        found = self._candidates(reference)
        restoring = self._catalog.archived.get(self._meant(reference).key)
        if not found and restoring:
            message = f"the {_called(reference.kind)} '{reference}' is archived"
            findings.error("archived_ref", reference.path, message, f"restore it with `{restoring}`, or name another")
        elif not found and not self._was_cut(reference):
            message = f"there is no {_called(reference.kind)} '{reference}' in {self._places(reference.kind)}"
            findings.error("missing_ref", reference.path, message, self._hint(reference))
        elif len(found) > 1:
            owners = " and ".join(candidate.owner for candidate in found)
            message = f"'{reference}' is in {owners}"
            findings.error("ambiguous_ref", reference.path, message, "write library/name@version")

    def is_held(self, reference: Reference) -> bool:
        """Say whether the file itself holds what a reference means."""
        return self._local(reference) is not None or self._is_built_in(reference)

    def task(self, reference: Reference | None) -> TaskView | None:
        """Find a task."""
        if reference is None:
            return None
        local = self._local(reference)
        if isinstance(local, TaskDraft):
            steps = tuple(StepView(step.body, self.action(step.action)) for step in local.steps)
            return TaskView(local.name, local.body, steps)
        stored = self._stored(reference)
        return self._stored_task(stored.record) if stored and isinstance(stored.record, TaskDef) else None

    def action(self, reference: Reference | None) -> ActionView | None:
        """Find an action."""
        if reference is None:
            return None
        local = self._local(reference)
        if isinstance(local, ActionDraft):
            references = {reference.kind: reference for reference in local.references}
            return ActionView(local.name, local.body, local.implementation, references, local.path)
        stored = self._stored(reference)
        return _stored_action(stored.record) if stored and isinstance(stored.record, ActionDef) else None

    def is_bound(self, reference: Reference) -> bool:
        """Say whether a reference is to a workflow that has no definition of its own."""
        return self._meant(reference) is not reference or any(one.is_bound for one in self._candidates(reference))

    def workflow(self, reference: Reference | None) -> WorkflowBody | None:
        """Find a workflow."""
        if reference is None:
            return None
        local = self._local(reference)
        if isinstance(local, WorkflowDraft):
            return local.body
        stored = self._stored(reference)
        return stored.record if stored and isinstance(stored.record, WorkflowBody) else None

    def triggered_by(self, name: str) -> Sequence[str]:
        """Give the names of what a stored workflow triggers."""
        return self._catalog.triggered.get(name, ())

    def function(self, name: str) -> KnownFunction | None:
        """Give what is known of a Python function."""
        return self._catalog.functions.get(name)

    def is_of_project(self, reference: Reference) -> bool:
        """Say whether a reference means something of the file or the project, and nothing of a library."""
        if self._meant(reference) is not reference:
            return True
        return self.is_held(reference) or all(found.is_of_project for found in self._candidates(reference))

    def named(self, reference: Reference | None) -> Record | None:
        """Find what an action names, as its author wrote it."""
        if reference is None:
            return None
        local = self._local(reference)
        if local is not None:
            found = getattr(local, "body", local)
            return found if isinstance(found, Record) else None
        stored = self._stored(reference)
        return stored.record if stored else None

    def _hint(self, reference: Reference) -> str:
        names = self._names(reference.kind)
        if self._section and not reference.library and reference.name in self._outside(reference.kind):
            return f"a library can't name what a project has: move it to '{_SECTIONS[reference.kind]}' of the library"
        if reference.version and reference.name in names:
            return f"write '{reference.name}' for the one in this file; only stored definitions have versions"
        near = closest(reference.name, sorted(names))
        return f"did you mean '{near}'?" if near else f"add it to '{_SECTIONS[reference.kind]}', or deploy it first"

    def _meant(self, reference: Reference) -> Reference:
        """Give the definition that a workflow of the file runs, where a reference is to one that has none itself."""
        bound = self._bundle.bound_workflows.get(reference.name)
        own = reference.kind == "workflow" and not (reference.library or reference.version or self._section)
        if bound is None or bound.definition is None or not own:
            return reference
        return replace(bound.definition, path=reference.path)

    def _local(self, reference: Reference) -> object | None:
        reference = self._meant(reference)
        if reference.version is not None:
            return None  # a version is of something stored
        section = _SECTIONS[reference.kind]
        if reference.library:
            library = self._bundle.libraries.get(reference.library)
            return getattr(library.definitions, section, {}).get(reference.name) if library else None
        places = [self._definitions, self._bundle] if not self._section else [self._definitions]
        for place in places:
            if reference.name in (named := getattr(place, section, {})):
                found: object = named[reference.name]
                return found
        return None

    def _candidates(self, reference: Reference) -> list[Found]:
        reference = self._meant(reference)
        # A library is shared by many projects, so what it holds can't name what is in one of them.
        return [found for found in self._catalog.find(reference) if not (self._section and found.is_of_project)]

    def _stored(self, reference: Reference) -> Found | None:
        found = self._candidates(reference)
        return found[0] if len(found) == 1 else None

    def _stored_task(self, task: TaskDef) -> TaskView:
        stored = [(step, self._catalog.actions.get((step.action_id, step.action_version))) for step in task.steps]
        steps = tuple(StepView(step, _stored_action(action) if action else None) for step, action in stored)
        return TaskView(task.name, task, steps)

    def _names(self, kind: ResourceKind) -> set[str]:
        section = _SECTIONS[kind]
        return {
            *getattr(self._definitions, section, {}),
            *(getattr(self._bundle, section, {}) if not self._section else ()),
        }

    def _outside(self, kind: ResourceKind) -> set[str]:
        return {*getattr(self._bundle.definitions, _SECTIONS[kind], {}), *getattr(self._bundle, _SECTIONS[kind], {})}

    def _places(self, kind: ResourceKind) -> str:
        if self._section:
            return "this library or another one"
        return "the file or the project" if kind in _OF_PROJECT else "the file, the project or a library"

    def _was_cut(self, reference: Reference) -> bool:
        section = ("libraries", reference.library) if reference.library else self._section
        cuts = self._reading.pruning.cuts if self._reading.pruning else set()
        return (*section, _SECTIONS[reference.kind], reference.name) in cuts

    def _is_built_in(self, reference: Reference) -> bool:
        return reference.kind == "artifact_type" and reference.name == BUILT_IN_ARTIFACT_TYPE


def references_outside(reading: Reading) -> list[Reference]:
    """Give what a bundle names that it does not hold itself: the catalog should have that."""
    bundle = reading.bundle
    top = Lookup(reading, bundle.definitions, Catalog())
    indexed = [reference for index in bundle.vector_indexes.values() for reference in index.artifact_types]
    scheduled = [schedule.workflow for schedule in bundle.schedules.values() if schedule.workflow]
    bound = [one.definition for one in bundle.bound_workflows.values() if one.definition]
    named = (*bundle.definitions.references(), *indexed, *scheduled, *bound)
    found = [reference for reference in named if not top.is_held(reference)]
    for name, library in bundle.libraries.items():
        lookup = Lookup(reading, library.definitions, Catalog(), ("libraries", name))
        found += [reference for reference in library.definitions.references() if not lookup.is_held(reference)]
    return found


def _called(kind: ResourceKind) -> str:
    return "MCP server" if kind == "mcp_server" else kind.replace("_", " ")


def _stored_action(action: ActionDef) -> ActionView:
    kind = KINDS.find(action.kind)
    try:
        implementation = kind.configuration.model_validate(action.implementation) if kind else None
    except ValidationError:
        implementation = None  # stored by another version of Wonder, or of a package; it was checked then
    return ActionView(action.name, action, implementation, {}, None)
