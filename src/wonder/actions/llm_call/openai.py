"""The wire of OpenAI's chat completions, which Cloudflare and most servers of local models speak too."""

import re
from collections.abc import AsyncIterator
from typing import Any, Final

import httpx2
import openai

from wonder.actions.http.retry_after import retry_after_of
from wonder.actions.llm_call.connection import Connection
from wonder.actions.llm_call.question import Ended, Fault, Piece, Question, Text, count_of
from wonder.actions.llm_call.structure import NativeForm, is_within, requires_all
from wonder.actions.money.tokens import Used
from wonder.clock import SYSTEM_CLOCK

# What OpenAI's strict mode can hold; it refuses a schema with any other keyword.
_STRICT: Final = frozenset(
    {"type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "$ref", "$defs"}
    | {"description", "title", "format", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
    | {"multipleOf", "minItems", "maxItems"}
)
_ENDS: Final[dict[str, Ended]] = {
    "stop": Ended("complete"),
    "length": Ended("cut_off"),
    "content_filter": Ended("filtered"),
    "tool_calls": Ended("tool_call"),
    "function_call": Ended("tool_call"),
}


class OpenAiProvider:
    """Asks over one key's client."""

    def __init__(self, connection: Connection, http: httpx2.AsyncClient) -> None:
        self._is_openai = connection.provider == "openai"
        self._client = openai.AsyncOpenAI(
            api_key=connection.api_key,
            base_url=connection.base_url,
            # Given, so that nothing of the operator's environment goes to an address of an author's.
            admin_api_key="",
            organization="",
            project="",
            timeout=httpx2.Timeout(connection.timeout_ms / 1000, connect=10.0),
            max_retries=0,
            http_client=http,
        )
        # Set, and not given: the library adds headers of the environment to those that it is given.
        self._client._custom_headers = _headers(connection)

    def native(self, schema: dict[str, Any]) -> NativeForm | None:
        """Give any schema as it is; strict where each of its words can be held."""
        is_strict = not self._is_openai or (is_within(schema, _STRICT) and requires_all(schema))
        return NativeForm(schema, is_strict)

    async def ask(self, question: Question) -> AsyncIterator[Piece]:
        """Stream a chat completion."""
        stream = await self._client.chat.completions.create(**self._request(question))
        async with stream:
            ended: Ended | None = None
            refusal = ""
            async for chunk in stream:
                for choice in (chunk.choices or [])[:1]:
                    delta = choice.delta
                    if delta and isinstance(delta.content, str) and delta.content:
                        yield Text(delta.content)
                    if delta and isinstance(delta.refusal, str):
                        refusal += delta.refusal[:200]
                    if choice.finish_reason:
                        reason = str(choice.finish_reason)
                        ended = _ENDS.get(reason, Ended("broken", reason[:200]))
                if chunk.usage:
                    yield _used(chunk.usage)
            if refusal:
                yield Ended("refused", refusal[:200])
            elif ended:
                yield ended

    def fault_of(self, error: Exception) -> Fault | None:
        """Read OpenAI's errors; one in the middle of a stream has no status of its own."""
        match error:
            case openai.APITimeoutError():
                return Fault("time_out", error.message)
            case openai.APIConnectionError():
                return Fault("lost", str(error.__cause__ or error.message))
            case openai.APIStatusError():
                wait_ms = retry_after_of(error.response.headers, SYSTEM_CLOCK.now_ms())
                return Fault("status", _message(error), error.status_code, wait_ms)
            case openai.APIResponseValidationError():
                return Fault("garbled", error.message)
            case openai.APIError():
                return Fault("status", _message(error), _status_of(error), is_taken=True)
        return None

    def _request(self, question: Question) -> dict[str, Any]:
        parameters = question.parameters
        messages = [{"role": turn.role, "content": turn.text} for turn in question.turns]
        if question.system:
            messages.insert(0, {"role": "system", "content": question.system})
        request: dict[str, Any] = {
            "model": question.model_id,
            "messages": messages,
            "stream": True,
            "stream_options": {"include_usage": True},
            # Others than OpenAI know the limit by its old name.
            "max_completion_tokens" if self._is_openai else "max_tokens": parameters.max_tokens,
        }
        if parameters.temperature != 1.0 or not self._is_openai:
            # 1 is OpenAI's own default, and some of its models refuse any temperature that is sent.
            request["temperature"] = parameters.temperature
        if parameters.top_p is not None:
            request["top_p"] = parameters.top_p
        if parameters.stop_sequences:
            request["stop"] = parameters.stop_sequences
        if question.schema is not None:
            form = {"name": "answer", "schema": question.schema, "strict": question.is_strict}
            request["response_format"] = {"type": "json_schema", "json_schema": form}
        return request


def _headers(connection: Connection) -> dict[str, Any]:
    """Return the profile's headers, and leave out those that the library would send empty."""
    left_out: dict[str, Any] = {"OpenAI-Organization": openai.omit, "OpenAI-Project": openai.omit}
    return {**left_out, **dict(connection.headers)}


def _used(usage: Any) -> Used:
    details = getattr(usage, "prompt_tokens_details", None)
    cached = count_of(getattr(details, "cached_tokens", 0))
    return Used(count_of(usage.prompt_tokens), count_of(usage.completion_tokens), cached)


def _message(error: openai.APIError) -> str:
    body = error.body
    return str(body.get("message") or error.message) if isinstance(body, dict) else error.message


def _status_of(error: openai.APIError) -> int:
    """Return the HTTP status that an error within a stream stands for; most are the server's own."""
    code = str(error.code or error.type or "")
    if re.fullmatch("[45][0-9][0-9]", code):
        return int(code)
    return 429 if "rate_limit" in code else 400 if "invalid_request" in code else 500
