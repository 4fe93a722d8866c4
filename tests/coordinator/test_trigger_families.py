"""RES-6, PHS-6: all that triggers start from one run on is bounded, and what is not started is told."""

from typing import Any

from support.definitions import update
from support.systems import bundle, running, settle, until
from support.triggers import fired, give, source, target, trigger, triggered
from wonder.app.application import Application
from wonder.coordinator.family_bytes import FamilyBytes
from wonder.coordinator.trigger_families import TriggerFamilies
from wonder.storage.runs.triggering import StoredFiring, firings_of_run

# It triggers itself for each of four items: more than a million runs at the tenth level.
SWARM = source(trigger("source", {"items": "@output.items"}, forEach="@output.items"))


async def _count(wonder: Application) -> int:
    ((count,),) = await wonder.store.query("SELECT count(*) FROM triggered_runs")
    assert isinstance(count, int)
    return count


async def _all_firings(wonder: Application) -> list[StoredFiring]:
    rows = await wonder.store.query("SELECT DISTINCT run_id FROM trigger_firings ORDER BY 1")
    return [firing for (id,) in rows for firing in await firings_of_run(wonder.store, str(id))]


async def _came_to_rest(wonder: Application) -> bool:
    pending = "SELECT count(*) FROM trigger_firings WHERE status = 'pending'"
    live = "SELECT count(*) FROM runs WHERE completed_ms IS NULL"
    return await wonder.store.query(f"SELECT ({pending}) + ({live})") == [(0,)]


async def test_res_6_a_workflow_that_triggers_itself_for_each_item_ends_at_the_limit_and_says_so(
    store_url: str,
) -> None:
    async with running(store_url, give=give) as wonder:
        await settle(wonder, run_limits={"triggered_runs": 50})
        run = await wonder.start(await wonder.deploy(SWARM), {"items": [1, 2, 3, 4]})
        await run.wait()
        await until(lambda: _came_to_rest(wonder))
        assert await _count(wonder) == 50
        failed = [firing for firing in await _all_firings(wonder) if firing.status == "failed"]
        assert failed
        # Each item was started, or its trigger says how many were not.
        missing = 0
        for firing in failed:
            assert firing.failure is not None
            assert firing.failure.code == "RUN_LIMIT_TRIGGERED_RUNS"
            assert f"from the run {run.id} on, and its limit run_limits.triggered_runs is 50" in firing.failure.message
            assert firing.failure.details["not_started"] == firing.items - firing.started
            missing += firing.items - firing.started
        assert sum(firing.items for firing in await _all_firings(wonder)) == 50 + missing
        # Another family has its own.
        other = await wonder.start("source", {"items": []})
        assert [firing.status for firing in await fired(wonder, other)] == ["triggered"]


async def test_res_6_the_family_is_that_of_the_first_run_whoever_calls_and_whatever_process_counts(
    store_url: str,
) -> None:
    chain = source(trigger("source", {"items": "@output.items"}))
    async with running(store_url, give=give) as wonder:
        await settle(wonder, run_limits={"triggered_runs": 4})
        run = await wonder.start(await wonder.deploy(chain), {"items": [1]})
        await run.wait()
        await until(lambda: _came_to_rest(wonder))
        assert await _count(wonder) == 4
        assert await wonder.store.query("SELECT DISTINCT root_run_id FROM triggered_runs") == [(run.id,)]
    async with running(store_url, give=give) as wonder:
        assert wonder.engine
        coordinator = wonder.engine.coordinator
        families = TriggerFamilies(coordinator, FamilyBytes(coordinator))
        await families.know(run.id)
        assert families.room(run.id, 6) == 2
        assert families.room(run.id, 3) == 0


async def test_res_6_retries_of_triggered_runs_count_as_well(store_url: str) -> None:
    fails: dict[str, Any] = {
        "fails": target("fails")["fails"] | {"output_schema": {"type": "object", "required": ["x"]}}
    }
    async with running(store_url, give=give) as wonder:
        await settle(wonder, run_limits={"triggered_runs": 3})
        run = await wonder.start(await wonder.deploy(source(trigger("fails", {}, max_retries=10), **fails)))
        await triggered(wonder, run)
        await until(lambda: _came_to_rest(wonder))

        async def no_retry_is_due() -> bool:
            return await wonder.store.query("SELECT count(*) FROM triggered_runs WHERE retry_due = 1") == [(0,)]

        await until(no_retry_is_due)
        assert await _count(wonder) == 3


async def _written(wonder: Application, run_id: str) -> int:
    assert wonder.engine
    return (await FamilyBytes(wonder.engine.coordinator).get(run_id)).written


async def test_res_6_what_triggered_runs_write_counts_together(store_url: str) -> None:
    """Each of them alone stays far below the limit."""
    each = source(trigger("target", {"x": "@output.text"}, forEach="@output.items"))
    async with running(store_url, give=give) as wonder:
        await settle(wonder, run_limits={"bytes_written": 300_000})
        run = await wonder.start(await wonder.deploy(each), {"items": list(range(300)), "text": "x" * 2_000})
        started = await triggered(wonder, run)
        (firing,) = await fired(wonder, run)
        assert firing.failure is not None
        assert firing.failure.code == "RUN_LIMIT_BYTES_WRITTEN"
        assert "calls and triggers" in firing.failure.message
        assert len(started) == firing.started < 300
        # All items together would write about 1.5 million.
        assert 300_000 < await _written(wonder, run.id) < 900_000


async def test_res_6_what_called_runs_write_counts_together(store_url: str) -> None:
    child = bundle("child", {"only": update(**{"output.got": "input"})})["workflow"]
    del child["name"]
    call = {
        "action": {"kind": "workflow_call", "implementation": {"workflow_def_id": "child"}},
        "input_mapping": {"x": "$.input.text"},
    }
    nodes = {"fan": update(), "call": call}
    fan = [{"from": "fan", "to": "call", "foreach": {"collection": "input.items", "item_var": "item"}}]
    main = bundle("main", nodes, fan)
    async with running(store_url) as wonder:
        await settle(wonder, run_limits={"bytes_written": 300_000})
        workflow = await wonder.deploy({**main, "workflows": {"child": child}})
        few = await wonder.start(workflow, {"items": list(range(10)), "text": "x" * 2_000})
        assert (await few.wait()).status == "completed"
        run = await wonder.start(workflow, {"items": list(range(300)), "text": "x" * 2_000})
        result = await run.wait()
        assert result.status == "failed"
        assert "RUN_LIMIT_BYTES_WRITTEN" in str(result.error)
        assert 300_000 < await _written(wonder, run.id) < 1_500_000
