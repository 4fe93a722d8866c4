"""RES-6, CTL-16: runs that reach a limit fail, and those too large to be loaded are cancelled by their rows."""

import pytest

from support.definitions import update
from support.systems import bundle, calls, event_types, no_run_in_memory, running, settle, waits
from wonder.coordinator.errors import ItemClosed
from wonder.coordinator.live import LiveRun
from wonder.storage.runs.headers import children_of_run, load_header
from wonder.storage.runs.loading import LoadedRun
from wonder.storage.runs.reading import count_live_tokens, inbox_of_run, timers_due

LOOP = bundle("loop", {"a": calls("text", output_mapping={"state.text": "$.text"})}, [{"from": "a", "to": "a"}])
SPIN = bundle("spin", {"a": update(**{"state.n": "coalesce(state.n, 0) + 1"})}, [{"from": "a", "to": "a"}])
MANY = bundle(
    "many",
    {
        "fan": update(),
        "ask": waits("human_input", {"prompt": "go on?", "schema": {}, "deadline_ms": 3_600_000}),
        "sleep": waits("sleep", {"ms": 3_600_000}),
        "event": waits("wait_for_event", {"event": "never", "timeout_ms": 3_600_000}),
        "call": waits("workflow_call", {"workflow_def_id": "child"}),
    },
    [{"from": "fan", "to": to, "spawn_count": 3} for to in ("ask", "sleep", "event", "call")],
)
CHILD = bundle("child", {"ask": waits("human_input", {"prompt": "child?", "schema": {}})})["workflow"]
del CHILD["name"]
FAMILY = {**MANY, "workflows": {"child": CHILD}}


async def text() -> dict[str, str]:
    return {"text": "x" * 1_000}


async def test_res_6_a_run_fails_when_it_has_written_as_many_bytes_as_it_may(store_url: str) -> None:
    async with running(store_url, text=text) as wonder:
        await settle(wonder, run_limits={"bytes_written": 20_000})
        run = await wonder.start(await wonder.deploy(LOOP))
        result = await run.wait()
        assert result.status == "failed"
        assert result.error
        assert result.error["code"] == "RUN_LIMIT_BYTES_WRITTEN"
        assert "run_limits.bytes_written" in str(result.error["message"])
        written = (await load_header(wonder.store, run.id)).bytes_written
        assert 20_000 < written < 40_000


async def test_res_6_what_metrics_write_counts_as_written(store_url: str) -> None:
    """Each with dimensions of its own is a row of its own."""

    def measures(length: int) -> dict[str, object]:
        dimensions = {"number": "{{state.n}}", "text": "x" * length}
        metric = {"kind": "emit_metric", "implementation": {"metric_name": "m", "value": 1, "dimensions": dimensions}}
        nodes = {"a": update(**{"state.n": "coalesce(state.n, 0) + 1"}), "b": {"action": metric}, "c": update()}
        again = {"from": "b", "to": "a", "condition": "state.n < 100"}
        return bundle(
            f"measures-{length}", nodes, [{"from": "a", "to": "b"}, again, {"from": "b", "to": "c", "priority": 1}]
        )

    written = []
    async with running(store_url) as wonder:
        for length in (0, 900):
            run = await wonder.start(await wonder.deploy(measures(length)))
            assert (await run.wait()).status == "completed"
            written.append((await load_header(wonder.store, run.id)).bytes_written)
    assert 90_000 <= written[1] - written[0] < 95_000


async def test_res_6_a_pure_loop_fails_while_others_go_on(store_url: str) -> None:
    async with running(store_url, text=text) as wonder:
        await settle(wonder, run_limits={"pure_steps": 3_000})
        spin = await wonder.start(await wonder.deploy(SPIN))
        other = await wonder.start(await wonder.deploy(bundle("other", {"a": calls("text")})))
        assert (await other.wait()).status == "completed"
        result = await spin.wait()
        assert result.error
        assert result.error["code"] == "RUN_LIMIT_PURE_STEPS"


async def test_what_a_run_has_made_and_written_is_known_after_a_restart(store_url: str) -> None:
    """RES-6: a limit on all that a run does is none if each new process begins from zero."""
    async with running(store_url) as wonder:
        run = await wonder.start(await wonder.deploy(FAMILY))
        await no_run_in_memory(wonder)
    async with running(store_url) as wonder:
        coordinator = wonder.engine.coordinator
        loaded = await coordinator.residency.get(run.id)
        assert isinstance(loaded, LiveRun)
        assert loaded.state.tokens_made == 13
        assert loaded.record.written == (await load_header(wonder.store, run.id)).bytes_written > 1_000
        coordinator.residency.rest(loaded)


async def test_ctl_16_a_large_run_is_cancelled_without_being_loaded(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Timers, questions, waits for events and sub-workflows end with it, and nothing of it is ever in memory."""
    async with running(store_url) as wonder:
        run = await wonder.start(await wonder.deploy(FAMILY))
        await no_run_in_memory(wonder)
    async with running(store_url) as wonder:
        engine, store = wonder.engine, wonder.store
        monkeypatch.setattr(engine.collaborators.unloaded, "_loaded_max", 5)
        loaded: list[str] = []
        restored = engine.collaborators.starter.restored

        async def noting(run: LoadedRun) -> LiveRun:
            loaded.append(run.header.id)
            return await restored(run)

        monkeypatch.setattr(engine.collaborators.starter, "restored", noting)
        children = [child.id for child in await children_of_run(store, run.id)]
        assert len(children) == 3
        items = await inbox_of_run(store, run.id)
        await wonder.cancel(run.id)
        assert sorted(loaded) == sorted(children)
        assert (await event_types(wonder, run))[-2:] == ["tokens_ended", "workflow_cancelled"]
        assert {(await load_header(store, child)).status for child in children} == {"cancelled"}
        assert {item.status for item in await inbox_of_run(store, run.id)} == {"withdrawn"}
        assert await count_live_tokens(store, run.id) == 0
        assert not [timer for timer in await timers_due(store, 2**62) if timer.run_id == run.id]
        with pytest.raises(ItemClosed):
            await wonder.answer(items[0].id, {})


async def test_res_6_a_workflow_that_calls_itself_for_each_item_ends_at_a_limit_of_all_these_runs(
    store_url: str,
) -> None:
    """ACT-5: twenty levels of four would be 10 to the 12th runs, none of which reaches a limit of its own."""
    call = {"action": {"kind": "workflow_call", "implementation": {"workflow_def_id": "tree"}}}
    items = {"collection": "input.items", "item_var": "item"}
    nodes = {"fan": update(), "call": {**call, "input_mapping": {"items": "$.input.items"}}}
    tree = bundle("tree", nodes, [{"from": "fan", "to": "call", "foreach": items}], input_schema={"type": "object"})
    async with running(store_url) as wonder:
        await settle(wonder, run_limits={"live_tokens": 50})
        run = await wonder.start(await wonder.deploy(tree), {"items": [1, 2, 3, 4]})
        result = await run.wait()
        assert result.status == "failed"
        ((count,),) = await wonder.store.query("SELECT count(*) FROM runs")
        assert 50 <= int(str(count)) < 1_000
        ((told,),) = await wonder.store.query(
            "SELECT count(*) FROM runs WHERE CAST(error AS TEXT) LIKE $1", "%RUN_LIMIT_LIVE_TOKENS%"
        )
        assert told
