"""Every parser that takes text from outside survives what fuzzing has found and what reaches most of its code."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from proof.fuzz import corpus_of
from proof.fuzz_targets import TARGETS, survive

from proof import fuzz_operations
from wonder.language.paths import PathSyntax, compile_query
from wonder.sandbox.pool_errors import TransformFailed
from wonder.sandbox.pool_values import read_output


@pytest.fixture(scope="module", autouse=True)
def closed() -> Iterator[None]:
    """Close what a target has opened."""
    yield
    fuzz_operations.close()


@pytest.mark.parametrize("target", TARGETS)
def test_a_parser_accepts_or_rejects_every_input_of_its_corpus(target: str) -> None:
    corpus = corpus_of(target)
    assert corpus, f"there is no corpus for {target}: python -m proof fuzz {target} --keep"
    for data in corpus:
        survive(target, data)


@pytest.mark.parametrize("query", ["$[3E2]", "$.a[1e0].b", "$[1E2:]"])
def test_ctx_5_a_number_with_an_exponent_is_no_index(query: str) -> None:
    with pytest.raises(PathSyntax):
        compile_query(query)


@pytest.mark.parametrize("answer", [b"", b"{", b"\xff", b"nonsense", b'{"a":1}}'])
def test_an_answer_of_a_transform_s_process_that_is_not_json_fails_the_step(answer: bytes) -> None:
    with pytest.raises(TransformFailed) as caught:
        read_output(answer)
    assert caught.value.code == "TRANSFORM_CRASHED"


def test_a_target_that_raises_anything_but_a_rejection_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(data: bytes) -> None:
        raise KeyError(data)

    targets: dict[str, Callable[[bytes], Any]] = TARGETS
    monkeypatch.setitem(targets, "cursors", broken)
    with pytest.raises(KeyError):
        survive("cursors", b"")
