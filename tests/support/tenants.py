"""Two projects on one database: one with something of every kind in it, and one from which nothing of it is seen."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from support.systems import open_item, waits
from wonder.app.application import Application
from wonder.app.opening import app_on, open_wonder
from wonder.definitions.records.resources import McpServer, ModelProfile
from wonder.operations.catalogue import call
from wonder.storage.named_resources import find_resource

# Every name in it begins with this, so that one that is shown elsewhere is seen.
MARK = "hidden"
ASK = waits("human_input", {"prompt": f"{MARK} question?", "schema": {}})
EVERYTHING: dict[str, Any] = {
    "workflow": {
        "name": f"{MARK}-flow",
        "description": f"{MARK} description",
        "tags": [f"{MARK}-tag"],
        "initial_node": "keep",
        "nodes": {
            "keep": {
                "action": {
                    "kind": "write_artifact",
                    "implementation": {
                        "artifact_type_id": f"{MARK}-type",
                        "content_mapping": {"title": "kept", "content": "kept", "content_type": "text/plain"},
                    },
                },
            },
            "count": {
                "action": {
                    "kind": "emit_metric",
                    "implementation": {"metric_name": f"{MARK}_metric", "value": {"expr": "1"}},
                }
            },
            "ask": ASK,
        },
        "transitions": [{"from": "keep", "to": "count"}, {"from": "count", "to": "ask"}],
    },
    "artifact_types": {f"{MARK}-type": {"schema": {"type": "object"}}},
    "models": {f"{MARK}-model": {"provider": "mock", "model_id": "m"}},
    "mcp_servers": {f"{MARK}-server": {"transport": "stdio", "command": ["true"]}},
    "schedules": {f"{MARK}-schedule": {"workflow": f"{MARK}-flow", "cron": "0 0 1 1 *"}},
}


@asynccontextmanager
async def in_project(application: Application, project: str, **options: Any) -> AsyncIterator[Application]:
    """Use the same database and the same engine in another project."""
    async with app_on(application.store, application.url, project=project, **options) as elsewhere:
        elsewhere.claim = application.claim
        elsewhere.keys = application.keys
        yield elsewhere


async def fill_project(application: Application) -> dict[str, str]:
    """Put something of every kind into a project, and give the ids of it all."""
    workflow = await application.deploy(EVERYTHING)
    run = await application.start(workflow)
    item = await open_item(application, run)
    store, project_id = application.store, application.home.project_id
    ((artifact_id,),) = await store.query("SELECT id FROM artifacts")
    ((task_id,), *_) = await store.query("SELECT id FROM task_defs ORDER BY id")
    ((schedule_id,),) = await store.query("SELECT id FROM schedules")
    model = await find_resource(store, ModelProfile, project_id, f"{MARK}-model")
    server = await find_resource(store, McpServer, project_id, f"{MARK}-server")
    assert model is not None
    assert server is not None
    await call(application, "secrets.set", name=f"{MARK}_SECRET", value="long enough", for_host=["example.com"])
    return {
        "run": run.id,
        "item": item.id,
        "artifact": str(artifact_id),
        "task": str(task_id),
        "schedule": str(schedule_id),
        "workflow": workflow.id,
        "definition": workflow.workflow_def_id,
        "model": model.id,
        "server": server.id,
    }


@asynccontextmanager
async def full_project(url: str) -> AsyncIterator[tuple[Application, dict[str, str]]]:
    """Open a project with something of every kind in it, and give the ids of it all."""
    async with open_wonder(url) as application:
        await call(application, "projects.create", name="elsewhere")
        yield application, await fill_project(application)
