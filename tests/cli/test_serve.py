"""`wonder serve`, and signals: what stops hands over, and another process takes over at once (CMD-5)."""

import json
import signal
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx2
import pytest

from support.commands import wonder
from wonder.cli.main import main

SLOW = """\
import time
import wonder

@wonder.function
def slow(seconds, name):
    with open("begun.txt", "a") as file:
        file.write(f"{name}\\n")
    time.sleep(seconds)
    return name

@wonder.function(quick=True)
def stuck(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass

@wonder.function
def fails():
    raise ValueError("no \\x1b[31mway")
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A working directory with functions, and the address of an empty database."""
    monkeypatch.chdir(tmp_path)
    url = "sqlite:///runs.db" if request.param == "sqlite" else request.getfixturevalue("fresh_postgres_url")
    monkeypatch.setenv("WONDER_DATABASE_URL", url)
    Path("works.py").write_text(SLOW)
    return url


def call(function: str, **arguments: Any) -> dict[str, Any]:
    action = {"kind": "python", "implementation": {"function": f"works:{function}"}}
    return {"action": action, "input_mapping": arguments}


def deploy(name: str, *nodes: dict[str, Any]) -> None:
    """Store a workflow that runs the nodes one after the other."""
    refs = [f"n{i}" for i in range(len(nodes))]
    ways = [{"from": a, "to": b} for a, b in pairwise(refs)]
    every = {"every": {"every_ms": 86_400_000}}
    graph = {"name": name, "initial_node": "n0", "nodes": dict(zip(refs, nodes, strict=True)), "transitions": ways}
    Path(f"{name}.json").write_text(json.dumps({"workflow": graph, "schedules": every}))
    assert main(["deploy", f"{name}.json"]) == 0


def begun() -> list[str]:
    return Path("begun.txt").read_text().split() if Path("begun.txt").exists() else []


SERVE = ("serve", "--no-http", "--module", "works")


def test_cmd_5_serve_tells_of_runs_that_start_complete_and_fail(database: str) -> None:
    deploy("good", call("slow", seconds=0, name="a"))
    deploy("bad", call("fails"))
    with wonder(*SERVE) as command:
        command.said("ready      the engine runs here")
        assert main(["run", "good"]) == 0
        assert main(["run", "bad"]) == 1
        command.said("  failed     bad@1  ")
        command.send(signal.SIGTERM)
        assert command.ended(20) == 0
    said = [line.split("  ", 1)[1] for line in command.out]
    told = [line.split() for line in said if "good@1" in line or "bad@1" in line]
    assert [words[:2] for words in told] == [
        ["started", "good@1"],
        ["completed", "good@1"],
        ["started", "bad@1"],
        ["failed", "bad@1"],
    ]
    assert "PYTHON_EXCEPTION: " in said[4]
    assert "\x1b" not in "".join(said)
    assert said[-1] == "stops      the engine is handed over"


