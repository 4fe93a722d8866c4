"""Targets for what servers and models answer: HTTP, MCP, model providers, servers of embeddings."""

from contextlib import suppress
from types import SimpleNamespace
from typing import Any, Final

import httpx2
from mcp_types import CallToolResult, JSONRPCResponse, ListToolsResult
from pydantic import ValidationError

from wonder.actions.embedding.remote import _read as read_embeddings
from wonder.actions.http.bodies import _PIECE, Unpacking
from wonder.actions.http.client import _unpacked as unpacked_headers
from wonder.actions.http.retry_after import RETRY_AFTER_MAX_MS, retry_after_of
from wonder.actions.http_request.outgoing import Header, Outgoing
from wonder.actions.http_request.responses import headers_of, read_json, read_text, status_failure
from wonder.actions.llm_call.answers import clean, value_of
from wonder.actions.llm_call.google import _delay_ms
from wonder.actions.llm_call.openai import _status_of
from wonder.actions.llm_call.structure import Shape
from wonder.actions.mcp.answers import is_answer, is_error
from wonder.actions.mcp.messages import _parse as parse_mcp_line
from wonder.actions.mcp.protocol_errors import first_fault
from wonder.actions.mcp.results import is_large, output_of
from wonder.actions.mcp.schemas import ToolList
from wonder.errors import WonderError
from wonder.language.schemas import compile_validator
from wonder.language.values import BadValue, check_value, encode_json, parse_json

_LINE_END: Final = b"\n"
_BODY_MAX: Final = 4_000_000
_KEY: Final = Header("X-Api-Key", b"k", is_private=True)
_ASKED: Final = Outgoing("POST", httpx2.URL("https://api.example.com/v1"), (_KEY, Header("Accept", b"*/*")), b"{}")
_SAMPLE: Final[Any] = {"a": 1, "b": [None, "x", 2.5], "c": {"d": True}}
_OBJECT: Final[Any] = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
_SHAPES: Final = (
    Shape(is_text=True, validator=None),
    Shape(is_text=True, validator=compile_validator({"type": "string", "pattern": "^[a-z ]+$"})),
    Shape(is_text=False, validator=compile_validator(_OBJECT)),
    Shape(is_text=False, validator=compile_validator({"enum": ["yes", "no", 1]}), is_wrapped=True),
)


def http_answers(data: bytes) -> None:
    """Read an answer of HTTP: a line with its status, one for each header, an empty one, and the body."""
    head, _, body = data.partition(_LINE_END * 2)
    status_line, *lines = head.split(_LINE_END)
    status = 100 + int.from_bytes(status_line[-2:], "big") % 500
    # As the transport hands it on: without the encoding, for which the client would have errors of its own.
    headers, encoding = unpacked_headers(_headers(lines))
    response = httpx2.Response(status, headers=headers, content=b"")
    _follow(status, response.headers.get("location", ""))
    check_value(status_failure("it", response, body[:4_000], now_ms=1_700_000_000_000).details)
    headers_of(response)
    wait_ms = retry_after_of(response.headers, 1_700_000_000_000)
    assert wait_ms is None or 0 <= wait_ms <= RETRY_AFTER_MAX_MS, "no wait is longer than a day"
    for read in (lambda: read_json(body), lambda: read_text(body, response.headers.get("content-type", ""))):
        with suppress(WonderError):
            check_value(read())
    if encoding:
        _unpack(encoding, body)


def mcp_answers(data: bytes) -> None:
    """Read a line of an MCP server, over either transport, and what it says of a tool or of all of them."""
    is_answer(data, 1)
    is_error(data)
    found = parse_mcp_line(data)
    message = getattr(found, "message", None)
    if not isinstance(message, JSONRPCResponse):
        return
    try:
        result = CallToolResult.model_validate(message.result)
        is_large(result)
        with suppress(WonderError):
            check_value(output_of(result, "server", "tool"))
    except ValidationError as error:
        first_fault(error)
    with suppress(ValidationError):
        tools = ToolList("server", lambda: 0.0, 60.0)
        tools.learn(ListToolsResult.model_validate(message.result).tools)
        for tool in tools.all():
            encode_json(tool.input_schema)
            tool.input_faults(_SAMPLE)
            tool.output_faults(_SAMPLE)


def model_answers(data: bytes) -> None:
    """Read what a model has said, as a text and as values, and what its server says of failures."""
    try:
        # Half of a pair, as a model's server may send one as \\udxxx.
        text = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
    cleaned = clean(text)
    check_value(cleaned, max_bytes=10_000_000) if len(cleaned) < 1_000_000 else None
    for shape in _SHAPES:
        with suppress(WonderError):
            value = check_value(value_of(cleaned, shape, "a model"))
            assert shape.validator is None or shape.validator.is_valid(value), "what is given on fits"
    error: Any = SimpleNamespace(code=cleaned, type=None)
    assert 400 <= _status_of(error) <= 599, "an error is told as one"
    with suppress(BadValue):
        wait_ms = _delay_ms(parse_json(data))
        assert wait_ms is None or 0 <= wait_ms <= RETRY_AFTER_MAX_MS, "no wait is longer than a day"
    for provider in ("openai", "cloudflare_ai"):
        index: Any = SimpleNamespace(embedding_provider=provider)
        with suppress(BadValue, ValueError):
            read_embeddings(index, data)


def _headers(lines: list[bytes]) -> list[tuple[bytes, bytes]]:
    """Give headers as the client hands them on: with names of ASCII, and without line ends."""
    pairs = (line.partition(b":")[::2] for line in lines)
    return [
        (name.strip(), value.strip().replace(b"\r", b"").replace(b"\x00", b""))
        for name, value in pairs
        if name.strip().isascii() and name.strip()
    ]


def _follow(status: int, location: str) -> None:
    with suppress(WonderError):
        followed = _ASKED.followed(status, location)
        is_same = followed.url.raw_host == _ASKED.url.raw_host and followed.url.port in (None, 443)
        assert _KEY not in followed.headers or is_same, "a key goes to no other host"
        followed.destination  # noqa: B018  # reads the host once more
        followed.built(1.0, 1)


def _unpack(encoding: str, body: bytes) -> None:
    unpacking, size = Unpacking(encoding), 0
    for piece in unpacking.feed(body):
        assert len(piece) <= _PIECE, "what is unpacked comes in pieces"
        size += len(piece)
        if size > _BODY_MAX:
            return
    unpacking.end()
