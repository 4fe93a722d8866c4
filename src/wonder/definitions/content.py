"""The content of a definition: what makes two versions the same or not, and its hash (RES-2)."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from wonder.definitions.records.fields import Record
from wonder.language.values import JsonValue, canonical_json


def fields_of(model: type[Record], body: Record) -> dict[str, Any]:
    """Give the fields of a body in their JSON form, without those that a subclass adds."""
    return body.model_dump(by_alias=True, include=set(model.model_fields))


def content_hash(content: Mapping[str, JsonValue]) -> str:
    """Hash what a definition says; ids and timestamps of its own must not be in it."""
    return sha256(canonical_json(dict(content)).encode()).hexdigest()
