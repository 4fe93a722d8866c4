"""Whatever is done to a phase file, it ends with errors that have a place, never with an error of Python."""

import json
from pathlib import Path
from random import Random
from typing import Any

import jsonschema_rs
import pytest

from support.mutations import damaged
from wonder.app.application import Application
from wonder.app.deploying import compile_definition, load_catalog_for
from wonder.app.opening import open_app
from wonder.app.phase_faults import refusal
from wonder.definitions.faults import DefinitionRefused, Fault, has_errors
from wonder.definitions.file_form.json_schema import file_form_schema
from wonder.definitions.loading import load_text
from wonder.definitions.records.resources import StdioServer
from wonder.language.values import encode_json
from wonder.phases.records import PhaseWorkflow
from wonder.storage.tool_schemas import put_tool_schemas

SAMPLES = sorted((Path(__file__).parents[2] / "samples" / "phases").glob("*.json"))
DEFINITIONS_PER_SEED = 25
ITEM = {
    "type": "object",
    "required": ["id", "weight"],
    "properties": {"id": {"type": "string"}, "weight": {"type": "integer"}},
}
ANY: dict[str, Any] = {"input": {"type": "object"}, "output": None}
TOOLS = {
    "list": {
        "input": {"type": "object"},
        "output": {
            "type": "object",
            "required": ["batchId", "items"],
            "properties": {"batchId": {"type": "string"}, "items": {"type": "array", "items": ITEM}},
        },
    },
    "process": {
        "input": {"type": "object", "required": ["data"], "properties": {"data": ITEM}},
        "output": {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}},
    },
    **dict.fromkeys(("get-data", "run", "insert", "fetch", "start", "status", "list-users", "send", "confirm"), ANY),
}


async def know_tools(app: Application, documents: list[Any]) -> None:
    """Let all servers be known, as if they had been asked, so that none is started."""
    for document in documents:
        for server in document.get("mcp_servers", {}).values():
            connection = StdioServer.model_validate(server)
            await put_tool_schemas(app.store, app.home.project_id, connection, TOOLS, clock=app.clock)


async def faults_of(app: Application, document: Any) -> list[Fault]:
    try:
        loaded = await compile_definition(app, load_text(encode_json(document), "damaged.json"))
        return loaded.check(await load_catalog_for(app, loaded))
    except DefinitionRefused as refused:
        return list(refused.faults)


@pytest.mark.parametrize("seed", range(6))
async def test_every_damage_is_told_with_its_place_and_in_the_shape_of_the_phase_form(
    seed: int, tmp_path: Path
) -> None:
    """FIL-7: what is accepted is accepted by an editor as well."""
    random, found, accepted = Random(seed), 0, 0
    documents = [json.loads(random.choice(SAMPLES).read_text()) for _ in range(DEFINITIONS_PER_SEED)]
    editor = jsonschema_rs.Draft202012Validator(file_form_schema(PhaseWorkflow))
    async with open_app(f"sqlite:///{tmp_path / 'damage.db'}") as app:
        await know_tools(app, documents)
        for original in documents:
            document = damaged(original, random, random.choice([0, 1, 1, 1, 2, 4, 10]))
            faults = await faults_of(app, document)
            found += len(faults)
            for fault in faults:
                assert fault.place is not None, fault
                assert fault.message, fault
                assert str(fault)
                assert fault.as_json()["type"]
            for error in refusal(faults)["errors"]:
                assert error.keys() >= {"type", "step", "field", "message"}
            if not has_errors(faults):
                accepted += 1
                assert [f"{one.instance_path} {one.message}" for one in editor.iter_errors(document)] == [], document
                await app.deploy_loaded(load_text(encode_json(document), "damaged.json"))
    assert found > 10  # the damage was seen
    assert accepted >= 1
