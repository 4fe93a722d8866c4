"""What is wrong with a workflow in the phase form: faults with a place in the file, and errors in its own shape."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from wonder.definitions.faults import Fault, Path
from wonder.definitions.file_form.phase_form import PhaseForm
from wonder.definitions.file_form.pruning import Pruning
from wonder.definitions.file_form.reading import read_around_faults
from wonder.language.values import show_path
from wonder.phases.errors import PhaseError
from wonder.phases.records import PhaseWorkflow

REFUSED = "Workflow validation failed"
# What the two shapes both have; the error's own is kept.
_OF_ERROR = frozenset({"type", "message", "expected", "actual"})


@dataclass(frozen=True, slots=True)
class PhaseFault(Fault):
    """A fault that can tell itself in the phase form's own shape (PHS-4)."""

    error: PhaseError | None = None

    def as_json(self) -> dict[str, Any]:
        """Give the error in its own shape, with its place in the file besides."""
        of_file = Fault.as_json(self)
        return {**phase_error(self), **{name: value for name, value in of_file.items() if name not in _OF_ERROR}}


@dataclass(frozen=True, slots=True)
class PhaseReading:
    """What could be read of a phase form, and what was wrong with its shape."""

    form: PhaseForm
    workflow: PhaseWorkflow | None
    faults: Sequence[Fault]
    pruning: Pruning | None

    def faults_of(self, errors: Iterable[PhaseError]) -> list[Fault]:
        """Give errors as faults, without those that are only there because something could not be read."""
        return [_fault(error, self.form) for error in errors if not self._is_consequence(error)]

    def _is_consequence(self, error: PhaseError) -> bool:
        if self.pruning is None:
            return False
        # What a step that was cut out would have given is not known, nor what the last phase gives.
        return error.type == "missing_ref" or error.step == "" or error.step.startswith("triggers[")


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
    return {"type": fault.code, "step": "", "field": show_path(fault.path), "message": _said(fault)}


def refusal(faults: Iterable[Fault]) -> dict[str, Any]:
    """Give the answer to a workflow that was refused, as the phase form has it."""
    return {"error": REFUSED, "errors": [phase_error(fault) for fault in faults if fault.severity == "error"]}


def _fault(error: PhaseError, form: PhaseForm) -> PhaseFault:
    message = error.message
    where = f" ({error.ref})" if error.ref and error.ref not in message else ""
    inside = (error.line, error.column) if error.line and error.column else None
    path = _existing((*form.path, *error.path), form) if error.path else form.step_path(error.step)
    return PhaseFault(
        error.type, path, message + where, expected=error.expected, actual=error.actual, inside=inside, error=error
    )


def _of_shape(fault: Fault, form: PhaseForm) -> PhaseFault:
    """Tell a fault of a step's shape as what it is in the phase form: an invalid step."""
    step, field = "", show_path(fault.path)
    if fault.path[:1] == ("steps",) and len(fault.path) > 2:
        step, rest = _step_name(fault.path, form), fault.path[3:]
        field = ".".join(map(str, rest[1:] if rest[:1] == ("input",) and len(rest) > 1 else rest)) or "step"
    error = PhaseError("invalid_step", step, field, message=_said(fault), path=fault.path)
    return PhaseFault("invalid_step", (*form.path, *fault.path), fault.message, fault.hint, error=error)


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
