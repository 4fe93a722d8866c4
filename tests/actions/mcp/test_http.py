"""Servers over HTTP: a real one, and one that is as bad as it can be (ACT-2)."""

import asyncio
import resource
import subprocess
import time
from collections.abc import Iterator

import pytest

from support.mcp_hostile_http import hostile_http
from support.mcp_peers import everything, free_port, http, peers
from support.tasks import until
from wonder.actions.mcp.sessions import Session
from wonder.actions.protocol import ActionFailed


@pytest.fixture(scope="module")
def everything_url() -> Iterator[str]:
    """The protocol's own server of examples, over streamable HTTP."""
    port = free_port()
    words = everything("streamableHttp")
    with subprocess.Popen(words, env={"PORT": str(port)}, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        assert process.stderr
        for line in process.stderr:
            if b"listening" in line:
                break
        yield f"http://127.0.0.1:{port}/mcp"
        process.kill()


async def test_a_real_server_answers_over_http(everything_url: str) -> None:
    """One session for many calls, with progress and structured content."""
    async with peers() as pool:
        connection = http(everything_url)
        progress: list[object] = []
        outputs = await asyncio.gather(
            pool.do(connection, "get-structured-content", location="Chicago"),
            pool.do(connection, "get-sum", a=2, b=3),
            pool.do(connection, "trigger-long-running-operation", progress, duration=0.5, steps=2),
        )
        assert outputs[0].keys() == {"temperature", "conditions", "humidity"}
        assert "5" in outputs[1]["text"]
        assert progress == [{"progress": 1.0, "total": 2.0}, {"progress": 2.0, "total": 2.0}]


async def test_private_addresses_are_refused_unless_the_workspace_allows_them(everything_url: str) -> None:
    """The same guard as for http_request."""
    async with peers() as pool:
        with pytest.raises(ActionFailed) as caught:
            await pool.do(http(everything_url, allow_private=False), "echo", message="hi")
        assert not caught.value.retryable
        assert caught.value.code == "ADDRESS_REFUSED"


@pytest.mark.parametrize(
    ("way", "code", "retryable", "said"),
    [
        ("401", "MCP_HTTP_ERROR", False, "HTTP status 401"),
        ("403", "MCP_HTTP_ERROR", False, "HTTP status 403"),
        ("418", "MCP_HTTP_ERROR", False, "HTTP status 418"),
        ("429", "MCP_HTTP_ERROR", True, "HTTP status 429: slow down"),
        ("500", "MCP_HTTP_ERROR", True, "HTTP status 500"),
        ("503", "MCP_HTTP_ERROR", True, "HTTP status 503"),
        ("never", "MCP_TIMEOUT", True, "within 0.5 s"),
        ("never-ending-events", "MCP_TIMEOUT", True, "within 0.5 s"),
        ("flood", "MCP_TIMEOUT", True, "within 0.5 s"),
        ("giant-json", "MCP_OUTPUT_TOO_LARGE", False, "more than 1,000,000 bytes"),
        ("giant-event", "MCP_OUTPUT_TOO_LARGE", False, "more than 1,000,000 bytes"),
        ("gzip-bomb", "MCP_OUTPUT_TOO_LARGE", False, "more than 1,000,000 bytes"),
        ("cut-json", "MCP_SERVER_LOST", True, "RemoteProtocolError"),
        ("cut-event", "MCP_SERVER_LOST", True, "ended without a response"),
        ("no-event", "MCP_SERVER_LOST", True, "ended without a response"),
        ("drops", "MCP_SERVER_LOST", True, "RemoteProtocolError"),
        ("redirects", "MCP_TOOL_ERROR", False, "Redirect to http://169.254.169.254/latest not followed"),
        ("wrong-type", "MCP_TOOL_ERROR", False, "Unexpected content type"),
        ("not-json", "MCP_PROTOCOL_ERROR", False, "no answer to that: {{{"),
        ("wrong-id", "MCP_PROTOCOL_ERROR", False, "no answer to that"),
        ("large-refusal", "MCP_HTTP_ERROR", True, "HTTP status 503: <p>no"),
        ("accepted", "MCP_TOOL_ERROR", False, "202 Accepted"),
    ],
)
async def test_what_goes_wrong_with_one_call_leaves_the_session_to_the_others(
    way: str, code: str, retryable: bool, said: str
) -> None:
    """RET-1: time-outs, lost connections, 429 and 5xx are retryable; `Retry-After` is passed on."""
    limits = {"call_seconds": 0.5} if code == "MCP_TIMEOUT" else {}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with hostile_http(way) as server, peers(answer_bytes=1_000_000, **limits) as pool:
        connection = http(server.url)
        with pytest.raises(ActionFailed) as caught:
            await pool.do(connection)
        assert (caught.value.code, caught.value.retryable) == (code, retryable), caught.value.message
        assert said in caught.value.message
        assert caught.value.retry_after_ms == (7_000 if way == "429" else None)
        server.way = "well"
        assert (await pool.do(connection))["text"] == "well"
        assert server.session == 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 80_000  # kilobytes


async def test_a_server_that_is_not_there_is_lost_and_found_again() -> None:
    """A connection that is refused is an infrastructure error."""
    async with peers() as pool:
        with pytest.raises(ActionFailed) as caught:
            await pool.do(http(f"http://127.0.0.1:{free_port()}/mcp"))
        assert (caught.value.code, caught.value.retryable) == ("MCP_SERVER_LOST", True)
        assert "ConnectError" in caught.value.message


async def test_a_session_that_the_server_has_forgotten_is_begun_anew_unnoticed() -> None:
    """A 404 says that nothing was done, so the call is made again in a new session."""
    async with hostile_http("session-gone") as server, peers() as pool:
        assert (await pool.do(http(server.url)))["text"] == "again"
        assert server.session == 2


async def test_a_call_that_is_given_up_is_cancelled_and_its_connection_closed() -> None:
    """The server hears `notifications/cancelled`, and nothing goes on in the background."""
    async with hostile_http("never-ending-events") as server, peers() as pool:
        call = asyncio.create_task(pool.do(http(server.url)))
        await until(lambda: server.count("tools/call"))
        await asyncio.sleep(0.05)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await until(lambda: server.count("notifications/cancelled"))
        await until(lambda: server.given_up)


async def test_a_server_that_wants_to_be_listened_to_again_and_again_has_to_wait() -> None:
    """It may ask for no pause at all, and gets a second."""
    async with hostile_http("endless-reconnect") as server, peers() as pool:
        connection = http(server.url)
        await pool.do(connection)
        await asyncio.sleep(0.6)
        assert sum(1 for verb, _, _ in server.requests if verb == "GET") <= 2


async def test_a_flood_of_events_leaves_time_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read slowly, and the server has to wait."""
    heard: list[object] = []

    async def hear(self: Session, params: object) -> None:
        heard.append(params)

    monkeypatch.setattr(Session, "_note", hear)
    pace = {"burst_bytes": 10_000, "bytes_per_second": 10_000}
    async with hostile_http("flood") as server, peers(call_seconds=1.0, **pace) as pool:
        flooded = asyncio.create_task(pool.do(http(server.url)))
        ticks = 0
        while not flooded.done():
            await asyncio.sleep(0.01)
            ticks += 1
        assert isinstance(flooded.exception(), ActionFailed)
        assert ticks > 5
        assert len(heard) < 1_000


async def test_headers_are_sent_and_the_session_is_ended_at_the_server() -> None:
    """What the definition says goes out with every request; the end is told with a DELETE."""
    async with hostile_http("headers") as server:
        async with peers() as pool:
            sent = await pool.do(http(server.url, **{"x-token": "abc"}))
            assert sent["x-token"] == "abc"
            assert sent["mcp-session-id"] == "s1"
        assert all(headers["x-token"] == "abc" for _, headers, _ in server.requests)
        assert server.requests[-1][0] == "DELETE"


async def test_closing_does_not_wait_for_a_server_that_never_says_goodbye() -> None:
    """The end is told, and then it is over."""
    async with hostile_http("hangs-at-end") as server:
        async with peers(stop_seconds=0.5) as pool:
            await pool.do(http(server.url))
            started = time.monotonic()
        assert server.requests[-1][0] == "DELETE"
        assert time.monotonic() - started < 30
