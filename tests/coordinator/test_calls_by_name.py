"""Sub-workflows that a context names: by name or id, in a version that is fixed or read from the context too."""

from typing import Any

import pytest

from support.definitions import update
from support.graphs import found_in
from support.systems import bundle, open_item, running, waits
from wonder.app.application import Application
from wonder.storage.runs.headers import children_of_run

ANY = {"input_schema": {"type": "object"}}
GATE = waits("human_input", {"prompt": "go on?"})


def child(name: str, value: int) -> dict[str, Any]:
    return bundle(name, {"only": update(**{"output.x": str(value)})})


def parent(before: dict[str, Any] | None = None, **call: Any) -> dict[str, Any]:
    """Make a workflow that calls another one, perhaps after another node."""
    calling = waits("workflow_call", call, output_mapping={"output.given": "$"})
    if before is None:
        return bundle("parent", {"call": calling}, **ANY)
    return bundle("parent", {"before": before, "call": calling}, [{"from": "before", "to": "call"}], **ANY)


async def given(wonder: Application, definition: dict[str, Any], **run_input: Any) -> Any:
    result = await (await wonder.start(await wonder.deploy(definition), run_input)).wait()
    return result.output["given"]["x"] if result.status == "completed" else result.error


async def test_act_5_the_version_of_a_named_workflow_is_read_from_the_context(store_url: str) -> None:
    async with running(store_url) as wonder:
        await wonder.deploy(child("child", 1))
        await wonder.deploy(child("child", 2))
        calls = parent(workflow_def_id="child", version={"from_context": "input.v"})
        assert await given(wonder, calls, v=1) == 1
        assert await given(wonder, calls, v=2) == 2
        # A context that says nothing means the newest when the call is made (RES-4).
        assert await given(wonder, calls) == 2
        await wonder.deploy(child("child", 3))
        assert await given(wonder, calls) == 3
        missing = await given(wonder, calls, v=9)
        assert (missing["code"], "9" in missing["message"]) == ("CHILD_FAILED", True)


async def test_act_5_a_workflow_is_found_by_what_the_context_calls_it(store_url: str) -> None:
    """ACT-5, RES-7: a name, a name with its version, one of a library, or an id."""
    async with running(store_url) as wonder:
        shared = {"common": {"workflows": {"shared": child("shared", 7)["workflow"]}}}
        await wonder.deploy({**child("child", 1), "libraries": shared})
        stored = await wonder.deploy(child("child", 2))
        calls = parent(workflow_def_id={"from_context": "input.which"}, version={"from_context": "input.v"})
        for which, version, expected in [
            ("child", None, 2),
            ("child", 1, 1),
            ("child@1", None, 1),
            ("child@1", 1, 1),
            ("shared", None, 7),
            ("common/shared", None, 7),
            ("common/shared@1", None, 7),
            (stored.workflow_def_id, None, 2),
            (stored.workflow_def_id, 1, 1),
        ]:
            assert await given(wonder, calls, which=which, v=version) == expected, (which, version)
        for which, version in [("nobody", None), ("child", 9), ("child@1", 2), ("a/b/c", None), ("", None)]:
            error = await given(wonder, calls, which=which, v=version)
            assert (error["code"], error["details"]["error"]["code"]) == ("CHILD_FAILED", "NOT_FOUND"), which


async def test_act_5_what_the_context_says_is_read_when_the_call_is_made(store_url: str) -> None:
    """RES-4; a process that ends before the call changes nothing of it."""
    calls = parent(GATE, workflow_def_id={"from_context": "input.which"})
    async with running(store_url) as wonder:
        run = await wonder.start(await wonder.deploy(calls), {"which": "child"})
        item = await open_item(wonder, run)
    async with running(store_url) as wonder:
        await wonder.deploy(child("child", 5))
        await wonder.answer(item.id, {})
        assert (await wonder.wait(run.id)).output == {"given": {"x": 5}}
        (called,) = await children_of_run(wonder.store, run.id)
        assert called.workflow_version == 1


@pytest.mark.parametrize("named", ["child@1", "common/child@2"])
def test_act_5_a_version_in_the_name_and_one_from_the_context_are_two(named: str) -> None:
    found = found_in(parent(workflow_def_id=named, version={"from_context": "input.v"}))
    assert "bad_reference at nodes.call.action.implementation.workflow_def_id" in found
