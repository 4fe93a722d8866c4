"""CMD-9: what a project has under names can be listed, filtered, paged and shown, in one way for all."""

import json
from pathlib import Path
from typing import Any

import pytest

from wonder.cli.main import main

SHOP = """\
models: {fast: {provider: mock, model_id: scripted}, slow_one: {provider: mock, model_id: scripted}}
artifact_types: {note: {description: What was said., schema: {type: object, properties: {text: {type: string}}}}}
vector_indexes:
  notes:
    artifact_type_ids: [note]
    embedding_provider: local
    embedding_model: all-MiniLM-L6-v2
    dimensions: 384
    content_fields: [text]
prompts:
  greet: {template: "Greet {{name}}", description: A greeting., tags: [polite, short]}
  scold: {template: "Scold {{name}}", tags: [rude]}
actions:
  ask: {kind: llm_call, implementation: {prompt_spec_id: greet, model_profile_id: fast}, tags: [polite]}
  nap: {kind: sleep, implementation: {ms: 1}, description: Waits.}
  sleep: {kind: sleep, implementation: {ms: 2}}
tasks:
  greeting: {description: Greets., tags: [polite], steps: [{ref: ask, action: ask}]}
workflow:
  name: hello
  description: Says hello.
  tags: [polite, daily]
  initial_node: first
  nodes: {first: {name: The very first, task: greeting, input_mapping: {name: x}}, nap: {action: nap}}
  transitions: [{from: first, to: nap}]
"""
LISTS = ["tasks", "actions", "prompts", "models", "artifact-types", "vectors"]


@pytest.fixture(params=["sqlite", "postgresql"])
def shop(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database of each kind that holds the definitions."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.yaml").write_text(SHOP)
    url = "sqlite:///shop.db" if request.param == "sqlite" else request.getfixturevalue("fresh_postgres_url")
    monkeypatch.setenv("WONDER_DATABASE_URL", url)
    assert main(["deploy", "shop.yaml"]) == 0


def asked(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    capsys.readouterr()
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def names(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    return [one["name"] for one in asked(capsys, *words)["items"]]


@pytest.mark.usefixtures("shop")
def test_cmd_9_everything_under_a_name_is_listed_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    found = {listed: names(capsys, listed, "list") for listed in LISTS}
    assert found == {
        "tasks": ["greeting", "hello.nap"],
        "actions": ["ask", "nap", "sleep"],
        "prompts": ["greet", "scold"],
        "models": ["fast", "slow_one"],
        "artifact-types": ["note"],
        "vectors": ["notes"],
    }
    for listed, (first, *_) in found.items():
        shown = asked(capsys, listed, "show", first)
        assert (shown["name"], bool(shown["used_by"])) == (first, listed != "vectors")
        assert asked(capsys, listed, "show", shown["id"]) == shown
        assert main([listed, "show", first]) == 0
        assert first in capsys.readouterr().out
    assert asked(capsys, "models", "show", "slow_one")["used_by"] == []
    assert asked(capsys, "vectors", "show", "notes")["definition"]["artifact_type_ids"] == ["note"]
    assert asked(capsys, "tasks", "show", "greeting@1")["definition"]["steps"][0]["action"] == "ask@1"


@pytest.mark.usefixtures("shop")
def test_cmd_9_lists_are_filtered_by_name_and_tag(capsys: pytest.CaptureFixture[str]) -> None:
    assert names(capsys, "prompts", "list", "--tag", "polite") == ["greet"]
    assert names(capsys, "prompts", "list", "--tag", "pol") == []
    assert names(capsys, "prompts", "list", "--name", "SCO") == ["scold"]
    assert names(capsys, "models", "list", "--name", "_") == ["slow_one"]
    assert names(capsys, "models", "list", "--name", "%") == []
    assert names(capsys, "actions", "list", "--tag", "polite") == ["ask"]
    for tag, expected in (("daily", ["hello"]), ("rude", [])):
        page = asked(capsys, "workflows", "list", "--tag", tag)
        assert [one["name"] for one in page["workflows"]] == expected
    assert main(["prompts", "list", "--name", "nothing"]) == 0
    assert capsys.readouterr().out == "no prompts match\n"


@pytest.mark.usefixtures("shop")
def test_cmd_9_a_long_list_is_read_page_by_page(capsys: pytest.CaptureFixture[str]) -> None:
    first = asked(capsys, "actions", "list", "--limit", "2", "--name", "a")
    assert [one["name"] for one in first["items"]] == ["ask", "nap"]
    assert first["cursor"] is None
    first = asked(capsys, "prompts", "list", "--limit", "1")
    rest = asked(capsys, "prompts", "list", "--limit", "1", "--cursor", first["cursor"])
    assert [one["name"] for one in (*first["items"], *rest["items"])] == ["greet", "scold"]
    assert rest["cursor"] is None
    main(["prompts", "list", "--limit", "1", "--name", "o"])
    assert "more:" not in capsys.readouterr().out
    main(["models", "list", "--limit", "1", "--name", "s"])
    assert "more: wonder models list --name s --limit 1 --cursor " in capsys.readouterr().out
    assert main(["tasks", "list", "--cursor", first["cursor"]]) == 2


@pytest.mark.usefixtures("shop")
def test_cmd_9_a_person_sees_descriptions_tags_and_names_of_nodes(capsys: pytest.CaptureFixture[str]) -> None:
    def printed(*words: str) -> str:
        capsys.readouterr()
        assert main([*words]) == 0
        return capsys.readouterr().out

    assert "polite, short  A greeting." in printed("prompts", "list")
    listed = printed("workflows", "list")
    assert "polite, daily" in listed
    assert "Says hello." in listed
    shown = printed("workflows", "show", "hello")
    assert "tags: polite, daily" in shown
    assert "“The very first”" in shown
    assert "What was said." in printed("artifact-types", "list")


@pytest.mark.usefixtures("shop")
def test_cmd_9_stored_actions_stand_beside_the_kinds(capsys: pytest.CaptureFixture[str]) -> None:
    listed = asked(capsys, "actions", "list")
    assert "http_request" in [one["kind"] for one in listed["kinds"]]
    assert (listed["items"][0]["name"], listed["items"][0]["about"]) == ("ask", {"kind": "llm_call"})
    assert "fields" in asked(capsys, "actions", "show", "sleep")
    assert asked(capsys, "actions", "show", "sleep@1")["definition"]["implementation"]["ms"] == 2


def test_cmd_9_kinds_are_listed_before_there_is_a_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WONDER_DATABASE_URL", raising=False)
    assert main(["actions"]) == 0
    printed = capsys.readouterr()
    assert "http_request" in printed.out
    assert "stored actions are not listed" in printed.err
    assert main(["actions", "show", "nothing"]) == 2
    assert main(["actions", "list", "--tag", "x"]) == 2
    assert [*tmp_path.iterdir()] == []
