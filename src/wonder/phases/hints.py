"""How to fix an error of a phase workflow, where its message alone leaves a newcomer at a loss.

Kept apart from the messages, which have the words of the specification (PHS-4): people are shown both.
"""

import re
from collections.abc import Iterator

from wonder.definitions.faults import Path
from wonder.language.schemas import Schema, describe
from wonder.language.values import JsonValue
from wonder.phases.errors import PhaseError
from wonder.phases.records import PhaseStep, PhaseWorkflow
from wonder.phases.refs import BadRef, parse_ref

# What other systems write around a ref, and before it.
_WRAPPED = re.compile(r"(?:\$?\{\{?|\$\.|\$)?\s*(?:steps\.|\$)?(.+?)\s*\}{0,2}")
# A longer text was never meant to be a ref, and the pattern above would take its time over many blanks.
_REF_LENGTH = 300
# What looks like a ref inside of a longer text, or as other systems write one.
_INSIDE = re.compile(r"(?<![\w@.])@([\w-]+)(?=[.\[]|$|[\s,;:!?)])|(?:\$\{|\{\{)\s*@?([\w-]+)[\s.\[}]")


def hint_for(error: PhaseError, workflow: PhaseWorkflow) -> str:
    """Say how to fix an error; nothing where its message says it all."""
    return _hint(error, workflow) or ""


def texts_like_refs(workflow: PhaseWorkflow) -> Iterator[tuple[Path, str]]:
    """Give the texts in inputs that seem to hold a ref and are none, with their places: only a whole text is one."""
    names = {"input", *(step.name for phase in workflow.steps for step in phase)}
    for i, phase in enumerate(workflow.steps):
        for j, step in enumerate(phase):
            known = names | {"item", "index", step.as_} if step.for_each else names
            for place, text in _texts(step.input or {}, ("steps", i, j, "input")):
                if not text.startswith("@") and any((one[1] or one[2]) in known for one in _INSIDE.finditer(text)):
                    yield place, text


def _hint(error: PhaseError, workflow: PhaseWorkflow) -> str | None:
    steps = {step.name: step for phase in workflow.steps for step in phase}
    step, source = steps.get(error.step), _source(error.ref, steps)
    if error.type == "missing_ref":
        return _of_item(error, step) or _of_declared(source)
    if error.type == "missing_schema":
        return _of_server(error)
    if error.type != "type_mismatch":
        return None
    if error.ref is None:
        return _of_text(error, steps)
    if error.field == "forEach":
        return _of_list(error, source)
    is_incomplete = isinstance(error.actual, dict) and "type" not in error.actual
    return _of_integer(error, source) or _of_null(error) or _of_missing(error, source, is_incomplete)


def _source(ref: str | None, steps: dict[str, PhaseStep]) -> PhaseStep | None:
    if ref is None:
        return None
    try:
        return steps.get(parse_ref(ref, steps).step)
    except BadRef:
        return None


def _of_server(error: PhaseError) -> str | None:
    """Say what to do about a server that could not be asked: its own words are in the message, and may be anybody's."""
    if error.field != "tool" or " is lost: " not in error.message:
        return None
    if "No module named 'mcp'" in error.message:
        return (
            "this `python` has no mcp SDK: activate the environment that has it, or write its whole path into command"
        )
    return "run the server's command by hand, in this folder, to see what it does"


def _of_item(error: PhaseError, step: PhaseStep | None) -> str | None:
    name = re.match(r"@([^.\[]+)", error.ref or "")
    if step is None or step.for_each is None or not name or "is not a ref" not in error.message:
        return None
    return f"the item is called @{step.as_} here; `as: {name[1]}` calls it @{name[1]}"


def _of_declared(source: PhaseStep | None) -> str | None:
    if source is None or source.transform is None or source.output_schema is None:
        return None
    return (
        f"the outputSchema of '{source.name}' stands in for the type Output of its transform: say all that it gives, "
        "with type, properties and required"
    )


def _of_integer(error: PhaseError, source: PhaseStep | None) -> str | None:
    if _kinds(error.expected) != {"integer"} or _kinds(error.actual) != {"number"}:
        return None
    if source is None or source.transform is None:
        return "make it a whole number in a transform in between, whose outputSchema says integer"
    return f"TypeScript has no integers: give step '{source.name}' an outputSchema in which this is {{type: integer}}"


def _of_list(error: PhaseError, source: PhaseStep | None) -> str | None:
    """Name the lists in an object that forEach was to go through."""
    properties = error.actual.get("properties") if isinstance(error.actual, dict) else None
    named = properties.items() if isinstance(properties, dict) else ()
    lists = [
        f"{error.ref}.{name}"
        for name, schema in named
        if isinstance(schema, dict) and all(kind.endswith("[]") for kind in _kinds(schema))
    ]
    if lists:
        return f"write a ref to a list: {', '.join(lists[:5])}"
    return _of_null(error) or _of_declared(source) or "write a ref to a list"


def _of_null(error: PhaseError) -> str | None:
    actual = _kinds(error.actual)
    if "null" in actual and len(actual) > 1 and "null" not in _kinds(error.expected):
        return "it may be null: put something in its place, or leave it out, in a transform in between"
    return None


def _of_missing(error: PhaseError, source: PhaseStep | None, is_incomplete: bool) -> str | None:
    if error.message.endswith("it may be missing"):
        return _of_declared(source) or "put something in its place in a transform in between"
    return _of_declared(source) if is_incomplete else None


def _of_text(error: PhaseError, steps: dict[str, PhaseStep]) -> str | None:
    """Give the ref that a text was meant to be."""
    text = error.actual.get("const") if isinstance(error.actual, dict) else None
    if not isinstance(text, str) or len(text) > _REF_LENGTH or not (body := _WRAPPED.fullmatch(text)):
        return None
    name, dot, rest = body[1].lstrip("@").partition(".")
    if name not in steps and name not in ("input", "item"):
        return None
    if name in steps and rest.split(".")[0] != "output":
        rest = f"output.{rest}" if dot else "output"
    return f'a ref begins with @: write "@{name}{"." if rest else ""}{rest}"'


def _kinds(schema: Schema | None) -> set[str]:
    return set() if schema is None else set(describe(schema).split(" | "))


def _texts(value: JsonValue, place: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, dict):
        for key, element in value.items():
            yield from _texts(element, (*place, key))
    elif isinstance(value, list):
        for index, element in enumerate(value):
            yield from _texts(element, (*place, index))
