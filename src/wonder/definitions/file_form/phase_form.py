"""The workflows of a document that are in the phase form (FIL-5): found, and replaced by the graphs that they mean.

A file may be one such workflow, with its `mcp_servers` beside it, or hold some in `workflow` and `workflows`.
"""

from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

from msgspec import Struct

from wonder.definitions.faults import Path
from wonder.language.values import JsonValue

Graph = Mapping[str, Any]
"""A workflow in the file form: a bundle that holds it as `workflow`, and perhaps `tasks` and `actions` of its own."""

BESIDE_PHASES = ("mcp_servers", "schedules")
"""The sections of a bundle that may stand beside a workflow that is otherwise a whole file."""
_LIKE_STEPS = frozenset({"step", "phase", "phases"})
"""What somebody who means `steps` may write; told as that only where nothing says that the file is a bundle."""
_OF_BUNDLES = frozenset({"workflow", "workflows", "tasks", "actions", "libraries"})
# What the nodes of one step are called besides its own name (PHS-1).
_AROUND = (".each", ".all")


class PhaseForm(Struct, frozen=True):
    """One workflow in the phase form; `key` is the name that it stands under in `workflows`."""

    path: Path
    value: dict[str, JsonValue]
    key: str | None = None

    @property
    def name(self) -> str | None:
        """What the workflow is called, if that can be told."""
        written = self.value.get("name")
        return self.key or (written if isinstance(written, str) else None)

    @property
    def is_main(self) -> bool:
        """Whether it is the one that `wonder run` starts."""
        return self.key is None

    @property
    def graph_path(self) -> Path:
        """Where its graph stands in the bundle."""
        return self.path or ("workflow",)

    def step_path(self, name: str) -> Path:
        """Say where a step stands; for one that is not there, where steps do."""
        for path, step in self._steps():
            if step.get("name") == name:
                return path
        return (*self.path, "steps")

    def source_path(self, rest: Path) -> Path:
        """Say where something of the graph was written; `rest` is its path inside the graph."""
        if rest[:1] == ("nodes",) and len(rest) > 1:
            ref = str(rest[1])
            names = [ref, *(ref.removesuffix(ending) for ending in _AROUND if ref.endswith(ending))]
            found = [path for path in map(self.step_path, names) if path != (*self.path, "steps")]
            return found[0] if found else (*self.path, "steps")
        return (*self.path, *rest) if rest and rest[0] in self.value else self.path

    def _steps(self) -> Iterator[tuple[Path, dict[str, Any]]]:
        phases = self.value.get("steps")
        for i, phase in enumerate(phases if isinstance(phases, list) else ()):
            for j, step in enumerate(phase if isinstance(phase, list) else ()):
                if isinstance(step, dict):
                    yield (*self.path, "steps", i, j), step


class PhaseDocument:
    """A document with workflows in the phase form."""

    def __init__(self, document: dict[str, JsonValue], forms: tuple[PhaseForm, ...]) -> None:
        self._document, self.forms = document, forms

    @property
    def mcp_servers(self) -> JsonValue:
        """The servers that stand beside the workflows, as they were written."""
        return self._document.get("mcp_servers")

    def bundle(self, graphs: Mapping[Path, Graph]) -> dict[str, JsonValue]:
        """Give the document with the graphs in the places of their phase forms; one without a graph is left out."""
        if self.forms[0].path == ():
            bundle = {name: value for name, value in self._document.items() if name in BESIDE_PHASES}
        else:
            bundle = dict(self._document)
            if self._is_phased("workflow"):
                del bundle["workflow"]
            if isinstance(inner := bundle.get("workflows"), dict):
                keys = {form.key for form in self.forms}
                bundle["workflows"] = {name: value for name, value in inner.items() if name not in keys}
        for form in self.forms:
            if form.path in graphs:
                _put(bundle, form, graphs[form.path])
        if "workflow" not in bundle and self._is_phased("workflow"):
            bundle.pop("triggers", None)  # they belong to the workflow that is left out
        return bundle

    def source_path(self, path: Path) -> Path:
        """Say where something of the bundle was written."""
        for form in self.forms:
            if path[: len(form.graph_path)] == form.graph_path:
                return form.source_path(path[len(form.graph_path) :])
        return path

    def _is_phased(self, name: str) -> bool:
        return any(form.path == (name,) for form in self.forms)


def find_phase_forms(document: JsonValue) -> PhaseDocument | None:
    """Find the workflows in the phase form; None if a document has none, and so is a bundle as it is."""
    if not isinstance(document, dict):
        return None
    if "steps" in document or (_LIKE_STEPS & document.keys() and not _OF_BUNDLES & document.keys()):
        value = {name: part for name, part in document.items() if name not in BESIDE_PHASES}
        return PhaseDocument(document, (PhaseForm((), value),))
    forms = []
    if _is_phase_form(main := document.get("workflow")):
        forms.append(PhaseForm(("workflow",), main))
    workflows = document.get("workflows")
    for name, workflow in workflows.items() if isinstance(workflows, dict) else ():
        if _is_phase_form(workflow):
            forms.append(PhaseForm(("workflows", name), workflow, name))
    return PhaseDocument(document, tuple(forms)) if forms else None


def _is_phase_form(value: JsonValue) -> TypeGuard[dict[str, JsonValue]]:
    return isinstance(value, dict) and "steps" in value


def _put(bundle: dict[str, Any], form: PhaseForm, graph: Graph) -> None:
    for section, parts in graph.items():
        if section != "workflow":
            bundle[section] = {**bundle.get(section, {}), **parts}
    workflow = dict(graph["workflow"])
    if form.key is None:
        bundle["workflow"] = workflow
    else:
        bundle["workflows"] = {**bundle.get("workflows", {}), form.key: workflow}
