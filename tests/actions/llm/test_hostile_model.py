"""What a hostile model, or whoever sits where one should be, can't do: hang, flood, lie or lead astray."""

import asyncio
import gzip
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anthropic  # noqa: F401  # loaded here, because it takes seconds and no test should pay for it
import openai  # noqa: F401
import pytest

from support.llm_peers import STREAM, Asking, KnownResources, RawServer, asking, http, openai_event, raw_server
from support.tasks import until

Respond = Callable[[asyncio.StreamWriter], Awaitable[None]]
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
END = openai_event(end="stop") + b"data: [DONE]\n\n"


def sends(*parts: bytes) -> Respond:
    """Answer with these bytes and end."""

    async def respond(writer: asyncio.StreamWriter) -> None:
        for part in parts:
            writer.write(part)
        await writer.drain()
        writer.close()

    return respond


def repeats(first: bytes, part: bytes, pause: float = 0.0) -> Respond:
    """Answer without end."""

    async def respond(writer: asyncio.StreamWriter) -> None:
        writer.write(first)
        while True:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(pause)

    return respond


async def hangs(writer: asyncio.StreamWriter) -> None:
    """Take the question and say nothing."""
    await asyncio.sleep(60)


@asynccontextmanager
async def facing(
    respond: Respond, provider: str = "local", spending: Any = None, **config: Any
) -> AsyncIterator[tuple[Asking, RawServer]]:
    """Ask a server that answers so."""
    async with raw_server(respond) as server:
        resources = KnownResources(KEY="the-secret-key")
        resources.workspace = resources.workspace.model_copy(update={"allow_private_addresses": True})
        resources.prompt("prompt", "{{say}}")
        resources.prompt("number", "{{say}}", produces=NUMBER)
        url = server.url + ("/v1" if provider != "anthropic" else "")
        resources.model("model", provider, {"base_url": url, "api_key": "{{secrets.KEY}}", **config})
        async with asking(resources, spending) as ask:
            yield ask, server


async def fails(respond: Respond, code: str, *, retryable: bool = False, prompt: str = "prompt", **config: Any) -> Any:
    """Ask, and see that it fails so."""
    async with facing(respond, **config) as (ask, _):
        failure = await ask.fails("model", {"say": "hello"}, prompt=prompt)
    assert (failure.code, failure.retryable) == (code, retryable), failure.message
    assert "the-secret-key" not in f"{failure.message} {failure.details}"
    return failure


@pytest.mark.parametrize("provider", ["local", "anthropic"])
async def test_an_event_without_end_is_cut_off(provider: str) -> None:
    """One line that never ends, sent as fast as it can be."""
    await fails(repeats(STREAM + b"data: ", b"x" * 65_536), "PROVIDER_FLOOD", provider=provider)


@pytest.mark.parametrize("provider", ["local", "anthropic"])
async def test_an_event_of_countless_lines_is_cut_off(provider: str) -> None:
    """Each of which a library would add to all before it."""
    await fails(repeats(STREAM + b"event: x\n", b"data: x\n" * 5_000), "PROVIDER_FLOOD", provider=provider)


async def test_an_answer_without_end_is_cut_off() -> None:
    """Of proper events, until there are more characters than any value may have."""
    await fails(repeats(STREAM, openai_event("word " * 40_000)), "ANSWER_TOO_LARGE")


async def test_a_stream_that_says_nothing_for_ever_is_cut_off_in_time() -> None:
    """Signs of life are no answer."""
    started = asyncio.get_running_loop().time()
    await fails(repeats(STREAM, b": still here\n\n", 0.01), "PROVIDER_TIMEOUT", retryable=True, timeout_ms=200)
    await fails(repeats(STREAM, openai_event(""), 0.01), "PROVIDER_TIMEOUT", retryable=True, timeout_ms=200)
    await fails(hangs, "PROVIDER_TIMEOUT", retryable=True, timeout_ms=200)
    assert asyncio.get_running_loop().time() - started < 60  # without the limit it would take ten minutes


