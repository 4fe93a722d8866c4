"""Definitions over HTTP: as files, in the phase form, and one by one (API-2, PHS-4)."""

import json
from typing import Any

import httpx2
import pytest

from support.definitions import workflow

UPDATE: dict[str, Any] = {"action": {"kind": "update_context", "implementation": {"updates": []}}}
FLOW = workflow({"a": UPDATE}, name="flow")
YAML = """
workflow:
  name: from-yaml
  initial_node: a
  nodes:
    a: {action: {kind: update_context, implementation: {updates: []}}}
"""
COUNT = """
interface Input { values: string[] }
interface Output { count: number }
export default function count(input: Input): Output { return { count: input.values.length }; }
"""
PHASES: dict[str, Any] = {
    "name": "counts",
    "input_schema": {
        "type": "object",
        "required": ["values"],
        "properties": {"values": {"type": "array", "items": {"type": "string"}}},
    },
    "steps": [[{"name": "count", "transform": COUNT, "input": {"values": "@input.values"}}]],
}
WRONG: dict[str, Any] = {
    "name": "wrong",
    "steps": [
        [{"name": "one", "transform": "export default function f(input) { return 1; }"}],
        [{"name": "two", "transform": COUNT, "input": {"values": "@none.output"}}],
        [{"name": "three", "sleep": {"ms": 1}, "transform": COUNT}],
    ],
}


@pytest.mark.parametrize("path", ["/workflows", "/v1/workflows", "/v1/projects/default/workflows"])
def test_phs_4_a_workflow_in_the_phase_form_is_stored_or_answered_with_all_its_errors(
    client: httpx2.Client, path: str
) -> None:
    refused = client.post(path, json=WRONG)
    assert refused.status_code == 400, refused.text
    body = refused.json()
    assert body["error"] == "Workflow validation failed"
    types = {error["type"] for error in body["errors"]}
    assert {"missing_ref", "invalid_typescript", "invalid_step"} <= types, body
    (missing,) = [error for error in body["errors"] if error["type"] == "missing_ref"]
    assert (missing["step"], missing["ref"]) == ("two", "@none.output")
    assert client.get("/v1/workflows/wrong").status_code == 404
    stored = client.post(path, json=PHASES)
    assert stored.status_code == 201, stored.text
    assert [(one["kind"], one["name"]) for one in stored.json()["definitions"]][-1] == ("workflow", "counts")
    done = client.post("/v1/workflows/counts/runs?wait=30", json={"input": {"values": ["a", "b"]}})
    assert done.json()["output"] == {"count": 2}


def test_phs_4_what_is_no_phase_form_is_refused_where_one_is_expected(client: httpx2.Client) -> None:
    refused = client.post("/workflows", json=FLOW)
    assert (refused.status_code, refused.json()["code"]) == (400, "DEFINITION_REFUSED")
    assert "steps" in refused.json()["error"]


def test_api_2_a_bundle_is_yaml_or_json(client: httpx2.Client) -> None:
    stored = client.post("/v1/bundles", content=YAML, headers={"content-type": "application/yaml"})
    assert stored.status_code == 201, stored.text
    assert client.post("/v1/projects/default/bundles", json=FLOW).status_code == 201
    wrong = client.post("/v1/bundles", content="workflow: [", headers={"content-type": "application/yaml"})
    assert wrong.status_code == 400
    assert wrong.json()["errors"][0]["line"] >= 1
    checked = client.post("/v1/bundles/validate", json={"workflow": {"name": "x"}})
    assert (checked.status_code, checked.json()["valid"]) == (200, False)
    for refused in (
        client.post("/v1/bundles", content=YAML, headers={"content-type": "text/plain"}),
        client.post("/v1/bundles", content=YAML.encode(), headers={"content-type": ""}),
    ):
        assert (refused.status_code, refused.json()["code"]) == (415, "TYPE_REFUSED")
    assert client.post("/v1/bundles").status_code == 400


PARTS: dict[str, dict[str, Any]] = {
    "task-defs": {"name": "work", "steps": [{"ref": "a", "action": "act"}]},
    "action-defs": {"name": "act", "kind": "sleep", "implementation": {"ms": 1}},
    "prompt-specs": {"name": "say", "template": "Say {{word}}"},
    "artifact-types": {"name": "text", "schema": {"type": "object"}},
    "model-profiles": {"name": "quick", "provider": "mock", "model_id": "m"},
    "mcp-servers": {"name": "tools", "transport": "stdio", "command": ["true"]},
    "workflow-defs": {
        "name": "part",
        **{key: FLOW["workflow"][key] for key in ("initial_node", "nodes", "transitions")},
    },
}


def test_api_2_definitions_are_created_listed_and_shown_by_version(client: httpx2.Client) -> None:
    for kind in ("action-defs", *(one for one in PARTS if one != "action-defs")):
        stored = client.post(f"/v1/{kind}", json=PARTS[kind])
        assert stored.status_code == 201, stored.text
        name = PARTS[kind]["name"]
        listed = client.get(f"/v1/projects/default/{kind}").json()
        (names,) = [[one["name"] for one in page] for page in listed.values() if isinstance(page, list)]
        assert name in names, kind
        if kind == "mcp-servers":
            continue
        assert client.get(f"/v1/{kind}/{name}").json()["name"] == name
        if kind != "model-profiles":
            version = client.get(f"/v1/{kind}/{name}/versions/1")
            assert (version.status_code, version.json()["version"]) == (200, 1), version.text
            assert client.get(f"/v1/{kind}/{name}/versions/7").status_code == 404
            assert client.get(f"/v1/{kind}/{name}/versions/x").status_code in (400, 404)
    refused = client.post("/v1/task-defs", json={"name": "bad", "steps": 7})
    assert (refused.status_code, refused.json()["code"]) == (400, "DEFINITION_REFUSED")
    assert client.post("/v1/task-defs", json={"steps": []}).json()["code"] == "BAD_BODY"
    assert client.post("/v1/task-defs", json=[]).json()["code"] == "BAD_BODY"


def test_api_2_a_library_takes_definitions(client: httpx2.Client) -> None:
    body = {"actions": {"shared": {"kind": "sleep", "implementation": {"ms": 1}}}}
    stored = client.post("/v1/libraries/common/bundles", json=body)
    assert stored.status_code == 201, stored.text
    assert client.get("/v1/action-defs/common%2Fshared").json()["name"] == "shared"
    assert "common" in [one["name"] for one in client.get("/v1/libraries").json()["libraries"]]


def test_a_definition_can_not_approve_its_own_commands(client: httpx2.Client) -> None:
    files = [{"text": json.dumps({"mcp_servers": {"own": {"transport": "stdio", "command": ["true"]}}})}]
    for path in ("/v1/definitions/deploy", "/v1/definitions/validate"):
        refused = client.post(path, json={"files": files, "allow_mcp": ["own"]})
        assert (refused.status_code, refused.json()["code"]) == (400, "UNKNOWN_FIELD")
