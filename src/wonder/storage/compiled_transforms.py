"""Compiled transforms: kept by the hash of what they were made of, so that a restart compiles nothing (PHS-5)."""

from typing import NamedTuple

from wonder.language.schemas import Schema
from wonder.storage.runs.cells import from_json, text, to_json
from wonder.storage.store import Reader, Store


class KeptTransform(NamedTuple):
    """What the compiler gave for a source."""

    javascript: str
    input_schema: Schema
    output_schema: Schema


async def find_compiled(reader: Reader, hash: str) -> KeptTransform | None:
    """Find what was compiled already."""
    rows = await reader.fetch("compiled_transform", hash)
    if not rows:
        return None
    javascript, input_schema, output_schema = rows[0]
    return KeptTransform(text(javascript), from_json(input_schema), from_json(output_schema))


async def keep_compiled(store: Store, hash: str, kept: KeptTransform) -> None:
    """Keep what was compiled; the same again changes nothing."""
    row = hash, kept.javascript, to_json(kept.input_schema), to_json(kept.output_schema)
    await store.commit([("keep_compiled_transform", [row])], independent=True)
