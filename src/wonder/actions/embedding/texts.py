"""What of an artifact a vector index embeds, and where its vectors are kept."""

from hashlib import sha256
from typing import Final

from wonder.definitions.records.resources import VectorIndex
from wonder.language.values import JsonValue, canonical_json, encode_json

_BETWEEN: Final = "\n\n"


def text_of(index: VectorIndex, schema_data: JsonValue) -> str:
    """Give the text of an artifact: its content fields in their order; empty if it has none of them.

    A text counts as it is, any other value as JSON. `a.b` is the field b of a, unless there is a field of that name.
    """
    found = [_field(schema_data, name) for name in index.content_fields]
    parts = [value if isinstance(value, str) else encode_json(value) for value in found if value is not None]
    return _BETWEEN.join(part for part in parts if part.strip())


def digest_of(text: str) -> str:
    """Give what tells a text from others."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def collection_of(index: VectorIndex) -> str:
    """Name the collection of an index's vectors: another one as soon as they are made in another way."""
    way: JsonValue = [
        index.embedding_provider,
        index.embedding_model,
        index.dimensions,
        list[JsonValue](index.content_fields),
    ]
    return f"{index.id}/{sha256(canonical_json(way).encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def _field(schema_data: JsonValue, name: str) -> JsonValue:
    if not isinstance(schema_data, dict):
        return None
    if name in schema_data:
        return schema_data[name]
    first, dot, rest = name.partition(".")
    return _field(schema_data.get(first), rest) if dot else None
