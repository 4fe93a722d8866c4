"""Checks of a workflow's triggers (PHS-6)."""

import re
from collections.abc import Iterator, Mapping

from wonder.definitions.checks.findings import Findings
from wonder.definitions.checks.lookup import Lookup
from wonder.definitions.drafts import TriggerDraft, WorkflowDraft
from wonder.definitions.faults import Path
from wonder.definitions.references import Reference
from wonder.errors import WonderError
from wonder.language.paths import parse_dotted
from wonder.language.schemas import closest, shape_at
from wonder.language.values import JsonValue

_REF = re.compile(r"@(?!@)")


def check_triggers(
    workflow: WorkflowDraft, beside: Mapping[str, WorkflowDraft], lookup: Lookup, findings: Findings
) -> None:
    """Note what a workflow's triggers name that can't be there, and targets that are not known yet."""
    for trigger in workflow.triggers:
        if trigger.target and not lookup.workflow(trigger.target):
            message = f"there is no workflow '{trigger.target}' yet: the trigger fails until there is one"
            findings.warning("trigger_target", (*trigger.path, "workflowId"), message, "deploy that workflow as well")
        elif trigger.target and (way := _way_back(trigger.target, workflow, beside)):
            through = " → ".join(f"'{name}'" for name in way[1:-1])
            message = f"'{workflow.name}' triggers itself" + (f" through {through}" if through else "")
            hint = "see to it that the output stops it; runs triggered 10 levels deep are refused"
            findings.warning("trigger_cycle", (*trigger.path, "workflowId"), message, hint)
        _check_refs(trigger, workflow, findings)


def _way_back(target: Reference, workflow: WorkflowDraft, beside: Mapping[str, WorkflowDraft]) -> list[str]:
    """Find a way from a triggered workflow back to the one that triggers it, through those of the same file."""
    if target.library or target.version:
        return []
    ways, seen = [[workflow.name, target.name]], {target.name}
    while ways:
        way = ways.pop(0)
        if way[-1] == workflow.name:
            # Each workflow of a circle comes back to itself; the first of them tells of it.
            return way if workflow.name == min(way, key=list(beside).index) else []
        for trigger in beside[way[-1]].triggers if way[-1] in beside else ():
            following = trigger.target
            if following and not following.library and following.name not in seen:
                seen.add(following.name)
                ways.append([*way, following.name])
    return []


def _check_refs(trigger: TriggerDraft, workflow: WorkflowDraft, findings: Findings) -> None:
    places: list[tuple[Path, str]] = []
    if trigger.body.for_each is not None:
        if not _REF.match(trigger.body.for_each):
            message = f"'{trigger.body.for_each}' is no ref"
            findings.error("bad_ref", (*trigger.path, "forEach"), message, "write a ref, such as @output.items")
        else:
            places.append(((*trigger.path, "forEach"), trigger.body.for_each))
    places += _refs(trigger.body.inputs, (*trigger.path, "inputs"))
    for where, text in places:
        _check_ref(text, where, trigger, workflow, findings)


def _check_ref(text: str, where: Path, trigger: TriggerDraft, workflow: WorkflowDraft, findings: Findings) -> None:
    try:
        path = parse_dotted(text[1:])
    except WonderError as error:
        findings.error("bad_ref", where, f"'{text}' is no ref: {error}", "write a ref, such as @output.items")
        return
    roots = {"input": workflow.body.input_schema, "output": workflow.body.output_schema}
    in_each = trigger.body.for_each is not None and where[-1] != "forEach"
    if path[0] in ("item", "index"):
        if not in_each:
            message = f"'{text}' is only there with forEach"
            findings.error("missing_ref", where, message, "add forEach, or write @output.… or @input.…")
    elif path[0] not in roots:
        findings.error("missing_ref", where, f"a trigger can't read '{text}'", "write @output.… or @input.…")
    elif (shape := shape_at(roots[str(path[0])], path[1:])).kind == "absent":
        assert shape.at is not None
        message = f"'{text}' is never there: {path[0]}_schema has no such field"
        near = closest(str(path[shape.at + 1]), shape.available)
        hint = f"did you mean '{near}'?" if near else f"correct the ref, or {path[0]}_schema"
        findings.error("missing_ref", where, message, hint)


def _refs(value: JsonValue, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        if _REF.match(value):
            yield path, value
    elif isinstance(value, dict):
        for key, element in value.items():
            yield from _refs(element, (*path, key))
    elif isinstance(value, list):
        for i, element in enumerate(value):
            yield from _refs(element, (*path, i))
