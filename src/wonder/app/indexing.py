"""Indexing in the background: every vector index with `auto_index` has what its artifacts say (ACT-6).

Nothing of it is recorded but the vectors themselves: what is missing there is found by looking, so that a restart, a
lost file and a changed index are all the same.
"""

import asyncio
import logging
from typing import Final

from wonder.actions.embedding.embeddings import Embedder
from wonder.actions.embedding.searching import Searching
from wonder.actions.embedding.texts import collection_of
from wonder.actions.protocol import ActionFailed
from wonder.app.index_keeping import IndexKeeper
from wonder.definitions.records.resources import VectorIndex
from wonder.objects.vectors import Vectors
from wonder.storage.artifacts import Artifact
from wonder.storage.indexable import live_vector_indexes
from wonder.storage.store import Reader

log = logging.getLogger("wonder.indexing")

LOOK_SECONDS: Final = 2.0
"""How often it is looked whether there are other indexes."""


class Indexing:
    """Keeps all indexes of a database, in the process that has the lease: all artifacts are written there."""

    def __init__(self, reader: Reader, vectors: Vectors, embedder: Embedder) -> None:
        self.searching = Searching(reader, vectors, embedder, self.caught_up)
        self._reader, self._vectors, self._embedder = reader, vectors, embedder
        self._keepers: dict[str, IndexKeeper] = {}
        self._fillers: dict[str, IndexKeeper] = {}
        self._kept: set[str] | None = None
        self._ending: set[asyncio.Task[None]] = set()

    def wrote(self, artifact: Artifact) -> None:
        """Take in an artifact that was written just now."""
        for keeper in self._keepers.values():
            index = keeper.index
            if index.project_id == artifact.project_id and artifact.artifact_type_id in index.artifact_type_ids:
                keeper.wrote(artifact.id)

    async def caught_up(self, index: VectorIndex) -> None:
        """Wait until an index has what was written so far; raises ActionFailed where it can't have it."""
        if index.auto_index:
            await self._keeper(index).caught_up()

    async def fill(self, index: VectorIndex) -> None:
        """Embed what is missing in an index, whether or not that is done by itself; raises ActionFailed."""
        if index.auto_index:
            await self.caught_up(index)
            return
        filler = self._fillers.get(index.id)
        if filler is None:
            # Its first round goes through everything, and it is used for no other.
            filler = self._fillers[index.id] = IndexKeeper(index, self._reader, self._vectors, self._embedder)
        try:
            await filler.caught_up()
        finally:
            if self._fillers.pop(index.id, None):
                self._end(filler)

    def begin_to_fill(self, index: VectorIndex) -> None:
        """Begin to embed what is missing in an index, for another process; a failure is logged."""
        task = asyncio.create_task(self._fill(index))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def _fill(self, index: VectorIndex) -> None:
        try:
            await self.fill(index)
        except ActionFailed as error:
            log.warning("the vector index %r can't be filled: %s", index.name, error.message)

    async def look(self) -> float:
        """Notice new, changed and archived indexes; give after how many seconds to look again."""
        live = {index.id: index for index in await live_vector_indexes(self._reader)}
        for id in list(self._keepers):
            if id not in live or not live[id].auto_index:
                self._end(self._keepers.pop(id))
        for index in live.values():
            if index.auto_index:
                self._keeper(index)
        wanted = {collection_of(index) for index in live.values()}
        if wanted != self._kept:
            in_use = {keeper.collection for keeper in self._keepers.values()}
            await self._vectors.keep_only(wanted | in_use)
            self._kept = wanted
        return LOOK_SECONDS

    async def close(self) -> None:
        """Stop; the next process goes on."""
        while self._keepers:
            self._end(self._keepers.popitem()[1])
        while self._fillers:
            self._end(self._fillers.popitem()[1])
        if self._ending:
            await asyncio.wait(self._ending)
        await self._embedder.close()
        await self._vectors.close()

    def _keeper(self, index: VectorIndex) -> IndexKeeper:
        known = self._keepers.get(index.id)
        if known:
            same_types = set(known.index.artifact_type_ids) == set(index.artifact_type_ids)
            if same_types and known.collection == collection_of(index):
                return known
            self._end(known)
        self._keepers[index.id] = made = IndexKeeper(index, self._reader, self._vectors, self._embedder)
        return made

    def _end(self, keeper: IndexKeeper) -> None:
        keeper.task.cancel()
        self._ending.add(keeper.task)
        keeper.task.add_done_callback(self._ending.discard)
