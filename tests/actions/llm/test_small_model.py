"""`llm_call` with a real model, offline: 135 million parameters, on this machine, over its server's real wire."""

from collections.abc import Iterator

import openai  # noqa: F401  # loaded here, because it takes a second and no test should pay for it
import pytest

from support.llm_peers import KnownResources, asking, small_model
from wonder.definitions.records.tenancy import WorkspaceSettings

VERDICT = {
    "type": "object",
    "properties": {"sentiment": {"enum": ["positive", "negative"]}, "sure": {"type": "boolean"}},
    "required": ["sentiment", "sure"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The address of the model's server."""
    with small_model() as started:
        yield started


def known(address: str) -> KnownResources:
    """A prompt with an example, and the model."""
    resources = KnownResources()
    example = {"input": {"text": "I hate it."}, "output": {"sentiment": "negative", "sure": True}}
    resources.prompt("judge", "What does this say? {{text}}", produces=VERDICT, examples=[example])
    resources.prompt("talk", "{{text}}", system_prompt="Answer in one short sentence.")
    parameters = {"temperature": 0.0, "max_tokens": 40}
    resources.model("small", "local", {"base_url": address}, parameters=parameters)
    resources.workspace = WorkspaceSettings(allowed_model_base_urls=[address])
    return resources


async def test_a_real_model_answers_with_a_value_that_fits(address: str) -> None:
    """ACT-1: its server holds it to the schema."""
    async with asking(known(address)) as ask:
        result = await ask("small", {"text": "I love this wonderful day!"}, prompt="judge", seconds=120)
    assert result.error is None
    assert isinstance(result.output, dict)
    assert result.output["sentiment"] in ("positive", "negative")
    assert result.usage.input_tokens > 20
    assert 0 < result.usage.output_tokens <= 40
    assert result.usage.cost_usd == 0


async def test_a_real_model_streams_a_text(address: str) -> None:
    """ACT-1: until it has said all, or has used up its tokens."""
    async with asking(known(address)) as ask:
        result = await ask("small", {"text": "What is the capital of France?"}, prompt="talk", seconds=120)
    said = "".join(shown["text"] for shown in ask.shown)
    if result.error:
        assert result.error.code == "ANSWER_CUT_OFF"
    else:
        assert result.output == said
    assert said
