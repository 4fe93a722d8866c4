"""`vector_search`: artifacts by meaning, embedded by a real server on loopback (ACT-6, ACT-10)."""

import asyncio
import json
from array import array
from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.embedding_peer import DIMENSIONS, MODEL, EmbeddingPeer, cosine, embedding, embedding_peer
from support.http_peer import Received, answer
from support.settled import SettledResources
from support.stored_records import vector_index
from support.tasks import ORIGIN, Bench, action, bench, step, task, until
from wonder.actions.embedding.embeddings import Embedder
from wonder.actions.embedding.searching import Searching
from wonder.actions.embedding.texts import collection_of, digest_of, text_of
from wonder.actions.protocol import ActionFailed
from wonder.actions.vector_search.kind import VectorSearchKind
from wonder.app.vectors import vectors_of
from wonder.definitions.records.resources import VectorIndex
from wonder.executor.results import TaskFailure, TaskResult
from wonder.objects.vectors import Embedded
from wonder.storage.artifacts import Artifact, put_artifact
from wonder.storage.resource_errors import NotFound
from wonder.storage.runs.leases import claim_lease
from wonder.storage.store import Store

PROJECT = ORIGIN.project_id
WORKSPACE = {"allow_private_addresses": True}


class OneIndex(SettledResources):
    """Knows one vector index, `notes`, and the secrets that lead to its server."""

    index: VectorIndex

    async def named(self, kind: Any, project_id: str, id: str) -> Any:
        if id != "notes" or project_id != self.index.project_id:
            raise NotFound("vector index", id)
        return self.index


class Place:
    """A database with artifacts and their vectors, and an executor that searches them."""

    def __init__(self, made: Bench, store: Store, searching: Searching, resources: OneIndex, peer: Any) -> None:
        self.made, self.store, self.searching, self.resources, self.peer = made, store, searching, resources, peer

    async def add(self, id: str, data: Any, *, project_id: str = PROJECT, type: str = "note") -> None:
        """Write an artifact down and its vector, as the engine does in the background."""
        lease = await claim_lease(self.store, "owner")
        assert lease
        where = {"run_id": "r", "token_id": "t", "node": "n", "path_id": "0", "step": "s", "part": id}
        what = {"storage_key": "k", "content_type": "text/plain", "size_bytes": 1, "created_ms": 1}
        typed = {"artifact_type_id": type, "artifact_type_version": 1, "schema_data": data}
        await put_artifact(self.store, lease, Artifact(id=id, project_id=project_id, **where, **what, **typed))
        await lease.release()
        text = text_of(self.resources.index, data)
        vector = array("f", embedding(text))
        await self.searching.vectors.put(collection_of(self.resources.index), [Embedded(id, digest_of(text), vector)])

    async def matches(self, query: str, top_k: int = 10, **fields: Any) -> Any:
        """Search, and give the matches."""
        result = await self.run({"query": query}, top_k=top_k, **fields)
        assert result.error is None, result.error
        return result.output["matches"]  # type: ignore[index, call-overload]

    async def refusal(self, input: Any = None, **fields: Any) -> TaskFailure:
        """Search in vain."""
        result = await self.run(input or {"query": "red"}, **{"top_k": 3, **fields})
        assert result.error
        return result.error

    async def run(self, input: Any, index: str = "notes", timeout_ms: int | None = None, **fields: Any) -> TaskResult:
        """Run one search."""
        limits = {"execution": {"timeout_ms": timeout_ms}} if timeout_ms else {}
        act = action("act", "vector_search", {"vector_index_id": index, **fields}, **limits)
        return await self.made.run(task(step("act")), input, act)


@pytest.fixture
async def peer() -> AsyncIterator[EmbeddingPeer]:
    """A server of embeddings."""
    async with embedding_peer() as made:
        yield made


