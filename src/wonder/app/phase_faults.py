"""What is wrong with a workflow in the phase form: faults with a place in the file, and errors in its own shape."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from msgspec import Struct
from msgspec.structs import replace as replace_fault

from wonder.definitions.faults import Fault, Path
from wonder.definitions.file_form.phase_form import PhaseForm
from wonder.definitions.file_form.pruning import Pruning
from wonder.definitions.file_form.reading import read_around_faults
from wonder.language.schemas.faults import show_value
from wonder.language.values import show_path
from wonder.phases.errors import PhaseError
from wonder.phases.hints import hint_for, texts_like_refs
from wonder.phases.known import ToolName, Unchecked
from wonder.phases.records import PhaseStep, PhaseTool, PhaseWorkflow
from wonder.phases.shape_hints import shape_hint

REFUSED = "Workflow validation failed"
# What the two shapes both have; the error's own is kept.
_OF_ERROR = frozenset({"type", "message", "expected", "actual"})


class PhaseFault(Fault, frozen=True):
    """A fault that can tell itself in the phase form's own shape (PHS-4)."""

    error: PhaseError | None = None

    def as_json(self) -> dict[str, Any]:
        """Give the error in its own shape, with its place in the file besides."""
        of_file = Fault.as_json(self)
        return {**phase_error(self), **{name: value for name, value in of_file.items() if name not in _OF_ERROR}}


class PhaseReading(Struct, frozen=True):
    """What could be read of a phase form, and what was wrong with its shape."""

    form: PhaseForm
    workflow: PhaseWorkflow | None
    faults: Sequence[Fault]
    pruning: Pruning | None

    def faults_of(self, errors: Iterable[PhaseError], unreadable: Collection[str] = ()) -> list[Fault]:
        """Give errors as faults, without those that are only there because something could not be read.

        `unreadable` are the MCP servers of the file of which that is true.
        """
        steps = {step.name: (path, step) for path, step in self._steps()}
        told: dict[str, Path] = {}
        found: list[Fault] = []
        for error in errors:
            _, step = steps.get(error.step, ((), None))
            tool = step.tool if step and error.type == "missing_schema" and error.field == "tool" else None
            if self._is_consequence(error) or (tool and tool.connection_id in unreadable):
                continue
            fault = self._fault(error)
            found.append(_told_once(fault, tool, told) if tool else fault)
        return found

    def unchecked(self, tools: Mapping[ToolName, object]) -> list[Fault]:
        """Warn at each step whose tool was not checked, because its server may not be asked."""
        found: list[Fault] = []
        for path, step in self._steps():
            name = ToolName(step.tool.connection_id, step.tool.tool_name) if step.tool else None
            known = tools.get(name) if name else None
            if name and isinstance(known, Unchecked):
                message = f"the tool '{name.tool_name}' of '{name.connection_id}' was not checked: {known.reason}"
                where = (*self.form.path, *path, "tool")
                found.append(Fault("tool_not_checked", where, message, known.hint, severity="warning"))
        return found

    def warnings(self) -> list[Fault]:
        """Give the texts that seem to hold a ref and are passed on as they are."""
        hint = "make the text in a transform, and write a ref to that"
        return [
            Fault("text_like_ref", (*self.form.path, *path), _passed_on(text), hint, severity="warning")
            for path, text in (texts_like_refs(self.workflow) if self.workflow else ())
        ]

    def _steps(self) -> Iterator[tuple[Path, PhaseStep]]:
        for i, phase in enumerate(self.workflow.steps if self.workflow else ()):
            for j, step in enumerate(phase):
                yield ("steps", i, j), step

    def _fault(self, error: PhaseError) -> PhaseFault:
        if self.pruning and error.path:
            error = replace(error, path=self.pruning.original(error.path))
        return _fault(error, self.form, hint_for(error, self.workflow) if self.workflow else "")

    def _is_consequence(self, error: PhaseError) -> bool:
        if self.pruning is None:
            return False
        path = self.pruning.original(error.path)
        if error.type == "invalid_step":
            # A step does nothing, or a sleep lacks its time, because what it does could not be read.
            lacks = path[:3] if path[3:] == ("name",) else path
            return self.pruning.emptied(lacks) or (path[3:] == ("sleep",) and self._was_cut_below(path))
        if error.type == "type_mismatch" and (self._misses_input(error, path) or self._is_of_cut_step(error)):
            return True
        if error.type == "missing_ref" and error.ref and not error.ref.startswith(("@input", "@output")):
            return self._is_of_cut_step(error) or self._lacks_steps()
        # What the input or the last phase would have been is not known.
        return error.type == "missing_ref" or error.step == "" or error.step.startswith("triggers[")

    def _lacks_steps(self) -> bool:
        """Say whether a step, or what it is called, could not be read."""
        assert self.pruning
        steps = [cut for cut in self.pruning.cuts if cut[:1] == ("steps",)]
        return any(len(cut) <= 3 or cut[3] in ("name", "as", "forEach") for cut in steps)

    def _misses_input(self, error: PhaseError, path: Path) -> bool:
        """Say whether an input is missing in a step that has it under a name that does not exist."""
        return path[3:4] == ("input",) and self._was_cut_below(path[:3]) and _existing(path, self.form)[3:] == ()

    def _is_of_cut_step(self, error: PhaseError) -> bool:
        """Say whether a ref is to a step whose own fields could not all be read: what it gives may be another thing."""
        for path, step in self._steps():
            if error.ref and error.ref.startswith((f"@{step.name}.", f'@"{step.name}"')):
                assert self.pruning
                return self._was_cut_below(self.pruning.original(path))
        return False

    def _was_cut_below(self, path: Path) -> bool:
        return self.pruning is not None and any(cut[:-1] == path for cut in self.pruning.cuts)


