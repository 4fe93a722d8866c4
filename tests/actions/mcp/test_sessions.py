"""Sessions: shared, bounded, kept for a while, and made anew when their server is gone (ACT-2)."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from support.mcp_peers import children_of, everything, hostile, is_alive, peers, python_server, stdio
from support.tasks import until
from wonder.actions.protocol import ActionFailed


def starts(log: Path) -> int:
    """How often a server was started."""
    return log.read_text().count("started") if log.exists() else 0


async def test_a_server_is_started_once_for_many_calls(tmp_path: Path) -> None:
    """ACT-2: connections are pooled and reused; its tools are asked for once."""
    log = tmp_path / "log"
    async with peers() as pool:
        connection = stdio(hostile("well"), LOG_FILE=str(log))
        outputs = await asyncio.gather(*(pool.do(connection, n=n) for n in range(30)))
        assert outputs == [{"n": n + 1} for n in range(30)]
        assert [log.read_text().count(word) for word in ("started", "listed", "called")] == [1, 1, 30]
    assert log.read_text().endswith("ended\n")


async def test_a_crashed_server_fails_its_call_and_is_started_anew_for_the_next(tmp_path: Path) -> None:
    """ACT-2: a crashed server is restarted, and that is an infrastructure error."""
    async with peers() as pool:
        connection = stdio(hostile("dies-once", str(tmp_path / "dead")))
        with pytest.raises(ActionFailed) as caught:
            await pool.do(connection)
        assert (caught.value.code, caught.value.retryable) == ("MCP_SERVER_LOST", True)
        assert "signal 9" in caught.value.message
        assert (await pool.do(connection))["text"] == "alive"


async def test_a_server_that_died_while_idle_is_started_anew_without_a_failure(tmp_path: Path) -> None:
    """Nobody has to hear of a crash that hit no call."""
    log = tmp_path / "log"
    async with peers() as pool:
        connection = stdio(hostile("well"), LOG_FILE=str(log))
        await pool.do(connection)
        pid = int(log.read_text().split()[1])
        os.kill(pid, signal.SIGKILL)
        await until(lambda: not pool._sessions)
        assert await pool.do(connection, n=1) == {"n": 2}
        assert starts(log) == 2


async def test_a_session_without_calls_ends_after_a_while(tmp_path: Path) -> None:
    """An idle server is not kept for ever, and a busy one is not ended."""
    log = tmp_path / "log"
    async with peers(idle_seconds=1.5) as pool:
        connection = stdio(hostile("slow", "0.8"), LOG_FILE=str(log))
        for _ in range(3):
            await pool.do(connection)
            await asyncio.sleep(0.2)
        assert starts(log) == 1
        await until(lambda: children_of(os.getpid()) == [])
        assert log.read_text().endswith("ended\n")
        await pool.do(connection)
        assert starts(log) == 2


async def test_only_so_many_calls_are_with_a_server_at_once(tmp_path: Path) -> None:
    """The others wait in line."""
    log = tmp_path / "log"
    async with peers(calls_max=3) as pool:
        connection = stdio(hostile("never"), LOG_FILE=str(log))
        calls = [asyncio.create_task(pool.do(connection)) for _ in range(5)]
        await until(lambda: log.exists() and log.read_text().count("called") == 3)
        await asyncio.sleep(0.05)
        assert log.read_text().count("called") == 3
        for call in calls[:2]:
            call.cancel()
        await until(lambda: log.read_text().count("called") == 5)
        for call in calls[2:]:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)


async def test_a_call_that_is_cancelled_is_cancelled_at_the_server_too(tmp_path: Path) -> None:
    """The server hears `notifications/cancelled`, and the session goes on."""
    log = tmp_path / "log"
    async with peers() as pool:
        connection = stdio(hostile("never"), LOG_FILE=str(log))
        call = asyncio.create_task(pool.do(connection))
        await until(lambda: log.exists() and "called" in log.read_text())
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await until(lambda: "cancelled caller cancelled" in log.read_text())
        assert len(pool._sessions) == 1


async def test_a_call_that_takes_too_long_is_cancelled_at_the_server_too(tmp_path: Path) -> None:
    """An action without a time-out of its own has that of the pool."""
    log = tmp_path / "log"
    async with peers(call_seconds=0.2) as pool:
        with pytest.raises(ActionFailed) as caught:
            await pool.do(stdio(hostile("never"), LOG_FILE=str(log)))
        assert (caught.value.code, caught.value.retryable) == ("MCP_TIMEOUT", True)
        await until(lambda: "cancelled timed out" in log.read_text())


async def test_a_starting_server_is_shared_and_outlives_the_call_that_began_it(tmp_path: Path) -> None:
    """Who gives up waiting does not take the server from the others."""
    log = tmp_path / "log"
    async with peers() as pool:
        connection = stdio(hostile("well"), LOG_FILE=str(log))
        first = asyncio.create_task(pool.do(connection))
        second = asyncio.create_task(pool.do(connection, n=1))
        await asyncio.sleep(0)
        first.cancel()
        assert await second == {"n": 2}
        assert starts(log) == 1


async def test_closing_does_not_wait_for_a_server_that_never_answers() -> None:
    """Who waited for it hears that the session was ended."""
    async with peers(start_seconds=120.0, stop_seconds=0.5) as pool:
        call = asyncio.create_task(pool.do(stdio(hostile("silent"))))
        await until(lambda: len(children_of(os.getpid())) == 2)
        started = time.monotonic()
    assert time.monotonic() - started < 30
    with pytest.raises(ActionFailed, match="the session was ended"):
        await call


async def test_the_list_of_tools_is_asked_for_again_when_the_server_says_so(tmp_path: Path) -> None:
    """`tools/list_changed` in the middle of a run counts from the next call on."""
    log = tmp_path / "log"
    async with peers() as pool:
        connection = stdio(hostile("changes-tools"), LOG_FILE=str(log))
        await pool.do(connection)
        await pool.do(connection, "do1")
        assert log.read_text().count("listed") == 2


async def test_a_tool_that_a_server_got_without_a_word_is_found(tmp_path: Path) -> None:
    """Before a call is refused the list is asked for again."""
    async with peers() as pool:
        connection = stdio(hostile("changes-silently"))
        await pool.do(connection)
        await asyncio.sleep(1.05)
        await pool.do(connection, "other")


async def test_an_unknown_tool_is_refused_with_the_names_of_those_there_are() -> None:
    """The error says what there is."""
    async with peers() as pool:
        with pytest.raises(ActionFailed) as caught:
            await pool.do(stdio(everything()), "get-some")
        assert caught.value.code == "MCP_TOOL_UNKNOWN"
        assert "did you mean 'get-sum'? it has: echo, " in caught.value.message


async def test_input_is_checked_against_the_schema_of_the_tool(tmp_path: Path) -> None:
    """The server never sees what does not fit."""
    log = tmp_path / "log"
    async with peers() as pool:
        with pytest.raises(ActionFailed) as caught:
            await pool.do(stdio(hostile("well"), LOG_FILE=str(log)), n="many")
        assert caught.value.code == "BAD_ARGUMENTS"
        assert 'n: expected integer, found "many"' in caught.value.message
        assert "called" not in log.read_text()


async def test_a_server_of_the_newer_protocol_is_asked_and_not_greeted() -> None:
    """Both kinds of server are spoken to."""
    async with peers() as pool:
        connection = stdio(hostile("modern"))
        assert [tool.name for tool in await pool.tools(connection)] == ["do"]
        assert await pool.do(connection, n=1) == {"n": 2}


async def test_a_command_that_is_not_there_is_no_matter_of_trying_again() -> None:
    """The error says what to install."""
    async with peers() as pool:
        with pytest.raises(ActionFailed) as caught:
            await pool.do(stdio(["no-such-command-anywhere"]))
        assert (caught.value.code, caught.value.retryable) == ("MCP_SERVER_NOT_STARTED", False)
        assert "'no-such-command-anywhere'" in caught.value.message


async def test_a_definition_that_was_changed_ends_the_session_of_the_old_one(tmp_path: Path) -> None:
    """Other arguments or another secret are another server."""
    log = tmp_path / "log"
    async with peers() as pool:
        await pool.do(stdio(hostile("well"), LOG_FILE=str(log)))
        await pool.do(stdio(hostile("well", "other"), LOG_FILE=str(log)))
        await until(lambda: "ended" in log.read_text())
        assert len(pool._sessions) == 1


async def test_the_longest_idle_session_makes_room_for_another() -> None:
    """The number of servers is bounded; one with calls is never ended for another."""
    async with peers(sessions_max=2) as pool:
        await pool.do(stdio(hostile("well"), "a"))
        await pool.do(stdio(hostile("well"), "b"))
        await pool.do(stdio(hostile("well"), "c"))
        assert {session.name for session in pool._sessions.values()} == {"b", "c"}
        busy = [asyncio.create_task(pool.do(stdio(hostile("never"), name))) for name in "de"]
        await until(lambda: {session.name for session in pool._sessions.values()} == {"d", "e"})
        with pytest.raises(ActionFailed) as caught:
            await pool.do(stdio(hostile("well"), "f"))
        assert (caught.value.code, caught.value.retryable) == ("MCP_TOO_MANY_SERVERS", True)
        for call in busy:
            call.cancel()
        await asyncio.gather(*busy, return_exceptions=True)


PROGRAM = """
import asyncio, os, signal, sys
sys.path[:0] = sys.argv[1:3]
from support.mcp_peers import hostile, peers, stdio

