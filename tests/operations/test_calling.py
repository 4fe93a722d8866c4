"""CMD-8: a program calls every operation by its name, and gets what `--json` prints."""

import asyncio
import json

import pytest

import wonder
from support.definitions import workflow
from wonder.cli.main import main
from wonder.language.values import JsonValue
from wonder.operations.catalogue import UnknownOperation
from wonder.operations.declaring import InputNotAccepted

DONE = workflow({"done": {"action": {"kind": "update_context", "implementation": {"updates": []}}}})


async def test_a_call_gives_the_output_of_its_operation(store_url: str) -> None:
    async with wonder.open(store_url) as app:
        run = await app.start(await app.deploy(DONE))
        await run.wait()
        outcome = await wonder.call(app, "runs.outcome", run_id=run.id)
        assert outcome == {"run_id": run.id, "status": "completed", "output": {}, "error": None}
        events = await wonder.call(app, "runs.events", run_id=run.id)
        assert isinstance(events, list)
        assert len(events) > 3


async def test_an_unknown_operation_and_an_invalid_input_are_rejected(store_url: str) -> None:
    async with wonder.open(store_url, runs="none") as app:
        with pytest.raises(UnknownOperation, match=r"no operation 'runs.lst'; did you mean 'runs.list'\?"):
            await wonder.call(app, "runs.lst")
        with pytest.raises(InputNotAccepted, match=r"the input of runs.show is not accepted"):
            await wonder.call(app, "runs.show", run=1)


async def test_an_operation_whose_input_has_a_name_is_called_like_any_other(store_url: str) -> None:
    async with wonder.open(store_url, runs="none") as app:
        await app.deploy(DONE)
        shown = await wonder.call(app, "workflows.show", name=str(DONE["workflow"]["name"]))
        assert isinstance(shown, dict)
        assert shown["name"] == DONE["workflow"]["name"]


@pytest.mark.parametrize(
    ("operation", "given", "reason"),
    [
        ("runs.list", {"limit": 10**5_000}, "limit does not fit into 64 bits"),
        ("runs.list", {"limit": 10**20_000}, "the limit is 10,000"),
        ("engine.status", {"run_ids": "\ud800"}, "a lone surrogate"),
        ("runs.show", {"run_id": "a\x00"}, r"U\+0000"),
        ("runs.start", {"workflow": "w", "input": float("nan")}, "nan is not a JSON number"),
    ],
)
async def test_an_input_that_is_not_json_is_rejected(
    store_url: str, operation: str, given: dict[str, JsonValue], reason: str
) -> None:
    async with wonder.open(store_url, runs="none") as app:
        with pytest.raises(InputNotAccepted, match=reason):
            await wonder.call(app, operation, **given)


async def test_the_command_line_prints_what_a_call_gives(
    tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{tmp_path_factory.mktemp('one')}/one.db"
    async with wonder.open(url) as app:
        await (await app.start(await app.deploy(DONE))).wait()
        listed = await wonder.call(app, "runs.list")
    assert await asyncio.to_thread(main, ["runs", "list", "--json", "--db", url]) == 0
    assert json.loads(capsys.readouterr().out) == listed
