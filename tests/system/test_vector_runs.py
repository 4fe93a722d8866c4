"""Runs that search what runs have written, and an engine that is killed while it embeds (ACT-6)."""

import asyncio
import sys
from array import array
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.embedding_peer import DIMENSIONS, MODEL, EmbeddingPeer, embedding, embedding_peer
from support.systems import bundle, calls, line, running, until, waits
from wonder.actions.embedding.texts import collection_of
from wonder.app.application import Application
from wonder.app.opening import open_wonder
from wonder.definitions.records.resources import VectorIndex
from wonder.storage.indexable import live_vector_indexes

INDEX = {
    "artifact_type_ids": ["note"],
    "embedding_provider": "openai",
    "embedding_model": MODEL,
    "dimensions": DIMENSIONS,
    "content_fields": ["text"],
}
RESOURCES = {"artifact_types": {"note": {"schema": {"type": "object"}}}, "vector_indexes": {"notes": INDEX}}
WRITE = {"artifact_type_id": "note", "content_mapping": {"text": "$.text"}}
SEARCH = {"vector_index_id": "notes", "top_k": 2}
ENGINE = """
import asyncio, sys
from wonder.app.opening import open_wonder

async def main():
    async with open_wonder(sys.argv[1], lease_ms=1_000):
        await asyncio.sleep(60)

asyncio.run(main())
"""


@pytest.fixture
async def peer(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[EmbeddingPeer]:
    """A server of embeddings that the operator has chosen."""
    async with embedding_peer() as made:
        monkeypatch.setenv("OPENAI_BASE_URL", made.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "key")
        yield made


def node(kind: str, implementation: Any, input_mapping: Any, **fields: Any) -> dict[str, Any]:
    return waits(kind, implementation, input_mapping=input_mapping, **fields)


async def index_of(wonder: Application) -> VectorIndex:
    (index,) = await live_vector_indexes(wonder.store)
    return index


async def test_a_run_finds_what_it_has_written_itself_and_what_runs_before_it_have(
    store_url: str, peer: EmbeddingPeer
) -> None:
    nodes = {
        "write": node("write_artifact", WRITE, {"text": "$.input.text"}),
        "search": node(
            "vector_search", SEARCH, {"query": "$.input.query"}, output_mapping={"output.found": "$.matches"}
        ),
    }
    made = bundle("remember", nodes, line("write", "search")) | RESOURCES
    async with running(store_url) as wonder:
        workflow = await wonder.deploy(made)
        first = await (await wonder.start(workflow, {"text": "red apples", "query": "red"})).wait()
        assert [one["schema_data"] for one in first.output["found"]] == [{"text": "red apples"}]
        second = await (await wonder.start(workflow, {"text": "red wine now", "query": "red apples"})).wait()
        assert [one["schema_data"]["text"] for one in second.output["found"]] == ["red apples", "red wine now"]
        assert second.output["found"][0]["score"] == 1.0
    assert Counter(peer.texts) == Counter(["red apples", "red", "red wine now", "red apples"])


async def test_an_engine_that_is_killed_while_it_embeds_leaves_the_rest_to_the_next(
    store_url: str, peer: EmbeddingPeer
) -> None:
    texts = [f"note {number}" for number in range(150)]
    nodes = {
        "list": calls("texts", output_mapping={"state.texts": "$.texts"}),
        "write": node("write_artifact", WRITE, {"text": "$.item"}),
    }
    each = [{"from": "list", "to": "write", "foreach": {"collection": "state.texts"}}]
    made = bundle("many", nodes, each) | {"artifact_types": RESOURCES["artifact_types"]}
    async with running(store_url, texts=lambda: {"texts": texts}) as wonder:
        workflow = await wonder.deploy(made)
        assert (await (await wonder.start(workflow, {})).wait()).status == "completed"
        index_only = bundle("none", {"n": calls("texts")}) | RESOURCES
        await wonder.deploy(index_only)
        peer.delay = 30.0
    begun = len(peer.http.received)
    peer.delay = 0.15
    engine = await asyncio.create_subprocess_exec(sys.executable, "-c", ENGINE, store_url)

    async def is_in_the_middle() -> bool:
        return len(peer.http.received) >= begun + 3

    await until(is_in_the_middle)
    engine.kill()
    await engine.wait()
    peer.delay = 0.0
    async with open_wonder(store_url) as wonder:

        async def has_a_seat() -> bool:
            return wonder.engine is not None

        await until(has_a_seat)
        assert wonder.engine
        assert wonder.engine.indexing
        searching, index = wonder.engine.indexing.searching, await index_of(wonder)
        await searching.caught_up(index)
        near = await searching.vectors.nearest(collection_of(index), array("f", embedding("note 7")), 1_000)
        assert len({one.artifact_id for one in near}) == len(near) == len(texts)
    asked = Counter(peer.texts)
    assert set(asked) == set(texts)
    assert sum(asked.values()) <= len(texts) + 2 * 32, "no more than what was under way is embedded again"
