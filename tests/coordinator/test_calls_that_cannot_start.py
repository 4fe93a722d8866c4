"""ACT-5, PHS-6: whatever goes wrong while what is called or triggered is made ready, whoever asked for it is told."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from support.systems import bundle, calls, running, waits
from support.triggers import fired, give, source, trigger
from wonder.app.application import Application
from wonder.coordinator import recovery
from wonder.coordinator.programs import Program
from wonder.errors import WonderError
from wonder.storage.errors import ConnectionLost
from wonder.storage.runs.recording import Batch
from wonder.storage.runs.records import NewRun

CALL = waits("workflow_call", {"workflow_def_id": "child"}, output_mapping={"output.got": "$"})
CHILD = bundle("child", {"a": calls("give")})["workflow"]
del CHILD["name"]
CALLER = {**bundle("caller", {"call": CALL}), "workflows": {"child": CHILD}}


def _fail_programs(wonder: Application, monkeypatch: pytest.MonkeyPatch, name: str, *errors: Exception) -> list[int]:
    """Let the programs of one workflow raise these errors, one after the other; gives how often it was asked for."""
    programs = wonder.engine.coordinator.programs
    load: Callable[[Any], Awaitable[Program]] = programs._load
    left, asked = list(errors), [0]

    async def failing(key: Any) -> Program:
        program = await load(key)
        if program.workflow.name == name:
            asked[0] += 1
            if left:
                programs._programs.pop(key, None)
                raise left.pop(0)
        return program

    monkeypatch.setattr(programs, "_load", failing)
    return asked


@pytest.mark.parametrize("error", [RecursionError("too deep"), KeyError("x"), MemoryError()])
async def test_a_run_fails_if_an_unexpected_error_comes_up_while_its_sub_workflow_is_compiled(
    store_url: str, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    async with running(store_url, give=give) as wonder:
        _fail_programs(wonder, monkeypatch, "child", error)
        result = await (await wonder.start(await wonder.deploy(CALLER))).wait()
        assert result.status == "failed"
        assert result.error
        assert result.error["code"] == "CHILD_FAILED"
        assert "ENGINE_ERROR" in str(result.error)
        assert type(error).__name__ in str(result.error)


async def test_a_run_fails_if_the_rows_of_its_sub_workflow_can_t_be_made(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = Batch.start

    def failing(batch: Batch, run: NewRun) -> None:
        if run.parent_run_id is not None:
            raise KeyError("x")
        begin(batch, run)

    async with running(store_url, give=give) as wonder:
        monkeypatch.setattr(Batch, "start", failing)
        result = await (await wonder.start(await wonder.deploy(CALLER))).wait()
        assert "ENGINE_ERROR" in str(result.error)


async def test_a_call_waits_while_the_database_can_t_be_reached(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection that breaks in the moment of the call is not the caller's failure."""
    async with running(store_url, give=give) as wonder:
        lost: list[WonderError] = [ConnectionLost("reset"), ConnectionLost("reset")]
        asked = _fail_programs(wonder, monkeypatch, "child", *lost)
        result = await (await wonder.start(await wonder.deploy(CALLER))).wait()
        assert result.status == "completed"
        assert asked == [3]


async def test_a_trigger_fails_if_an_unexpected_error_comes_up_while_its_target_is_compiled(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(store_url, give=give) as wonder:
        _fail_programs(wonder, monkeypatch, "target", RecursionError("too deep"))
        run = await wonder.start(await wonder.deploy(source(trigger())))
        (firing,) = await fired(wonder, run)
        assert firing.status == "failed"
        assert firing.failure
        assert firing.failure.code == "ENGINE_ERROR"


async def test_a_caller_that_can_t_be_loaded_does_not_keep_an_engine_from_beginning(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its sub-workflow was never stored, so each engine looks at it first."""

    async with running(store_url, give=give) as wonder:
        monkeypatch.setattr(wonder.engine.collaborators.calls, "call", lambda run, order: None)
        stuck = await wonder.start(await wonder.deploy(CALLER))
        await wonder.engine.coordinator.durable()
    load = recovery.load_runs

    async def failing(*given: Any, **named: Any) -> Any:
        loaded = await load(*given, **named)
        if any(one.header.id == stuck.id for one in loaded):
            raise KeyError("a row of it is not what it should be")
        return loaded

    monkeypatch.setattr(recovery, "load_runs", failing)
    async with running(store_url, give=give) as wonder:
        other = await wonder.start(await wonder.deploy(bundle("other", {"a": calls("give")})))
        assert (await other.wait()).status == "completed"