def read_phase_form(form: PhaseForm, called: str | None = None) -> PhaseReading:
    """Read a phase form, around whatever is wrong in its shape; `called` is its name where that stands elsewhere."""
    value = dict(form.value)
    misnamed: list[Fault] = []
    name = form.key or called
    if name is not None:
        if value.get("name", name) != name:
            message = f"the workflow is called '{value['name']}' here, and '{name}' where it stands"
            misnamed.append(Fault("duplicate_name", (*form.path, "name"), message, "leave 'name' out"))
        value["name"] = name
    workflow, faults, pruning = read_around_faults(PhaseWorkflow, value)
    return PhaseReading(form, workflow, [*misnamed, *(_of_shape(fault, form) for fault in faults)], pruning)


def phase_error(fault: Fault) -> dict[str, Any]:
    """Give a fault in the shape of the phase form's errors, with what is known of it."""
    if isinstance(fault, PhaseFault) and fault.error:
        return fault.error.to_json()
    if fault.code == "trigger_input":
        # Found in the graph, where its target is looked up: in the phase form it is a type like any other.
        _, place, *field = fault.path[fault.path.index("triggers") :]
        told = {"type": "type_mismatch", "step": f"triggers[{place}]", "field": ".".join(map(str, field))}
        return {**told, "message": _said(fault)}
    return {"type": fault.code, "step": "", "field": show_path(fault.path), "message": _said(fault)}


def refusal(faults: Iterable[Fault]) -> dict[str, Any]:
    """Give the answer to a workflow that was refused, as the phase form has it."""
    return {"error": REFUSED, "errors": [phase_error(fault) for fault in faults if fault.severity == "error"]}


def _fault(error: PhaseError, form: PhaseForm, hint: str) -> PhaseFault:
    message = error.message
    where = f" ({error.ref})" if error.ref and error.ref not in message else ""
    inside = (error.line, error.column) if error.line and error.column else None
    path = _existing((*form.path, *error.path), form) if error.path else form.step_path(error.step)
    return PhaseFault(
        error.type,
        path,
        message + where,
        hint,
        expected=error.expected,
        actual=error.actual,
        inside=inside,
        error=error,
    )


def _of_shape(fault: Fault, form: PhaseForm) -> PhaseFault:
    """Tell a fault of a step's shape as what it is in the phase form: an invalid step."""
    step, field = "", show_path(fault.path)
    if fault.path[:1] == ("steps",) and len(fault.path) > 2:
        step, rest = _step_name(fault.path, form), fault.path[3:]
        field = ".".join(map(str, rest[1:] if rest[:1] == ("input",) and len(rest) > 1 else rest)) or "step"
    fault = replace_fault(fault, hint=shape_hint(fault.code, fault.path, form.value) or fault.hint)
    error = PhaseError("invalid_step", step, field, message=_said(fault), path=fault.path)
    return PhaseFault("invalid_step", (*form.path, *fault.path), fault.message, fault.hint, error=error)


def _told_once(fault: PhaseFault, tool: PhaseTool, told: dict[str, Path]) -> PhaseFault:
    """Say why a server can't be asked at the first of its tools only; `told` has where that was."""
    about = f"Nothing is known of the tool '{tool.tool_name}' of '{tool.connection_id}': "
    reason = fault.message.removeprefix(about)
    first = told.setdefault(reason, fault.path)
    if reason == fault.message or first == fault.path:
        return fault
    return replace_fault(fault, message=f"{about}see {show_path(first)}", hint="")


def _passed_on(text: str) -> str:
    return f"only a whole text is a ref: {show_value(text)} is passed on as it is"


def _said(fault: Fault) -> str:
    return f"{fault.message}; {fault.hint}" if fault.hint else fault.message


def _step_name(path: Path, form: PhaseForm) -> str:
    value: Any = form.value
    try:
        for segment in path[:3]:
            value = value[segment]
        name = value["name"]
    except (KeyError, IndexError, TypeError):
        name = None
    return name if isinstance(name, str) and name else show_path(path[:3])


def _existing(path: Path, form: PhaseForm) -> Path:
    """Cut a path off where the file goes no further, so that the place is that of the nearest part there is."""
    value: Any = form.value
    for i, segment in enumerate(path[len(form.path) :]):
        try:
            value = value[segment]
        except (KeyError, IndexError, TypeError):
            return path[: len(form.path) + i]
    return path
