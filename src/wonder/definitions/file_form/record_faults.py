"""What pydantic found wrong in a record, as faults that a person understands."""

from collections.abc import Callable, Iterator
from typing import Any, Protocol, get_args

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from wonder.definitions.faults import Fault, Path
from wonder.definitions.file_form.models import field_names
from wonder.definitions.file_form.wording import FORMS, TAGS, hint_for_type, hint_of_rule, nearest, show, some
from wonder.definitions.records.fields import Record
from wonder.language.values import JsonValue

_WANTED = {
    "string_type": "a string",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
}


_SECOND_SPELLINGS = {
    "initial_node_id": "initial_node",
    "from_node_id": "from",
    "to_node_id": "to",
    "task_id": "task",
    "action_id": "action",
}
"""The records' own names of fields that have a shorter one in files (FIL-6)."""


def record_faults(error: ValidationError, model: type[Record], value: JsonValue, prefix: Path) -> Iterator[Fault]:
    """Turn all errors of one validation into faults; `value` stands at `prefix` of the document."""
    for details in error.errors(include_url=False):
        path = _path_in_document(details, value)
        yield _fault(details, model, path, prefix)


def _path_in_document(details: ErrorDetails, value: Any) -> Path:
    """Leave out of pydantic's location the tags of unions, which are not in the document."""
    path: list[str | int] = []
    location, tag = details["loc"], -1
    for i, segment in enumerate(location):
        if segment == "[key]":
            break
        if isinstance(value, dict) and segment in (value.get("type"), value.get("transport")) and i != tag:
            tag = i + 1  # the same word may follow, as a field that does not exist
            continue
        if (isinstance(value, dict) and segment in value) or (
            isinstance(value, list) and isinstance(segment, int) and segment < len(value)
        ):
            value = value[segment]  # type: ignore[index]  # the condition says that it fits
            path.append(segment)
        elif i == len(location) - 1 and details["type"] == "missing":
            path.append(segment)
    return tuple(path)


def _fault(details: ErrorDetails, model: type[Record], path: Path, prefix: Path) -> Fault:
    kind, found = details["type"], details["input"]

    def fault(code: str, message: str, hint: str, *below: str) -> Fault:
        return Fault(code, (*prefix, *path, *below), message, hint)

    if kind == "missing":
        return fault("missing_field", f"the field '{path[-1]}' is missing", f"add '{path[-1]}'")
    if kind == "extra_forbidden":
        possible = _fields_at(model, path[:-1])
        if path[-1] in possible and path[-1] in _SECOND_SPELLINGS:
            first = _SECOND_SPELLINGS[str(path[-1])]
            return fault("duplicate_field", f"'{first}' and '{path[-1]}' are the same field", "keep one of them")
        allowed = sorted(possible - {str(path[-1])})
        near = nearest(str(path[-1]), allowed)
        others = f"the possible fields are {some(allowed)}" if allowed else "leave it out"
        hint = f"did you mean '{near}'?" if near else others
        return fault("unknown_field", f"there is no field '{path[-1]}' here", hint)
    if kind in _WANTED:
        wanted = _WANTED[kind]
        return fault("wrong_type", f"expected {wanted}, found {show(found)}", hint_for_type(wanted, path, found))
    return _VALUE_FAULTS.get(kind, _other_fault)(details, fault, path)


class _Make(Protocol):
    """Makes a fault at the place of the error, or at a field below it."""

    def __call__(self, code: str, message: str, hint: str, *below: str) -> Fault: ...


def _choice_fault(details: ErrorDetails, fault: _Make, path: Path) -> Fault:
    expected = str(details["ctx"]["expected"])
    options = [option.strip(" '") for option in expected.replace(" or ", ", ").split(", ")]
    found = details["input"]
    near = nearest(found, options) if isinstance(found, str) else None
    if near:
        hint = f"did you mean '{near}'?"
    elif path[-2:] == ("synchronization", "strategy"):
        hint = "write 'all', 'any', or {m_of_n: 2}"
    elif path[-1:] == ("kind",):
        hint = f"write one of {some(options)}; if a package adds it, install that package here"
    else:
        hint = f"write one of {some(options)}"
    wrong = f"not one of {some(options)}" if len(options) <= 8 else f"not a known {path[-1] if path else 'word'}"
    return fault("bad_choice", f"{show(found)} is {wrong}", hint)


