"""Every fault of a schema at once: its form, references that lead outside or nowhere, and what would never end."""

from collections.abc import Iterator

from wonder.language.schemas.defaults import Defaults
from wonder.language.schemas.expansion import expansion_faults
from wonder.language.schemas.explain import explain
from wonder.language.schemas.faults import SchemaFault, show_value
from wonder.language.schemas.grammar import grammar_faults
from wonder.language.schemas.positions import REFERENCES, Path, all_positions
from wonder.language.schemas.references import References, closest_place, is_local
from wonder.language.schemas.regexes import pattern_faults
from wonder.language.values import BadValue, JsonValue, check_value, show_path

SCHEMA_BYTES = 1_000_000
SCHEMA_DEPTH = 100
SUBSCHEMAS = 10_000
# The validator can't be made with an integer of more than 4,300 digits.
DIGITS = 1_000

# Read as 2020-12, whichever is named: keywords that changed their meaning in between are refused by name.
DRAFTS = (
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema",
)
_FAULTS_SHOWN = 100
_LARGE = 10**DIGITS


def schema_faults(schema: JsonValue) -> list[SchemaFault]:
    """Give all that is wrong with a schema, or an empty list when values can be checked against it."""
    faults = _size_faults(schema)
    if faults:
        return faults
    positions = all_positions(schema)
    if len(positions) > SUBSCHEMAS:
        message = f"the schema has {len(positions):,} subschemas; the limit is {SUBSCHEMAS:,}"
        return [SchemaFault("SCHEMA_TOO_LARGE", (), message, "share what repeats under $defs, or split the schema")]
    for path, subschema in positions.items():
        faults.extend(grammar_faults(subschema, path))
        faults.extend(_naming_faults(subschema, path))
    faults.extend(pattern_faults(list(_patterns(positions))))
    if isinstance(schema, dict):
        references = References(schema)
        faults.extend(_reference_faults(references))
        if not faults:
            faults.extend(expansion_faults(references))
        if not faults:
            faults.extend(_default_faults(references))
    return sorted(faults, key=_place)[:_FAULTS_SHOWN]


def _place(fault: SchemaFault) -> list[tuple[str, int]]:
    return [("", part) if isinstance(part, int) else (part, 0) for part in fault.path]


def _size_faults(schema: JsonValue) -> list[SchemaFault]:
    if not isinstance(schema, dict | bool):
        return list(grammar_faults(schema, ()))
    if _deeper_than(schema, SCHEMA_DEPTH):
        message = f"the schema is nested deeper than {SCHEMA_DEPTH} levels"
        return [SchemaFault("SCHEMA_TOO_DEEP", (), message, "put inner schemas under $defs and refer to them")]
    try:
        check_value(schema, max_bytes=SCHEMA_BYTES)
    except BadValue as error:
        if error.path:
            return [SchemaFault("SCHEMA_BAD_VALUE", error.path, error.reason, "a schema is plain JSON")]
        return [SchemaFault("SCHEMA_TOO_LARGE", (), f"the schema is too large: {error.reason}", "split the schema")]
    return _integer_faults(schema)


def _integer_faults(schema: JsonValue) -> list[SchemaFault]:
    left: list[tuple[Path, JsonValue]] = [((), schema)]
    while left:
        path, value = left.pop()
        if isinstance(value, int) and not -_LARGE < value < _LARGE:
            message = f"an integer of more than {DIGITS:,} digits, which no schema can have"
            return [SchemaFault("SCHEMA_BAD_VALUE", path, message, "write a smaller number, or leave the limit out")]
        if isinstance(value, dict):
            left += [((*path, key), held) for key, held in value.items()]
        elif isinstance(value, list):
            left += [((*path, index), held) for index, held in enumerate(value)]
    return []


