"""What `wonder actions` tells of every kind (ACT-10): its fields, what it gives, and an example that is valid."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.definitions import faults_in
from support.tasks import Bench
from wonder.actions.guide import all_guides
from wonder.cli.main import main
from wonder.definitions.kinds import KINDS
from wonder.definitions.source import read_source

GUIDES = {guide.kind: guide for guide in all_guides()}


@pytest.mark.parametrize("kind", KINDS.own)
def test_act_10_the_example_of_each_kind_is_a_valid_definition_of_it(kind: str) -> None:
    """ACT-10"""
    guide = GUIDES[kind]
    assert faults_in(guide.example) == []
    value: Any = read_source(guide.example, "example.yaml").value
    (node,) = value["workflow"]["nodes"].values()
    assert node["action"]["kind"] == kind


@pytest.mark.parametrize("kind", KINDS.own)
def test_act_10_every_field_of_each_kind_is_shown_with_its_type_and_default(kind: str) -> None:
    """ACT-10"""
    record, shown = KINDS.own[kind].configuration, {field.name: field for field in GUIDES[kind].fields}
    assert list(shown) == [field.alias or name for name, field in record.model_fields.items()]
    for name, field in record.model_fields.items():
        told = shown[field.alias or name]
        assert told.type
        assert told.required == field.is_required()
        assert told.default == (None if field.is_required() else field.default)
        assert told.may_hold_secrets == (name in record.secret_fields)


@pytest.mark.parametrize("kind", [name for name, kind in KINDS.own.items() if kind.scoped])
def test_fil_2_the_scope_of_a_kind_is_shown_as_it_is_in_line_too(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    """FIL-2"""
    assert main(["actions", "show", kind]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("scope ")]
    assert line.split(maxsplit=4)[4] == '"task"    in line in a node: "workflow"'


def test_act_10_every_kind_that_can_be_run_has_a_guide() -> None:
    """ACT-10"""
    assert {kind.kind for kind in Bench().registry} <= GUIDES.keys()


def test_kinds_are_listed_and_shown_for_people_and_for_programs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["actions", "list"]) == 0
    listed = capsys.readouterr().out
    assert all(f"\n{kind} " in listed for kind in KINDS.own)
    assert main(["actions", "show", "http_request"]) == 0
    shown = capsys.readouterr().out
    assert "url_template" in shown
    assert "may hold {{secrets.NAME}}" in shown
    assert GUIDES["http_request"].example.rstrip() in shown
    assert main(["actions", "list", "--json"]) == 0
    kinds = {one["kind"]: one for one in json.loads(capsys.readouterr().out)["kinds"]}
    assert kinds.keys() >= KINDS.own.keys()
    assert main(["actions", "show", "sleep", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == kinds["sleep"]
    assert list(tmp_path.iterdir()) == [], "no database is made or asked"


def test_a_kind_that_is_not_there_is_told_with_those_that_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["actions", "show", "htp_request", "--json"]) == 2
    told = capsys.readouterr()
    assert json.loads(told.out)["code"] == "UNKNOWN_ACTION_KIND"
    assert "http_request" in told.err
