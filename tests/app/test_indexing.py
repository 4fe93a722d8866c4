"""Indexing in the background: each artifact of an index is embedded, whatever happens meanwhile (ACT-6)."""

import asyncio
import logging
from array import array
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from support.embedding_peer import DIMENSIONS, MODEL, EmbeddingPeer, embedding, embedding_peer
from support.http_peer import answer
from support.settled import SettledResources
from support.stored_records import vector_index
from support.stores import remove_sqlite_files
from support.systems import until
from wonder.actions.embedding.embeddings import Embedder
from wonder.actions.embedding.texts import collection_of
from wonder.actions.protocol import ActionFailed
from wonder.app.indexing import Indexing
from wonder.app.vectors import vectors_of
from wonder.definitions.records.resources import VectorIndex
from wonder.storage.archive import archive_resource
from wonder.storage.artifacts import Artifact, put_artifact
from wonder.storage.named_resources import put_resource
from wonder.storage.runs.leases import Lease, claim_lease
from wonder.storage.store import Store
from wonder.storage.tenancy import Home, ensure_default


@pytest.fixture
async def peer() -> AsyncIterator[EmbeddingPeer]:
    """A server of embeddings."""
    async with embedding_peer() as made:
        yield made


class Place:
    """A database with artifacts, whose vectors a server of embeddings gives."""

    def __init__(self, store: Store, url: str, home: Home, lease: Lease, peer: EmbeddingPeer) -> None:
        self.store, self.url, self.home, self.lease, self.peer = store, url, home, lease, peer

    async def index(self, name: str = "notes", **fields: Any) -> VectorIndex:
        """Store an index of artifacts of the type `note`."""
        asked = {"embedding_provider": "openai", "embedding_model": MODEL, "dimensions": DIMENSIONS}
        made = vector_index(name, self.home.project_id, ["note"], **{**asked, **fields})
        async with self.store.transaction() as transaction:
            return (await put_resource(transaction, made)).record

    async def write(self, id: str, text: Any, type: str = "note") -> Artifact:
        """Write an artifact down, over one that may be there."""
        where = {"run_id": "r", "token_id": "t", "node": "n", "path_id": "0", "step": "s", "part": id}
        what = {"storage_key": "k", "content_type": "text/plain", "size_bytes": 1, "created_ms": 1}
        typed = {"artifact_type_id": type, "artifact_type_version": 1, "schema_data": {"text": text}}
        artifact = Artifact(id=id, project_id=self.home.project_id, **where, **what, **typed)
        await put_artifact(self.store, self.lease, artifact)
        return artifact

    @asynccontextmanager
    async def indexing(self) -> AsyncIterator[Indexing]:
        """What an engine does for indexes, from its start to its end."""
        secrets = {"OPENAI_BASE_URL": self.peer.base_url}
        resources = SettledResources(workspace={"allow_private_addresses": True}, secrets=secrets)
        made = Indexing(self.store, vectors_of(self.url, self.store), Embedder(resources, lambda: 0))
        await made.look()
        try:
            yield made
        finally:
            await made.close()
            assert not [task for task in asyncio.all_tasks() if "IndexKeeper" in repr(task)]


@pytest.fixture
async def place(store: Store, store_url: str, peer: EmbeddingPeer) -> AsyncIterator[Place]:
    """A database with artifacts, on each kind of database."""
    ids = iter(range(10_000))
    home = await ensure_default(store, clock=lambda: "2026-01-01T00:00:00Z", new_id=lambda: f"{next(ids):026}")
    lease = await claim_lease(store, "owner")
    assert lease
    yield Place(store, store_url, home, lease, peer)
    await lease.release()


async def found(indexing: Indexing, index: VectorIndex, text: str = "x") -> list[str]:
    """Give the ids of all that an index has."""
    near = await indexing.searching.vectors.nearest(collection_of(index), array("f", embedding(text)), 1_000)
    return sorted(one.artifact_id for one in near)


