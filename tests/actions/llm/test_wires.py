"""`llm_call` over the providers' own wires: their real libraries against a server on loopback that speaks all three."""

# Loaded here, because a library takes up to three seconds and no test should pay for it.
import anthropic  # noqa: F401
import genai_prices  # noqa: F401
import openai  # noqa: F401
import pytest
from google import genai  # noqa: F401

from support.llm_peers import Aimock, KnownResources, Scripted, aimock, asking

PROVIDERS = ["anthropic", "openai", "google", "local", "cloudflare"]
on_each_wire = pytest.mark.parametrize("provider", PROVIDERS)
NUMBER = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 0}}, "required": ["n"]}
STORY = "Once upon a time there was a model, and it told a story to whoever watched it. The end."


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    """A server with an answer for each of the tests."""
    scripted = Scripted()
    scripted.on("greet", {"content": "Hello, Ada!"})
    scripted.on("story", {"content": STORY}, latency=20, chunkSize=8)
    scripted.on("number", {"content": '{"n": 3}'})
    scripted.on("wrapped list", {"content": '{"answer": ["a", "b"]}'})
    scripted.on("plain list", {"content": '["a", "b"]'})
    scripted.on("words", {"content": "Three, I think."})
    limited = {"message": "slow down", "type": "rate_limit_error", "code": "rate_limit_exceeded"}
    scripted.on("limited", {"error": limited, "status": 429, "retryAfter": 7})
    scripted.on("broken", {"error": {"message": "an accident", "type": "api_error"}, "status": 500})
    scripted.on("busy", {"error": {"message": "Overloaded", "type": "overloaded_error"}, "status": 529})
    scripted.on("key", {"error": {"message": "bad key", "type": "authentication_error"}, "status": 401})
    scripted.on("wrong", {"error": {"message": "bad parameter", "type": "invalid_request_error"}, "status": 400})
    scripted.on("cut", {"content": STORY}, latency=5, chunkSize=4, disconnectAfterMs=40)
    scripted.on("dropped", {"content": "x"}, chaos={"disconnectRate": 1})
    scripted.on("garbage", {"content": "x"}, chaos={"malformedRate": 1})
    scripted.on("slow", {"content": STORY}, latency=400, chunkSize=4)
    scripted.on("limit of tokens", {"content": "Once upon", "finishReason": "length"})
    scripted.on("tools", {"toolCalls": [{"name": "remove", "arguments": "{}"}], "finishReason": "tool_calls"})
    for provider, counts in (
        ("anthropic", {"input_tokens": 11, "output_tokens": 7}),
        ("openai", {"prompt_tokens": 11, "completion_tokens": 7}),
        ("google", {"promptTokenCount": 11, "candidatesTokenCount": 7}),
    ):
        scripted.on(f"count {provider}", {"content": "counted", "usage": counts})
    with aimock(tmp_path_factory.mktemp("aimock"), scripted) as started:
        yield started


def on(peer: Aimock, provider: str, **config: object) -> KnownResources:
    """A prompt, and a model of a provider that is on loopback."""
    resources = KnownResources(KEY="a-secret-key")
    resources.workspace = resources.workspace.model_copy(update={"allow_private_addresses": True})
    resources.prompt("prompt", "{{say}}", system_prompt="You are {{who}}.")
    resources.prompt("number", "{{say}}", produces=NUMBER, examples=[{"input": {"say": "two"}, "output": {"n": 2}}])
    resources.prompt("list", "{{say}}", produces={"type": "array", "items": {"type": "string"}})
    given = {"base_url": peer.base_url(provider), "api_key": "{{secrets.KEY}}", **config}
    resources.model("model", provider, given)
    return resources


@on_each_wire
async def test_a_model_is_asked_and_answers(peer: Aimock, provider: str) -> None:
    """ACT-1: with the system prompt and the key, which nobody else gets to see."""
    async with asking(on(peer, provider, headers={"X-Team": "us"})) as ask:
        result = await ask("model", {"say": "greet", "who": "polite"})
    assert (result.error, result.output) == (None, "Hello, Ada!")
    sent = peer.requests()[-1]
    assert "You are polite." in str(sent["body"])
    assert sent["headers"]["x-team"] == "us"


@on_each_wire
async def test_the_answer_is_shown_while_it_comes(peer: Aimock, provider: str) -> None:
    """ACT-1: streaming to whoever watches the run."""
    async with asking(on(peer, provider)) as ask:
        result = await ask("model", {"say": "story"})
    assert result.output == STORY
    assert len(ask.shown) > 2
    assert "".join(shown["text"] for shown in ask.shown) == STORY