async def test_a_compressed_flood_is_cut_off() -> None:
    """A hundred megabytes in a hundred kilobytes."""
    bomb = gzip.compress(b"data: " + b"x" * 100_000_000, 1)
    head = STREAM.replace(b"\r\n\r\n", b"\r\ncontent-encoding: gzip\r\n\r\n")
    await fails(sends(head, bomb), "PROVIDER_FLOOD")


@pytest.mark.parametrize(
    "answer",
    ["[" * 100_000, '{"n":' * 10_000 + "1" + "}" * 10_000, '{"n": 1e999}', '{"n": 1, "n": 2}', '{"n": ' + "9" * 20_000],
)
async def test_json_that_is_a_bomb_is_a_misfit(answer: str) -> None:
    """Too deep, too large a number, the same key twice."""
    await fails(sends(STREAM, openai_event(answer), END), "ANSWER_MISFIT", prompt="number")


async def test_an_event_that_is_a_bomb_is_garbled() -> None:
    """Deep nesting in the wire itself, where a library parses it."""
    await fails(sends(STREAM, b"data: " + b"[" * 100_000 + b"\n\n"), "PROVIDER_GARBLED")


@pytest.mark.parametrize(
    "event",
    [
        b"data: {not json\n\n",
        b"data: \xff\xfe\xfd\n\n",
        b'data: {"choices": 7}\n\n',
        b'data: {"choices": [{"delta": {"content": [1]}, "finish_reason": {"a": 1}}]}\n\n',
        b"data: [1, 2]\n\n",
        b"data: null\n\n",
        b'data: {"choices": [null]}\n\n',
        b'data: {"choices": [{"delta": 3}]}\n\n',
    ],
)
async def test_events_of_the_wrong_form_fail_the_call_and_nothing_else(event: bytes) -> None:
    """Not JSON, not UTF-8, or other types than the wire has."""
    async with facing(sends(STREAM, event)) as (ask, _):
        failure = await ask.fails("model", {"say": "hello"})
    assert failure.code in ("PROVIDER_GARBLED", "PROVIDER_LOST", "ANSWER_BROKEN", "ANSWER_EMPTY")


async def test_halves_of_characters_are_joined_and_lone_ones_replaced() -> None:
    """CTX-7: what can't be stored never gets into a value."""
    halves = [b'data: {"choices": [{"delta": {"content": "%s"}}]}\n\n' % half for half in (b"\\ud83d", b"\\ude00")]
    lone = openai_event("!").replace(b"!", b"\\ud800\\u0000")
    async with facing(sends(STREAM, *halves, lone, END)) as (ask, _):
        assert (await ask("model", {"say": "x"})).output == "😀\ufffd\ufffd"


async def test_a_tool_call_that_nobody_asked_for_is_no_answer() -> None:
    """Its arguments are not looked at."""
    call = {"index": 0, "id": "c", "type": "function", "function": {"name": "rm", "arguments": '{"n": 1}'}}
    choices = [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]
    await fails(sends(STREAM, openai_event(choices=choices)), "ANSWER_UNASKED", prompt="number")


async def test_tokens_that_are_counted_absurdly_are_not_believed() -> None:
    """Negative, fractions, texts, or more than there can be."""
    for prompt_tokens, counted in ((-5, 20), ("many", 20), (1.5, 20), (10**30, 10**12), (True, 20)):
        usage = {"prompt_tokens": prompt_tokens, "completion_tokens": prompt_tokens, "total_tokens": 0}
        async with facing(sends(STREAM, openai_event("Hello", usage=usage), END)) as (ask, _):
            result = await ask("model", {"say": "hello"})
        assert result.output == "Hello"
        assert 0 <= result.usage.input_tokens <= counted


async def test_what_a_cut_stream_has_used_is_estimated_and_counted() -> None:
    """Who sent half an answer will charge for it."""
    respond = sends(STREAM, openai_event("x" * 400))
    async with facing(respond) as (ask, _):
        result = await ask("model", {"say": "hello"})
    assert result.error
    assert (result.error.code, result.error.retryable) == ("PROVIDER_LOST", True)
    assert (result.usage.output_tokens, result.usage.input_tokens > 0) == (100, True)


