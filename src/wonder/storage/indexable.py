"""What vector indexes are over: the indexes that there are, and the artifacts of their types (ACT-6)."""

from collections.abc import Collection, Mapping

from msgspec import Struct

from wonder.definitions.records.resources import VectorIndex
from wonder.language.values import JsonValue, encode_json
from wonder.storage.runs.cells import from_json, text
from wonder.storage.store import Reader, Value
from wonder.storage.tables import table_of


class Indexable(Struct, frozen=True):
    """What a vector index needs to know of an artifact."""

    id: str
    artifact_type_id: str
    schema_data: JsonValue


async def live_vector_indexes(reader: Reader) -> list[VectorIndex]:
    """Load the vector indexes of all projects."""
    table = table_of(VectorIndex)
    return [table.load(row) for row in await reader.fetch_named("live_vector_indexes")]


async def indexable_page(
    reader: Reader, project_id: str, artifact_type_id: str, *, after: str, limit: int
) -> list[Indexable]:
    """Load a project's artifacts of one type whose ids come after one, in the order of their ids."""
    rows = await reader.fetch_named("indexable_artifacts", project_id, artifact_type_id, after, limit)
    return [_indexable(row) for row in rows]


async def indexable_by_id(reader: Reader, project_id: str, ids: Collection[str]) -> dict[str, Indexable]:
    """Load artifacts by their ids; those of other projects are not there (INV-7)."""
    rows = await reader.fetch_named("indexable_artifacts_by_id", project_id, encode_json(list(ids)))
    return {found.id: found for found in map(_indexable, rows)}


def _indexable(row: Mapping[str, Value]) -> Indexable:
    return Indexable(text(row["id"]), text(row["artifact_type_id"]), from_json(row["schema_data"]))