@pytest.fixture
async def place(store: Store, store_url: str, peer: EmbeddingPeer) -> AsyncIterator[Place]:
    """Vectors on each kind of database."""
    secrets = {"OPENAI_BASE_URL": peer.base_url, "OPENAI_API_KEY": "sk-secret"}
    resources = OneIndex(workspace=WORKSPACE, secrets=secrets)
    settings = {"embedding_provider": "openai", "embedding_model": MODEL, "dimensions": DIMENSIONS}
    resources.index = vector_index("notes", PROJECT, ["note"], content_fields=["title", "text"], **settings)
    embedder = Embedder(resources, lambda: 0)

    async def caught_up(index: VectorIndex) -> None:
        assert index == resources.index

    searching = Searching(store, vectors_of(store_url, store), embedder, caught_up)
    async with bench(resources=resources, searching=searching) as made:
        yield Place(made, store, searching, resources, peer)
    await embedder.close()
    await searching.vectors.close()


async def test_act_10_a_search_gives_artifacts_with_their_cosines_and_data(place: Place) -> None:
    notes = {
        "a": {"title": "red apples", "text": "are sweet"},
        "b": {"title": "green pears", "text": "are sweet too", "n": 1},
        "c": {"title": "winter"},
    }
    for id, data in notes.items():
        await place.add(id, data)
    found = await place.matches("sweet red apples")
    assert [one["artifact_id"] for one in found] == ["a", "b", "c"]
    for one in found:
        assert one["schema_data"] == notes[one["artifact_id"]]
        text = text_of(place.resources.index, one["schema_data"])
        assert one["score"] == pytest.approx(cosine(embedding("sweet red apples"), embedding(text)), abs=2e-6)
    assert found[0]["score"] > found[1]["score"] > found[2]["score"] == 0


async def test_top_k_and_similarity_threshold_bound_the_matches(place: Place) -> None:
    for id, title in (("a", "x y z"), ("b", "x y"), ("c", "x")):
        await place.add(id, {"title": title})
    assert [one["artifact_id"] for one in await place.matches("x", top_k=2)] == ["c", "b"]
    assert [one["artifact_id"] for one in await place.matches("x", similarity_threshold=0.6)] == ["c", "b"]
    assert [one["score"] for one in await place.matches("x", similarity_threshold=1)] == [1.0]


async def test_an_empty_index_gives_no_matches(place: Place) -> None:
    assert await place.matches("anything") == []


async def test_inv_7_artifacts_of_other_projects_are_not_found(place: Place) -> None:
    await place.add("theirs", {"title": "red"}, project_id="another")
    await place.add("ours", {"title": "red wine"})
    assert [one["artifact_id"] for one in await place.matches("red", top_k=1)] == ["ours"]
    place.resources.index = place.resources.index.model_copy(update={"project_id": "another"})
    assert (await place.refusal()).code == NotFound("vector index", "notes").code


async def test_artifacts_of_a_type_that_is_no_longer_indexed_take_no_places(place: Place) -> None:
    for number in range(7):
        await place.add(f"old{number}", {"title": "red"}, type="draft")
    await place.add("new", {"title": "red wine"})
    assert [one["artifact_id"] for one in await place.matches("red", top_k=2)] == ["new"]


async def test_the_tokens_of_a_query_are_counted(place: Place) -> None:
    result = await place.run({"query": "red"}, top_k=1)
    assert result.usage.input_tokens == 3


@pytest.mark.parametrize("input", [{"query": " "}, {"query": 7}, {"q": "x"}, [], "red"])
async def test_a_query_is_a_text(place: Place, input: Any) -> None:
    refused = await place.refusal(input or {"query": ""})
    assert (refused.code, refused.retryable) == ("BAD_QUERY", False)


async def test_without_a_store_of_vectors_a_search_says_so() -> None:
    async with bench() as made:
        act = action("act", "vector_search", {"vector_index_id": "x", "top_k": 1})
        result = await made.run(task(step("act")), {"query": "x"}, act)
    assert result.error
    assert result.error.code == "NO_VECTORS"


def raw(body: Any, status: int = 200, **headers: str) -> bytes:
    return answer(status, body, **headers)


def vectors(*given: Any) -> bytes:
    return raw(json.dumps({"data": [{"index": i, "embedding": one} for i, one in enumerate(given)]}))


UNIT = [1.0] + [0.0] * (DIMENSIONS - 1)


