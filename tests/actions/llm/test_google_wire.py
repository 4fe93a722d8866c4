"""What Google's wire has that the others have not: blocked prompts, thoughts, waits within an error."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from google import genai  # noqa: F401  # loaded here, because it takes seconds and no test should pay for it

from support.llm_peers import STREAM, Asking, KnownResources, asking, http, raw_server


@asynccontextmanager
async def answered(*chunks: Any, whole: bytes = b"") -> AsyncIterator[Asking]:
    """Ask a server that sends these chunks."""

    async def respond(writer: Any) -> None:
        writer.write(whole or STREAM + b"".join(f"data: {json.dumps(chunk)}\r\n\r\n".encode() for chunk in chunks))
        await writer.drain()
        writer.close()

    async with raw_server(respond) as server:
        resources = KnownResources()
        resources.workspace = resources.workspace.model_copy(update={"allow_private_addresses": True})
        resources.prompt("prompt", "{{say}}")
        resources.model("model", "google", {"base_url": server.url, "api_key": "k"})
        async with asking(resources) as ask:
            yield ask


def said(*parts: Any, end: str | None = None, **fields: Any) -> dict[str, Any]:
    """Write a chunk with these parts."""
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, "finishReason": end}], **fields}


async def test_thoughts_are_no_part_of_the_answer_but_are_paid_for() -> None:
    """As are tokens that were read from a cache."""
    usage = {
        "promptTokenCount": 100,
        "candidatesTokenCount": 5,
        "thoughtsTokenCount": 40,
        "cachedContentTokenCount": 60,
    }
    chunks = [said({"text": "Let me see", "thought": True}), said({"text": "Hel"}), said({"text": "lo"}, end="STOP")]
    async with answered(*chunks[:2], {**chunks[2], "usageMetadata": usage}) as ask:
        result = await ask("model", {"say": "x"})
    assert result.output == "Hello"
    assert (result.usage.input_tokens, result.usage.output_tokens) == (100, 45)


@pytest.mark.parametrize(
    ("chunk", "code"),
    [
        ({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}, "ANSWER_FILTERED"),
        (said({"text": "Hel"}, end="RECITATION"), "ANSWER_FILTERED"),
        (said({"functionCall": {"name": "rm", "args": {}}}, end="STOP"), "ANSWER_UNASKED"),
        (said({"text": "Hel"}, end="MALFORMED_RESPONSE"), "ANSWER_BROKEN"),
        (said({"text": "Hel"}), "PROVIDER_LOST"),
        ({"candidates": 7}, "PROVIDER_GARBLED"),
        ({"candidates": [{"content": {"parts": [{"text": 7}]}}]}, "PROVIDER_GARBLED"),
        ([1, 2], "PROVIDER_LOST"),  # read over by the library
        ({}, "PROVIDER_LOST"),
    ],
)
async def test_an_answer_that_is_none_has_a_code_of_its_own(chunk: Any, code: str) -> None:
    """Whatever Google calls it."""
    async with answered(chunk) as ask:
        failure = await ask.fails("model", {"say": "x"})
    assert failure.code == code, failure.message


async def test_a_wait_within_an_error_is_obeyed() -> None:
    """RET-1: Google names it there, and not in a header."""
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "2.5s"}]
    error = {"error": {"code": 429, "message": "Quota", "status": "RESOURCE_EXHAUSTED", "details": details}}
    async with answered(whole=http(json.dumps(error).encode(), 429)) as ask:
        failure = await ask.fails("model", {"say": "x"})
    assert (failure.code, failure.retryable, failure.retry_after_ms) == ("PROVIDER_RATE_LIMITED", True, 2_500)
    assert "Quota" in failure.message


async def test_an_error_in_the_middle_of_a_stream_is_what_it_says() -> None:
    """A server that is overloaded after it has begun."""
    error = {"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}
    async with answered(said({"text": "Hel"}), error) as ask:
        failure = await ask.fails("model", {"say": "x"})
    assert (failure.code, failure.retryable) == ("PROVIDER_UNAVAILABLE", True)
