"""`wonder schedules`: what a person and a program see, on each database."""

import json
import signal
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from support.commands import wonder
from wonder.cli.main import main

REPORT = """\
workflow:
  name: report
  input_schema: {type: object, required: [day], properties: {day: {type: string}}}
  initial_node: done
  nodes:
    done: {action: {kind: update_context, implementation: {updates: [{path: output.day, expr: input.day}]}}}
schedules:
  nightly: {cron: "30 2 * * *", time_zone: Europe/Berlin, input: {day: "@date"}}
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty working directory with a file, deployed to an empty database of each kind."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "report.yaml").write_text(REPORT)
    url = "sqlite:///runs.db" if request.param == "sqlite" else request.getfixturevalue("fresh_postgres_url")
    monkeypatch.setenv("WONDER_DATABASE_URL", url)
    assert main(["deploy", "report.yaml"]) == 0
    return url


def told(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any]:
    capsys.readouterr()
    status = main([*words, "--json"])
    return status, json.loads(capsys.readouterr().out)


def test_a_schedule_of_a_file_is_listed_and_shown_with_its_next_time(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["deploy", "report.yaml"]) == 0
    assert "schedule nightly (unchanged)" in capsys.readouterr().out
    _, listed = told(capsys, "schedules", "list")
    (one,) = listed["schedules"]
    assert (one["name"], one["workflow"], one["cron"]) == ("nightly", "report", "30 2 * * *")
    _, shown = told(capsys, "schedules", "show", "nightly")
    _, following = told(capsys, "schedules", "next", "nightly", "--count", "3")
    assert shown["next_at"] == following["planned_at"][0]
    assert shown["firings"] == []
    assert len(following["planned_at"]) == 3
    for command in (["list"], ["show", "nightly"], ["next", "nightly"]):
        assert main(["schedules", *command]) == 0
    printed = capsys.readouterr().out
    assert "nightly starts report: 30 2 * * *, Europe/Berlin" in printed
    assert "T02:30:00+0" in printed


def test_a_schedule_is_created_changed_paused_resumed_and_deleted(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    create = ["schedules", "create", "hourly", "--workflow", "report", "--input", '{"day": "@date"}']
    status, made = told(capsys, *create, "--cron", "@hourly", "--overlap", "allow", "--ends-at", "2100-01-01")
    assert (status, made["overlap"], made["ends_at"], made["paused"]) == (0, "allow", "2100-01-01", False)
    status, refused = told(capsys, *create, "--every-ms", "60000")
    assert (status, refused["code"]) == (2, "NAME_TAKEN")
    status, changed = told(capsys, *create, "--every-ms", "60000", "--replace")
    assert (status, changed["id"], changed["cron"], changed["every_ms"]) == (0, made["id"], None, 60_000)
    _, paused = told(capsys, "schedules", "pause", "hourly", "--note", "too loud")
    assert (paused["paused"], paused["note"], paused["next_at"]) == (True, "too loud", None)
    assert main(["schedules", "show", "hourly"]) == 0
    assert "paused (too loud)" in capsys.readouterr().out
    _, resumed = told(capsys, "schedules", "resume", made["id"])
    assert (resumed["paused"], resumed["note"]) == (False, None)
    assert told(capsys, "schedules", "delete", "hourly") == (0, {"name": "hourly", "deleted": True})
    status, gone = told(capsys, "schedules", "show", "hourly")
    assert (status, gone["code"]) == (2, "NOT_FOUND")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["create", "s", "--workflow", "report", "--cron", "x"], "DEFINITION_REFUSED", "it has 1 of 5 fields"),
        (["create", "s", "--workflow", "none", "--cron", "@daily"], "DEFINITION_REFUSED", "no workflow 'none'"),
        (["create", "s", "--workflow", "report", "--cron", "@daily"], "DEFINITION_REFUSED", "would refuse this input"),
        (["create", "a/b", "--workflow", "report", "--cron", "@daily"], "DEFINITION_REFUSED", "name"),
        (["create", "s", "--workflow", "report"], "BAD_USAGE", "--cron --every-ms is required"),
        (["create", "s", "--workflow", "report", "--cron", "@daily", "--input", "{"], "BAD_VALUE", ""),
        (["next", "nightly", "--count", "0"], "BAD_COUNT", "ask for 1 to 1000"),
        (["pause", "weekly"], "NOT_FOUND", "there is no schedule 'weekly'"),
        (["fire", "weekly"], "NOT_FOUND", "there is no schedule 'weekly'"),
        (["list", "--cursor", "nonsense"], "BAD_CURSOR", ""),
    ],
)
def test_what_can_not_be_done_is_refused_with_status_2(
    database: str, capsys: pytest.CaptureFixture[str], words: list[str], code: str, message: str
) -> None:
    status, shown = told(capsys, "schedules", *words)
    assert (status, shown["code"]) == (2, code)
    assert message in shown["error"]
    assert [one["name"] for one in told(capsys, "schedules", "list")[1]["schedules"]] == ["nightly"]


def test_a_run_that_is_fired_by_hand_goes_on_with_the_next_engine(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, fired = told(capsys, "schedules", "fire", "nightly")
    assert status == 0
    _, shown = told(capsys, "schedules", "show", "nightly")
    assert [one["run_id"] for one in shown["firings"]] == [fired["run_id"]]
    assert (shown["started"], shown["last_run_id"]) == (1, fired["run_id"])
    _, run = told(capsys, "runs", "show", fired["run_id"])
    planned = datetime.fromisoformat(shown["last_planned_at"]).astimezone(ZoneInfo("Europe/Berlin"))
    assert run["output"] == {"day": planned.date().isoformat()}


def test_schedules_run_until_the_engine_is_stopped(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    every = ["--every-ms", "1000", "--input", '{"day": "@date"}', "--overlap", "allow"]
    assert main(["schedules", "create", "often", "--workflow", "report", *every]) == 0
    with wonder("serve", "--no-http") as command:
        command.said("ready      the engine runs here")
        command.until(lambda: told(capsys, "schedules", "show", "often")[1]["started"] >= 2, "two runs")
        command.send(signal.SIGINT)
        assert command.ended(30) == 0
    _, shown = told(capsys, "schedules", "show", "often")
    assert {one["status"] for one in shown["firings"]} <= {"completed", "running", "queued"}
    assert len({one["planned_at"] for one in shown["firings"]}) == len(shown["firings"])