def test_cmd_5_quiet_tells_of_failures_only(database: str) -> None:
    deploy("good", call("slow", seconds=0, name="a"))
    deploy("bad", call("fails"))
    with wonder(*SERVE, "--quiet") as command:
        command.said("ready")
        assert main(["run", "good"]) == 0
        assert main(["run", "bad"]) == 1
        command.said("  failed     bad@1  ")
        assert not any("good@1" in line or "started" in line for line in command.out)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_cmd_5_a_process_that_is_stopped_hands_over_at_once(
    database: str, number: int, capsys: pytest.CaptureFixture[str]
) -> None:
    deploy("long", call("slow", seconds=0.5, name="a"), call("slow", seconds=0, name="b"))
    with wonder(*SERVE, "--drain-seconds", "20") as first, wonder(*SERVE, "--quiet") as second:
        for one in (first, second):
            one.until(lambda one=one: bool(one.out), "a line")  # type: ignore[misc]
        owner, other = (first, second) if "ready" in first.out[0] else (second, first)
        assert "waits      another process runs the engine" in other.out[0]
        assert main(["schedules", "fire", "every", "--json"]) == 0
        owner.until(lambda: begun() == ["a"], "the first task")
        owner.send(number)
        assert owner.ended(20) == 0
        stopped = time.monotonic()
        other.said("took over  the engine runs here; 1 run under way goes on")
        assert time.monotonic() - stopped < 3
        other.until(lambda: begun() == ["a", "b"], "the second task, and the first only once")
        other.send(signal.SIGTERM)
        assert other.ended(20) == 0
    capsys.readouterr()
    assert main(["runs", "list", "--json"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert main(["runs", "show", run["run_id"], "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    # No attempt was lost: the second task was never given to a worker of the process that was stopped.
    assert [(token["status"], token["attempts"]) for token in shown["tokens"]] == [("completed", 1), ("completed", 1)]


def test_cmd_5_tasks_that_do_not_end_in_time_are_left_to_the_next_process(database: str) -> None:
    deploy("long", call("slow", seconds=30, name="a"))
    with wonder(*SERVE, "--drain-seconds", "0.2") as command:
        command.said("ready")
        assert main(["schedules", "fire", "every", "--json"]) == 0
        command.until(lambda: begun() == ["a"], "the task")
        command.send(signal.SIGTERM)
        assert command.ended(10) == 0
        assert any("stops      1 task under way" in line for line in command.out)
        assert command.out[-1].endswith("the engine is handed over; the next process runs 1 task again")
    with wonder(*SERVE) as command:
        started = time.monotonic()
        command.said("ready      the engine runs here; 1 run under way goes on")
        assert time.monotonic() - started < 8
        command.until(lambda: begun() == ["a", "a"], "the task again")


def test_cmd_5_a_second_signal_ends_it_at_once(database: str) -> None:
    deploy("long", call("slow", seconds=30, name="a"))
    with wonder(*SERVE, "--drain-seconds", "60") as command:
        command.said("ready")
        assert main(["schedules", "fire", "every", "--json"]) == 0
        command.until(lambda: begun() == ["a"], "the task")
        command.send(signal.SIGTERM)
        command.said("a second signal ends it at once")
        command.send(signal.SIGTERM)
        assert command.ended(5) == 143


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_cmd_5_a_run_that_is_stopped_leaves_no_lease_behind(database: str, number: int, status: int) -> None:
    """A command that runs its own run: what is under way is run again, and the next process need not wait."""
    deploy("long", call("slow", seconds=30, name="a"))
    with wonder("run", "long", "--module", "works") as command:
        command.until(lambda: begun() == ["a"], "the task")
        command.send(number)
        assert command.ended(8) == status
        assert any("is kept, and goes on where it was" in line for line in command.err)
    started = time.monotonic()
    with wonder(*SERVE) as command:
        command.said("ready      the engine runs here; 1 run under way goes on")
        assert time.monotonic() - started < 8


def test_cmd_5_a_function_that_keeps_the_loop_busy_does_not_keep_a_second_signal_out(database: str) -> None:
    deploy("stuck", call("stuck", seconds=30), call("slow", seconds=0, name="b"))
    with wonder(*SERVE) as command:
        command.said("ready")
        assert main(["schedules", "fire", "every", "--json"]) == 0
        time.sleep(1.0)
        command.send(signal.SIGTERM)
        time.sleep(0.2)
        command.send(signal.SIGTERM)
        assert command.ended(5) == 143


def test_cmd_5_a_time_to_drain_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--no-http", "--drain-seconds", "-1"]) == 2
    assert "--drain-seconds is -1; give a number from 0 to 86400" in capsys.readouterr().err


def test_api_5_serve_answers_soon_and_stops_with_readiness_false(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wonder.toml").write_text('port = 0\nhost = "127.0.0.1"\nmax_body_bytes = 100\n')
    with wonder("serve") as command:
        command.said("listens    http://127.0.0.1:")
        (line,) = [line for line in command.out if "listens" in line]
        with httpx2.Client(base_url=line.split()[-1], trust_env=False) as client:
            assert client.get("/readyz").json()["engine"] == "here"
            assert client.get("/v1/runs").json() == {"runs": [], "cursor": None}
            assert client.post("/v1/events", json={"event": "e" * 100}).status_code == 413
        command.send(signal.SIGTERM)
        assert command.ended(20) == 0
    assert command.out[-1].endswith("stops      the engine is handed over")
    assert command.err == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--host", "0.0.0.0", "--port", "0"], "without API keys everybody who reaches it could do everything"),
        (["--port", "70000"], "port from --port is 70000; give a whole number from 0 to 65,535"),
        (["--max-body-bytes", "0"], "max_body_bytes from --max-body-bytes is 0; give a whole number from 1 to"),
        (["--port", "http"], "port from --port is 'http'"),
        (["--host", "no.such.host.invalid"], "the server can't listen on no.such.host.invalid port 7878"),
    ],
)
def test_api_5_an_address_that_can_not_be_used_is_refused(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["serve", *words]) == 2
    assert message in capsys.readouterr().err
