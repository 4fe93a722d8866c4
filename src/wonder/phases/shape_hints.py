"""How to write what a phase form has in another shape: hints that know what its parts are (PHS-2)."""

from typing import Any

from wonder.definitions.faults import Path
from wonder.definitions.file_form.phase_form import BESIDE_PHASES
from wonder.language.schemas import closest

_FIELDS = ("name", "description", "input_schema", "steps", "triggers", *BESIDE_PHASES)
_NO_CONDITIONS = "there are no conditions: let a transform shape what forEach and triggers read"
_PHASES_ORDER = "phases are the order: put the step into a later one than those that it needs"
_ELSEWHERE = {
    "if": _NO_CONDITIONS,
    "when": _NO_CONDITIONS,
    "condition": _NO_CONDITIONS,
    "after": _PHASES_ORDER,
    "needs": _PHASES_ORDER,
    "dependsOn": _PHASES_ORDER,
    "depends_on": _PHASES_ORDER,
    "workflow": "a step calls no workflow: start it with a trigger",
    "workflowId": "a step calls no workflow: start it with a trigger",
}
"""What other systems have in a step, and what is there instead."""
_OBJECTS = {
    "tool": "write {connectionId: SERVER, toolName: TOOL}",
    "retry": "write {maxAttempts: 3, backoffMs: 1000}",
    "input": 'write an object, as in {name: "@fetch.output.name"}',
}


def shape_hint(code: str, path: Path, form: dict[str, Any]) -> str | None:
    """Say how a part of a phase form is written, for one that has another shape; None where the fault says it."""
    if code == "unknown_field":
        return _of_field(path)
    if code != "wrong_type":
        return None
    if path == ("steps",):
        return "write a list of phases, each of them a list of steps: [[{name: …}], [{name: …}]]"
    if path[:1] == ("steps",) and len(path) == 2:
        return "a phase is a list of steps, also with one step: write `- - name: …` in YAML, [{…}] in JSON"
    if path[:1] == ("steps",) and len(path) == 4:
        return _of_step(str(path[3]), _value(path, form))
    if path[:1] == ("steps",) and path[3:] == ("sleep", "ms"):
        return "write the milliseconds as a number, as in 5000 for five seconds"
    return "write a list, as in [{workflowId: …, inputs: {…}}]" if path == ("triggers",) else None


def _of_field(path: Path) -> str | None:
    name = str(path[-1])
    if len(path) == 1:
        near = "steps" if name in ("phase", "phases") else closest(name, _FIELDS)
        return f"did you mean '{near}'?" if near else f"the possible fields are {', '.join(map(repr, sorted(_FIELDS)))}"
    if path[0] == "triggers" and name in ("if", "when", "condition"):
        return "there is no condition: a ref in 'inputs' that is missing skips the trigger, so let the output decide"
    return _ELSEWHERE.get(name) if path[0] == "steps" and len(path) == 4 else None


def _of_step(field: str, found: Any) -> str | None:
    if field == "sleep":
        is_number = isinstance(found, int | float) and not isinstance(found, bool)
        return f"write {{ms: {found if is_number else 5000}}}"
    return _OBJECTS.get(field)


def _value(path: Path, form: Any) -> Any:
    for segment in path:
        form = form[segment]
    return form
