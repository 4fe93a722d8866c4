"""Where secrets may stand (INV-8): only in what goes out; anywhere else they are refused before anything is stored."""

from typing import Any

import pytest

from support.definitions import codes_in, faults_in, noop, update, workflow
from wonder.definitions.kinds import KINDS
from wonder.definitions.records.resources import HttpServer, ModelProfileBody, StdioServer

TEXT = "Bearer {{secrets.TOKEN}}"
HTTP: dict[str, Any] = {"url_template": "https://host/", "method": "POST"}


def node(kind: str, implementation: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A node with an action in line."""
    return {"action": {"kind": kind, "implementation": implementation, **fields}}


ALLOWED: dict[str, dict[str, Any]] = {
    "url": workflow({"a": node("http_request", HTTP | {"url_template": "https://host/?key={{secrets.TOKEN}}"})}),
    "headers": workflow({"a": node("http_request", HTTP | {"headers": {"authorization": TEXT}})}),
    "body": workflow({"a": node("http_request", HTTP | {"body_template": "{{json secrets.TOKEN}}"})}),
    "env": workflow({"a": node("shell_command", {"command": ["env"], "env": {"TOKEN": "{{secrets.TOKEN}}"}})}),
    "stdin": workflow({"a": node("shell_command", {"command": ["cat"], "stdin": "{{secrets.TOKEN}}"})}),
    "MCP env": {"mcp_servers": {"m": {"transport": "stdio", "command": ["x"], "env": {"T": TEXT}}}},
    "MCP headers": {
        "mcp_servers": {"m": {"transport": "http", "url": "https://h/", "headers": {"authorization": TEXT}}}
    },
    "model": {"models": {"m": {"provider": "openai", "model_id": "x", "execution_config": {"api_key": TEXT}}}},
}


@pytest.mark.parametrize("place", ALLOWED)
def test_inv_8_a_secret_may_stand_in_what_goes_out(place: str) -> None:
    """INV-8"""
    codes = codes_in(ALLOWED[place])
    assert "secret_misplaced" not in codes
    assert "secret_not_filled_in" not in codes


REFUSED: dict[str, tuple[dict[str, Any], tuple[str | int, ...]]] = {
    "a question": (workflow({"a": node("human_input", {"prompt": TEXT})}), ("prompt",)),
    "an idempotency key": (
        workflow({"a": node("python", {"function": "m:f"}, idempotency={"key_template": TEXT})}),
        ("idempotency", "key_template"),
    ),
    "an argument": (workflow({"a": node("shell_command", {"command": ["curl", TEXT]})}), ("command", 1)),
    "a shell's text": (
        workflow({"a": node("shell_command", {"command": f"curl '{TEXT}'", "shell": True})}),
        ("command",),
    ),
    "a folder": (workflow({"a": node("shell_command", {"command": ["x"], "cwd": "{{secrets.T}}"})}), ("cwd",)),
    "a metric's dimension": (
        workflow({"a": node("emit_metric", {"metric_name": "m", "value": 1.0, "dimensions": {"d": TEXT}})}),
        ("dimensions", "d"),
    ),
    "a file's content": (workflow({"a": node("write_file", {"path": "x", "content": TEXT})}), ("content",)),
    "a file's path": (workflow({"a": node("read_file", {"path": "{{secrets.T}}"})}), ("path",)),
    "an event's key": (workflow({"a": node("wait_for_event", {"event": "e", "key": TEXT})}), ("key",)),
    "an artifact": (
        workflow({"a": node("write_artifact", {"artifact_type_id": "blob", "content_mapping": {"t": TEXT}})}),
        ("content_mapping", "t"),
    ),
    "a prompt": ({"prompts": {"p": {"template": TEXT}}}, ("prompts", "p", "template")),
    "a system prompt": ({"prompts": {"p": {"template": "x", "system_prompt": TEXT}}}, ("p", "system_prompt")),
    "an MCP command": ({"mcp_servers": {"m": {"transport": "stdio", "command": ["x", TEXT]}}}, ("command", 1)),
    "an MCP address": (
        {"mcp_servers": {"m": {"transport": "http", "url": "https://h/{{secrets.T}}"}}},
        ("mcp_servers", "m", "url"),
    ),
    "a model's name": ({"models": {"m": {"provider": "openai", "model_id": TEXT}}}, ("models", "m", "model_id")),
    "all of them": (
        workflow({"a": node("http_request", HTTP | {"body_template": "{{json secrets}}"})}),
        ("body_template",),
    ),
    "any of them": (
        workflow({"a": node("http_request", HTTP | {"headers": {"x": "{{lookup secrets name}}"}})}),
        ("headers", "x"),
    ),
    "an assertion": (workflow({"a": node("assert", {"expr": "secrets.TOKEN = 'x'"})}), ("expr",)),
    "a metric": (
        workflow({"a": node("emit_metric", {"metric_name": "m", "value": {"expr": "length(secrets.T)"}})}),
        ("value", "expr"),
    ),
    "an update": (workflow({"a": update(**{"state.x": "secrets.TOKEN"})}), ("updates", 0, "expr")),
    "a condition": (
        workflow({"a": noop(), "b": noop()}, [{"from": "a", "to": "b", "condition": "secrets.TOKEN = 'x'"}]),
        ("transitions", 0, "condition"),
    ),
    "a step's condition": (
        {
            "tasks": {
                "t": {
                    "steps": [
                        {
                            "ref": "s",
                            "action": "f",
                            "condition": {"if": "secrets.T = 1", "then": "skip", "else": "continue"},
                        }
                    ]
                }
            },
            "actions": {"f": {"kind": "python", "implementation": {"function": "m:f"}}},
        },
        ("steps", 0, "condition", "if"),
    ),
    "a library": (
        {"libraries": {"l": {"prompts": {"p": {"template": TEXT}}}}},
        ("libraries", "l", "prompts", "p", "template"),
    ),
}


@pytest.mark.parametrize("place", REFUSED)
def test_inv_8_anywhere_else_a_secret_is_refused_with_where_and_how(place: str) -> None:
    """INV-8"""
    definition, where = REFUSED[place]
    (fault,) = [fault for fault in faults_in(definition) if fault.code == "secret_misplaced"]
    assert fault.severity == "error"
    assert fault.path[-len(where) :] == where
    assert "url_template" in fault.hint or "{{secrets.NAME}}" in fault.hint


def test_inv_8_a_secret_in_a_list_is_told_by_the_name_of_its_field() -> None:
    """INV-8"""
    (fault,) = faults_in(workflow({"a": node("shell_command", {"command": ["echo", TEXT]})}))
    assert "what becomes of 'command' is kept or shown" in fault.message


@pytest.mark.parametrize(
    "template",
    [
        "{{@root.secrets.T}}",
        "{{this.secrets.T}}",
        "{{#each xs}}{{../secrets.T}}{{/each}}",
        "{{#if secrets.T}}x{{/if}}",
        "{{secrets.[T]}}",
        "{{json secrets.T}}",
    ],
)
def test_inv_8_a_secret_is_seen_however_a_template_names_it(template: str) -> None:
    """INV-8"""
    asks = node("human_input", {"prompt": template}) | {"input_mapping": {"xs": "$.input"}}
    assert codes_in(workflow({"a": asks})) == ["secret_misplaced"]


def test_a_mapping_that_seems_to_use_a_secret_is_warned_of() -> None:
    definition = workflow({"a": noop(input_mapping={"auth": [TEXT]})})
    (fault,) = faults_in(definition)
    assert (fault.code, fault.severity, fault.path[-2:]) == ("secret_not_filled_in", "warning", ("auth", 0))


@pytest.mark.parametrize(
    "definition",
    [
        workflow({"a": update(**{"state.x": "input.secrets.x"})}),
        workflow({"a": update(**{"state.x": "state.secrets.x"})}),
        workflow({"a": update(**{"state.x": "'secrets.x'"})}),
        workflow(
            {"a": update(**{"state.x": "secrets.x"})},
            context_schema={"type": "object", "properties": {"secrets": {"type": "object"}, "x": {}}},
        ),
        workflow({"a": node("human_input", {"prompt": "no {{secret}}, secrets. or {{x.secrets.y}}"})}),
    ],
)
def test_what_is_only_called_like_secrets_is_no_secret(definition: dict[str, Any]) -> None:
    assert "secret_misplaced" not in codes_in(definition)


def test_the_fields_that_may_hold_secrets_exist() -> None:
    records = [*(kind.configuration for kind in KINDS.own.values()), ModelProfileBody, StdioServer, HttpServer]
    assert all(record.secret_fields <= record.model_fields.keys() for record in records)
    assert sum(bool(record.secret_fields) for record in records) == 5
