"""Keeping one vector index up to date: what its artifacts say is embedded in the background, each text once."""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple, TypeVar

from wonder.actions.embedding.embeddings import TEXTS_MAX, Embedder
from wonder.actions.embedding.texts import collection_of, digest_of, text_of
from wonder.actions.protocol import ActionFailed
from wonder.backoff import Backoff
from wonder.definitions.records.resources import VectorIndex
from wonder.errors import WonderError
from wonder.objects.vectors import Embedded, Vectors, VectorsUnavailable
from wonder.storage.indexable import Indexable, indexable_by_id, indexable_page
from wonder.storage.store import Reader

_PAGE: Final = 500
_FIRST_PAUSE_MS: Final = 1_000.0
_LONGEST_PAUSE_MS: Final = 60_000.0
# Whatever a provider asks for: a mistake of its must not end the index.
_HELD_MAX: Final = 3_600.0
# What a provider may say of one text that it would not say of others.
_OF_ONE_TEXT: Final = frozenset({"PROVIDER_REFUSED", "PROVIDER_GARBLED"})
_PROBE: Final = "text"

T = TypeVar("T")

log = logging.getLogger("wonder.indexing")


class _Text(NamedTuple):
    artifact_id: str
    text: str
    digest: str


class IndexKeeper:
    """Works in rounds: the first goes through all artifacts of the index's types, later ones through what was written.

    What a round has embedded is kept batch by batch, so that after a restart the next one goes on where it was.
    """

    def __init__(self, index: VectorIndex, reader: Reader, vectors: Vectors, embedder: Embedder) -> None:
        self.index, self.collection = index, collection_of(index)
        self._reader, self._vectors, self._embedder = reader, vectors, embedder
        self._everything, self._written = True, set[str]()
        self._busy = False
        self._waiting: list[asyncio.Future[None]] = []
        self._wanted = asyncio.Event()
        self._wanted.set()
        self._held: ActionFailed | None = None
        self.task = asyncio.create_task(self._keep())

    def wrote(self, artifact_id: str) -> None:
        """Take in an artifact that was written just now."""
        self._written.add(artifact_id)
        self._wanted.set()

    async def caught_up(self) -> None:
        """Wait until all that was written so far is embedded; raises ActionFailed where the next try of that fails."""
        if self._held:
            # The provider has said when to come back, and that is not yet.
            raise _told(self._held)
        if not (self._everything or self._written or self._busy):
            return
        done = asyncio.get_running_loop().create_future()
        self._waiting.append(done)
        self._wanted.set()
        await done

    async def _keep(self) -> None:
        backoff = Backoff(_FIRST_PAUSE_MS, _LONGEST_PAUSE_MS)
        waiting: list[asyncio.Future[None]] = []
        try:
            while True:
                await self._wanted.wait()
                self._wanted.clear()
                everything, self._everything = self._everything, False
                written, self._written = self._written, set()
                waiting, self._waiting = self._waiting, []
                self._busy = True
                try:
                    await (self._index_everything() if everything else self._index_ids(written))
                except Exception as error:
                    failed = _told(error)
                    self._everything, self._written = self._everything or everything, self._written | written
                    self._busy = False
                    _tell(waiting, failed)
                    log.warning("the vector index %r can't be brought up to date: %s", self.index.name, failed.message)
                    await self._rest(failed, backoff.next_ms())
                    self._wanted.set()
                else:
                    self._busy = False
                    backoff.reset()
                    _tell(waiting, None)
        finally:
            message = f"the vector index {self.index.name!r} was changed, or the engine stopped; search again"
            _tell(waiting + self._waiting, ActionFailed("VECTOR_INDEX_CHANGED", message, retryable=True))

    async def _rest(self, failed: ActionFailed, pause_ms: float) -> None:
        """Wait before the next try: as long as a provider asks for, and else until somebody wants to search."""
        if failed.retry_after_ms:
            self._held = failed
            _tell(self._waiting, failed)
            self._waiting = []
            await asyncio.sleep(min(failed.retry_after_ms / 1_000, _HELD_MAX))
            self._held = None
            return
        deadline = asyncio.get_running_loop().time() + pause_ms / 1_000
        while not self._waiting and (left := deadline - asyncio.get_running_loop().time()) > 0:
            self._wanted.clear()
            try:
                async with asyncio.timeout(left):
                    await self._wanted.wait()
            except TimeoutError:
                return

    async def _index_everything(self) -> None:
        for artifact_type_id in self.index.artifact_type_ids:
            after = ""
            while page := await indexable_page(
                self._reader, self.index.project_id, artifact_type_id, after=after, limit=_PAGE
            ):
                await self._index(page)
                after = page[-1].id

    async def _index_ids(self, ids: set[str]) -> None:
        for some in _parts(sorted(ids), _PAGE):
            await self._index(list((await indexable_by_id(self._reader, self.index.project_id, some)).values()))

    async def _index(self, artifacts: Sequence[Indexable]) -> None:
        """Embed what has changed, and take out what has no text any more."""
        known = await self._vectors.digests(self.collection, [artifact.id for artifact in artifacts])
        texts = [_Text(one.id, text, digest_of(text)) for one in artifacts if (text := self._text(one))]
        gone = known.keys() - {one.artifact_id for one in texts}
        if gone:
            await self._vectors.remove(self.collection, sorted(gone))
        changed = [one for one in texts if known.get(one.artifact_id) != one.digest]
        for some in _parts(changed, TEXTS_MAX):
            await self._vectors.put(self.collection, await self._embedded(some))

    async def _embedded(self, texts: list[_Text]) -> list[Embedded]:
        try:
            found = await self._embedder.embed(self.index, [one.text for one in texts])
        except ActionFailed as error:
            if error.code not in _OF_ONE_TEXT:
                raise
            if len(texts) > 1:
                middle = len(texts) // 2
                return await self._embedded(texts[:middle]) + await self._embedded(texts[middle:])
            # If it refuses any text, then something else is wrong, which will be fixed one day.
            await self._embedder.embed(self.index, [_PROBE])
            (one,) = texts
            refused = "artifact %s can't be found in the vector index %r, because its text can't be embedded: %s"
            log.warning(refused, one.artifact_id, self.index.name, error.message)
            return [Embedded(one.artifact_id, one.digest, None)]
        if cut := [one.artifact_id for one, is_cut in zip(texts, found.cut, strict=True) if is_cut]:
            longer = "%d artifacts are longer than what the model of the vector index %r takes: %s; only their "
            log.warning(longer + "beginning can be found", len(cut), self.index.name, ", ".join(cut[:3]))
        pairs = zip(texts, found.vectors, strict=True)
        return [Embedded(one.artifact_id, one.digest, vector) for one, vector in pairs]

    def _text(self, artifact: Indexable) -> str:
        return text_of(self.index, artifact.schema_data)


def _parts(values: Sequence[T], size: int) -> Iterator[list[T]]:
    rest = iter(values)
    while some := list(islice(rest, size)):
        yield some


def _tell(waiting: list["asyncio.Future[None]"], failed: ActionFailed | None) -> None:
    for done in waiting:
        if done.done():
            continue
        if failed is None:
            done.set_result(None)
        else:
            # Each its own: an exception that several tasks raise gathers the traces of all of them.
            done.set_exception(_told(failed))
            done.exception()


def _told(error: Exception) -> ActionFailed:
    """Give any failure as that of an action."""
    match error:
        case ActionFailed():
            return ActionFailed(
                error.code,
                error.message,
                retryable=error.retryable,
                details=error.details,
                retry_after_ms=error.retry_after_ms,
                names=error.names,
            )
        case VectorsUnavailable():
            return ActionFailed(error.code, str(error), retryable=error.passing)
        case WonderError():
            # The database's: it will be back.
            return ActionFailed(error.code, str(error), retryable=True)
    return ActionFailed("INDEXING_FAILED", f"{type(error).__name__}: {error}")
