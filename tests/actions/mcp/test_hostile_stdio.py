"""A hostile server over stdio: whatever it does, the call ends, the next one works, and nothing is left behind."""

import asyncio
import logging
import os
import resource
import signal
import time
from contextlib import nullcontext
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest
from mcp_types import CallToolResult

from support.mcp_peers import Peers, children_of, hostile, is_alive, peers, stdio
from support.tasks import until
from wonder.actions.mcp.pool import _unknown
from wonder.actions.mcp.results import is_large
from wonder.actions.protocol import ActionFailed
from wonder.actions.threads import Threads


async def failure(pool: Peers, way: str, *words: str, tool: str = "do", **input: Any) -> ActionFailed:
    """Call a misbehaving server, which must fail."""
    with pytest.raises(ActionFailed) as caught:
        await pool.do(stdio(hostile(way, *words)), tool, **input)
    return caught.value


@pytest.mark.parametrize(
    ("way", "code", "retryable", "said"),
    [
        ("silent", "MCP_TIMEOUT", True, "did not give the greeting within 0.4 s"),
        ("never", "MCP_TIMEOUT", True, "did not give the tool 'do' within 0.4 s"),
        ("wrong-version", "MCP_PROTOCOL_ERROR", False, "Unsupported protocol version"),
        ("no-greeting", "MCP_PROTOCOL_ERROR", False, "Field required"),
        ("dies-at-start", "MCP_SERVER_LOST", True, "exit status 3; it said: cannot read the file that I need"),
        ("dies", "MCP_SERVER_LOST", True, "exit status 7"),
        ("forks", "MCP_SERVER_LOST", True, "exit status 5"),
        ("closes-output", "MCP_SERVER_LOST", True, "it closed its output"),
        ("bad-answer", "MCP_PROTOCOL_ERROR", False, "not a JSON-RPC message"),
        ("not-a-result", "MCP_PROTOCOL_ERROR", False, "the result of 'do' is invalid"),
        ("not-a-number", "BAD_RESULT", False, "nan is not a JSON number"),
        ("no-list", "MCP_PROTOCOL_ERROR", False, "its list of tools is invalid"),
        ("fails", "MCP_TOOL_ERROR", False, "no such ?[31mcustomer?[0m"),
        ("refuses", "MCP_TOOL_ERROR", False, "out of order"),
        ("flood", "MCP_TIMEOUT", True, "within 0.4 s"),
    ],
)
async def test_a_server_that_misbehaves_fails_its_call_and_nothing_else(
    way: str, code: str, retryable: bool, said: str
) -> None:
    """RET-1: what another attempt may fix is retryable, and only that."""
    limits = {"start_seconds" if way == "silent" else "call_seconds": 0.4} if code == "MCP_TIMEOUT" else {}
    async with peers(stop_seconds=0.5, **limits) as pool:
        failed = await failure(pool, way)
        assert (failed.code, failed.retryable) == (code, retryable)
        assert said in failed.message
        if way != "silent":
            assert await pool.do(stdio(hostile("well"), "other"), n=1) == {"n": 2}


@pytest.mark.parametrize(("way", "said"), [("twice", "first"), ("wrong-id", "yours"), ("garbage", "at last")])
async def test_answers_are_matched_by_id_and_garbage_is_passed_over(way: str, said: str) -> None:
    """The first answer to a call counts, and lines that are no messages are logged."""
    async with peers() as pool:
        connection = stdio(hostile(way))
        for _ in range(3):
            assert (await pool.do(connection))["text"] == said


