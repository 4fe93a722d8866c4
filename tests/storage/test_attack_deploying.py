"""Bundles whose parts name each other in every direction, and names that are hard to store."""

from typing import Any

import pytest

from support.definitions import noop, workflow
from wonder.app.application import Application
from wonder.app.ids import new_ulid
from wonder.definitions.loading import load_value
from wonder.definitions.records.tasks import TaskDef
from wonder.definitions.records.workflows import Workflow
from wonder.storage.clock import utc_now
from wonder.storage.definitions import load_definition
from wonder.storage.deploying import Deployed
from wonder.storage.named_resources import find_resource
from wonder.storage.resource_errors import NotFound
from wonder.storage.store import Store
from wonder.storage.tenancy import ensure_default
from wonder.storage.written import load_written

PYTHON = {"kind": "python", "implementation": {"function": "module:function"}}


@pytest.fixture
async def app(store: Store) -> Application:
    """Wonder on an empty database."""
    return Application(store, await ensure_default(store, clock=utc_now, new_id=new_ulid), utc_now, new_ulid)


async def deploy(app: Application, definition: dict[str, Any]) -> Deployed:
    return (await app.deploy_loaded(load_value(definition)))[0]


def calling(name: str) -> dict[str, Any]:
    return {"action": {"kind": "workflow_call", "implementation": {"workflow_def_id": name}}}


async def test_res_4_two_libraries_of_one_file_may_each_name_something_of_the_other(app: Application) -> None:
    one: dict[str, Any] = {
        "tasks": {"t": {"steps": [{"ref": "s", "action": "two/x"}]}},
        "actions": {"x": PYTHON},
        "workflows": {"w": {"initial_node": "a", "nodes": {"a": calling("two/w"), "b": {"task": "two/t"}}}},
    }
    one["workflows"]["w"]["transitions"] = [{"from": "a", "to": "b"}]
    two = {
        "tasks": {"t": {"steps": [{"ref": "s", "action": "one/x"}]}},
        "actions": {"x": PYTHON},
        "workflows": {"w": {"initial_node": "a", "nodes": {"a": calling("one/w")}}},
    }
    deployed = await deploy(app, {"libraries": {"one": one, "two": two}})
    assert sorted(f"{kind} {stored.name}" for kind, stored in deployed.others if "." not in stored.name) == [
        *["action x"] * 2,
        *["task t"] * 2,
        *["workflow w"] * 2,
    ]
    again = await deploy(app, {"libraries": {"two": two, "one": one}})
    assert not any(stored.is_new for _, stored in again.others)


async def test_res_4_a_bare_name_means_the_version_that_the_same_file_makes_in_a_library(app: Application) -> None:
    library = {"tasks": {"t": {"steps": [{"ref": "s", "action": PYTHON}]}}}
    await deploy(app, {"libraries": {"shared": library}})
    changed = {"tasks": {"t": {"description": "changed", "steps": [{"ref": "s", "action": PYTHON}]}}}
    await deploy(app, {"libraries": {"shared": changed}, **workflow({"a": {"task": "t"}})})
    written = await load_written(app.store, app.home.project_id, "test")
    node = written.definition.nodes[0]
    assert node.task_version == 2
    assert (await load_definition(app.store, TaskDef, node.task_id, node.task_version)).description == "changed"


async def test_lay_2_what_stands_in_line_is_stored_whatever_its_node_is_called(app: Application) -> None:
    refs = ["a/b@2", "a-b-2", "a@b", "r" * 200, "r" * 199 + "s", 'x"; DROP TABLE workflow_defs; --', "é" * 200]
    document = workflow({ref: noop() for ref in refs}, name="w" * 200)
    document["workflow"]["transitions"] = [{"from": refs[0], "to": ref} for ref in refs[1:]]
    first = await deploy(app, document)
    names = {stored.name for kind, stored in first.others if kind == "task"}
    assert len(names) == len(refs)
    assert all(len(name) <= 200 for name in names)
    assert not any(stored.is_new for _, stored in (await deploy(app, document)).others)
    written = await load_written(app.store, app.home.project_id, "w" * 200)
    assert [node.ref for node in written.definition.nodes] == refs


async def test_res_7_a_workflow_is_found_by_its_name_and_by_its_ids(app: Application) -> None:
    deployed = await deploy(app, workflow({"a": noop()}))
    assert deployed.main
    bound = await find_resource(app.store, Workflow, app.home.project_id, "test")
    assert bound
    for known_as in ("test", deployed.main.id, bound.id):
        written = await load_written(app.store, app.home.project_id, known_as, 1)
        assert (written.definition.id, written.definition.version) == (deployed.main.id, 1)
    for unknown in ("nobody", new_ulid()):
        with pytest.raises(NotFound, match=f"there is no workflow '{unknown}'"):
            await load_written(app.store, app.home.project_id, unknown)
    with pytest.raises(NotFound):
        await load_written(app.store, new_ulid(), deployed.main.id)
