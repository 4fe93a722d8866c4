"""The compiled form of schemas, which checks values at the speed of machine code."""

import jsonschema_rs

from wonder.language.schemas.positions import Schema
from wonder.language.schemas.regexes import ENGINE
from wonder.language.values import JsonValue


def compile_checked(schema: Schema) -> jsonschema_rs.Validator:
    """Compile a schema that has no faults."""
    if isinstance(schema, dict):
        # Without them every schema is read alike, whatever draft it names and whatever it calls itself.
        schema = {keyword: held for keyword, held in schema.items() if keyword not in ("$id", "$schema")}
    return jsonschema_rs.Draft202012Validator(schema, retriever=_refuse, validate_formats=False, pattern_options=ENGINE)


def _refuse(uri: str) -> JsonValue:
    """Fetch nothing: `schema_faults` has refused what points outside, this holds if it ever missed something."""
    raise LookupError(f"{uri} is outside the schema")
