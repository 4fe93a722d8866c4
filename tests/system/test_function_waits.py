"""A task whose function the process that runs the engine does not have waits for one that has it (TSK-8)."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from support.systems import assert_sound, bundle, settle
from wonder.app.opening import open_wonder
from wonder.cli.main import main
from wonder.operations.runs import OneRun, show_run
from wonder.storage.runs.headers import load_header

CALLS: list[str] = []


def greet(name: str) -> str:
    CALLS.append(name)
    return f"hello {name}"


def note(name: str) -> str:
    CALLS.append(f"noted {name}")
    return name


GREET = {
    "action": {"kind": "python", "implementation": {"function": "people:greet"}, "produces": {"type": "string"}},
    "input_mapping": {"name": "$.input.name"},
    "output_mapping": {"output.said": "$"},
}
SCHEMAS = {
    "input_schema": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
    "output_schema": {"type": "object", "properties": {"said": {"type": "string"}}},
}


def greets() -> dict[str, Any]:
    made = bundle("greets", {"greet": GREET})
    made["workflow"] |= SCHEMAS
    return made


async def waits(wonder: Any, run_id: str) -> None:
    for _ in range(500):
        if (await load_header(wonder.store, run_id)).status == "waiting":
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it does not wait")


@pytest.fixture(autouse=True)
def no_calls() -> None:
    CALLS.clear()


async def test_tsk_8_a_task_waits_for_a_process_that_has_its_function(store_url: str) -> None:
    async with open_wonder(store_url) as wonder:
        run = await wonder.start(await wonder.deploy(greets()), {"name": "Ada"})
        await waits(wonder, run.id)
        shown = await show_run(wonder, OneRun(run_id=run.id))
        assert (shown.functions, shown.tokens[0].status) == (["people:greet"], "suspended")
        assert shown.tokens[0].waits_for == {"kind": "function", "function": "people:greet"}
    # Another process without it: nothing changes.
    async with open_wonder(store_url, functions={"people:note": note}) as wonder:
        assert (await load_header(wonder.store, run.id)).status == "waiting"
    async with open_wonder(store_url, functions={"people:greet": greet}) as wonder:
        result = await wonder.wait(run.id)
        assert (result.status, result.output, CALLS) == ("completed", {"said": "hello Ada"}, ["Ada"])
    await assert_sound(store_url)


async def test_tsk_8_no_step_has_run_before_the_task_waits(store_url: str) -> None:
    steps = [
        {
            "ref": ref,
            "action": {"kind": "python", "implementation": {"function": f"people:{ref}"}},
            "input_mapping": given,
        }
        for ref, given in (("note", {"name": "$.input.name"}), ("greet", {"name": "$.input.name"}))
    ]
    task = {"name": "both", "steps": steps, "input_schema": SCHEMAS["input_schema"]}
    made = bundle("both", {"only": {"task": "both", "input_mapping": {"name": "$.input.name"}}})
    made["tasks"] = {"both": {key: value for key, value in task.items() if key != "name"}}
    made["workflow"]["input_schema"] = SCHEMAS["input_schema"]
    async with open_wonder(store_url, functions={"people:note": note}) as wonder:
        run = await wonder.start(await wonder.deploy(made), {"name": "Ada"})
        await waits(wonder, run.id)
        assert CALLS == []
    async with open_wonder(store_url, functions={"people:note": note, "people:greet": greet}) as wonder:
        assert (await wonder.wait(run.id)).status == "completed"
        assert CALLS == ["noted Ada", "Ada"]


async def test_tsk_8_the_wait_ends_at_its_limit_with_a_clear_error(store_url: str) -> None:
    async with open_wonder(store_url) as wonder:
        workflow = await wonder.deploy(greets())
        await settle(wonder, run_limits={"function_wait_ms": 100})
        run = await wonder.start(workflow, {"name": "Ada"})
        result = await asyncio.wait_for(run.wait(), 30)
        assert result.error is not None
        assert (result.status, result.error["code"]) == ("failed", "UNKNOWN_FUNCTION")
        assert "no process that ran the engine had the function 'people:greet' for 100 ms" in result.error["message"]
    await assert_sound(store_url)


async def test_tsk_8_a_run_that_waits_for_a_function_can_be_cancelled(store_url: str) -> None:
    async with open_wonder(store_url) as wonder:
        run = await wonder.start(await wonder.deploy(greets()), {"name": "Ada"})
        await waits(wonder, run.id)
        await wonder.cancel(run.id)
        assert (await run.wait()).status == "cancelled"
    await assert_sound(store_url)


def test_tsk_8_a_person_is_told_which_function_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WONDER_DATABASE_URL", raising=False)
    Path("greets.json").write_text(json.dumps(greets()))
    assert main(["deploy", "greets.json"]) == 0
    Path("people.py").write_text("import wonder\n@wonder.function\ndef greet(name):\n    return name\n")
    capsys.readouterr()
    assert main(["run", "greets", "--input", '{"name": "Ada"}', "--key", "k"]) == 3
    told = capsys.readouterr().out
    assert "… waiting for a function" in told
    reason = (
        "waits for function 'people:greet', which no process that runs the engine has; start one with --module people"
    )
    assert reason in told
    assert main(["runs", "list", "--json"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert main(["runs", "show", run["run_id"]]) == 0
    assert reason in capsys.readouterr().out
    # Its own command, started again with the module: it goes on where it was.
    again = ["run", "greets", "--input", '{"name": "Ada"}', "--key", "k", "--module", "people", "--json"]
    assert main(again) == 0
    assert json.loads(capsys.readouterr().out)["run_id"] == run["run_id"]