@pytest.mark.parametrize(
    ("given", "code", "retryable", "said"),
    [
        (vectors([1.0, 2.0]), "EMBEDDING_DIMENSIONS", False, "2 dimensions"),
        (vectors([]), "EMBEDDING_DIMENSIONS", False, "0 dimensions"),
        (vectors([0.0] * DIMENSIONS), "PROVIDER_GARBLED", False, "without a direction"),
        (raw('{"data": [{"embedding": [NaN, 1.0]}]}'), "PROVIDER_GARBLED", False, "no embeddings"),
        (raw(json.dumps({"data": [{"embedding": [1e308] * DIMENSIONS}]})), "PROVIDER_GARBLED", False, "direction"),
        (raw('{"data": [{"embedding": [1e999]}]}'), "PROVIDER_GARBLED", False, "no embeddings"),
        (raw('{"data": [{"embedding": [null]}]}'), "PROVIDER_GARBLED", False, "no embeddings"),
        (raw('{"data": [{"embedding": "AACAPw=="}]}'), "PROVIDER_GARBLED", False, "no embeddings"),
        (raw('{"data": []}'), "PROVIDER_GARBLED", False, "0 vectors for 1 texts"),
        (vectors(UNIT, UNIT), "PROVIDER_GARBLED", False, "2 vectors for 1 texts"),
        (raw(json.dumps({"data": [{"index": 5, "embedding": UNIT}]})), "PROVIDER_GARBLED", False, "indexes"),
        (raw("<html>hello</html>"), "PROVIDER_GARBLED", False, "no embeddings"),
        (raw("[" * 100_000), "PROVIDER_GARBLED", False, "no embeddings"),
        (raw(b"\xff\xfe\x00"), "PROVIDER_GARBLED", False, "no embeddings"),
        (raw("slow down", 429, retry_after="7"), "PROVIDER_RATE_LIMITED", True, "slow down"),
        (raw("oops", 503), "PROVIDER_UNAVAILABLE", True, "oops"),
        (raw("bad key", 401), "PROVIDER_KEY_REFUSED", False, "bad key"),
        (raw("no such model", 404), "MODEL_UNKNOWN", False, "embedding_model"),
        (raw("", 302, location="http://127.0.0.1:1/"), "PROVIDER_REFUSED", False, "302"),
        # The HTTP client's own decoding has an error of its own for this, also where there is no body.
        (raw("", 204, content_encoding="gzip, gzip, gzip, gzip, gzip, gzip"), "PROVIDER_REFUSED", False, "204"),
        (raw("x", content_encoding="gzip, gzip, gzip, gzip, gzip, gzip"), "BAD_RESPONSE", False, "Content-Encoding"),
        (b"garbage\r\n\r\n", "PROVIDER_LOST", True, "lost"),
        (b"HTTP/1.1 200 X\r\ncontent-length: 100\r\n\r\n{", "PROVIDER_TIMEOUT", True, ""),
    ],
)
async def test_ret_1_whatever_a_server_of_embeddings_answers_ends_as_a_failure_that_says_what(
    place: Place, given: bytes, code: str, retryable: bool, said: str
) -> None:
    place.peer.http.answers["/v1/embeddings"] = given
    if code == "PROVIDER_TIMEOUT":
        refused = await place.refusal(timeout_ms=200)
        assert refused.retryable
        return
    refused = await place.refusal()
    assert (refused.code, refused.retryable) == (code, retryable)
    assert said in refused.message
    assert "sk-secret" not in refused.message


