"""The declaration of `vector_search`."""

from typing import ClassVar

from wonder.actions.vector_search.record import VectorSearch
from wonder.definitions.kinds import ANYTHING, TEXT, Kind, Named, object_of
from wonder.language.schemas import Schema


class Declaration(Kind):
    """Finds the artifacts nearest to a query."""

    kind = "vector_search"
    configuration = VectorSearch
    summary = "finds the artifacts nearest to a query"
    gives = "{matches: [{artifact_id, score, schema_data}]}"
    errors = (
        "BAD_QUERY",
        "EMBEDDING_DIMENSIONS",
        "NO_VECTORS",
        "SEARCH_TIMEOUT",
        "VECTORS_UNAVAILABLE",
    )
    references: ClassVar = {"vector_index_id": "vector_index"}
    at_work = "wonder.actions.vector_search.kind:VectorSearchKind"

    def output_schema(self, implementation: VectorSearch | None, named: Named) -> Schema:
        """Give the matches."""
        match = object_of(artifact_id=TEXT, score={"type": "number"}, schema_data=ANYTHING)
        matches: Schema = {"type": "array", "items": match}
        return object_of(matches=matches)
