"""Whose tasks an engine runs: of all runs, of its own, or of none; and what it remembers of them (CMD-5)."""

import asyncio
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from support.definitions import update
from support.systems import assert_sound, bundle, calls, settle
from support.triggers import fired, trigger, triggered
from wonder.app.opening import open_wonder
from wonder.coordinator.triggering import Triggers
from wonder.storage.runs.headers import load_header

WORK = bundle("works", {"work": calls("act", output_mapping={"output": "$"})})


async def act() -> dict[str, Any]:
    return {"done": True}


FUNCTIONS = {"tests:act": act}


async def test_an_engine_that_runs_none_leaves_what_others_start_to_the_next_engine(store_url: str) -> None:
    """It has not their functions: they would fail."""
    async with open_wonder(store_url, functions=FUNCTIONS) as client:
        await client.deploy(WORK)
    async with open_wonder(store_url, runs="none") as owner:
        assert owner.engine
        here = await owner.start("works", idempotency_key="a")
        async with open_wonder(store_url, functions=FUNCTIONS) as client:
            assert client.engine is None
            run = await client.start("works")
            again = await owner.start("works", idempotency_key="a")
            assert again.id == here.id
            await asyncio.sleep(0.3)
            assert (await load_header(client.store, run.id)).status == "running"
            await owner.claim.leave()
            for one in (here.id, run.id):
                assert (await client.wait(one)).output == {"done": True}
    await assert_sound(store_url)


async def test_a_process_goes_on_with_its_own_runs_after_taking_over_and_remembers_none_that_has_ended(
    store_url: str,
) -> None:
    async with open_wonder(store_url, runs="none") as owner:
        await owner.deploy(WORK)
        async with open_wonder(store_url, functions=FUNCTIONS, runs="own") as client:
            first = await client.start("works")
            second = await client.start("works")
            assert client.claim._started == {first.id, second.id}
            await owner.cancel(second.id)
            assert (await second.wait()).status == "cancelled"
            assert client.claim._started == {first.id}
            await owner.claim.leave()
            assert (await first.wait()).output == {"done": True}
            assert client.claim._started == set()
    await assert_sound(store_url)


async def test_a_run_of_other_folders_waits_for_its_own_process_and_one_of_the_same_does_not(
    store_url: str, tmp_path: Path
) -> None:
    """CMD-5: two commands with a function of the same name each mean their own; never that of the other."""
    module = f"greets_{uuid4().hex}"
    for folder, word in (("one", "Hello"), ("other", "Bonjour")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{module}.py").write_text(f"def greet():\n    return {{'word': {word!r}}}\n")
    one, other = [tmp_path / "one"], [tmp_path / "other"]
    action = {"kind": "python", "implementation": {"function": f"{module}:greet"}}
    async with open_wonder(store_url, import_roots=one, runs="own") as owner:
        await owner.deploy(bundle("greets", {"greet": {"action": action, "output_mapping": {"output": "$"}}}))
        async with (
            open_wonder(store_url, import_roots=one, runs="own") as same,
            open_wonder(store_url, import_roots=other, runs="own") as client,
        ):
            assert (await (await same.start("greets")).wait()).output == {"word": "Hello"}
            run = await client.start("greets")
            # What comes later has been done by the owner, so this would have been.
            assert (await (await same.start("greets")).wait()).output == {"word": "Hello"}
            assert (await load_header(client.store, run.id)).status == "running"
            await same.claim.leave()
            await owner.claim.leave()
            # In one process the first module stays the one of its name; of two commands each has its own.
            del sys.modules[module]
            assert (await run.wait()).status == "completed"
    await assert_sound(store_url)


async def test_an_engine_remembers_none_of_its_own_runs_that_has_ended(store_url: str) -> None:
    """Otherwise a process that runs for months grows with each."""
    async with open_wonder(store_url, functions=FUNCTIONS, runs="own") as wonder:
        await wonder.deploy(WORK)
        runs = [await wonder.start("works", idempotency_key=str(number)) for number in range(3)]
        for run in runs:
            assert (await run.wait()).status == "completed"
        again = await wonder.start("works", idempotency_key="1")
        assert again.id == runs[1].id
        assert wonder.engine
        assert wonder.engine.coordinator.tasks.mine == set()
        assert wonder.claim._started == set()
    await assert_sound(store_url)


async def test_an_engine_of_its_own_runs_also_runs_what_they_trigger_and_goes_on_with_that(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PHS-6: nobody else might be there who does."""
    definition = {**bundle("first", {"only": update()}, triggers=[trigger("second")])}
    second = {**bundle("second", {"only": calls("act")}, triggers=[trigger("works")])["workflow"]}
    definition["workflows"] = {"second": second, "works": WORK["workflow"]}
    with monkeypatch.context() as patch:
        patch.setattr(Triggers, "begin", lambda *_: None)
        async with open_wonder(store_url, functions=FUNCTIONS, runs="own") as wonder:
            run = await wonder.start(await wonder.deploy(definition), idempotency_key="a")
            assert (await run.wait()).status == "completed"
    async with open_wonder(store_url, functions=FUNCTIONS, runs="own") as wonder:
        again = await wonder.start("first", idempotency_key="a")
        assert again.id == run.id
        (triggered_id,) = [header.id for header in await triggered(wonder, run)]
        (last,) = await triggered(wonder, triggered_id)
        assert (last.status, last.output) == ("completed", {"done": True})
        assert wonder.engine
        assert wonder.engine.coordinator.tasks.mine == set()
    await assert_sound(store_url)


async def test_cmd_5_a_persons_own_process_never_runs_what_a_server_is_asked_for(store_url: str) -> None:
    """It may do more than a server allows: import from folders, use secrets without a scope, reach any model."""

    async def act_of_another() -> dict[str, Any]:
        return {"done": "by the wrong process"}

    theirs = {"tests:act": act_of_another}
    definition = {**bundle("first", {"only": update()}, triggers=[trigger("works")])}
    definition["workflows"] = {"works": WORK["workflow"]}
    schedule = {"workflow": "works", "cron": "0 0 1 1 *", "time_zone": "UTC"}
    async with open_wonder(store_url, functions={}) as server:
        await settle(server, run_limits={"function_wait_ms": 1})
        await server.deploy({**definition, "schedules": {"yearly": schedule}})
        failed = await server.start("works")
        assert (await failed.wait()).status == "failed"
    async with (
        open_wonder(store_url, functions=theirs, runs="own") as person,
        open_wonder(store_url, functions=FUNCTIONS) as server,
    ):
        assert server.engine is None
        runs = [
            await server.start("works"),
            await server.retry(failed.id),
            await server.fork(failed.id, 3),
            await server.fire_schedule("yearly"),
        ]
        # Nothing in it is for a worker, so that it ends there; what it triggers is theirs all the same.
        first = await server.start("first")
        assert (await first.wait()).status == "completed"
        await fired(server, first)
        await asyncio.sleep(0.3)
        for run in runs:
            assert (await load_header(server.store, run.id)).status == "running"
        assert (await (await person.start("works")).wait()).output == {"done": "by the wrong process"}
        await person.claim.leave()
        for run in runs:
            assert (await server.wait(run.id)).output == {"done": True}
        assert [header.output for header in await triggered(server, first)] == [{"done": True}]
    await assert_sound(store_url)
