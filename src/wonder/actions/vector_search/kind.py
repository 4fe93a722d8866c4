"""`vector_search`: the artifacts of a project that are nearest in meaning to a query (ACT-6)."""

import asyncio
from array import array
from typing import Final

from wonder.actions.embedding.searching import Searching
from wonder.actions.embedding.texts import collection_of
from wonder.actions.equipment import Equipment
from wonder.actions.protocol import ActionContext, ActionFailed, ActionKind, Use
from wonder.actions.resources import Resources
from wonder.actions.vector_search.declaration import Declaration
from wonder.actions.vector_search.record import VectorSearch
from wonder.definitions.records.actions import ActionDef
from wonder.definitions.records.resources import VectorIndex
from wonder.language.values import JsonValue, encode_json
from wonder.objects.vectors import Near, VectorsUnavailable
from wonder.storage.indexable import Indexable, indexable_by_id

DEFAULT_SECONDS: Final = 60.0
"""How long a search may take where neither its action nor its task has a limit."""

_LOOKS_MAX: Final = 100
_MORE: Final = 1_000
# What a cosine of 32-bit floats is exact to.
_DIGITS: Final = 6


class VectorSearchKind(Declaration, ActionKind):
    """Searches what vector indexes have embedded."""

    def __init__(self, resources: Resources, searching: Searching | None) -> None:
        self.resources, self.searching = resources, searching

    @classmethod
    def made_with(cls, equipment: Equipment) -> "VectorSearchKind":
        """Make the kind with what it needs of a process."""
        return cls(equipment.resources, equipment.searching)

    def compile(self, action: ActionDef, use: Use) -> "VectorSearchAction":
        """Keep what is configured; the index is looked up with each search."""
        return VectorSearchAction(self.read(action), self)


class VectorSearchAction:
    """One search, as its author wrote it."""

    __slots__ = ("_configured", "_kind")

    def __init__(self, configured: VectorSearch, kind: VectorSearchKind) -> None:
        self._configured, self._kind = configured, kind

    async def run(self, input: JsonValue, context: ActionContext) -> JsonValue:
        """Wait until all is embedded that was written before, and give the nearest; raises ActionFailed."""
        query = input.get("query") if isinstance(input, dict) else None
        if not isinstance(query, str) or not query.strip():
            message = f"a search takes {{query: a string}}, found {encode_json(input)[:100]}; correct the input_mapping"
            raise ActionFailed("BAD_QUERY", message)
        if self._kind.searching is None:
            message = (
                "there are no vectors here: this process has no store of them; run it with the engine of a database"
            )
            raise ActionFailed("NO_VECTORS", message)
        index = await self._kind.resources.named(
            VectorIndex, context.origin.project_id, self._configured.vector_index_id
        )
        try:
            if context.deadline_ms is not None:
                return await self._search(self._kind.searching, index, query, context)
            async with asyncio.timeout(DEFAULT_SECONDS):
                return await self._search(self._kind.searching, index, query, context)
        except VectorsUnavailable as error:
            raise ActionFailed(error.code, str(error), retryable=error.passing) from error
        except TimeoutError:
            message = (
                f"the search in {index.name!r} took longer than {DEFAULT_SECONDS:.0f} s, the limit where the action "
                "has no timeout_ms of its own"
            )
            raise ActionFailed("SEARCH_TIMEOUT", message, retryable=True, names=("TimeoutError",)) from None

    async def _search(self, searching: Searching, index: VectorIndex, query: str, context: ActionContext) -> JsonValue:
        await searching.caught_up(index)
        embedded = await searching.embedder.embed(index, [query])
        context.report_usage(input_tokens=embedded.tokens)
        near, found = await self._nearest(searching, index, embedded.vectors[0])
        threshold = self._configured.similarity_threshold
        matches: list[JsonValue] = []
        for one in near[: self._configured.top_k]:
            score = round(min(max(one.score, -1.0), 1.0), _DIGITS)
            if threshold is None or score >= threshold:
                data = found[one.artifact_id].schema_data
                matches.append({"artifact_id": one.artifact_id, "score": score, "schema_data": data})
        return {"matches": matches}

    async def _nearest(
        self, searching: Searching, index: VectorIndex, vector: "array[float]"
    ) -> tuple[list[Near], dict[str, Indexable]]:
        collection, count, types = collection_of(index), self._configured.top_k, set(index.artifact_type_ids)
        for _ in range(_LOOKS_MAX):
            near = await searching.vectors.nearest(collection, vector, count)
            found = await indexable_by_id(searching.reader, index.project_id, [one.artifact_id for one in near])
            found = {id: one for id, one in found.items() if one.artifact_type_id in types}
            stale = [one.artifact_id for one in near if one.artifact_id not in found]
            if not stale:
                break
            # Artifacts that are gone, or of a type that is no longer indexed, have taken the places of others.
            await searching.vectors.remove(collection, stale)
            count = max(count, _MORE)
        return [one for one in near if one.artifact_id in found], found
