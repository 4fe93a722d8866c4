"""Runs from start to end on the real engine: fan-out, join, retry, sub-workflows, functions, limits."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from support.definitions import update
from support.faulty_stores import FaultyStore, wonder_on
from support.systems import bundle, calls, event_types, line, live_run_ids, running, settle, waits
from wonder.actions.protocol import ActionFailed
from wonder.app.opening import open_wonder
from wonder.coordinator.errors import InputRefused, WorkflowDisabled
from wonder.storage.runs.errors import IdempotencyKeyReused
from wonder.storage.runs.headers import children_of_run
from wonder.storage.runs.listing import list_runs

NUMBERS = {"type": "array", "items": {"type": "integer"}}
FAN_OUT = bundle(
    "squares",
    {
        "start": update(),
        "each": calls("square", input_mapping={"n": "$.item"}, output_mapping={"state.n": "$.n"}),
        "done": update(**{"output.all": "state.all"}),
    },
    [
        {"from": "start", "to": "each", "foreach": {"collection": "input.items"}},
        {
            "from": "each",
            "to": "done",
            "synchronization": {
                "strategy": "all",
                "sibling_group": "start",
                "merge": {"source": "_branch.output.n", "target": "state.all", "strategy": "append"},
            },
        },
    ],
    input_schema={"type": "object", "required": ["items"], "properties": {"items": NUMBERS}},
    context_schema={"type": "object", "properties": {"n": {"type": "integer"}, "all": NUMBERS}},
    output_schema={"type": "object", "properties": {"all": NUMBERS}},
)


async def square(n: int) -> dict[str, int]:
    return {"n": n * n}


async def test_a_fan_out_is_joined_in_the_order_of_its_branches(store_url: str) -> None:
    """CTL-5, CTL-11."""
    async with running(store_url, square=square) as wonder:
        run = await wonder.start(await wonder.deploy(FAN_OUT), {"items": list(range(40))})
        result = await run.wait()
        assert result.output == {"all": [n * n for n in range(40)]}
        assert not wonder.engine.coordinator.residency._live


async def test_an_empty_foreach_neither_fails_nor_hangs(store_url: str) -> None:
    """CTL-6, CTL-9."""
    async with running(store_url, square=square) as wonder:
        result = await (await wonder.start(await wonder.deploy(FAN_OUT), {"items": []})).wait()
        assert result.output == {"all": []}


async def test_exceeding_foreach_limit_is_a_clear_error_before_any_token_is_made(store_url: str) -> None:
    """CTL-6, RES-6."""
    async with running(store_url, square=square) as wonder:
        await settle(wonder, foreach_limit=5)
        run = await wonder.start(await wonder.deploy(FAN_OUT), {"items": list(range(6))})
        result = await run.wait()
        assert result.status == "failed"
        assert result.error
        assert "5" in str(result.error["message"])
        assert (await event_types(wonder, run)).count("token_spawned") == 1


async def test_a_task_is_retried_as_a_whole(store_url: str) -> None:
    """TSK-3, RET-2."""
    tries = 0

    def unsteady() -> dict[str, int]:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise ActionFailed("NOT_YET", "not yet")
        return {"tries": tries}

    definition = bundle("retried", {"only": {"task": "steady", "output_mapping": {"output.tries": "$.tries"}}})
    definition["tasks"] = {
        "steady": {
            "retry": {"max_attempts": 3, "backoff": "none", "initial_delay_ms": 1, "max_delay_ms": 1},
            "steps": [
                {
                    "ref": "one",
                    "action": "unsteady",
                    "input_mapping": {},
                    "output_mapping": {"output": "$"},
                    "on_failure": "retry",
                }
            ],
        }
    }
    definition["actions"] = {"unsteady": {"kind": "python", "implementation": {"function": "tests:unsteady"}}}
    async with running(store_url, unsteady=unsteady) as wonder:
        result = await (await wonder.start(await wonder.deploy(definition))).wait()
        assert result.output == {"tries": 3}


def family(depth_nodes: dict[str, Any], **call: Any) -> dict[str, Any]:
    """Make a workflow `parent` that calls a workflow `child` with these nodes."""
    child = bundle("child", depth_nodes)["workflow"]
    definition = bundle(
        "parent",
        {"call": waits("workflow_call", {"workflow_def_id": "child", **call}, output_mapping={"output.given": "$"})},
    )
    return {**definition, "workflows": {"child": {key: value for key, value in child.items() if key != "name"}}}


async def test_a_sub_workflow_gives_its_output_to_its_caller(store_url: str) -> None:
    """ACT-5, ACT-10."""
    async with running(store_url) as wonder:
        run = await wonder.start(await wonder.deploy(family({"only": update(**{"output.x": "41 + 1"})})))
        result = await run.wait()
        assert result.output == {"given": {"x": 42}}
        (child,) = await children_of_run(wonder.store, run.id)
        assert (child.depth, child.status) == (1, "completed")
        assert not wonder.engine.coordinator.residency._live


@pytest.mark.parametrize(("on_failure", "status"), [("propagate", "failed"), ("catch", "completed")])
async def test_a_sub_workflow_that_fails_fails_its_caller_unless_it_catches(
    store_url: str, on_failure: str, status: str
) -> None:
    """ACT-10."""
    failing = {"only": {"action": {"kind": "assert", "implementation": {"expr": "1 = 2", "message": "no"}}}}
    async with running(store_url) as wonder:
        run = await wonder.start(await wonder.deploy(family(failing, on_failure=on_failure)))
        result = await run.wait()
        assert result.status == status
        if status == "failed":
            assert result.error
            assert result.error["code"] == "CHILD_FAILED"
        else:
            assert result.output["given"]["error"]["code"] == "ASSERTION_FAILED"


async def test_calls_can_not_be_nested_deeper_than_call_depth_max(store_url: str) -> None:
    """ACT-5, RES-6."""
    async with running(store_url) as wonder:
        await settle(wonder, call_depth_max=3)
        endless = bundle("again", {"call": waits("workflow_call", {"workflow_def_id": "again"})})
        result = await (await wonder.start(await wonder.deploy(endless))).wait()
        assert result.status == "failed"
        runs = (await list_runs(wonder.store, wonder.home.project_id)).items
        assert max(header.depth for header in runs) == 3
        assert any(header.error and header.error.code == "CHILD_FAILED" for header in runs)
        deepest = next(header for header in runs if header.depth == 3)
        assert deepest.error
        assert "call_depth_max" in deepest.error.message


async def test_functions_are_imported_from_modules_that_were_named(store_url: str, tmp_path: Path) -> None:
    """ACT-10, `python`."""
    # A name of its own for each test: what a process has imported it keeps.
    module = f"greetings_{tmp_path.name}"
    (tmp_path / f"{module}.py").write_text(
        "import wonder\n@wonder.function\ndef say(name):\n    return {'line': 'hello ' + name}\n"
    )
    node = {
        "action": {"kind": "python", "implementation": {"function": f"{module}:say"}},
        "input_mapping": {"name": "$.input.name"},
        "output_mapping": {"output.line": "$.line"},
    }
    async with open_wonder(store_url, modules=[module], module_folders=[tmp_path]) as wonder:
        workflow = await wonder.deploy(bundle("greet", {"only": node}))
        assert (await (await wonder.start(workflow, {"name": "Ada"})).wait()).output == {"line": "hello Ada"}
    async with open_wonder(store_url) as wonder:
        await settle(wonder, run_limits={"function_wait_ms": 1})
        result = await (await wonder.start("greet", {"name": "Ada"})).wait()
        assert result.status == "failed"


async def test_starting_a_disabled_workflow_is_refused(store_url: str) -> None:
    """RES-3."""
    async with running(store_url) as wonder:
        workflow = await wonder.deploy(bundle("off", {"only": update()}))
        with pytest.raises(WorkflowDisabled):
            await wonder.start(workflow.model_copy(update={"enabled": False}))
        assert await live_run_ids(wonder.store) == []


async def test_a_bad_input_is_refused_before_anything_is_stored(store_url: str) -> None:
    """CTL-17."""
    async with running(store_url, square=square) as wonder:
        workflow = await wonder.deploy(FAN_OUT)
        for given in ({}, {"items": ["a"]}, [], {"items": [1.5]}):
            with pytest.raises(InputRefused):
                await wonder.start(workflow, given)
        assert (await list_runs(wonder.store, wonder.home.project_id)).items == []


async def test_an_output_that_does_not_fit_its_schema_fails_the_run(store_url: str) -> None:
    """CTL-18."""
    definition = bundle(
        "misfit",
        {"only": calls("misfit", output_mapping={"output": "$"})},
        output_schema={"type": "object", "properties": {"n": {"type": "integer"}}},
    )
    async with running(store_url, misfit=lambda: {"n": "seven"}) as wonder:
        result = await (await wonder.start(await wonder.deploy(definition))).wait()
        assert result.error
        assert (result.status, result.error["code"]) == ("failed", "OUTPUT_SCHEMA")


async def test_an_idempotency_key_starts_one_run_however_often_it_comes(store_url: str) -> None:
    """CTL-17."""
    async with running(store_url, square=square) as wonder:
        workflow = await wonder.deploy(FAN_OUT)
        started = await asyncio.gather(
            *(wonder.start(workflow, {"items": [1, 2]}, idempotency_key="order-7") for _ in range(10))
        )
        assert len({run.id for run in started}) == 1
        await started[0].wait()
        again = await wonder.start(workflow, {"items": [1, 2]}, idempotency_key="order-7")
        assert again.id == started[0].id
        with pytest.raises(IdempotencyKeyReused):
            await wonder.start(workflow, {"items": [2, 1]}, idempotency_key="order-7")
        assert len((await list_runs(wonder.store, wonder.home.project_id)).items) == 1


async def test_many_runs_at_once_each_end_once(store_url: str) -> None:
    """INV-1."""
    names = [f"n{number}" for number in range(3)]
    node = calls("count", input_mapping={"n": "$.state.n"}, output_mapping={"state.n": "$.n", "output.n": "$.n"})
    definition = bundle("chain", dict.fromkeys(names, node), line(*names))

    async def count(n: int = 0) -> dict[str, int]:
        await asyncio.sleep(0)
        return {"n": n + 1}

    async with running(store_url, count=count) as wonder:
        workflow = await wonder.deploy(definition)
        runs = await asyncio.gather(*(wonder.start(workflow) for _ in range(100)))
        results = await asyncio.gather(*(run.wait() for run in runs))
        assert [result.output for result in results] == [{"n": 3}] * 100
        assert not wonder.engine.coordinator.residency._live
        assert not wonder.engine.coordinator.ends._futures
        assert not wonder.engine.coordinator.tasks._young


async def test_nothing_is_kept_of_who_no_longer_waits_for_a_run(store_url: str) -> None:
    began, go_on = asyncio.Event(), asyncio.Event()

    async def work() -> dict[str, int]:
        began.set()
        await go_on.wait()
        return {}

    async with running(store_url, work=work) as wonder:
        run = await wonder.start(await wonder.deploy(bundle("slow", {"only": calls("work")})))
        await began.wait()
        waiting = asyncio.create_task(run.wait())
        await asyncio.sleep(0)
        assert wonder.engine.coordinator.ends._futures
        waiting.cancel()
        await asyncio.wait([waiting])
        assert not wonder.engine.coordinator.ends._futures
        go_on.set()
        assert (await run.wait()).status == "completed"


async def test_starts_at_the_same_moment_share_what_they_read(store_url: str) -> None:
    """A thousand of them may come when what is known of the project is too old: one look is enough for all."""
    reads: list[str] = []

    class Counting(FaultyStore):
        @property
        def unsettled(self) -> "Counting":
            return self

        async def fetch(self, name: str, *parameters: Any) -> Any:
            reads.append(name)
            return await self._store.fetch(name, *parameters)

        async def fetch_named(self, name: str, *parameters: Any) -> Any:
            reads.append(name)
            return await self._store.fetch_named(name, *parameters)

        @property
        def in_place(self) -> "Counting | None":
            return None if self._store.in_place is None else self

        def look_up(self, name: str, *parameters: Any) -> Any:
            reads.append(f"look up {name}")
            assert self._store.in_place
            return self._store.in_place.look_up(name, *parameters)

    async with wonder_on(store_url, Counting) as wonder:
        workflow = await wonder.deploy(bundle("one", {"start": update()}, []))
        reads.clear()
        runs = await asyncio.gather(*[wonder.start(workflow) for _ in range(50)])
        assert len({run.id for run in runs}) == 50
        assert reads.count("project_settings") == 1
        newest = "newest_live_version(workflow_defs)"
        assert reads.count(newest) == 1
        assert reads.count(f"look up {newest}") <= 1
