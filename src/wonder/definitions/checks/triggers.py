"""Checks of a workflow's triggers (PHS-6)."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from wonder.definitions.checks.lookup import Lookup
from wonder.definitions.drafts import TriggerDraft, WorkflowDraft
from wonder.definitions.faults import Path
from wonder.definitions.findings import Findings
from wonder.definitions.records.graph import WorkflowBody
from wonder.definitions.references import Reference
from wonder.errors import WonderError
from wonder.language.refs import is_ref, parse_ref, refs_in
from wonder.language.schemas import Schema, assignable, closest, shape_at
from wonder.language.schemas.composing import Composer, object_schema
from wonder.language.schemas.presence import required_names
from wonder.language.values import JsonValue, show_path

_ELEMENT = re.compile(r"\.(\d+)(?=[.\[]|$)")
# Of the differences between two schemas, how many are told: the others mostly come from these.
_TOLD = 10


def check_triggers(
    workflow: WorkflowDraft, beside: Mapping[str, WorkflowDraft], lookup: Lookup, findings: Findings
) -> None:
    """Note what a workflow's triggers name that can't be there, and targets that are not known yet."""
    for trigger in workflow.triggers:
        target = lookup.workflow(trigger.target) if trigger.target else None
        if trigger.target and not target:
            message = f"there is no workflow '{trigger.target}' yet: the trigger fails until there is one"
            findings.warning("trigger_target", (*trigger.path, "workflowId"), message, "deploy that workflow as well")
        elif trigger.target and (way := _way_back(trigger.target, workflow, beside, lookup)):
            through = " → ".join(f"'{name}'" for name in way[1:-1])
            message = f"'{workflow.name}' triggers itself" + (f" through {through}" if through else "")
            hint = "make sure that the output ends the cycle; runs triggered more than 10 levels deep are rejected"
            findings.warning("trigger_cycle", (*trigger.path, "workflowId"), message, hint)
        if trigger.body.on_timeout is not None and trigger.body.workflow_timeout_ms is None:
            message = "on_timeout says what happens at workflow_timeout_ms, and this trigger has none"
            findings.error("useless_on_timeout", (*trigger.path, "on_timeout"), message, "add workflow_timeout_ms")
        _check_refs(trigger, workflow, findings)
        if target:
            _check_inputs(trigger, workflow, target, findings)


def _way_back(
    target: Reference, workflow: WorkflowDraft, beside: Mapping[str, WorkflowDraft], lookup: Lookup
) -> list[str]:
    """Find a way from a triggered workflow back to the one that triggers it, through those of the file and stored."""
    if target.library or target.version:
        return []
    ways, seen = [[workflow.name, target.name]], {target.name}
    while ways:
        way = ways.pop(0)
        if way[-1] == workflow.name:
            # Each workflow of a circle comes back to itself; the first of them tells of it.
            return way if workflow.name == min(filter(beside.__contains__, way), key=list(beside).index) else []
        for following in _targets(way[-1], beside, lookup):
            if following not in seen:
                seen.add(following)
                ways.append([*way, following])
    return []


def _targets(name: str, beside: Mapping[str, WorkflowDraft], lookup: Lookup) -> Sequence[str]:
    if name not in beside:
        return lookup.triggered_by(name)
    targets = [trigger.target for trigger in beside[name].triggers]
    return [target.name for target in targets if target and not target.library]


def _check_refs(trigger: TriggerDraft, workflow: WorkflowDraft, findings: Findings) -> None:
    places: list[tuple[Path, str]] = []
    if trigger.body.for_each is not None:
        if not is_ref(trigger.body.for_each):
            message = f"'{trigger.body.for_each}' is not a ref"
            findings.error("bad_ref", (*trigger.path, "forEach"), message, "write a ref, such as @output.items")
        else:
            places.append(((*trigger.path, "forEach"), trigger.body.for_each))
    inputs: JsonValue = trigger.body.inputs
    places += [((*trigger.path, "inputs", *place), text) for place, text in refs_in(inputs)]
    for where, text in places:
        _check_ref(text, where, trigger, workflow, findings)


def _check_ref(text: str, where: Path, trigger: TriggerDraft, workflow: WorkflowDraft, findings: Findings) -> None:
    try:
        path = parse_ref(text)
    except WonderError as error:
        meant = _ELEMENT.sub(r"[\1]", text)
        hint = "write a ref, such as @output.items" if meant == text else f"an element of a list is written {meant}"
        findings.error("bad_ref", where, f"'{text}' is not a ref: {error}", hint)
        return
    in_each = trigger.body.for_each is not None and where[-1] != "forEach"
    if path[0] in ("item", "index"):
        if not in_each:
            message = f"'{text}' exists only with forEach"
            findings.error("missing_ref", where, message, "add forEach, or write @output.… or @input.…")
        return
    seen = _seen_by(path, workflow)
    if seen is None:
        findings.error("missing_ref", where, f"a trigger can't read '{text}'", "write @output.… or @input.…")
    elif (shape := shape_at(seen.schema, seen.path)).kind == "absent":
        assert shape.at is not None
        message = f"'{text}' does not exist: {seen.name} has no such field"
        near = closest(str(seen.path[shape.at]), shape.available)
        hint = f"did you mean '{near}'?" if near else f"correct the ref, or {seen.name}"
        findings.error("missing_ref", where, message, hint)


def _check_inputs(trigger: TriggerDraft, workflow: WorkflowDraft, target: WorkflowBody, findings: Findings) -> None:
    """Refuse inputs that the target, as it is now, does not take: a type that may be another, a field that it lacks."""
    where, hint = (*trigger.path, "inputs"), "correct the inputs, or deploy the target first if it has changed"
    says = f"the workflow '{trigger.target}' would refuse this input"
    for name in required_names(target.input_schema):
        needed = shape_at(target.input_schema, (name,)).schema
        if name not in trigger.body.inputs and not (isinstance(needed, dict) and "default" in needed):
            findings.error("trigger_input", where, f"{says}: '{name}' is missing", hint)
    for name, value in trigger.body.inputs.items():
        wanted = shape_at(target.input_schema, (name,))
        if wanted.kind == "absent":
            near = closest(name, wanted.available)
            message = f"the workflow '{trigger.target}' has no input '{name}'"
            findings.error("trigger_input", (*where, name), message, f"did you mean '{near}'?" if near else hint)
            continue
        given = _schema_of(value, trigger, workflow)
        # What could not be shown to fit, and of which no value is known that does not, is left to the run.
        found = [one for one in assignable(given, wanted.schema, declared=True) if one.certain]
        for mismatch in found[:_TOLD]:
            inside = f" at '{show_path(mismatch.path)}'" if mismatch.path else ""
            message = f"{says}: e{mismatch.message[1:]}{inside}"
            findings.error("trigger_input", (*where, name), message, hint)


def _schema_of(value: JsonValue, trigger: TriggerDraft, workflow: WorkflowDraft) -> Schema:
    """Describe one of the inputs, or a part of it, as far as it is known."""
    if isinstance(value, str):
        return _schema_of_ref(value, trigger, workflow) if is_ref(value) else {"const": value.removeprefix("@")}
    if isinstance(value, dict):
        members = {key: _schema_of(part, trigger, workflow) for key, part in value.items()}
        return object_schema(members, members)
    if isinstance(value, list):
        composer = Composer()
        parts = [composer.part(_schema_of(part, trigger, workflow)) for part in value]
        return composer.whole({"type": "array", "prefixItems": parts, "items": False, "minItems": len(parts)})
    return {"const": value}


def _schema_of_ref(text: str, trigger: TriggerDraft, workflow: WorkflowDraft) -> Schema:
    """Describe what a ref reads; anything if nothing is known of it, or it was told that it can't be read."""
    try:
        path = parse_ref(text)
        if path[0] == "index":
            return {"type": "integer", "minimum": 0}
        if path[0] == "item":
            path = (*parse_ref(trigger.body.for_each or ""), 0, *path[1:])
    except WonderError:
        return {}
    seen = _seen_by(path, workflow)
    shape = shape_at(seen.schema, seen.path) if seen else None
    return shape.schema if shape and shape.kind == "known" else {}


class _Seen(NamedTuple):
    """Where a ref leads: a path into what one of the workflow's schemas describes."""

    name: str
    schema: Schema
    path: Path


def _seen_by(path: Path, workflow: WorkflowDraft) -> _Seen | None:
    body = workflow.body
    if path[0] in ("input", "output"):
        schema = body.input_schema if path[0] == "input" else body.output_schema
        return _Seen(f"{path[0]}_schema", schema, path[1:])
    # PHS-1: a workflow of the phase form keeps what its steps gave there, and its schema says so.
    properties = body.context_schema.get("properties") if isinstance(body.context_schema, dict) else None
    if path[1:2] == ("output",) and isinstance(properties, dict) and "steps" in properties:
        return _Seen("context_schema", body.context_schema, ("steps", path[0], *path[2:]))
    return None
