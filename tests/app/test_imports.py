"""What a process imports: what its runs do not need costs every start, so it stays away until it is needed."""

import json
import subprocess
import sys
from typing import Any

RUN = """
import asyncio, json, sys
import wonder

async def main(url, definition):
    async with wonder.open(url, functions={"functions:same": lambda **given: given}) as app:
        if definition:
            await app.deploy(json.loads(definition))
        run = await app.start("plain", {"n": 1})
        result = await run.wait()
        print(json.dumps({"status": result.status, "modules": sorted(sys.modules)}))

asyncio.run(main(sys.argv[1], sys.argv[2]))
"""
_NUMBER = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
PLAIN: dict[str, Any] = {
    "workflow": {
        "name": "plain",
        "input_schema": _NUMBER,
        "context_schema": _NUMBER,
        "initial_node": "only",
        "nodes": {
            "only": {
                "action": {"kind": "python", "implementation": {"function": "functions:same"}, "produces": _NUMBER},
                "input_mapping": {"n": "$.input.n"},
                "output_mapping": {"state.n": "$.n"},
            }
        },
    }
}
# Read, checked and stored: all that only a deploy does.
DEPLOYING = {
    "wonder.definitions.binding",
    "wonder.definitions.checks.bundles",
    "wonder.definitions.file_form.models",
    "wonder.definitions.loading",
    "wonder.storage.catalog",
    "wonder.storage.deploying",
}
# What this workflow has none of, and the other database.
NOT_USED = {
    "jsonpath",
    "wonder.language.expressions.parser",
    "wonder.language.paths.rfc9535",
    "wonder.language.templates.parser",
    "yaml",
}


def test_a_process_that_only_runs_imports_neither_what_deploys_nor_what_the_workflow_does_not_use(
    empty_store_url: str,
) -> None:
    """CMD-8: opened, deployed, started and waited for in a program."""
    first = _run(empty_store_url, json.dumps(PLAIN))
    second = _run(empty_store_url, "")
    assert first["status"] == second["status"] == "completed"
    other = {"asyncpg"} if empty_store_url.startswith("sqlite") else set()
    # By these names, so that one that was moved is not taken for one that stayed away.
    assert set(first["modules"]) >= DEPLOYING
    assert not set(first["modules"]) & (NOT_USED | other)
    assert not set(second["modules"]) & (NOT_USED | other | DEPLOYING)


def test_records_are_built_when_they_are_used() -> None:
    program = """
import wonder.app.engine
from wonder.definitions.records.fields import Record
records = Record.__subclasses__()
for record in records:
    records += record.__subclasses__()
print(len(records), *[record.__name__ for record in records if record.__pydantic_complete__])
"""
    count, *built = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()
    assert int(count) > 50
    assert built == []


def _run(url: str, definition: str) -> dict[str, Any]:
    finished = subprocess.run(
        [sys.executable, "-c", RUN, url, definition], capture_output=True, text=True, check=False, timeout=60
    )
    assert finished.returncode == 0, finished.stderr
    found: dict[str, Any] = json.loads(finished.stdout)
    return found
