"""The JSON Schema of the file form, so that editors complete and check it (FIL-7)."""

from typing import Any

from pydantic import AliasChoices, ValidationError
from pydantic.json_schema import models_json_schema

from wonder.definitions.file_form.models import BundleFile, NodeFile, StepFile, TransitionFile, WorkflowFile
from wonder.definitions.file_form.phase_form import BESIDE_PHASES
from wonder.definitions.kinds import KINDS
from wonder.definitions.records.fields import Record


def file_form_schema(phase_form: type[Record] | None = None) -> dict[str, Any]:
    """Give the schema of a whole definition file; `phase_form` is the record of a workflow in that form (FIL-5)."""
    models: list[type[Record]] = [
        BundleFile,
        *(kind.configuration for kind in KINDS.own.values()),
        *([phase_form] if phase_form else []),
    ]
    references, definitions = models_json_schema(
        [(model, "validation") for model in models], by_alias=True, ref_template="#/$defs/{model}"
    )
    defs: dict[str, Any] = definitions["$defs"]
    for model in (NodeFile, StepFile, TransitionFile, WorkflowFile):
        _allow_every_spelling(model, defs[model.__name__])
    implementations = {name: references[kind.configuration, "validation"] for name, kind in KINDS.own.items()}
    implementations |= {
        name: _announced_schema(name, kind.configuration, defs) for name, kind in KINDS.announced.items()
    }
    defs["ActionFile"]["properties"]["kind"]["enum"] = KINDS.names()
    _check_implementation_by_kind(defs["ActionFile"], implementations)
    for name in ("requires", "produces"):  # of an action, where null is the same as not given
        defs["ActionFile"]["properties"][name]["type"].append("null")
    for name, rule in _RULES.items():
        if name in defs:
            defs[name].setdefault("allOf", []).append(rule)
    defs["BundleFile"]["minProperties"] = 1
    main = defs["BundleFile"]["properties"]["workflow"]
    main.setdefault("allOf", []).append(_if_object(_given("name")))
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Wonder definition file"}
    if phase_form is None:
        bundle: dict[str, Any] = defs.pop("BundleFile")
        return whole | bundle | {"$defs": dict(sorted(defs.items()))}
    _allow_phase_form(defs, phase_form)
    either = _if_phases({"$ref": f"#/$defs/{phase_form.__name__}"}, {"$ref": "#/$defs/BundleFile"})
    return whole | {"type": "object"} | either | {"$defs": dict(sorted(defs.items()))}


def _allow_phase_form(defs: dict[str, Any], phase_form: type[Record]) -> None:
    """Let a workflow be in the phase form wherever one can be; under a name of the file it need not repeat that."""
    name = phase_form.__name__
    named = f"{name}Named"
    defs[named] = {**defs[name], "required": [field for field in defs[name]["required"] if field != "name"]}
    properties = defs["BundleFile"]["properties"]
    graph = _if_bound({"$ref": "#/$defs/BoundWorkflowFile"}, {"$ref": "#/$defs/WorkflowFile"})
    properties["workflow"] |= {"anyOf": [_if_phases({"$ref": f"#/$defs/{name}"}, graph), {"type": "null"}]}
    properties["workflows"]["additionalProperties"] = _if_phases({"$ref": f"#/$defs/{named}"}, graph)
    # What may stand beside a workflow that is a whole file.
    beside = {section: properties[section] for section in BESIDE_PHASES if section in properties}
    defs[name] = {**defs[name], "properties": {**defs[name]["properties"], **beside}}


def _if_phases(then: dict[str, Any], otherwise: dict[str, Any]) -> dict[str, Any]:
    return {"if": {"type": "object", "required": ["steps"]}, "then": then, "else": otherwise}


def _if_bound(then: dict[str, Any], otherwise: dict[str, Any]) -> dict[str, Any]:
    return {"if": {"type": "object", "required": ["workflow_def_id"]}, "then": then, "else": otherwise}


def _allow_every_spelling(model: Any, schema: dict[str, Any]) -> None:
    """Pydantic describes the first spelling of a field only; the records' own names are allowed as well (FIL-6)."""
    for field in model.model_fields.values():
        if not isinstance(field.validation_alias, AliasChoices):
            continue
        first, *others = [str(choice) for choice in field.validation_alias.choices]
        for other in others:
            schema["properties"][other] = schema["properties"][first]
        if first in schema.get("required", []):
            schema["required"].remove(first)
            choice = {"oneOf": [{"required": [spelling]} for spelling in (first, *others)]}
            schema.setdefault("allOf", []).append(choice)


def _check_implementation_by_kind(schema: dict[str, Any], implementations: dict[str, Any]) -> None:
    schema["allOf"] = [
        {
            "if": {"properties": {"kind": {"const": kind}}, "required": ["kind"]},
            "then": {
                "properties": {"implementation": implementation},
                **({} if _may_be_empty(kind) else {"required": ["implementation"]}),
            },
        }
        for kind, implementation in implementations.items()
    ]


def _announced_schema(kind: str, model: type[Record], defs: dict[str, Any]) -> dict[str, Any]:
    """Describe what another's kind takes; its records may be called the same as ours, so they are named apart."""
    schema = model.model_json_schema(by_alias=True, ref_template=f"#/$defs/{kind}.{{model}}")
    defs |= {f"{kind}.{name}": inner for name, inner in schema.pop("$defs", {}).items()}
    return schema


def _may_be_empty(kind: str) -> bool:
    found = KINDS.find(kind)
    assert found
    try:
        found.configuration.model_validate({})
    except ValidationError:
        return False
    return True


def _given(name: str) -> dict[str, Any]:
    """Ask for a field that is not null, which is the same as absent."""
    return {"required": [name], "properties": {name: {"not": {"type": "null"}}}}


def _if_object(schema: dict[str, Any]) -> dict[str, Any]:
    return {"if": {"type": "object"}, "then": schema}


def _not_both(one: str, other: str) -> dict[str, Any]:
    return {"not": {"allOf": [_given(one), _given(other)]}}


# What a record asks for beyond its single fields; pydantic knows these rules as code only.
_RULES: dict[str, dict[str, Any]] = {
    "NodeFile": {"oneOf": [_given(name) for name in ("task", "task_id", "action")]},
    "TransitionFile": {"allOf": [_not_both("foreach", "spawn_count"), _not_both("foreach", "synchronization")]},
    "LoopConfig": {"anyOf": [_given("max_iterations"), _given("timeout_ms")]},
    "ScheduleFile": {"oneOf": [_given("cron"), _given("every_ms")]},
    "PhaseStep": {"oneOf": [_given(name) for name in ("tool", "transform", "sleep")]},
    "PhaseSleep": {"oneOf": [_given("ms"), _given("until")]},
}