async def test_a_line_of_a_gigabyte_is_cut_off_at_the_limit() -> None:
    """Memory is bounded by the limit, not by what the server writes."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with peers(answer_bytes=2_000_000) as pool:
        failed = await failure(pool, "giant")
        assert (failed.code, failed.retryable) == ("MCP_OUTPUT_TOO_LARGE", False)
        assert "more than 2,000,000 bytes" in failed.message
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kilobytes


async def test_an_answer_just_below_the_limit_is_taken() -> None:
    """The limit is 4 MB: what the SDK does with a message holds up everybody else."""
    async with peers() as pool:
        output = await pool.do(stdio(hostile("large", "1900000")))
        assert len(output["text"]) == 1_900_000
        failed = await failure(pool, "large", "4100000")
        assert (failed.code, failed.retryable) == ("MCP_OUTPUT_TOO_LARGE", False)
        assert "4,000,000 bytes" in failed.message


async def test_a_large_answer_is_read_in_a_thread() -> None:
    """So that the engine renews its lease meanwhile."""
    read: list[bool] = []

    class Noted(Threads):
        async def call(self, function: Any, on_start: Any = None) -> Any:
            read.append(True)
            return await super().call(function, on_start)

    async with peers() as pool:
        pool._threads = Noted()
        await pool.do(stdio(hostile("large", "1000")))
        assert not read
        output = await pool.do(stdio(hostile("large", "1900000")))
        assert read
        assert len(output["text"]) == 1_900_000
        pool._threads.close()


@pytest.mark.parametrize(
    ("given", "large"),
    [
        ({}, False),
        ({"structuredContent": {"rows": [{"id": 1}] * 100}}, False),
        ({"structuredContent": {"rows": [[]] * 20_000}}, True),
        ({"structuredContent": {"rows": [{"a": [1]}] * 9_000}}, True),
        ({"content": [{"type": "text", "text": "x" * 300_000}]}, True),
    ],
)
def test_what_counts_as_large_is_many_values_or_a_long_text(given: Any, large: bool) -> None:
    assert is_large(CallToolResult.model_validate({"content": [], **given})) is large


def test_names_of_tools_are_shown_as_any_other_text_of_a_server() -> None:
    """Cut, and without what no message can hold."""
    names = [SimpleNamespace(name="x" * 1_000_000), SimpleNamespace(name="a\x00b\x1b[2J")]
    session: Any = SimpleNamespace(name="peer", tools=SimpleNamespace(all=lambda: names))
    failed = _unknown(session, "missing")
    assert len(failed.message) < 1_000
    assert "a?b?[2J" in failed.message
    assert "\x00" not in f"{failed.message}{failed.details}"


async def test_a_flood_of_standard_error_is_logged_in_part_and_holds_nobody_up(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Lines are cut, and only some of them are shown."""
    caplog.set_level(logging.INFO, "wonder.mcp")
    async with peers() as pool:
        started = time.monotonic()
        assert (await pool.do(stdio(hostile("flood-stderr", "8"))))["text"] == "done"
        assert time.monotonic() - started < 30
    lines = [record.getMessage() for record in caplog.records if record.name == "wonder.mcp.servers"]
    assert len(lines) < 1_000
    assert max(map(len, lines)) < 2_200
    assert any("more lines are not shown" in line or "lines are not shown" in line for line in lines)


async def test_endless_notifications_leave_time_for_others() -> None:
    """What nobody asked for is read slowly, so that the server waits and not the engine."""
    async with peers(stop_seconds=0.5, call_seconds=1.0, burst_bytes=1_000_000, bytes_per_second=1_000_000) as pool:
        flooded = asyncio.create_task(pool.do(stdio(hostile("flood"))))
        await asyncio.sleep(0.3)
        busy, ticks = time.process_time(), 0
        while not flooded.done():
            await asyncio.sleep(0.01)
            ticks += 1
        assert isinstance(flooded.exception(), ActionFailed)
        assert ticks > 5
        assert time.process_time() - busy < 0.5


async def test_progress_is_passed_on_but_not_every_word_of_it() -> None:
    """A person sees ten a second at most, and of each message only the beginning."""
    async with peers() as pool:
        progress: list[Any] = []
        assert (await pool.do(stdio(hostile("flood-progress")), progress=progress))["text"] == "done"
        assert 1 <= len(progress) < 20
        assert all(len(told["message"]) == 500 for told in progress)


@pytest.mark.parametrize("way", ["deaf", "ignores-end"])
async def test_a_server_that_ignores_its_end_and_sigterm_is_killed(way: str, tmp_path: Path) -> None:
    """First its input ends, then it is asked, then it is killed."""
    log = tmp_path / "log"
    async with peers(start_seconds=3.0 if way == "deaf" else 60.0, stop_seconds=0.5) as pool:
        connection = stdio(hostile(way), LOG_FILE=str(log))
        if way == "deaf":
            with pytest.raises(ActionFailed):
                await pool.do(connection)
        else:
            await pool.do(connection, n=1)
        pid = int(log.read_text().split()[1])
    assert not is_alive(pid)