def _tag_fault(details: ErrorDetails, fault: _Make, path: Path) -> Fault:
    field = str(details["ctx"]["discriminator"]).strip("'")
    if details["type"] == "union_tag_not_found":
        if not isinstance(details["input"], dict):
            return fault("wrong_type", f"expected an object, found {show(details['input'])}", "write an object")
        return fault("missing_field", f"the field '{field}' is missing", TAGS.get(field, f"add '{field}'"), field)
    options = [option.strip(" '") for option in str(details["ctx"]["expected_tags"]).split(",")]
    near = nearest(str(details["ctx"]["tag"]), options)
    hint = f"did you mean '{near}'?" if near else f"write one of {some(options)}"
    found = show(details["ctx"]["tag"])
    return fault("bad_choice", f"{found} is not one of {some(options)}", hint, field)


def _range_fault(details: ErrorDetails, fault: _Make, path: Path) -> Fault:
    context = details["ctx"]
    at_least = context.get("ge", context.get("gt"))
    limit = f"at least {at_least:,}" if at_least is not None else f"at most {context.get('le', context.get('lt')):,}"
    return fault("out_of_range", f"{show(details['input'])} is out of range", f"write a number of {limit}")


def _length_fault(details: ErrorDetails, fault: _Make, path: Path) -> Fault:
    found, context = details["input"], details["ctx"]
    unit = "characters" if isinstance(found, str) else "elements"
    name = f"'{path[-1]}'" if path and isinstance(path[-1], str) else "this"
    if "min_length" in context:
        # Nothing has a least length but 1.
        hint = "write at least one character" if found == "" else "add at least one"
        return fault("too_short", f"{name} is empty", hint)
    message = f"{show(found)} has {len(found):,} {unit}, the limit is {context['max_length']:,}"
    return fault("too_long", message, "shorten it")


def _form_fault(details: ErrorDetails, fault: _Make, path: Path) -> Fault:
    form = FORMS.get(str(path[-1]) if path else "", f"a string that matches {details['ctx']['pattern']}")
    return fault("bad_form", f"{show(details['input'])} does not have the required form", f"write {form}")


def _other_fault(details: ErrorDetails, fault: _Make, path: Path) -> Fault:
    return fault(details["type"], details["msg"], hint_of_rule(details["type"], details["input"]))


_VALUE_FAULTS: dict[str, Callable[[ErrorDetails, _Make, Path], Fault]] = {
    "literal_error": _choice_fault,
    "union_tag_invalid": _tag_fault,
    "union_tag_not_found": _tag_fault,
    "greater_than_equal": _range_fault,
    "greater_than": _range_fault,
    "less_than_equal": _range_fault,
    "less_than": _range_fault,
    "string_too_short": _length_fault,
    "string_too_long": _length_fault,
    "too_short": _length_fault,
    "too_long": _length_fault,
    "string_pattern_mismatch": _form_fault,
}


def _fields_at(model: type[Record], path: Path) -> set[str]:
    """Find the names of the fields that may stand at a path: of all models that can be there."""
    models = {model}
    for segment in path:
        inside = [names[str(segment)] for names in map(field_names, models) if segment in names]
        # An int, or a name that is no field, goes into a list or an object whose models were found already.
        models = {one for annotation in inside for one in _models_in(annotation)} if inside else models
    return {name for candidate in models for name in field_names(candidate)}


def _models_in(annotation: Any) -> Iterator[type[Record]]:
    if isinstance(annotation, type) and issubclass(annotation, Record):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)
