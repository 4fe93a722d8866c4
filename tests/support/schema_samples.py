"""Schemas and values at random, for the tests of everything that reads schemas."""

from random import Random
from typing import Any

NAMES = ("a", "b", "c", "kind")
SCALARS = (None, True, False, 0, 1, 2, 7, -3, 1.0, 2.5, "", "a", "b", "abc", "2026-01-01")
PATTERNS = ("^a", "b$", "^[a-z]+$", "^.{2,}$")


def random_schema(random: Random, levels: int = 3, names: tuple[str, ...] = ()) -> Any:
    """Make a schema without faults; `names` are definitions that it may refer to below itself."""
    kind = random.random()
    if kind < 0.04:
        return random.random() < 0.8
    if kind < 0.10:
        return {}
    if kind < 0.16:
        return {"const": random_value(random, 1)}
    if kind < 0.24:
        return {"enum": [random_value(random, 1) for _ in range(random.randint(1, 3))]}
    if levels and kind < 0.46:
        return _combined(random, levels - 1, names)
    if levels and kind < 0.66:
        return _object(random, levels - 1, names)
    if levels and kind < 0.76:
        return _array(random, levels - 1, names)
    return _scalar(random)


def random_document(random: Random, levels: int = 3) -> Any:
    """Make a schema that may refer to definitions of its own, some of which refer to themselves below a property."""
    if random.random() < 0.6:
        return random_schema(random, levels)
    names = ("one", "two")
    schema = random_schema(random, levels, names)
    if not isinstance(schema, dict):
        return schema
    # A reference stands only below `properties` and `items` (see _below), so nothing is endless.
    return schema | {"$defs": {name: random_schema(random, 2, names) for name in names}}


def random_value(random: Random, levels: int = 3) -> Any:
    """Make any JSON value of few different parts, so that values often are alike."""
    kind = random.random()
    if levels and kind < 0.3:
        return {name: random_value(random, levels - 1) for name in NAMES if random.random() < 0.5}
    if levels and kind < 0.45:
        return [random_value(random, levels - 1) for _ in range(random.randint(0, 3))]
    return random.choice(SCALARS)


def fitting_value(random: Random, schema: Any, root: Any, levels: int = 6) -> Any:
    """Make a value that probably fits a schema; whoever needs to be sure checks it."""
    if not isinstance(schema, dict) or not schema or levels <= 0:
        return random_value(random, 1)
    if "$ref" in schema and random.random() < 0.95:
        target = root["$defs"][schema["$ref"].rsplit("/", 1)[-1]]
        return fitting_value(random, target, root, levels - 1)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return random.choice(schema["enum"])
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema and random.random() < 0.8:
            return fitting_value(random, random.choice(schema[keyword]), root, levels - 1)
    if "then" in schema and random.random() < 0.6:
        branch = schema.get(random.choice(("if", "then", "else")), True)
        return fitting_value(random, branch, root, levels - 1)
    if "allOf" in schema and random.random() < 0.8:
        values = [fitting_value(random, part, root, levels - 1) for part in schema["allOf"]]
        if all(isinstance(value, dict) for value in values):
            return {name: part for value in values for name, part in value.items()}
        return random.choice(values)
    return _fitting_type(random, schema, root, levels)


def _fitting_type(random: Random, schema: Any, root: Any, levels: int) -> Any:
    named = schema.get("type")
    types = named if isinstance(named, list) else [named]
    match random.choice(types):
        case "object":
            return _fitting_object(random, schema, root, levels)
        case "array":
            return _fitting_array(random, schema, root, levels)
        case "integer":
            return _fitting_number(random, schema)
        case "number":
            return _fitting_number(random, schema) + random.choice((0, 0.5, 0.0))
        case "string":
            return random.choice(("", "a", "b", "ab", "abc", "abcdefg", "xb", "é"))
        case "boolean":
            return random.random() < 0.5
        case "null":
            return None
    if "properties" in schema or "required" in schema or "additionalProperties" in schema:
        return _fitting_object(random, schema, root, levels)
    return random_value(random, 2)


def _fitting_object(random: Random, schema: Any, root: Any, levels: int) -> Any:
    value = {}
    for name, part in schema.get("properties", {}).items():
        if name in schema.get("required", ()) or random.random() < 0.7:
            value[name] = fitting_value(random, part, root, levels - 1)
    others = schema.get("additionalProperties", True)
    for name in (*NAMES, "other"):
        if name not in value and (name in schema.get("required", ()) or (others and random.random() < 0.3)):
            value[name] = fitting_value(random, others, root, levels - 1)
    return value


