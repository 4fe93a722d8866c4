"""Nothing of one project can be seen or changed from another: a foreign id is an id that there is not (INV-7)."""

from typing import Any

import pytest
from msgspec.structs import replace

from support.definitions import workflow
from support.systems import open_item, waits
from wonder.app.application import Application
from wonder.app.opening import open_wonder
from wonder.errors import WonderError
from wonder.operations.catalogue import all_operations
from wonder.operations.declaring import DatabaseOperation, Declared, Stream
from wonder.operations.inbox import ListInbox, list_inbox
from wonder.operations.run_orders import AnswerItem, answer_item
from wonder.storage.runs.headers import load_header

ASK = workflow({"ask": waits("human_input", {"prompt": "?", "schema": {}})})
# More that an input must have, beside the id of a run.
MORE = {"runs.fork": {"after": 1}}
OF_RUNS = {
    name: declared
    for name, declared in all_operations().items()
    if "run_id" in getattr(declared.input, "__struct_fields__", ())
}


def seen_from_elsewhere(application: Application) -> Application:
    """Give an application on the same database and engine, in another project."""
    elsewhere = Application(
        application.store,
        replace(application.home, project_id="01KOTHERPROJECT"),
        application.clock,
        application.new_id,
        application.keys,
    )
    elsewhere.claim = application.claim
    return elsewhere


async def ask(declared: Declared[Any, Any], application: Application, given: dict[str, Any]) -> None:
    asked = declared.read(given)
    if isinstance(declared, Stream):
        async for _ in declared(application, asked):
            pass
    else:
        assert not isinstance(declared, DatabaseOperation)
        await declared(application, asked)  # type: ignore[operator]  # an Operation


def test_there_are_operations_of_runs() -> None:
    assert {"runs.show", "runs.cancel", "runs.events", "artifacts.list"} <= OF_RUNS.keys()


@pytest.mark.parametrize("name", OF_RUNS)
async def test_inv_7_no_operation_finds_a_run_of_another_project(name: str, store_url: str) -> None:
    async with open_wonder(store_url, runs="none") as application:
        deployed = await application.deploy(ASK)
        run = await application.start(deployed)
        before = await load_header(application.store, run.id)
        elsewhere = seen_from_elsewhere(application)
        with pytest.raises(WonderError) as refused:
            await ask(OF_RUNS[name], elsewhere, {"run_id": run.id, **MORE.get(name, {})})
        assert refused.value.code == "NOT_FOUND"
        assert await load_header(application.store, run.id) == before


async def test_inv_7_no_item_of_another_project_can_be_answered(store_url: str) -> None:
    async with open_wonder(store_url, runs="all") as application:
        run = await application.start(await application.deploy(ASK))
        item_id = (await open_item(application, run)).id
        elsewhere = seen_from_elsewhere(application)
        assert (await list_inbox(elsewhere, ListInbox())).items == []
        with pytest.raises(WonderError) as refused:
            await answer_item(elsewhere, AnswerItem(item_id=item_id, answer={}))
        assert refused.value.code == "ITEM_CLOSED"
        await answer_item(application, AnswerItem(item_id=item_id, answer={}))
        assert (await run.wait()).status == "completed"