async def test_an_error_in_the_middle_of_a_stream_is_what_it_says() -> None:
    """A server that is overloaded after it has begun."""
    failure = {"error": {"message": "overloaded", "type": "server_error", "code": "rate_limit_exceeded"}}
    event = f"data: {json.dumps(failure)}\n\n".encode()
    await fails(sends(STREAM, openai_event("Hel"), event), "PROVIDER_RATE_LIMITED", retryable=True)
    start = b'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":9}}}\n\n'
    busy = b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'
    await fails(sends(STREAM, start, busy), "PROVIDER_UNAVAILABLE", retryable=True, provider="anthropic")


class Settled:
    """Notes what calls are settled at."""

    def __init__(self) -> None:
        self.costs: list[float] = []

    def charge(self, cost_usd: float) -> None:
        """Note a cost."""
        self.costs.append(cost_usd)

    @asynccontextmanager
    async def call(self, *given: Any) -> AsyncIterator["Settled"]:
        """Allow any call."""
        yield self


EMPTY = b'data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":[]}\n\n'


@pytest.mark.parametrize(
    ("provider", "parts", "settled"),
    [
        ("local", [STREAM, EMPTY, b'data: {"error": {"message": "no", "code": "invalid_request"}}\n\n'], []),
        ("local", [STREAM, b'data: {"error": {"message": "overloaded", "code": 503}}\n\n'], []),
        ("anthropic", [STREAM, b'event: error\ndata: {"type":"error","error":{"type":"api_error"}}\n\n'], []),
        ("local", [http(b'{"error": {"message": "no"}}', 400)], [0.0]),
        ("anthropic", [http(b'{"error": {"message": "no"}}', 529)], [0.0]),
    ],
)
async def test_res_6_only_what_was_refused_before_an_answer_began_costs_nothing(
    provider: str, parts: list[bytes], settled: list[float]
) -> None:
    """RES-6: what is told inside a stream comes after some of the work, and so the worst case counts."""
    spending = Settled()
    async with facing(sends(*parts), provider, spending) as (ask, _):
        result = await ask("model", {"say": "hello"})
    assert result.error
    assert spending.costs == settled
    assert (result.usage.input_tokens > 0) is (not settled)


async def test_a_redirect_is_not_followed() -> None:
    """The key would go along."""
    async with raw_server(sends(http(b"{}"))) as elsewhere:
        respond = sends(http(b"", 307, location=f"{elsewhere.url}/v1/chat/completions"))
        await fails(respond, "PROVIDER_REFUSED")
        assert not elsewhere.requests


@pytest.mark.parametrize("kind", ["application/json", "text/html; charset=utf-8"])
async def test_what_is_no_stream_is_garbled(kind: str) -> None:
    """A server that can't stream, or the page of one that stands between."""
    await fails(sends(http(b'{"choices": [{"message": {"content": "Hello"}}]}', kind=kind)), "PROVIDER_GARBLED")


async def test_an_error_of_a_megabyte_is_shown_by_its_beginning() -> None:
    """And one that quotes the key is redacted by the executor, which knows it (INV-8)."""
    failure = await fails(
        sends(http(json.dumps({"error": {"message": "x" * 1_000_000}}).encode(), 400)), "PROVIDER_REFUSED"
    )
    assert len(failure.message) < 2_000
    await fails(sends(http(b"\xff" * 3_000_000, 503)), "PROVIDER_FLOOD")


@pytest.mark.parametrize("seconds", ["-1", "soon", "9" * 400, "nan", "inf", "1e5", "Fri, 99 Foo 2026 00:00:00 GMT"])
async def test_an_absurd_retry_after_is_bounded_or_not_heard(seconds: str) -> None:
    """RET-1: it is obeyed, within a day."""
    body = b'{"error": {"message": "slow down"}}'
    failure = await fails(sends(http(body, 429, retry_after=seconds)), "PROVIDER_RATE_LIMITED", retryable=True)
    assert failure.retry_after_ms is None or 0 <= failure.retry_after_ms <= 86_400_000