async def test_a_server_that_sends_without_end_is_cut_off(place: Place) -> None:
    async def flood(received: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n")
        chunk = b"100000\r\n" + b"[" * 0x100000 + b"\r\n"
        while not writer.is_closing():
            writer.write(chunk)
            await writer.drain()

    place.peer.http.answers["/v1/embeddings"] = flood
    refused = await place.refusal()
    assert not refused.retryable
    assert "64" in refused.message


async def test_a_search_that_is_out_of_time_lets_go_of_the_server(place: Place) -> None:
    place.peer.delay = 30.0
    refused = await place.refusal(timeout_ms=100)
    assert refused.retryable
    await until(lambda: place.peer.http.open == 0)


async def embed(resources: SettledResources, **fields: Any) -> list[float]:
    embedder = Embedder(resources, lambda: 0)
    index = vector_index("notes", PROJECT, ["note"], **{"dimensions": DIMENSIONS, **fields})
    try:
        return list((await embedder.embed(index, ["red wine"])).vectors[0])
    finally:
        await embedder.close()


async def test_cloudflare_is_asked_over_its_rest_api(peer: EmbeddingPeer) -> None:
    secrets = {"CLOUDFLARE_BASE_URL": f"{peer.http.url}/cf", "CLOUDFLARE_API_TOKEN": "t", "CLOUDFLARE_ACCOUNT_ID": "a1"}
    resources = SettledResources(workspace=WORKSPACE, secrets=secrets)
    vector = await embed(resources, embedding_provider="cloudflare_ai", embedding_model="@cf/words")
    assert cosine(vector, embedding("red wine")) == pytest.approx(1)
    assert peer.http.received[0].header("authorization") == "Bearer t"


@pytest.mark.parametrize("model", ["../../../zones", "@cf/../../x", "/x", "x/", "./x", ".."])
async def test_the_name_of_a_model_leads_to_no_other_part_of_the_api(peer: EmbeddingPeer, model: str) -> None:
    secrets = {"CLOUDFLARE_BASE_URL": f"{peer.http.url}/cf", "CLOUDFLARE_API_TOKEN": "t", "CLOUDFLARE_ACCOUNT_ID": "a1"}
    resources = SettledResources(workspace=WORKSPACE, secrets=secrets)
    with pytest.raises(ActionFailed, match="not the name of a model"):
        await embed(resources, embedding_provider="cloudflare_ai", embedding_model=model)
    assert peer.http.received == []


async def test_keys_of_the_environment_go_to_no_address_that_a_secret_names(
    peer: EmbeddingPeer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "operators")
    asked = {"embedding_provider": "openai", "embedding_model": MODEL}
    await embed(SettledResources(workspace=WORKSPACE, secrets={"OPENAI_BASE_URL": peer.base_url}), **asked)
    assert peer.http.received[-1].header("authorization") is None
    monkeypatch.setenv("OPENAI_BASE_URL", peer.base_url)
    # What the operator has chosen may be on this machine.
    await embed(SettledResources(), **asked)
    assert peer.http.received[-1].header("authorization") == "Bearer operators"


@pytest.mark.parametrize(
    ("workspace", "secrets", "provider", "code"),
    [
        ({}, {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}, "openai", "ADDRESS_REFUSED"),
        ({}, {}, "openai", "PROVIDER_KEY_MISSING"),
        ({}, {"CLOUDFLARE_API_TOKEN": "t"}, "cloudflare_ai", "PROVIDER_KEY_MISSING"),
        ({"allowed_model_providers": ["google"]}, {"OPENAI_API_KEY": "k"}, "openai", "PROVIDER_NOT_ALLOWED"),
        ({}, {"OPENAI_BASE_URL": "ftp://x"}, "openai", "BAD_EXECUTION_CONFIG"),
        ({}, {"OPENAI_API_KEY": "a\nb"}, "openai", "BAD_EXECUTION_CONFIG"),
        ({}, {}, "local", "MODEL_UNKNOWN"),
    ],
)
async def test_res_6_what_is_not_allowed_or_not_said_is_told(
    monkeypatch: pytest.MonkeyPatch, workspace: Any, secrets: Any, provider: str, code: str
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "CLOUDFLARE_API_TOKEN", "CLOUDFLARE_ACCOUNT_ID"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ActionFailed) as refused:
        await embed(SettledResources(workspace=workspace, secrets=secrets), embedding_provider=provider)
    assert (refused.value.code, refused.value.retryable) == (code, False)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ({"title": "a", "text": "b", "more": "c"}, "a\n\nb"),
        ({"text": "b"}, "b"),
        ({"title": {"x": 1}, "text": None}, '{"x":1}'),
        ({"title": " ", "text": ""}, ""),
        ({"deep": {"er": "d"}}, "d"),
        ({"deep": {"er": "d"}, "deep.er": "e"}, "e"),
        ({"deep": "no object"}, ""),
        ([], ""),
        (None, ""),
    ],
)
def test_the_text_of_an_artifact_is_its_content_fields(data: Any, text: str) -> None:
    assert text_of(vector_index("i", PROJECT, ["t"], content_fields=["title", "text", "deep.er"]), data) == text


async def test_the_kind_is_among_those_that_there_are(place: Place) -> None:
    assert isinstance(place.made.registry.kind("vector_search"), VectorSearchKind)
