"""CMD-8: what `wonder.open` gives a program: runs, questions, logs and queries, and results that have a type."""

import logging
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypedDict

import msgspec
import pydantic
import pytest

import wonder
from support.definitions import update, workflow
from support.systems import waits

NUMBER: Any = {"type": "object", "properties": {"n": {"type": "integer"}}}
DONE = workflow({"done": update(**{"output.n": "input.n"})}, name="done", input_schema=NUMBER, output_schema=NUMBER)
ASK = workflow({"ask": waits("human_input", {"prompt": "Well?", "schema": {"type": "boolean"}})}, name="ask")


class Model(pydantic.BaseModel):
    n: int


@dataclass
class Data:
    n: int


class Struct(msgspec.Struct):
    n: int


class Typed(TypedDict):
    n: int


class Other(pydantic.BaseModel):
    words: list[str]


@dataclass
class OtherData:
    n: str


@pytest.mark.parametrize(
    ("type_", "expected"), [(Model, Model(n=7)), (Data, Data(7)), (Struct, Struct(7)), (Typed, {"n": 7})]
)
async def test_cmd_8_a_result_has_the_type_that_was_asked_for(store_url: str, type_: type[Any], expected: Any) -> None:
    async with wonder.open(store_url) as app:
        run = await app.start(await app.deploy(DONE), {"n": 7}, output=type_)
        result = await run.wait()
        assert (result.status, result.output, result.error) == ("completed", expected, None)
        assert type(result.output) is type(expected)
        assert (await app.wait(run.id)).output == {"n": 7}


@pytest.mark.parametrize("type_", [Other, OtherData])
async def test_cmd_8_an_output_that_is_not_of_the_type_says_so(empty_store_url: str, type_: type[Any]) -> None:
    async with wonder.open(empty_store_url) as app:
        run = await app.start(await app.deploy(DONE), {"n": 7}, output=type_)
        with pytest.raises(wonder.OutputMisfit, match=f"the output of run {run.id} is not a {type_.__name__}"):
            await run.wait()
        assert (await app.wait(run.id)).status == "completed"


async def test_cmd_8_a_type_that_nothing_can_become_starts_nothing(empty_store_url: str) -> None:
    async with wonder.open(empty_store_url) as app:
        await app.deploy(DONE)
        with pytest.raises(TypeError):
            await app.start("done", {"n": 7}, output=logging.Logger)
        assert [run async for run in app.runs()] == []


async def test_cmd_8_a_run_that_failed_has_an_error_and_no_output(empty_store_url: str) -> None:
    fails = workflow({"no": {"action": {"kind": "assert", "implementation": {"expr": "1 = 2"}}}}, name="fails")
    async with wonder.open(empty_store_url) as app:
        result = await (await app.start(await app.deploy(fails), output=Model)).wait()
        assert (result.status, result.output) == ("failed", None)
        assert result.error
        assert result.error["code"] == "ASSERTION_FAILED"


async def test_cmd_8_a_program_reads_all_runs_and_questions_page_by_page(store_url: str) -> None:
    async with wonder.open(store_url) as app:
        flow = await app.deploy(DONE)
        started = [await app.start(flow, {"n": n}) for n in range(60)]
        for run in started:
            await run.wait()
        assert [run.run_id async for run in app.runs()] == [run.id for run in reversed(started)]
        hour = timedelta(hours=1)
        assert len([run async for run in app.runs(where="input.n < 3", since=hour)]) == 3
        assert [run async for run in app.runs(until=datetime.now(UTC) - hour)] == []
        assert [run async for run in app.runs(status="failed")] == []
        await app.deploy(ASK)
        asked = [await app.start("ask") for _ in range(3)]
        while len(questions := [question async for question in app.inbox()]) < 3:
            pass
        assert [question.run_id for question in questions] == [run.id for run in asked]
        for question in questions:
            await app.answer(question.id, True)
        assert [(await run.wait()).status for run in asked] == ["completed"] * 3
        assert [question async for question in app.inbox()] == []
        with pytest.raises(TypeError, match="is not a time"):
            [run async for run in app.runs(since="yesterday")]  # type: ignore[arg-type]  # as a program may


async def test_cmd_8_a_program_queries_and_reads_logs(tmp_path: Any) -> None:
    @wonder.function
    def say() -> None:
        wonder.current_context().logger.warning("spoken")

    node = {"action": {"kind": "python", "implementation": {"function": "here:say"}}}
    async with wonder.open(f"sqlite:///{tmp_path}/wonder.db", functions={"here:say": say}) as app:
        run = await app.start(await app.deploy(workflow({"say": node}, name="says")))
        followed = [message.message async for message in app.logs(run_id=run.id, level="warning", follow=True, since=0)]
        assert followed == ["spoken"]
        assert [one.message async for one in app.logs(run_id=run.id, level="warning")] == ["spoken"]
        answer = await app.query("SELECT status, workflow FROM run_log")
        assert answer.rows == [{"status": "completed", "workflow": "says"}]


async def test_cmd_8_what_there_is_can_be_seen_and_imported(empty_store_url: str) -> None:
    assert {"open", "call", "DefinitionRefused", "App", "function"} <= set(dir(wonder))
    for name in wonder.__all__:
        assert getattr(wonder, name)
    async with wonder.open(empty_store_url) as app:
        assert isinstance(app, wonder.App)
        with pytest.raises(wonder.DefinitionRefused, match="unreachable_node"):
            await app.deploy(workflow({"a": update(), "b": update()}, []))
