"""The wire of Anthropic's messages."""

from collections.abc import AsyncIterator
from typing import Any, Final

import anthropic
import httpx2

from wonder.actions.http.retry_after import retry_after_of
from wonder.actions.llm_call.connection import Connection
from wonder.actions.llm_call.question import Ended, Fault, Piece, Question, Text, count_of
from wonder.actions.llm_call.structure import NativeForm, is_closed
from wonder.actions.money.tokens import Used
from wonder.clock import SYSTEM_CLOCK

_ENDS: Final[dict[str, Ended]] = {
    "end_turn": Ended("complete"),
    "stop_sequence": Ended("complete"),
    "max_tokens": Ended("cut_off"),
    "model_context_window_exceeded": Ended("cut_off", "its context is full"),
    "refusal": Ended("refused"),
    "tool_use": Ended("tool_call"),
}
# An error in the middle of a stream has a name and no status.
_STATUSES: Final[dict[str, int]] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "timeout_error": 408,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "overloaded_error": 529,
}


class AnthropicProvider:
    """Asks over one key's client."""

    def __init__(self, connection: Connection, http: httpx2.AsyncClient) -> None:
        self._client = anthropic.AsyncAnthropic(
            api_key=connection.api_key,
            base_url=connection.base_url,
            timeout=httpx2.Timeout(connection.timeout_ms / 1000, connect=10.0),
            max_retries=0,
            http_client=http,
        )
        # Set, and not given: the library adds headers of the environment to those that it is given.
        self._client._custom_headers = dict(connection.headers)

    def native(self, schema: dict[str, Any]) -> NativeForm | None:
        """Give a schema as Anthropic takes it: what it can't hold becomes a part of the description."""
        if not is_closed(schema):
            return None
        try:
            return NativeForm(anthropic.transform_schema(schema), is_strict=True)
        except (ValueError, AssertionError):
            return None

    async def ask(self, question: Question) -> AsyncIterator[Piece]:
        """Stream a message."""
        stream = await self._client.messages.create(**self._request(question))
        async with stream:
            used, ended = Used(), None
            async for event in stream:
                match event.type:
                    case "message_start":
                        used = _used(event.message.usage, used)
                        yield used
                    case "content_block_delta":
                        text = getattr(event.delta, "text", None)
                        if event.delta.type == "text_delta" and isinstance(text, str) and text:
                            yield Text(text)
                    case "message_delta":
                        used = _used(event.usage, used)
                        yield used
                        reason = str(event.delta.stop_reason or "")
                        ended = _ENDS.get(reason, Ended("broken", reason[:200])) if reason else ended
                    case "message_stop" if ended:
                        yield ended

    def fault_of(self, error: Exception) -> Fault | None:
        """Read Anthropic's errors."""
        match error:
            case anthropic.APITimeoutError():
                return Fault("time_out", error.message)
            case anthropic.APIConnectionError():
                return Fault("lost", str(error.__cause__ or error.message))
            case anthropic.APIStatusError():
                wait_ms = retry_after_of(error.response.headers, SYSTEM_CLOCK.now_ms())
                is_taken = error.response.status_code == 200
                return Fault("status", error.api_message or error.message, _status_of(error), wait_ms, is_taken)
            case anthropic.APIResponseValidationError():
                return Fault("garbled", error.message)
        return None

    def _request(self, question: Question) -> dict[str, Any]:
        parameters = question.parameters
        request: dict[str, Any] = {
            "model": question.model_id,
            "messages": [{"role": turn.role, "content": turn.text} for turn in question.turns],
            "max_tokens": parameters.max_tokens,
            "stream": True,
        }
        if question.system:
            request["system"] = question.system
        if parameters.temperature != 1.0:
            # 1 is the default, and some models take temperature or top_p but not both.
            request["temperature"] = parameters.temperature
        if parameters.top_p is not None:
            request["top_p"] = parameters.top_p
        if parameters.stop_sequences:
            request["stop_sequences"] = parameters.stop_sequences
        if question.schema is not None:
            request["output_config"] = {"format": {"type": "json_schema", "schema": question.schema}}
        return request


def _used(usage: Any, before: Used) -> Used:
    """Add what an event counts to what those before it did; Anthropic counts cached tokens beside the input."""
    read = count_of(getattr(usage, "cache_read_input_tokens", None)) or before.cache_read_tokens
    written = count_of(getattr(usage, "cache_creation_input_tokens", None)) or before.cache_write_tokens
    plain = count_of(getattr(usage, "input_tokens", None))
    counted = plain + read + written if plain else before.input_tokens
    return Used(counted, count_of(getattr(usage, "output_tokens", None)), read, written)


def _status_of(error: anthropic.APIStatusError) -> int:
    if error.status_code >= 300:
        return error.status_code
    return _STATUSES.get(str(error.type), 500)