async def test_the_children_of_a_server_are_killed_with_it(tmp_path: Path) -> None:
    """Its process group is its own, and is killed as a whole."""
    async with peers() as pool:
        child = int((await pool.do(stdio(hostile("has-child"))))["text"])
        assert is_alive(child)
    await until(lambda: not is_alive(child))


async def test_a_child_that_keeps_the_pipes_open_does_not_hide_that_its_parent_is_gone(tmp_path: Path) -> None:
    """The end of the process counts, not that of its output."""
    log = tmp_path / "log"
    async with peers() as pool:
        with pytest.raises(ActionFailed):
            await pool.do(stdio(hostile("forks"), LOG_FILE=str(log)))
        child = int(log.read_text().split("child ")[1])
        await until(lambda: not is_alive(child))


async def test_a_child_that_has_left_the_group_does_not_hide_it_either(tmp_path: Path) -> None:
    """It can't be found any more, but nobody waits for it."""
    log = tmp_path / "log"
    async with peers() as pool:
        with pytest.raises(ActionFailed, match="exit status 5"):
            await pool.do(stdio(hostile("forks-away"), LOG_FILE=str(log)))
    os.kill(int(log.read_text().split("child ")[1]), signal.SIGKILL)


async def test_a_server_that_does_not_end_with_its_input_is_asked_to_first(tmp_path: Path) -> None:
    """SIGTERM comes before SIGKILL, so that it can put things in order."""
    log = tmp_path / "log"
    async with peers(stop_seconds=2.0) as pool:
        await pool.do(stdio(hostile("ends-when-asked"), LOG_FILE=str(log)), n=1)
    assert log.read_text().endswith("asked\n")


@pytest.mark.parametrize("way", ["cyclic-schema", "slow-regex", "endless-pages"])
async def test_a_hostile_schema_can_neither_crash_nor_hold_up_anything(way: str) -> None:
    """A schema that can't be used checks nothing; a list without end is cut."""
    async with peers() as pool:
        given: Any = {"n": "a" * 40 + "!"} if way == "slow-regex" else {"n": 1}
        calling = pool.do(stdio(hostile(way)), "t3" if way == "endless-pages" else "do", **given)
        if way == "slow-regex":
            with pytest.raises(ActionFailed, match="expected a string that matches"):
                await calling
        else:
            assert await calling == {"n": 2}


async def test_a_schema_elsewhere_is_never_fetched() -> None:
    """A `$ref` to another place is not followed, and the tool checks its input itself."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        async with peers() as pool:
            url = f"http://127.0.0.1:{server.server_port}/schema.json"
            assert await pool.do(stdio(hostile("remote-schema", url)), n=1) == {"n": 2}
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert asked == []


async def test_requests_of_a_server_are_refused_politely() -> None:
    """Sampling, elicitation and roots are not for a server to ask of an action; a ping is answered."""
    async with peers() as pool:
        output = await pool.do(stdio(hostile("asks")))
        assert [(one["id"], one["refused"]) for one in sorted(output, key=lambda one: one["id"])] == [
            (7001, True),
            (7002, True),
            (7003, True),
            (7004, False),
            (7005, True),
        ]


async def test_a_server_that_does_not_read_can_not_fill_the_memory() -> None:
    """What waits to be read by it is bounded too."""
    async with peers(unread_bytes=1_000_000, call_seconds=2.0, calls_max=50, stop_seconds=0.5) as pool:
        connection = stdio(hostile("slow", "600"))
        calls = [asyncio.create_task(pool.do(connection, text="x" * 300_000)) for _ in range(20)]
        failures = await asyncio.gather(*calls, return_exceptions=True)
        reasons = {str(one) for one in failures}
        assert any("does not read its input" in reason for reason in reasons), reasons


def open_files() -> int:
    """How many files and sockets this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_nothing_is_left_behind_by_any_of_it() -> None:
    """No process, no thread's worth of files: the count of open files is what it was."""
    ways = ["well", "dies", "giant", "closes-output", "wrong-version"]

    async def all_ways() -> None:
        async with peers(answer_bytes=100_000, stop_seconds=0.5) as pool:
            for way in ways:
                with nullcontext() if way == "well" else pytest.raises(ActionFailed):
                    await pool.do(stdio(hostile(way), way))

    await all_ways()
    before = open_files()
    await all_ways()
    assert open_files() == before
    assert children_of(os.getpid()) == []
