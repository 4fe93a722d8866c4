"""The wire of Google's Gemini API."""

from collections.abc import AsyncIterator
from typing import Any, Final

import httpx2
from google import genai
from google.genai import errors, types

from wonder.actions.http.retry_after import retry_after_of
from wonder.actions.llm_call.connection import Connection
from wonder.actions.llm_call.question import Ended, Fault, Piece, Question, Text, count_of
from wonder.actions.llm_call.structure import NativeForm, keep
from wonder.actions.money.tokens import Used
from wonder.clock import SYSTEM_CLOCK

# What Gemini's structured output knows; the rest is left out, and checked when the answer is there.
_KNOWN: Final = frozenset(
    {"type", "properties", "required", "additionalProperties", "items", "prefixItems", "enum", "anyOf", "oneOf", "$ref"}
    | {"$defs", "description", "title", "format", "minimum", "maximum", "minItems", "maxItems"}
)
_ENDS: Final[dict[str, Ended]] = {
    "STOP": Ended("complete"),
    "MAX_TOKENS": Ended("cut_off"),
    "MALFORMED_FUNCTION_CALL": Ended("tool_call"),
    "UNEXPECTED_TOOL_CALL": Ended("tool_call"),
    "TOO_MANY_TOOL_CALLS": Ended("tool_call"),
}
_FILTERED: Final = frozenset({"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE"})


class GoogleProvider:
    """Asks over one key's client."""

    def __init__(self, connection: Connection, http: httpx2.AsyncClient) -> None:
        self._client = genai.Client(
            api_key=connection.api_key,
            vertexai=False,
            http_options=types.HttpOptions(
                base_url=connection.base_url,
                api_version="v1beta",
                headers=dict(connection.headers),
                timeout=connection.timeout_ms,
                httpx_async_client=http,
                # Never used, and given because the library would make one of its own, with all its certificates.
                httpx_client=httpx2.Client(transport=httpx2.MockTransport(_refuse), trust_env=False),
            ),
        )

    def native(self, schema: dict[str, Any]) -> NativeForm | None:
        """Give a schema with the keywords that Gemini knows."""
        return NativeForm(keep(schema, _KNOWN), is_strict=False)

    async def ask(self, question: Question) -> AsyncIterator[Piece]:
        """Stream generated content."""
        contents = [
            types.Content(role="model" if turn.role == "assistant" else "user", parts=[types.Part(text=turn.text)])
            for turn in question.turns
        ]
        chunks: Any = await self._client.aio.models.generate_content_stream(
            model=question.model_id,
            contents=contents,
            config=_config(question),
        )
        try:
            ended, has_called = None, False
            async for chunk in chunks:
                if chunk.usage_metadata:
                    yield _used(chunk.usage_metadata)
                blocked = chunk.prompt_feedback and chunk.prompt_feedback.block_reason
                if blocked:
                    ended = Ended("filtered", _word(blocked))
                for candidate in (chunk.candidates or [])[:1]:
                    for part in (candidate.content and candidate.content.parts) or []:
                        if isinstance(part.text, str) and part.text and not part.thought:
                            yield Text(part.text)
                        has_called = has_called or part.function_call is not None
                    if candidate.finish_reason:
                        ended = _end(_word(candidate.finish_reason))
            if ended:
                yield Ended("tool_call") if has_called and ended.how in ("complete", "broken") else ended
        finally:
            await chunks.aclose()

    def fault_of(self, error: Exception) -> Fault | None:
        """Read Google's errors."""
        if isinstance(error, errors.APIError):
            headers = getattr(error.response, "headers", None) or {}
            wait_ms = retry_after_of(headers, SYSTEM_CLOCK.now_ms())
            status = error.code if isinstance(error.code, int) and 300 <= error.code <= 599 else 500
            # In a stream an error has no response of its own, or the one with which the stream began.
            is_taken = getattr(error.response, "status_code", 200) == 200
            wait_ms = wait_ms or _delay_ms(error.details)
            return Fault("status", str(error.message or error), status, wait_ms, is_taken)
        if isinstance(error, errors.UnknownApiResponseError):
            return Fault("garbled", str(error))
        return None


def _config(question: Question) -> types.GenerateContentConfig:
    parameters = question.parameters
    config: dict[str, Any] = {
        "max_output_tokens": parameters.max_tokens,
        "temperature": parameters.temperature,
        "automatic_function_calling": types.AutomaticFunctionCallingConfig(disable=True),
        "automatic_continuation": False,
    }
    if question.system:
        config["system_instruction"] = question.system
    if parameters.top_p is not None:
        config["top_p"] = parameters.top_p
    if parameters.stop_sequences:
        config["stop_sequences"] = parameters.stop_sequences
    if question.schema is not None:
        config |= {"response_mime_type": "application/json", "response_json_schema": question.schema}
    return types.GenerateContentConfig(**config)


def _end(reason: str) -> Ended:
    if reason in _FILTERED:
        return Ended("filtered", reason)
    return _ENDS.get(reason, Ended("broken", reason[:200]))


def _used(usage: types.GenerateContentResponseUsageMetadata) -> Used:
    output = count_of(usage.candidates_token_count) + count_of(usage.thoughts_token_count)
    return Used(count_of(usage.prompt_token_count), output, count_of(usage.cached_content_token_count))


def _word(value: Any) -> str:
    return str(getattr(value, "value", value))


def _delay_ms(details: Any) -> int | None:
    """Return the wait that Google names within the error instead of in a header: `"retryDelay": "30s"`."""
    try:
        for detail in details["error"]["details"]:
            if "retryDelay" in detail:
                return int(min(max(float(str(detail["retryDelay"]).rstrip("s")), 0.0), 86_400.0) * 1000)
    except (KeyError, TypeError, ValueError, OverflowError):
        pass
    return None


def _refuse(request: httpx2.Request) -> httpx2.Response:
    raise AssertionError("only the async client is used")
