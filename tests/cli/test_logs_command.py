"""EVT-4a: `wonder logs`, from another process than the one that ran the workflow."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from wonder.cli.main import main

SECONDS = 120
SHOP = """
import logging
log = logging.getLogger("shop")

def price(item: str) -> int:
    log.info("pricing %s", item)
    log.warning("no discount")
    return 3
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A working directory with a workflow, and the address of an empty database, on each kind of database."""
    monkeypatch.chdir(tmp_path)
    url = "sqlite:///runs.db" if request.param == "sqlite" else request.getfixturevalue("fresh_postgres_url")
    monkeypatch.setenv("WONDER_DATABASE_URL", url)
    (tmp_path / "shop.py").write_text(SHOP)
    action = {"kind": "python", "implementation": {"function": "shop:price"}}
    node = {"action": action, "input_mapping": {"item": "$.input.item"}}
    graph = {"name": "prices", "initial_node": "ask", "nodes": {"ask": node}, "transitions": []}
    (tmp_path / "prices.json").write_text(json.dumps({"workflow": graph}))
    return url


def wonder(*words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "wonder", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=dict(os.environ), check=False)


def test_evt_4a_another_process_shows_what_a_function_logged(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    ran = wonder("run", "prices.json", "--input", '{"item": "tea\\u001b[31m"}', "--json")
    assert ran.returncode == 0, ran.stderr
    # Warnings are still printed, and nothing below.
    assert ran.stderr.strip() == "no discount"
    run_id = json.loads(ran.stdout)["run_id"]

    assert main(["logs", "--run", run_id]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.endswith(f" info shop {run_id} ask: pricing tea\\x1b[31m")
    assert second.endswith(f" warning shop {run_id} ask: no discount")

    assert main(["logs", "--level", "warning", "--since", "1h", "--json"]) == 0
    (message,) = json.loads(capsys.readouterr().out)
    assert (message["message"], message["level"], message["trace_id"]) == ("no discount", "warning", run_id)

    # The run has ended, so that following ends too.
    assert main(["logs", "--run", run_id, "--follow", "--json"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line)["message"] for line in lines] == ["pricing tea\x1b[31m", "no discount"]

    assert main(["logs", "--limit", "1"]) == 0
    told = capsys.readouterr()
    assert len(told.out.splitlines()) == 1
    assert "--limit 0 shows all" in told.err


def test_evt_4a_a_run_that_there_is_not_has_no_logs(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert wonder("deploy", "prices.json").returncode == 0
    assert main(["logs", "--run", "01M7QD89PN221T90SNN0N78YNV"]) == 2
    assert "no run" in capsys.readouterr().err
    assert main(["logs", "--since", "yesterday"]) == 2
    assert "'yesterday' is not a time" in capsys.readouterr().err
