"""`wonder project` and `wonder workspace` (RES-6): settings are shown with what they may be, and changed one by one."""

import json
from pathlib import Path
from typing import Any

import pytest

from wonder.cli.main import main

MODEL = """\
workflow:
  name: asks
  initial_node: ask
  nodes: {ask: {action: {kind: llm_call, implementation: {prompt_spec_id: p}}, output_mapping: {output.said: $}}}
prompts: {p: {template: hello}}
models: {echo: {provider: mock, model_id: m}}
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def wonder(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Any:
    """Run a command on an empty database of each kind; give its status and all that it printed."""
    monkeypatch.chdir(tmp_path)
    url = "sqlite:///settings.db" if request.param == "sqlite" else request.getfixturevalue("fresh_postgres_url")
    monkeypatch.setenv("WONDER_DATABASE_URL", url)

    def run(*words: str) -> tuple[int, str]:
        status = main(list(words))
        printed = capsys.readouterr()
        return status, printed.out + printed.err

    return run


def test_settings_are_changed_one_by_one_and_shown(wonder: Any) -> None:
    for words in (
        ("project", "set", "budget.max_monthly_spend_cents", "500"),
        ("project", "set", "budget.on_exceeded", "human_gate"),
        ("project", "set", "rate_limits", '{"max_concurrent_runs": 4}'),
        ("workspace", "set", "allowed_model_providers", '["mock", "local"]'),
        ("workspace", "set", "allow_shell", "true"),
    ):
        status, printed = wonder(*words)
        assert (status, printed.startswith(f"✓ {words[2]} of the {words[0]} is ")) == (0, True), printed
    _, printed = wonder("project", "show")
    rows = {line.split()[0]: line.split()[1] for line in printed.splitlines() if "." in line.split(" ")[0]}
    assert rows["budget.max_monthly_spend_cents"] == "500"
    assert rows["budget.on_exceeded"] == '"human_gate"'
    assert rows["rate_limits.max_concurrent_runs"] == "4"
    assert "fail or human_gate" in printed
    assert printed.splitlines()[-1].endswith(": 0 USD")
    _, printed = wonder("workspace", "show", "--json")
    settings = json.loads(printed)["settings"]
    assert (settings["allowed_model_providers"], settings["allow_shell"]) == (["mock", "local"], True)
    assert wonder("workspace", "set", "allowed_model_providers", "null")[0] == 0
    assert json.loads(wonder("workspace", "show", "--json")[1])["settings"]["allowed_model_providers"] is None


def test_a_files_root_is_stored_as_the_absolute_path_that_it_means_here(wonder: Any, tmp_path: Path) -> None:
    status, printed = wonder("project", "set", "files_root", "work")
    assert (status, str(tmp_path / "work") in printed) == (0, True)
    assert json.loads(wonder("project", "show", "--json")[1])["settings"]["files_root"] == str(tmp_path / "work")


@pytest.mark.parametrize("noun", ["project", "workspace"])
def test_every_setting_is_documented(wonder: Any, noun: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "settings.md").read_text("utf-8")
    assert (
        wonder(
            noun, "set", "foreach_limit" if noun == "project" else "allow_shell", "1" if noun == "project" else "true"
        )[0]
        == 0
    )
    printed = wonder(noun, "show")[1]
    keys = [line.split()[0] for line in printed.splitlines()[1:] if line and not line.startswith("spent")]
    assert len(keys) > 5
    assert [key for key in keys if f"`{key}`" not in page] == []


@pytest.mark.parametrize(
    ("scope", "key", "value", "reason"),
    [
        ("project", "budget.on_exceeded", "stop", "it may be fail or human_gate"),
        ("project", "budget.max_monthly_spend_cents", "-1", "a whole number from 0 to"),
        ("project", "budget.max_monthly_spend_cents", "1.5", "a whole number from 0 to"),
        ("project", "retention.events_days", "3", "a whole number from 90 to 36,500 or null"),
        ("project", "foreach_limit", "null", "a whole number from 1 to"),
        ("project", "on_exceeded", "fail", "did you mean 'budget.on_exceeded'?"),
        ("project", "budget.max", "1", "a project has no setting 'budget.max'"),
        ("project", "budget", '{"max": 1}', "an object with max_monthly_spend_cents, alert_threshold_cents"),
        ("project", "default_model_profile_id", "nobody", "there is no model 'nobody' in this project"),
        ("workspace", "allowed_model_providers", '["opnai"]', "a list of anthropic, openai"),
        ("workspace", "allow_shell", "yes", "it may be true or false"),
        ("workspace", "foreach_limit", "5", "a workspace has no setting 'foreach_limit'"),
    ],
)
def test_what_no_setting_can_be_is_refused_with_what_it_may_be(
    wonder: Any, scope: str, key: str, value: str, reason: str
) -> None:
    status, printed = wonder(scope, "set", key, value, "--json")
    assert (status, reason in printed) == (2, True), printed
    _, shown = wonder(scope, "show", "--json")
    settings = json.loads(shown)["settings"]
    assert (settings.get("foreach_limit", 100_000), settings["budget"]["max_monthly_spend_cents"]) == (100_000, None)


def test_a_default_model_is_named_by_its_name_and_used(wonder: Any, tmp_path: Path) -> None:
    """RES-7"""
    (tmp_path / "asks.yaml").write_text(MODEL)
    status, printed = wonder("run", "asks.yaml", "--json")
    assert (status, json.loads(printed)["error"]["code"]) == (1, "NO_MODEL")
    assert wonder("project", "set", "default_model_profile_id", "echo")[0] == 0
    status, printed = wonder("run", "asks.yaml", "--json")
    assert (status, json.loads(printed)["output"]) == (0, {"said": "hello"})
