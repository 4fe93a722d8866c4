"""What a `vector_search` takes."""

from typing import Annotated

from pydantic import Field

from wonder.definitions.records.fields import Identifier, Record


class VectorSearch(Record):
    """The artifacts nearest to a query."""

    vector_index_id: Identifier
    top_k: Annotated[int, Field(ge=1, le=1_000)]
    similarity_threshold: Annotated[float, Field(ge=-1, le=1)] | None = None