async def test_what_is_there_and_what_is_written_later_is_embedded_once(place: Place) -> None:
    for number in range(70):
        await place.write(f"{number:03}", f"note {number}")
    await place.write("other", "not indexed", type="draft")
    index = await place.index()
    async with place.indexing() as indexing:
        await indexing.caught_up(index)
        indexing.wrote(await place.write("070", "note 70"))
        indexing.wrote(await place.write("other2", "not indexed", type="draft"))
        await indexing.caught_up(index)
        indexing.wrote(await place.write("070", "note 70"))
        await indexing.caught_up(index)
        assert await found(indexing, index) == [f"{number:03}" for number in range(71)]
    assert Counter(place.peer.texts) == Counter(f"note {number}" for number in range(71))
    assert len(place.peer.http.received) == 4, "32 texts go at once"


async def test_after_a_restart_it_goes_on_where_it_was(place: Place) -> None:
    for number in range(100):
        await place.write(f"{number:03}", f"note {number}")
    index = await place.index()
    place.peer.delay = 0.1
    async with place.indexing():

        async def begun() -> bool:
            return len(place.peer.http.received) == 2

        await until(begun)
    place.peer.delay = 0.0
    async with place.indexing() as indexing:
        await indexing.caught_up(index)
        assert len(await found(indexing, index)) == 100
    again = Counter(place.peer.texts)
    assert set(again) == {f"note {number}" for number in range(100)}
    assert sum(again.values()) <= 132, "no more than the batch under way is embedded again"
    async with place.indexing() as indexing:
        await indexing.caught_up(index)
    assert Counter(place.peer.texts) == again


async def test_an_artifact_that_is_written_over_is_embedded_anew(place: Place) -> None:
    await place.write("a", "red")
    index = await place.index()
    async with place.indexing() as indexing:
        await indexing.caught_up(index)
        indexing.wrote(await place.write("a", "green"))
        await indexing.caught_up(index)
        (near,) = await indexing.searching.vectors.nearest(collection_of(index), array("f", embedding("green")), 5)
        assert near.score == pytest.approx(1)
        indexing.wrote(await place.write("a", None))
        await indexing.caught_up(index)
        assert await found(indexing, index) == []


async def test_while_no_engine_ran_artifacts_may_have_changed(place: Place) -> None:
    await place.write("a", "red")
    await place.write("b", "blue")
    index = await place.index()
    async with place.indexing() as indexing:
        await indexing.caught_up(index)
    await place.write("a", "green")
    await place.write("b", "")
    async with place.indexing() as indexing:
        await indexing.caught_up(index)
        assert await found(indexing, index) == ["a"]
    assert place.peer.texts == ["red", "blue", "green"]


async def test_new_changed_and_archived_indexes_are_noticed(place: Place) -> None:
    await place.write("a", "red")
    async with place.indexing() as indexing:
        assert place.peer.texts == []
        first = await place.index()
        await indexing.look()
        await indexing.caught_up(first)
        assert await found(indexing, first) == ["a"]
        second = await place.index(embedding_model="words2")
        await indexing.look()
        await indexing.caught_up(second)
        assert (await found(indexing, first), await found(indexing, second)) == ([], ["a"])
        assert place.peer.texts == ["red", "red"]
        async with place.store.transaction() as transaction:
            await archive_resource(transaction, VectorIndex, second.id, at="2026-01-02T00:00:00Z")
        await indexing.look()
        assert await found(indexing, second) == []
        indexing.wrote(await place.write("b", "blue"))
        await asyncio.sleep(0.05)
    assert place.peer.texts == ["red", "red"]


async def test_another_type_is_indexed_without_embedding_the_rest_again(place: Place) -> None:
    await place.write("a", "red")
    await place.write("b", "blue", type="draft")
    index = await place.index()
    async with place.indexing() as indexing:
        await indexing.caught_up(index)
        wider = index.model_copy(update={"artifact_type_ids": ["note", "draft"]})
        await indexing.caught_up(wider)
        assert await found(indexing, wider) == ["a", "b"]
    assert place.peer.texts == ["red", "blue"]


async def test_an_index_without_auto_index_stays_as_it_is(place: Place) -> None:
    await place.write("a", "red")
    index = await place.index(auto_index=False)
    async with place.indexing() as indexing:
        await indexing.caught_up(index)
        assert await found(indexing, index) == []
    assert place.peer.texts == []


