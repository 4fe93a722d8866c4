"""Vectors of artifacts, in sqlite-vec and in pgvector by the same tests (ACT-6)."""

from array import array
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from support.postgres import PostgresServer
from wonder.app.vectors import vectors_of
from wonder.objects.vectors import Embedded, Vectors, VectorsUnavailable
from wonder.objects.vectors_sqlite import SqliteVectors
from wonder.storage.opening import open_store
from wonder.storage.store import Store


@pytest.fixture
async def vectors(store_url: str, store: Store) -> AsyncIterator[Vectors]:
    """The vectors that go with an empty database."""
    opened = vectors_of(store_url, store)
    yield opened
    await opened.close()


def embedded(id: str, *values: float, digest: str = "d") -> Embedded:
    return Embedded(id, digest, array("f", values))


async def found(vectors: Vectors, collection: str, *values: float, count: int = 10) -> list[tuple[str, float]]:
    near = await vectors.nearest(collection, array("f", values), count)
    return [(one.artifact_id, round(one.score, 5)) for one in near]


async def test_scores_are_the_cosines_that_numpy_gives(vectors: Vectors) -> None:
    chance = np.random.default_rng(7)
    rows = chance.normal(size=(300, 48)).astype(np.float32)
    query = chance.normal(size=48).astype(np.float32)
    await vectors.put("c", [embedded(f"{i:03}", *map(float, row)) for i, row in enumerate(rows)])
    near = await vectors.nearest("c", array("f", query.tobytes()), 300)
    scores = rows @ query / np.linalg.norm(rows, axis=1) / np.linalg.norm(query)
    assert [one.artifact_id for one in near] == [f"{i:03}" for i in np.argsort(-scores)]
    assert max(abs(one.score - scores[int(one.artifact_id)]) for one in near) < 1e-6
    assert await vectors.nearest("c", array("f", query.tobytes()), 7) == near[:7]


async def test_a_collection_that_is_not_there_is_empty(vectors: Vectors) -> None:
    assert await found(vectors, "c", 1, 0) == []
    assert await vectors.digests("c", ["a"]) == {}
    await vectors.remove("c", ["a"])
    await vectors.keep_only([])


async def test_collections_know_nothing_of_each_other_and_have_dimensions_of_their_own(vectors: Vectors) -> None:
    await vectors.put("two", [embedded("a", 1, 0), embedded("b", 0, 1)])
    await vectors.put("three", [embedded("a", 0, 0, 1, digest="e")])
    assert await found(vectors, "two", 1, 0) == [("a", 1.0), ("b", 0.0)]
    assert await found(vectors, "three", 0, 0, 2) == [("a", 1.0)]
    assert await vectors.digests("three", ["a", "b"]) == {"a": "e"}


async def test_a_vector_is_written_over_and_taken_out(vectors: Vectors) -> None:
    await vectors.put("c", [embedded("a", 1, 0), embedded("b", 1, 1)])
    await vectors.put("c", [embedded("a", -1, 0, digest="new"), embedded("a2", 0, 1)])
    assert await found(vectors, "c", 1, 0) == [("b", 0.70711), ("a2", 0.0), ("a", -1.0)]
    assert await vectors.digests("c", ["a", "b", "x"]) == {"a": "new", "b": "d"}
    await vectors.remove("c", ["b", "x"])
    assert await found(vectors, "c", 1, 0) == [("a2", 0.0), ("a", -1.0)]
    await vectors.put("c", [embedded("z", 1, 0)])
    assert (await found(vectors, "c", 1, 0, count=1)) == [("z", 1.0)]


async def test_what_can_t_be_embedded_is_known_and_never_found(vectors: Vectors) -> None:
    await vectors.put("c", [Embedded("a", "d", None), embedded("b", 1, 0)])
    await vectors.put("c", [Embedded("b", "e", None)])
    assert await found(vectors, "c", 1, 0) == []
    assert await vectors.digests("c", ["a", "b"]) == {"a": "d", "b": "e"}


async def test_only_wanted_collections_are_kept(vectors: Vectors) -> None:
    for name in ("a", "b", "c"):
        await vectors.put(name, [embedded("x", 1, 0)])
    await vectors.keep_only(["b", "other"])
    assert [len(await found(vectors, name, 1, 0)) for name in ("a", "b", "c")] == [0, 1, 0]
    await vectors.put("a", [embedded("y", 1, 0)])
    assert await found(vectors, "a", 1, 0) == [("y", 1.0)]


async def test_vectors_are_still_there_when_they_are_opened_again(
    vectors: Vectors, store_url: str, store: Store
) -> None:
    await vectors.put("c", [embedded("a", 3, 4)])
    await vectors.close()
    assert await found(vectors, "c", 6, 8) == [("a", 1.0)]
    again = vectors_of(store_url, store)
    assert await found(again, "c", 6, 8) == [("a", 1.0)]
    await again.close()


async def test_a_file_that_is_no_database_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "vectors"
    path.write_bytes(b"nothing of the kind " * 500)
    vectors = SqliteVectors(path)
    await vectors.put("c", [embedded("a", 1, 0)])
    assert await found(vectors, "c", 1, 0) == [("a", 1.0)]
    await vectors.close()


async def test_a_file_that_can_t_be_made_is_told_with_its_name(tmp_path: Path) -> None:
    vectors = SqliteVectors(tmp_path / "missing" / "vectors")
    with pytest.raises(VectorsUnavailable, match="missing/vectors"):
        await vectors.digests("c", ["a"])
    await vectors.close()


async def test_where_pgvector_may_not_be_set_up_it_is_said_who_can(postgres_server: PostgresServer) -> None:
    name = postgres_server.create_database()
    postgres_server.run("DROP ROLE IF EXISTS limited; CREATE ROLE limited LOGIN", name)
    store = await open_store(postgres_server.url(name).replace("wonder@", "limited@"), migrations="leave")
    try:
        with pytest.raises(VectorsUnavailable, match=r"CREATE EXTENSION vector") as refused:
            await vectors_of("postgresql://x/y", store).put("c", [embedded("a", 1)])
        assert not refused.value.passing
    finally:
        await store.close()
        postgres_server.drop_database(name)
