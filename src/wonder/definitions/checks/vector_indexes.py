"""Checks of a vector index: its artifact types, and the fields of them that it embeds (ACT-6)."""

from wonder.definitions.checks.lookup import Lookup
from wonder.definitions.drafts import VectorIndexDraft
from wonder.definitions.findings import Findings
from wonder.definitions.records.resources import ArtifactTypeBody
from wonder.language.schemas import Schema, closest, shape_at


def check_vector_index(index: VectorIndexDraft, lookup: Lookup, findings: Findings) -> None:
    """Note types that are not there, and fields that none of the types has."""
    for reference in index.artifact_types:
        lookup.check(reference, findings)
    types = [lookup.named(reference) for reference in index.artifact_types]
    schemas = [one.schema_ for one in types if isinstance(one, ArtifactTypeBody)]
    if len(schemas) < len(index.body.artifact_type_ids):
        return  # Of one that is built in or not there nothing is known.
    for i, name in enumerate(index.body.content_fields):
        if all(_is_absent(schema, name) for schema in schemas):
            near = closest(name, sorted({field for schema in schemas for field in _fields(schema)}))
            hint = f"did you mean '{near}'?" if near else "add it to the schema of a type, or leave it out"
            message = f"no artifact type of this index has the field '{name}', so nothing of it could be found"
            findings.error("unknown_field", (*index.path, "content_fields", i), message, hint)


def _is_absent(schema: Schema, name: str) -> bool:
    """Say whether a field can't be there: neither by its whole name nor, for `a.b`, as the field b of a."""
    paths = ((name,), tuple(name.split(".")))
    return all(shape_at(schema, path).kind == "absent" for path in paths)


def _fields(schema: Schema) -> list[str]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return [str(name) for name in properties] if isinstance(properties, dict) else []