async def test_a_text_that_is_refused_is_left_out_told_and_not_tried_again(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(40):
        await place.write(f"{number:03}", f"note {number}")
    place.peer.refused = {"note 7"}
    index = await place.index()
    with caplog.at_level(logging.WARNING):
        async with place.indexing() as indexing:
            await indexing.caught_up(index)
            assert await found(indexing, index) == [f"{number:03}" for number in range(40) if number != 7]
    assert "007" in caplog.text
    asked = len(place.peer.http.received)
    async with place.indexing() as indexing:
        await indexing.caught_up(index)
    assert len(place.peer.http.received) == asked


async def test_a_server_that_refuses_everything_spoils_nothing(place: Place) -> None:
    await place.write("a", "red")
    index = await place.index()
    place.peer.refused = {"red", "text"}
    async with place.indexing() as indexing:
        with pytest.raises(ActionFailed) as refused:
            await indexing.caught_up(index)
        assert refused.value.code == "PROVIDER_REFUSED"
        place.peer.refused = set()
        await indexing.caught_up(index)
        assert await found(indexing, index) == ["a"]


async def test_a_search_fails_at_once_while_the_provider_asks_to_wait_and_then_it_goes_on(place: Place) -> None:
    await place.write("a", "red")
    index = await place.index()
    working = place.peer.http.answers["/v1/embeddings"]
    assert not isinstance(working, list)
    place.peer.http.answers["/v1/embeddings"] = [answer(429, "slow down", retry_after="1"), working]
    async with place.indexing() as indexing:
        for _ in range(2):
            with pytest.raises(ActionFailed) as refused:
                await indexing.caught_up(index)
            assert (refused.value.code, refused.value.retry_after_ms) == ("PROVIDER_RATE_LIMITED", 1_000)
        assert len(place.peer.http.received) == 1

        async def there() -> bool:
            return await found(indexing, index) == ["a"]

        await until(there)


async def test_a_text_that_is_too_long_is_cut_and_that_is_said(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    await place.write("long", "red " * 10_000)
    index = await place.index()
    with caplog.at_level(logging.WARNING):
        async with place.indexing() as indexing:
            await indexing.caught_up(index)
            assert await found(indexing, index) == ["long"]
    assert [len(text) for text in place.peer.texts] == [24_000]
    assert "only their beginning" in caplog.text


async def test_vectors_that_are_lost_are_made_again(tmp_path: Path, place: Place) -> None:
    await place.write("a", "red")
    index = await place.index()
    async with place.indexing() as indexing:
        await indexing.caught_up(index)
    if place.store.dialect == "sqlite":
        remove_sqlite_files(tmp_path / "wonder.db-vectors")
    else:
        async with place.store.transaction() as transaction:
            await transaction.run("DROP TABLE artifact_vectors")
    async with place.indexing() as indexing:
        await indexing.caught_up(index)
        assert await found(indexing, index) == ["a"]
    assert place.peer.texts == ["red", "red"]


async def test_who_waits_is_told_when_the_engine_stops(place: Place) -> None:
    await place.write("a", "red")
    index = await place.index()
    place.peer.delay = 30.0
    async with place.indexing() as indexing:
        waiting = asyncio.create_task(indexing.caught_up(index))
        await asyncio.sleep(0.1)
    with pytest.raises(ActionFailed) as refused:
        await waiting
    assert (refused.value.code, refused.value.retryable) == ("VECTOR_INDEX_CHANGED", True)


async def test_act_6_an_index_without_auto_index_is_filled_on_demand(place: Place) -> None:
    """Each time with what is new or has changed since."""
    for number in range(40):
        await place.write(f"{number:03}", f"note {number}")
    index = await place.index(auto_index=False)
    async with place.indexing() as indexing:
        await indexing.caught_up(index)
        assert await found(indexing, index) == []
        await asyncio.gather(indexing.fill(index), indexing.fill(index))
        assert len(await found(indexing, index)) == 40
        indexing.wrote(await place.write("040", "note 40"))
        await indexing.caught_up(index)
        assert len(await found(indexing, index)) == 40
        indexing.begin_to_fill(index)

        async def filled() -> bool:
            return len(await found(indexing, index)) == 41

        await until(filled)
    assert Counter(place.peer.texts) == Counter(f"note {number}" for number in range(41))
