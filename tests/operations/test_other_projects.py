"""Nothing of one project can be seen or changed from another: a foreign id is an id that does not exist (INV-7)."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

import wonder
from support.definitions import workflow
from support.systems import until, waits
from support.tenants import MARK, full_project, in_project
from wonder.app.application import Application
from wonder.app.opening import open_wonder
from wonder.app.results import RequestRefused
from wonder.coordinator.orders import ORDERS, AnyOrder, payload_of
from wonder.errors import WonderError
from wonder.language.values import JsonValue
from wonder.operations.catalogue import all_operations, call
from wonder.operations.declaring import DatabaseOperation
from wonder.storage.resource_errors import NotFound
from wonder.storage.runs.headers import load_header
from wonder.storage.runs.requests import find_answer, put_request

# An id of a kind, as a field of an operation's input; all others are as they are.
RUN, ITEM, ARTIFACT, SCHEDULE, WORKFLOW, DEFINITION, MODEL, SERVER, TASK = (
    *("$run", "$item", "$artifact", "$schedule", "$workflow", "$definition", "$model", "$server", "$task"),
)
FILE = json.dumps(workflow({"call": waits("workflow_call", {"workflow_def_id": "$definition"})}))

# What every operation of a project is given, so that each of them is walked. Several inputs where several ids fit.
GIVEN: dict[str, list[dict[str, JsonValue]]] = {
    "actions.archive": [{"name": TASK}, {"name": f"{MARK}-flow-keep"}],
    "actions.restore": [{"name": TASK}, {"name": f"{MARK}-flow-keep"}],
    "actions.list": [{}],
    "actions.show": [{"name": TASK}, {"name": f"{MARK}-flow-keep"}],
    "artifact_types.archive": [{"name": f"{MARK}-type"}],
    "artifact_types.restore": [{"name": f"{MARK}-type"}],
    "artifact_types.list": [{}],
    "artifact_types.show": [{"name": f"{MARK}-type"}],
    "artifacts.content": [{"artifact_id": ARTIFACT}],
    "artifacts.list": [{}, {"run_id": RUN}],
    "artifacts.show": [{"artifact_id": ARTIFACT}],
    "audit.list": [{}],
    "costs.show": [{}],
    "definitions.deploy": [{"files": [{"text": FILE}]}],
    "definitions.deploy_public": [{"files": [{"text": FILE}]}],
    "definitions.schema": [{}],
    "definitions.validate": [{"files": [{"text": FILE}]}],
    "engine.status": [{}, {"run_ids": [RUN]}],
    "events.find": [{}, {"types": ["human_input_requested", "workflow_failed", "artifact_written"]}],
    "events.send": [{"event": "something"}],
    "inbox.answer": [{"item_id": ITEM, "answer": {}}],
    "inbox.claim": [{"item_id": ITEM, "by": "ann"}],
    "inbox.delegate": [{"item_id": ITEM, "to": "bob", "by": "ann"}],
    "inbox.list": [{}],
    "inbox.release": [{"item_id": ITEM, "by": "ann"}],
    "inbox.show": [{"item_id": ITEM}],
    "keys.create": [{"role": "viewer"}],
    "keys.list": [{}],
    "keys.revoke": [{"key": "zzzzzzzz"}],
    "kinds.list": [{}],
    "kinds.show": [{"kind": "python"}],
    "libraries.archive": [{"name": RUN}],
    "libraries.archive_public": [{"name": RUN}],
    "libraries.restore": [{"name": RUN}],
    "libraries.restore_public": [{"name": RUN}],
    "libraries.create": [{"name": "lib"}],
    "libraries.create_public": [{"name": "public-lib"}],
    "libraries.list": [{}],
    "libraries.show": [{"name": RUN}],
    "logs.follow": [{"run_id": RUN, "until_ms": 1}],
    "logs.list": [{}, {"run_id": RUN}],
    "mcp.allow": [{"server": SERVER}, {"server": f"{MARK}-server"}],
    "mcp.approvals": [{}],
    "mcp.archive": [{"name": SERVER}, {"name": f"{MARK}-server"}],
    "mcp.restore": [{"name": SERVER}, {"name": f"{MARK}-server"}],
    "mcp.forget": [{"server": SERVER}],
    "mcp.list": [{}],
    "mcp.tools": [{"server": SERVER}],
    "metrics.prometheus": [{}],
    "metrics.show": [{}],
    "models.archive": [{"name": MODEL}],
    "models.restore": [{"name": MODEL}],
    "models.list": [{}],
    "models.show": [{"name": MODEL}],
    "projects.archive": [{"name": "$run"}],
    "projects.create": [{"name": "another"}],
    "projects.list": [{}],
    "projects.rename": [{"name": "$run", "to": "x"}],
    "projects.restore": [{"name": "$run"}],
    "projects.show": [{"name": "elsewhere"}],
    "prompts.archive": [{"name": RUN}],
    "prompts.restore": [{"name": RUN}],
    "prompts.list": [{}],
    "prompts.show": [{"name": RUN}],
    "retention.apply": [{}],
    "retention.preview": [{}],
    "runs.cancel": [{"run_id": RUN}],
    "runs.context": [{"run_id": RUN}],
    "runs.count": [{}, {"workflow": f"{MARK}-flow"}],
    "runs.events": [{"run_id": RUN}],
    "runs.history": [{"run_id": RUN}],
    "runs.fork": [{"run_id": RUN, "after": 1}],
    "runs.list": [{}, {"workflow": f"{MARK}-flow"}],
    "runs.outcome": [{"run_id": RUN}],
    "runs.pause": [{"run_id": RUN}],
    "runs.progress": [{"run_id": RUN}],
    "runs.resume": [{"run_id": RUN}],
    "runs.retry": [{"run_id": RUN}],
    "runs.retry_all": [{"status": "failed"}],
    "runs.to_retry": [{"status": "failed"}],
    "runs.show": [{"run_id": RUN}],
    "runs.start": [{"workflow": WORKFLOW}, {"workflow": f"{MARK}-flow"}],
    "runs.verify": [{"run_id": RUN}],
    "runs.wait_for_triggered": [{"run_id": RUN}],
    "schedules.create": [{"name": "s", "workflow": WORKFLOW, "every_ms": 60_000}],
    "schedules.delete": [{"name": SCHEDULE}],
    "schedules.fire": [{"name": SCHEDULE}],
    "schedules.list": [{}],
    "schedules.next": [{"name": SCHEDULE}],
    "schedules.pause": [{"name": SCHEDULE}],
    "schedules.resume": [{"name": SCHEDULE}],
    "schedules.show": [{"name": SCHEDULE}],
    "secrets.delete": [{"name": f"{MARK}_SECRET"}],
    "secrets.list": [{}],
    "secrets.rotate": [{}],
    "secrets.scope": [{"name": f"{MARK}_SECRET", "for_host": ["example.org"]}],
    "secrets.set": [{"name": "other", "value": "long enough", "for_host": ["example.com"]}],
    "settings.set": [{"of": "project", "key": "default_model_profile_id", "value": MODEL}],
    "settings.show": [{"of": "project"}],
    "system.diagnose": [{}],
    "tasks.archive": [{"name": TASK}],
    "tasks.restore": [{"name": TASK}],
    "tasks.list": [{}],
    "tasks.show": [{"name": TASK}],
    "vectors.index": [{"name": RUN}],
    "vectors.archive": [{"name": RUN}],
    "vectors.restore": [{"name": RUN}],
    "vectors.list": [{}],
    "vectors.show": [{"name": RUN}],
    "workflows.archive": [{"name": WORKFLOW}, {"name": f"{MARK}-flow"}],
    "workflows.bind": [{"name": "x", "definition": DEFINITION}, {"name": "x", "definition": f"{MARK}-flow"}],
    "workflows.disable": [{"name": WORKFLOW}, {"name": f"{MARK}-flow"}],
    "workflows.enable": [{"name": WORKFLOW}],
    "workflows.pin": [{"name": WORKFLOW, "version": 1}],
    "workflows.rename": [{"name": WORKFLOW, "to": "mine"}],
    "workflows.restore": [{"name": WORKFLOW}],
    "workflows.unpin": [{"name": WORKFLOW}],
    "workflows.diff": [{"name": WORKFLOW}, {"name": DEFINITION}],
    "workflows.list": [{}],
    "workflows.show": [{"name": WORKFLOW}, {"name": DEFINITION}],
}
# Those that say in other words that there is no such thing: with a list that does not have it, or a fault of a file.
OTHER_WORDS = {
    "definitions.deploy",
    "definitions.deploy_public",
    "definitions.validate",
    "engine.status",
    "mcp.forget",
    "mcp.tools",
} | {
    *("schedules.create", "settings.set"),
}
# What is asked of the database itself, by who operates it, and concerns all projects.
OF_DATABASES = {name for name, one in all_operations().items() if isinstance(one, DatabaseOperation)}
SOURCE = Path(wonder.__path__[0])
MISSING = "01KNEVERWASANYTHINGLIKETHI"


def filled(given: JsonValue, ids: dict[str, str]) -> Any:
    """Put ids in the places that are meant for them."""
    text = json.dumps(given)
    for kind, id in ids.items():
        text = text.replace(f"${kind}", id)
    return json.loads(text)


async def answer(application: Application, name: str, given: dict[str, JsonValue], ids: dict[str, str]) -> str:
    """Ask for something, and give the answer or the error, without the ids that were given."""
    try:
        told = json.dumps(await call(application, name, **filled(given, ids)))
    except RequestRefused as error:
        told = f"{error.reason_code}: {error}"
    except WonderError as error:
        told = f"{error.code}: {error}"
    for id in ids.values():
        told = told.replace(id, "«id»")
    return told


async def walk(application: Application, elsewhere: Application, ids: dict[str, str]) -> None:
    """Ask for everything with ids of the one project, in the other."""
    before = await load_header(application.store, ids["run"])
    nothing = dict.fromkeys(ids, MISSING)
    for name, inputs in GIVEN.items():
        for given in inputs:
            foreign = await answer(elsewhere, name, given, ids)
            named = json.dumps(given)
            if "$" in named or MARK in named:
                assert foreign == await answer(elsewhere, name, given, nothing), name
                assert name in OTHER_WORDS or foreign.startswith("NOT_FOUND: "), f"{name}: {foreign}"
            else:
                assert "«id»" not in foreign, f"{name}: {foreign}"
                assert MARK not in foreign, f"{name}: {foreign}"
    assert await load_header(application.store, ids["run"]) == before


def test_every_operation_is_walked() -> None:
    """An operation that is added has to be added to the walk: with the ids of another project, if it takes any."""
    assert set(GIVEN) | OF_DATABASES == set(all_operations())


async def test_inv_7_no_operation_sees_or_changes_what_another_project_has(store_url: str) -> None:
    async with full_project(store_url) as (application, ids), in_project(application, "elsewhere") as elsewhere:
        await walk(application, elsewhere, ids)


async def test_inv_7_neither_does_one_that_is_handed_to_the_process_with_the_engine(store_url: str) -> None:
    async with (
        full_project(store_url) as (application, ids),
        open_wonder(store_url, project="elsewhere") as elsewhere,
    ):
        assert elsewhere.engine is None
        await walk(application, elsewhere, ids)


ORDER_FIELDS: dict[str, dict[str, JsonValue]] = {
    "start": {"workflow_id": WORKFLOW, "input": {}},
    "retry": {"run_id": RUN},
    "fork": {"run_id": RUN, "after": 1},
    "fire_schedule": {"schedule_id": SCHEDULE},
    "index_vectors": {"index_id": RUN},
    "cancel": {"run_id": RUN},
    "pause": {"run_id": RUN},
    "resume": {"run_id": RUN},
    "answer": {"item_id": ITEM, "answer": {}},
    "claim": {"item_id": ITEM, "by": "ann"},
    "release": {"item_id": ITEM, "by": "ann"},
    "delegate": {"item_id": ITEM, "to": "bob", "by": "ann"},
    "event": {"event": "something"},
}


async def test_inv_7_the_engine_carries_out_no_order_about_what_another_project_has(store_url: str) -> None:
    """Below the doors, in the process of the engine and for requests that are stored by hand."""
    assert ORDER_FIELDS.keys() == ORDERS.keys()
    async with full_project(store_url) as (application, ids), in_project(application, "elsewhere") as elsewhere:
        before = await load_header(application.store, ids["run"])
        for kind, fields in ORDER_FIELDS.items():
            order: AnyOrder = ORDERS[kind](**filled(fields, ids))
            request = f"request {kind}"
            await put_request(application.store, request, kind, payload_of(order, elsewhere.home.project_id), 0)
            told = await until(lambda request=request: find_answer(application.store, request))
            if kind == "event":
                assert told.error is None  # an event belongs to the project that sends it
                continue
            assert told.error["code"] == "NOT_FOUND", kind
            with pytest.raises(NotFound):
                await elsewhere.order(order)
        assert await load_header(application.store, ids["run"]) == before


async def test_inv_7_a_program_can_not_start_watch_or_await_what_another_project_has(store_url: str) -> None:
    async with full_project(store_url) as (application, ids), in_project(application, "elsewhere") as elsewhere:
        foreign = await application.workflow(f"{MARK}-flow")
        for work in (elsewhere.start(foreign), elsewhere.wait(ids["run"]), elsewhere.triggers(ids["run"])):
            with pytest.raises(NotFound):
                await work
        with pytest.raises(NotFound):
            async for _ in elsewhere.watch(ids["run"]):
                pass


async def test_inv_7_a_run_can_not_call_a_workflow_of_another_project_by_its_id(store_url: str) -> None:
    """An id that a run is given is checked when the call is made, as no deployment has seen it."""
    calls = workflow(
        {"call": waits("workflow_call", {"workflow_def_id": {"from_context": "input.which"}})},
        input_schema={"type": "object", "properties": {"which": {"type": "string"}}},
    )
    async with full_project(store_url) as (application, ids), in_project(application, "elsewhere") as elsewhere:
        told = []
        await elsewhere.deploy(calls)
        for id in (ids["definition"], MISSING):
            result = await (await elsewhere.start(calls["workflow"]["name"], {"which": id})).wait()
            assert result.status == "failed"
            details: Any = (result.error or {})["details"]
            told.append(json.dumps(details["error"]).replace(id, "ID"))
        assert told[0] == told[1]


# What loads a row whoever it belongs to.
OF_ANYBODY = {"load_header", "load_headers", "load_inbox_item", "load_resource", "load_schedule", "load_library"}
# They load for the whole database, or by ids of rows of their own: the engine, and a wait that has found its run.
OF_ALL_PROJECTS = {"app/application.py"}


def test_the_rooms_above_load_what_somebody_names_for_one_project_only() -> None:
    """INV-7: `storage/runs/own_runs.py` and `storage/own_resources.py` compare the project, and nothing else does."""
    found = set()
    for path in (*SOURCE.glob("app/*.py"), *SOURCE.glob("operations/*.py"), *SOURCE.glob("cli/*.py")):
        names = {
            name.name
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.ImportFrom)
            for name in node.names
        }
        if names & OF_ANYBODY:
            found.add(path.relative_to(SOURCE).as_posix())
    assert found == OF_ALL_PROJECTS


async def test_the_engine_of_one_project_runs_the_runs_of_all(store_url: str) -> None:
    """CMD-5."""
    done = workflow({"done": {"action": {"kind": "update_context", "implementation": {"updates": []}}}})
    async with open_wonder(store_url) as application:
        await call(application, "projects.create", name="elsewhere")
        async with open_wonder(store_url, project="elsewhere") as elsewhere:
            assert application.engine is not None
            assert elsewhere.engine is None
            run = await elsewhere.start(await elsewhere.deploy(done))
            assert (await run.wait()).status == "completed"