@on_each_wire
async def test_a_value_is_asked_for_as_the_provider_has_it(peer: Aimock, provider: str) -> None:
    """ACT-1: structured output where there is one, in the prompt where there is none, examples as turns before."""
    async with asking(on(peer, provider)) as ask:
        result = await ask("model", {"say": "number"}, prompt="number")
        assert (result.error, result.output) == (None, {"n": 3})
        body = peer.requests()[-1]["body"]
        assert [message["role"] for message in body["messages"] if message["role"] != "system"] == [
            "user",
            "assistant",
            "user",
        ]
        assert str(body["messages"]).count('{"n":2}') == 1
        assert ("JSON Schema" in str(body["messages"])) == (provider in ("local", "cloudflare"))
        if provider in ("openai", "local"):
            assert body["response_format"]["json_schema"]["schema"] == NUMBER
        listed = "plain list" if provider == "cloudflare" else "wrapped list"
        assert (await ask("model", {"say": listed}, prompt="list")).output == ["a", "b"]
        failure = await ask.fails("model", {"say": "words"}, prompt="number")
    assert (failure.code, failure.retryable) == ("ANSWER_MISFIT", False)


@on_each_wire
@pytest.mark.parametrize(
    ("asked", "code", "retryable"),
    [
        ("limited", "PROVIDER_RATE_LIMITED", True),
        ("broken", "PROVIDER_UNAVAILABLE", True),
        ("busy", "PROVIDER_UNAVAILABLE", True),
        ("cut", "PROVIDER_LOST", True),
        ("dropped", "PROVIDER_LOST", True),
        ("slow", "PROVIDER_TIMEOUT", True),
        ("key", "PROVIDER_KEY_REFUSED", False),
        ("wrong", "PROVIDER_REFUSED", False),
        ("unknown", "MODEL_UNKNOWN", False),
        ("garbage", "PROVIDER_GARBLED", False),
        ("limit of tokens", "ANSWER_CUT_OFF", False),
    ],
)
async def test_what_goes_wrong_has_a_code_and_is_retryable_by_the_list(
    peer: Aimock, provider: str, asked: str, code: str, retryable: bool
) -> None:
    """RET-1: and it is asked only once, because the libraries' own retries are off."""
    before = len(peer.requests())
    async with asking(on(peer, provider, timeout_ms=250 if asked == "slow" else 10_000)) as ask:
        failure = await ask.fails("model", {"say": asked})
    assert (failure.code, failure.retryable) == (code, retryable), failure.message
    assert failure.retry_after_ms == (7_000 if asked == "limited" else None)
    assert len(peer.requests()) == before + 1
    assert "a-secret-key" not in f"{failure.message} {failure.details}"


@pytest.mark.parametrize("provider", ["anthropic", "openai", "local"])
async def test_a_tool_that_nobody_gave_is_not_called(peer: Aimock, provider: str) -> None:
    """A model that calls one has not answered."""
    async with asking(on(peer, provider)) as ask:
        assert (await ask.fails("model", {"say": "tools"})).code == "ANSWER_UNASKED"


@pytest.mark.parametrize(
    ("provider", "model_id", "cost"),
    [("anthropic", "claude-haiku-4-5", 0.8e-6), ("openai", "gpt-4o-mini", 0.15e-6), ("google", "x", 0.0)],
)
async def test_tokens_are_counted_and_priced_by_the_published_prices(
    peer: Aimock, provider: str, model_id: str, cost: float
) -> None:
    """ACT-1: where the profile has no prices of its own; an output token costs more than an input token."""
    resources = on(peer, provider)
    resources.model("model", provider, resources.models["model"].execution_config, model_id=model_id)
    async with asking(resources) as ask:
        result = await ask("model", {"say": f"count {provider}"})
    usage = result.usage
    assert (result.error, result.output) == (None, "counted")
    assert (usage.input_tokens, usage.output_tokens) == (11, 7)
    assert usage.cost_usd >= 18 * cost
    assert (usage.cost_usd > 0) == (cost > 0)


async def test_connections_are_kept_and_closed_in_the_end(peer: Aimock) -> None:
    """Ten calls, one after the other, make one connection."""
    async with asking(on(peer, "local")) as ask:
        for _ in range(10):
            await ask("model", {"say": "greet"})
        kind = ask.bench.registry.kind("llm_call")
        (http,) = kind._models.clients._http.values()  # type: ignore[attr-defined]
        pool = http._transport._inner._pool
        assert len(pool.connections) == 1
    assert http.is_closed
    assert not pool.connections
