"""Who waits for a schedule or a run is told when no process runs the engine, and how to go on."""

import asyncio
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from wonder.app.opening import open_wonder
from wonder.cli.main import main

NOBODY = "! no process runs the engine now; "
NAP = {"kind": "sleep", "implementation": {"ms": 86_400_000}}
ASK = {"kind": "human_input", "implementation": {"prompt": "Go on?", "schema": {"type": "object"}}}


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty working directory with workflows that sleep and ask, and the address of an empty database."""
    monkeypatch.chdir(tmp_path)
    url = "sqlite:///runs.db" if request.param == "sqlite" else request.getfixturevalue("fresh_postgres_url")
    monkeypatch.setenv("WONDER_DATABASE_URL", url)
    nightly = {"schedules": {"nightly": {"cron": "30 2 * * *"}}}
    for name, action, more in (("nap", NAP, nightly), ("ask", ASK, {})):
        graph = {"name": name, "initial_node": "only", "nodes": {"only": {"action": action}}}
        Path(f"{name}.json").write_text(json.dumps({"workflow": graph, **more}))
    return url


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    assert main(list(words)) == 0
    return capsys.readouterr().out


def told(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    return json.loads(said(capsys, *words, "--json"))


def test_a_schedule_that_nobody_would_start_says_so_wherever_it_is_looked_at(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    deployed = said(capsys, "deploy", "nap.json")
    assert f"schedule nightly (new or changed)\n{NOBODY}schedules start runs only when one does" in deployed
    assert "`wonder serve --no-http`" in deployed
    for words in (["schedules", "list"], ["schedules", "show", "nightly"], ["schedules", "resume", "nightly"]):
        assert NOBODY in said(capsys, *words)
    assert f"{NOBODY}schedules start runs only when one does" in said(capsys, "doctor")
    assert told(capsys, "doctor")["engine"] == {"is_running": False, "runs_wait": False, "schedules_wait": True}
    fired = said(capsys, "schedules", "fire", "nightly")
    assert f"\n{NOBODY}the run continues only when one does" in fired
    assert f"{NOBODY}schedules start runs and runs continue only when one does" in said(capsys, "doctor")
    assert NOBODY not in said(capsys, "schedules", "pause", "nightly")
    (run,) = told(capsys, "runs", "list")["runs"]
    shown = said(capsys, "runs", "show", run["run_id"])
    assert f"{NOBODY}it continues only when one does" in shown
    assert "\n  started by the schedule nightly\n  input {}\n" in shown
    assert f"{NOBODY}runs continue only when one does" in said(capsys, "runs", "list")


def test_nothing_is_said_while_a_process_runs_the_engine(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "deploy", "nap.json")

    async def look() -> list[str]:
        async with open_wonder(database) as wonder:
            await wonder.start("nap", {})
            words = (["schedules", "list"], ["runs", "list"], ["doctor"], ["deploy", "nap.json"])
            return [await asyncio.to_thread(said, capsys, *one) for one in words]

    shown = asyncio.run(look())
    assert NOBODY not in "".join(shown)
    assert "✓ a process runs the engine" in shown[2]


def test_a_run_that_waits_for_a_person_needs_no_engine_until_the_answer(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "ask.json"]) == 3
    (run,) = told(capsys, "runs", "list")["runs"]
    for words in (["runs", "list"], ["runs", "show", run["run_id"]], ["doctor"]):
        assert NOBODY not in said(capsys, *words)


def test_a_run_that_is_interrupted_is_kept_and_its_command_says_how_it_goes_on(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [sys.executable, "-c", "from wonder.cli.main import entry; entry()", "run", "nap.json"]
    heard = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, heard)
    try:
        end = time.monotonic() + 60
        while not Path("runs.db").exists() and database.startswith("sqlite"):
            assert time.monotonic() < end
            time.sleep(0.02)
        while not (runs := _waiting(capsys)):
            assert time.monotonic() < end
            time.sleep(0.02)
    finally:
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert f"the run {runs[0]['run_id']} is kept, and goes on where it was" in errors
    shown = said(capsys, "runs", "show", runs[0]["run_id"])
    assert "suspended, sleeps until 2" in shown
    assert NOBODY in shown


def _waiting(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    capsys.readouterr()
    main(["runs", "list", "--status", "waiting", "--json"])
    answer = json.loads(capsys.readouterr().out)
    return list(answer.get("runs", []))
