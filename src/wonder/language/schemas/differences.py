"""Keywords of a target, other than those that hold schemas, that the values of a source need not satisfy."""

from collections.abc import Iterator
from math import inf

from wonder.language.schemas.branches import Branch, Node
from wonder.language.schemas.disjointness import Emptiness, interval
from wonder.language.schemas.limits import named, number
from wonder.language.values import JsonValue


def plain_differences(branch: Branch, aim: Node, emptiness: Emptiness) -> Iterator[str]:
    """Name what the target asks for and the branch does not surely give."""
    schema = aim.schema
    assert isinstance(schema, dict)
    match branch.kind:
        case "integer" | "fraction":
            yield from _number_differences(branch, schema)
        case "string":
            yield from _length_differences(branch, schema)
            if "pattern" in schema and all(part.get("pattern") != schema["pattern"] for part in branch.schemas()):
                yield f"the pattern {schema['pattern']!r}"
        case "array":
            yield from _list_differences(branch, schema)
        case _:
            yield from _object_differences(branch, aim, schema, emptiness)


def _number_differences(branch: Branch, schema: dict[str, JsonValue]) -> Iterator[str]:
    low, high = interval(branch)
    above, below = branch.least("exclusiveMinimum"), branch.most("exclusiveMaximum")
    if branch.kind == "fraction":
        # No fraction is equal to a whole limit.
        above = max(above, low) if abs(low) != inf and low == int(low) else above
        below = min(below, high) if abs(high) != inf and high == int(high) else below
    for keyword, holds in {
        "minimum": low >= number(schema.get("minimum", low)),
        "maximum": high <= number(schema.get("maximum", high)),
        "exclusiveMinimum": max(low, above) > (limit := number(schema.get("exclusiveMinimum", -inf))) or above >= limit,
        "exclusiveMaximum": min(high, below) < (limit := number(schema.get("exclusiveMaximum", inf))) or below <= limit,
    }.items():
        if not holds:
            yield f"{keyword} {schema[keyword]}"
    if "multipleOf" in schema and not _steps_fit(branch, number(schema["multipleOf"])):
        yield f"multipleOf {schema['multipleOf']}"


def _steps_fit(branch: Branch, step: float) -> bool:
    own = [number(part["multipleOf"]) for part in branch.schemas() if "multipleOf" in part]
    own += [1] if branch.kind == "integer" else []
    return any(one == step or (one == int(one) and step == int(step) and one % step == 0) for one in own)


def _length_differences(branch: Branch, schema: dict[str, JsonValue]) -> Iterator[str]:
    if "minLength" in schema and max(branch.least("minLength"), 0) < number(schema["minLength"]):
        yield f"minLength {schema['minLength']}"
    if "maxLength" in schema and branch.most("maxLength") > number(schema["maxLength"]):
        yield f"maxLength {schema['maxLength']}"


def _list_differences(branch: Branch, schema: dict[str, JsonValue]) -> Iterator[str]:
    if "minItems" in schema and max(branch.least("minItems"), 0) < number(schema["minItems"]):
        yield f"minItems {schema['minItems']}"
    if "maxItems" in schema and branch.items_max() > number(schema["maxItems"]):
        yield f"maxItems {schema['maxItems']}"
    unique = any(part.get("uniqueItems") is True for part in branch.schemas())
    if schema.get("uniqueItems") is True and not unique and branch.items_max() > 1:
        yield "different elements"
    yield from (f"`{keyword}`" for keyword in ("contains", "unevaluatedItems") if keyword in schema)


def _object_differences(branch: Branch, aim: Node, schema: dict[str, JsonValue], emptiness: Emptiness) -> Iterator[str]:
    required = branch.required()
    possible = {*required, *(name for name in branch.names() if not emptiness.is_empty(branch.property(name)))}
    by_pattern = any(part.get("patternProperties") for part in branch.schemas())
    all_known = not by_pattern and emptiness.is_empty(branch.other_properties())
    if max(branch.least("minProperties"), len(required)) < number(schema.get("minProperties", 0)):
        yield f"minProperties {schema['minProperties']}"
    most = min(branch.most("maxProperties"), len(possible) if all_known else inf)
    if "maxProperties" in schema and most > number(schema["maxProperties"]):
        yield f"maxProperties {schema['maxProperties']}"
    for name, needed in named(schema, "dependentRequired").items():
        missing = {str(one) for one in needed} - {*required} if isinstance(needed, list) else set()
        if missing and not emptiness.is_empty(branch.property(name)):
            yield f"what must be there with {name!r}"
    if schema.get("unevaluatedProperties", True) is not True:
        yield "`unevaluatedProperties`"
    if "propertyNames" in schema:
        wanted = aim.below(schema["propertyNames"])
        if not all_known or not all(wanted.admits(name) for name in possible):
            yield "`propertyNames`"