async def test_cancelling_a_call_ends_the_connection_and_leaves_nothing() -> None:
    """RET-3: so that the model stops too."""
    async with facing(repeats(STREAM, openai_event("word "), 0.005)) as (ask, server):
        before = asyncio.all_tasks()
        asked = asyncio.create_task(ask("model", {"say": "hello"}))
        await until(lambda: ask.shown)
        assert server.connections == 1
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)
        await until(lambda: server.connections == 0)
        assert asyncio.all_tasks() - before - {asyncio.current_task()} == set()


async def test_a_private_address_is_refused_unless_the_workspace_allows_it() -> None:
    """ACT-3's guard, for models too: a `local` one reaches nothing more than any other."""
    async with facing(sends(STREAM, openai_event("Hello"), END)) as (ask, server):
        ask.resources.workspace = ask.resources.workspace.model_copy(update={"allow_private_addresses": False})
        for provider, url in (
            ("local", server.url),
            ("local", server.url.replace("127.0.0.1", "localhost")),
            ("openai", server.url),
            ("anthropic", server.url),
            # All of them would lead here, so that nothing else is reached if they were not refused.
            ("local", server.url.replace("127.0.0.1", "127.0.0.2")),
            ("local", server.url.replace("127.0.0.1", "0.0.0.0")),
            ("local", server.url.replace("127.0.0.1", "[::ffff:127.0.0.1]")),
            ("local", server.url.replace("127.0.0.1", "2130706433")),
        ):
            ask.resources.model("model", provider, {"base_url": url, "api_key": "k"})
            refused = await ask.fails("model", {"say": "x"})
            assert refused.code == "ADDRESS_REFUSED"
            assert "wonder workspace set allowed_model_base_urls" in refused.message
    assert server.requests == []


async def test_a_key_that_a_server_repeats_is_redacted_wherever_it_is_shown() -> None:
    """INV-8: in the answer, and in what a watcher sees of it, though it comes in halves and takes its time."""
    parts = [openai_event(part) for part in ("Your key is ", "the-sec", "ret-k", "ey", ", and 好的the-secret", "-key")]

    async def respond(writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM)
        for part in [*parts, END]:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(0.06)
        writer.close()

    async with facing(respond) as (ask, _):
        ask.bench.services.redactor.add("KEY", "the-secret-key")
        result = await ask("model", {"say": "x"})
    assert result.error is None
    assert len(ask.shown) > 1
    shown = "".join(shown["text"] for shown in ask.shown)
    for text in (shown, str(result.output)):
        assert "secret-" not in text
        assert "好的" in text


async def test_nothing_of_the_environment_goes_to_an_address_of_an_authors_choice(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The operator's keys, organizations and headers are for the providers themselves."""
    for provider, prefix in (("openai", "OPENAI"), ("anthropic", "ANTHROPIC")):
        for name in ("API_KEY", "AUTH_TOKEN", "ADMIN_KEY", "ORG_ID", "PROJECT_ID", "BASE_URL"):
            monkeypatch.setenv(f"{prefix}_{name}", "operators-own")
        monkeypatch.setenv(f"{prefix}_CUSTOM_HEADERS", "X-Operator: operators-own")
        respond = sends(http(b'{"error": {"message": "no"}}', 400))
        with caplog.at_level(logging.DEBUG, "wonder"):
            async with facing(respond, provider=provider) as (ask, server):
                await ask.fails("model", {"say": "x"})
                ((_, headers, _),) = server.requests
                assert "operators-own" not in str(headers)
                assert "the-secret-key" in str(headers)
                ask.resources.model("model", provider, {"base_url": server.url})
                failure = await ask.fails("model", {"say": "x"})
                assert failure.code == "PROVIDER_KEY_MISSING"
                assert len(server.requests) == 1
        assert "the-secret-key" not in caplog.text