def _deeper_than(schema: JsonValue, levels: int) -> bool:
    """Look level by level, so that not even a value nested without end exhausts the stack."""
    here: list[JsonValue] = [schema]
    for _ in range(levels + 1):
        inside: list[JsonValue] = []
        for value in here:
            if isinstance(value, dict):
                inside.extend(value.values())
            elif isinstance(value, list):
                inside.extend(value)
        if not inside:
            return False
        here = inside
    return True


def _naming_faults(schema: JsonValue, path: Path) -> Iterator[SchemaFault]:
    """Say what is wrong with the names that a schema gives itself or others."""
    if not isinstance(schema, dict):
        return
    for keyword in REFERENCES:
        reference = schema.get(keyword)
        if isinstance(reference, str) and not is_local(reference):
            message = f"{show_value(reference)} points outside this schema; nothing is ever fetched"
            hint = 'copy that schema here under $defs, and write "#/$defs/name"'
            yield SchemaFault("SCHEMA_OUTSIDE_REF", (*path, keyword), message, hint)
    draft = schema.get("$schema")
    if isinstance(draft, str) and not path and draft.rstrip("#") not in DRAFTS:
        message = f"{show_value(draft)} is a meta-schema from outside, which is not known here"
        hint = f'leave $schema out, or write "{DRAFTS[0]}"'
        yield SchemaFault("SCHEMA_OUTSIDE_REF", (*path, "$schema"), message, hint)
    for keyword in ("$id", "$schema"):
        if path and keyword in schema:
            message = f"`{keyword}` inside a schema would make a second schema of its own"
            hint = "leave it out; give a place a name with $anchor"
            yield SchemaFault("SCHEMA_NESTED_ID", (*path, keyword), message, hint)


def _patterns(positions: dict[Path, JsonValue]) -> Iterator[tuple[Path, str]]:
    for path, schema in positions.items():
        if not isinstance(schema, dict):
            continue
        if isinstance(pattern := schema.get("pattern"), str):
            yield (*path, "pattern"), pattern
        if isinstance(named := schema.get("patternProperties"), dict):
            for pattern in named:
                yield (*path, "patternProperties", pattern), pattern


def _reference_faults(references: References) -> Iterator[SchemaFault]:
    names_seen: set[str] = set()
    for path, schema in references.positions.items():
        if not isinstance(schema, dict):
            continue
        for keyword in REFERENCES:
            reference = schema.get(keyword)
            if isinstance(reference, str) and is_local(reference) and references.locate(reference) is None:
                message = f"{show_value(reference)} points at no schema in this schema"
                near = closest_place(references, reference)
                hint = f'write "{near}"' if near else 'define it under $defs, and write "#/$defs/name"'
                yield SchemaFault("SCHEMA_BAD_REF", (*path, keyword), message, hint)
        for keyword in ("$anchor", "$dynamicAnchor"):
            anchor = schema.get(keyword)
            if not isinstance(anchor, str):
                continue
            if anchor in names_seen:
                message = f"the name {show_value(anchor)} is given to two places"
                yield SchemaFault("SCHEMA_BAD_REF", (*path, keyword), message, "give each place a name of its own")
            names_seen.add(anchor)


def _default_faults(references: References) -> Iterator[SchemaFault]:
    defaults = Defaults(references)
    for path, schema in references.positions.items():
        if not isinstance(schema, dict) or "default" not in schema:
            continue
        default = defaults.fill(schema["default"], schema)
        if defaults.stopped:
            message = "filling in this default asks for itself again, or for very many others"
            hint = "write the inner values into the default, or remove the default of an inner property"
            yield SchemaFault("SCHEMA_ENDLESS", (*path, "default"), message, hint)
            return
        for fault in explain(references, schema, default, faults_max=1):
            where = f" at {show_path(fault.path)}" if fault.path else ""
            message = f"the default {show_value(schema['default'])} does not fit its own schema{where}: {fault.message}"
            hint = "change the default, or what the schema asks for"
            yield SchemaFault("SCHEMA_BAD_DEFAULT", (*path, "default"), message, hint)