def _fitting_array(random: Random, schema: Any, root: Any, levels: int) -> Any:
    first = schema.get("prefixItems", [])
    count = (
        random.randint(schema.get("minItems", 0), min(schema.get("maxItems", 4), 4) if levels > 1 else 2)
        if (schema.get("minItems", 0) <= min(schema.get("maxItems", 4), 4 if levels > 1 else 2))
        else schema.get("minItems", 0)
    )
    rest = schema.get("items", True)
    return [
        fitting_value(random, first[index] if index < len(first) else rest, root, levels - 1) for index in range(count)
    ]


def _fitting_number(random: Random, schema: Any) -> Any:
    least = schema.get("minimum", schema.get("exclusiveMinimum", -5))
    most = schema.get("maximum", schema.get("exclusiveMaximum", least + 10))
    return random.randint(int(least), max(int(most), int(least)))


def _below(random: Random, levels: int, names: tuple[str, ...]) -> Any:
    if names and random.random() < 0.35:
        return {"$ref": f"#/$defs/{random.choice(names)}"}
    return random_schema(random, levels, names)


def _combined(random: Random, levels: int, names: tuple[str, ...]) -> Any:
    kind = random.random()
    if kind < 0.1:
        return {"not": random_schema(random, levels, names)}
    if kind < 0.2:
        parts = {"if": random_schema(random, levels, names), "then": random_schema(random, levels, names)}
        return parts | ({"else": random_schema(random, levels, names)} if random.random() < 0.5 else {})
    keyword = random.choice(("anyOf", "anyOf", "oneOf", "allOf"))
    schema = {keyword: [random_schema(random, levels, names) for _ in range(random.randint(1, 3))]}
    if random.random() < 0.3:
        return _object(random, levels, names) | schema
    return schema


def _object(random: Random, levels: int, names: tuple[str, ...]) -> Any:
    schema: dict[str, Any] = {}
    if random.random() < 0.8:
        schema["type"] = "object" if random.random() < 0.8 else ["object", "null"]
    if random.random() < 0.9:
        schema["properties"] = {name: _below(random, levels, names) for name in NAMES if random.random() < 0.5}
    if random.random() < 0.5:
        schema["required"] = [name for name in NAMES if random.random() < 0.4]
    if random.random() < 0.5:
        schema["additionalProperties"] = False if random.random() < 0.5 else _below(random, levels, names)
    if random.random() < 0.1:
        schema["patternProperties"] = {random.choice(PATTERNS): _below(random, levels, names)}
    if random.random() < 0.1:
        schema["minProperties"] = random.randint(0, 2)
    if random.random() < 0.1:
        schema["maxProperties"] = random.randint(0, 4)
    if random.random() < 0.1:
        schema["propertyNames"] = {"maxLength": 4}
    if random.random() < 0.08:
        schema["dependentRequired"] = {"a": ["b"]}
    if random.random() < 0.08:
        schema["dependentSchemas"] = {"a": random_schema(random, levels, names)}
    return schema


def _array(random: Random, levels: int, names: tuple[str, ...]) -> Any:
    schema: dict[str, Any] = {"type": "array"} if random.random() < 0.8 else {}
    if random.random() < 0.85:
        schema["items"] = _below(random, levels, names)
    if random.random() < 0.25:
        schema["prefixItems"] = [_below(random, levels, names) for _ in range(random.randint(1, 2))]
    if random.random() < 0.2:
        schema["minItems"] = random.randint(0, 2)
    if random.random() < 0.2:
        schema["maxItems"] = random.randint(0, 3)
    if random.random() < 0.15:
        schema["uniqueItems"] = True
    if random.random() < 0.1:
        schema["contains"] = _below(random, levels, names)
    return schema


def _scalar(random: Random) -> Any:
    kind = random.choice(("string", "integer", "number", "boolean", "null", "types"))
    if kind == "types":
        return {"type": random.sample(["string", "integer", "number", "boolean", "null", "array", "object"], 2)}
    schema: dict[str, Any] = {"type": kind}
    if kind == "string":
        for keyword in ("minLength", "maxLength"):
            if random.random() < 0.25:
                schema[keyword] = random.randint(0, 4)
        if random.random() < 0.15:
            schema["pattern"] = random.choice(PATTERNS)
    if kind in ("integer", "number"):
        for keyword in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
            if random.random() < 0.2:
                schema[keyword] = random.randint(-3, 7)
        if random.random() < 0.1:
            schema["multipleOf"] = random.choice((1, 2, 3, 0.5))
    return schema
