"""CMD-8: a program calls every operation by its name, and gets what `--json` prints."""

import asyncio
import json

import pytest

import wonder
from support.definitions import workflow
from wonder.cli.main import main
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


async def test_the_command_line_prints_what_a_call_gives(
    tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{tmp_path_factory.mktemp('one')}/one.db"
    async with wonder.open(url) as app:
        await (await app.start(await app.deploy(DONE))).wait()
        listed = await wonder.call(app, "runs.list")
    assert await asyncio.to_thread(main, ["runs", "list", "--json", "--db", url]) == 0
    assert json.loads(capsys.readouterr().out) == listed
