"""What tests of the server deploy, and how."""

import json
from typing import Any

import httpx2

from support.definitions import workflow
from support.systems import waits

KEEP: dict[str, Any] = {
    "action": {
        "kind": "update_context",
        "implementation": {"updates": [{"path": "output.number", "expr": "input.number"}]},
    }
}
NUMBER = {"type": "object", "properties": {"number": {}}}
ECHO = workflow({"keep": KEEP}, name="echo", input_schema=NUMBER, output_schema=NUMBER)
ASK = workflow({"ask": waits("human_input", {"prompt": "Well?", "schema": {}})}, name="asks")


def deploy(client: httpx2.Client, *definitions: dict[str, Any], to: str = "/v1") -> None:
    """Store definitions."""
    files = [{"text": json.dumps(one)} for one in definitions]
    answer = client.post(f"{to}/definitions/deploy", json={"files": files})
    assert answer.status_code == 200, answer.text
    assert all(one["stored"] for one in answer.json()["files"]), answer.text