async def main():
    async with peers() as pool:
        for way in ("ignores-end", "well"):
            await pool.do(stdio(hostile(way), way, LOG_FILE=sys.argv[3]))
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


def test_no_server_is_left_when_the_process_is_killed(tmp_path: Path) -> None:
    """Servers end when their input does, and one that ignores that is killed a moment later."""
    log = tmp_path / "log"
    tests = Path(__file__).parents[2]
    words = [sys.executable, "-c", textwrap.dedent(PROGRAM), str(tests), str(tests.parent), str(log)]
    killed = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    pids = [int(line.split()[1]) for line in log.read_text().splitlines() if line.startswith("started")]
    assert len(pids) == 2
    deadline = time.monotonic() + 60
    while any(map(is_alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(is_alive, pids))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """An empty git repository."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    return tmp_path


async def test_real_servers_answer_over_stdio(repository: Path) -> None:
    """The protocol's own examples, and packages that people use."""
    async with peers() as pool:
        at_once = await asyncio.gather(
            pool.do(stdio(python_server("mcp_server_time"), "time"), "get_current_time", timezone="Europe/Berlin"),
            pool.do(stdio(python_server("mcp_server_git"), "git"), "git_status", repo_path=str(repository)),
            pool.do(stdio(everything(), "everything"), "get-structured-content", location="Chicago"),
            pool.do(stdio(everything(), "everything"), "get-sum", a=2, b=3),
        )
        assert at_once[0]["timezone"] == "Europe/Berlin"
        assert "No commits yet" in str(at_once[1])
        assert at_once[2].keys() == {"temperature", "conditions", "humidity"}
        assert "5" in at_once[3]["text"]


async def test_the_progress_of_a_real_tool_is_reported() -> None:
    """Progress notifications reach whoever watches the run."""
    async with peers() as pool:
        progress: list[object] = []
        await pool.do(stdio(everything()), "trigger-long-running-operation", progress, duration=0.5, steps=2)
        assert progress == [{"progress": 1.0, "total": 2.0}, {"progress": 2.0, "total": 2.0}]
