"""Control flow as it is stored: tokens, branches, joins and failures of real runs (CTL-1 to CTL-15a)."""

import asyncio
import logging
from typing import Any

import pytest

from support.definitions import update
from support.faulty_stores import FaultyStore, wonder_on
from support.systems import (
    assert_sound,
    bundle,
    calls,
    event_types,
    line,
    no_run_in_memory,
    open_item,
    running,
    status_of,
    until,
    waits,
)
from wonder.actions.protocol import ActionFailed
from wonder.app.application import Application
from wonder.app.results import Run
from wonder.coordinator.errors import ItemClosed
from wonder.storage.errors import ConnectionLost, DiskFull
from wonder.storage.runs.headers import children_of_run
from wonder.storage.runs.reading import StoredToken, events_of_run, tokens_of_run
from wonder.storage.store import Store

ASK = waits("human_input", {"prompt": "?", "schema": {}})
INNER = bundle("inner", {"ask": ASK})["workflow"]
del INNER["name"]


async def stored(wonder: Application, run: Run) -> dict[str, list[StoredToken]]:
    """Give a run's tokens by the name of their node, in the order in which they were made."""
    rows = await wonder.store.query(f"SELECT id, node FROM token_log WHERE workflow_run_id = '{run.id}'")
    names = {str(id): str(name) for id, name in rows}
    found: dict[str, list[StoredToken]] = {}
    for token in await tokens_of_run(wonder.store, run.id):
        found.setdefault(names[token.id], []).append(token)
    return found


def joined(names: tuple[str, ...], to: str, **fields: Any) -> list[dict[str, Any]]:
    """Make transitions from `start` to each of these nodes, and from there into one join."""
    join = {"strategy": "all", "sibling_group": "start", **fields}
    return [
        *({"from": "start", "to": name} for name in names),
        *({"from": name, "to": to, "synchronization": join} for name in names),
    ]


async def test_ctl_1_every_execution_of_a_node_has_a_token_of_its_own(store_url: str) -> None:
    """CTL-2: all of a loop have the same path, which is a label and no key."""
    loop = bundle(
        "loop",
        {"a": calls("nothing"), "b": calls("nothing"), "end": calls("nothing")},
        [
            *line("a", "b"),
            {"from": "b", "to": "a", "loop_config": {"max_iterations": 1}},
            {"from": "b", "to": "end", "priority": 1, "spawn_count": 2},
        ],
    )
    async with running(store_url, nothing=dict) as wonder:
        run = await wonder.start(await wonder.deploy(loop))
        assert (await run.wait()).status == "completed"
        tokens = await stored(wonder, run)
        assert {name: [token.path_id for token in found] for name, found in tokens.items()} == {
            "a": ["0", "0"],
            "b": ["0", "0"],
            "end": ["0.0", "0.1"],
        }
        a, b, again, last = tokens["a"][0], tokens["b"][0], tokens["a"][1], tokens["b"][1]
        assert [token.parent_token_id for token in (a, b, again, last)] == [None, a.id, b.id, again.id]
        assert [(token.parent_token_id, token.group_id) for token in tokens["end"]] == [(last.id, last.id)] * 2
        assert [(token.branch_index, token.branch_total) for token in tokens["end"]] == [(0, 2), (1, 2)]
        assert {token.status for found in tokens.values() for token in found} == {"completed"}


async def test_ctl_1_a_token_is_stored_dispatched_and_a_suspended_one_says_what_it_waits_for(store_url: str) -> None:
    gate = asyncio.Event()

    async def work() -> None:
        await gate.wait()

    names = ("work", "ask", "nap", "hear", "call")
    definition = bundle(
        "all",
        {
            "start": update(),
            "work": calls("work"),
            "ask": ASK,
            "nap": waits("sleep", {"ms": 60_000}),
            "hear": waits("wait_for_event", {"event": "go", "key": "k"}),
            "call": waits("workflow_call", {"workflow_def_id": "inner"}),
        },
        [{"from": "start", "to": name} for name in names],
    )
    async with running(store_url, work=work) as wonder:
        run = await wonder.start(await wonder.deploy({**definition, "workflows": {"inner": INNER}}))
        # Without waiting: what start() has acknowledged is stored so.
        tokens = {name: found[0] for name, found in (await stored(wonder, run)).items()}
        assert tokens["start"].status == "completed"
        assert tokens["work"].status == "dispatched"
        kinds = {name: token.state_data["kind"] for name, token in tokens.items() if token.status == "suspended"}  # type: ignore[call-overload, index]
        assert kinds == {"ask": "human_input", "nap": "sleep", "hear": "wait_for_event", "call": "workflow_call"}
        await wonder.cancel(run.id)
        ends = {name: found[0].status for name, found in (await stored(wonder, run)).items()}
        assert ends == {"start": "completed", **dict.fromkeys(names, "cancelled")}


async def test_ctl_1_a_task_that_takes_too_long_ends_its_token_timed_out(store_url: str) -> None:
    """TSK-5: and its action is aborted."""
    aborted = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            aborted.set()

    definition = bundle("slow", {"only": {"task": "slow"}})
    definition["tasks"] = {"slow": {"timeout_ms": 50, "steps": [{"ref": "one", "action": "work"}]}}
    definition["actions"] = {"work": {"kind": "python", "implementation": {"function": "tests:work"}}}
    async with running(store_url, work=work) as wonder:
        run = await wonder.start(await wonder.deploy(definition))
        result = await run.wait()
        assert result.error
        assert result.error["code"] == "TASK_TIMEOUT"
        assert [token.status for token in (await stored(wonder, run))["only"]] == ["timed_out"]
        async with asyncio.timeout(60):
            await aborted.wait()


async def test_ctl_5a_all_tokens_are_made_and_so_many_are_under_way_also_after_a_restart(store_url: str) -> None:
    gate, inside, most = asyncio.Event(), 0, 0

    async def work() -> None:
        nonlocal inside, most
        inside, most = inside + 1, max(most, inside + 1)
        try:
            await gate.wait()
        finally:
            inside -= 1

    definition = bundle(
        "limited",
        {"start": update(), "each": calls("work"), "done": update()},
        [
            {"from": "start", "to": "each", "foreach": {"collection": "input.items", "max_parallel": 2}},
            {"from": "each", "to": "done", "synchronization": {"strategy": "all", "sibling_group": "start"}},
        ],
    )
    async with running(store_url, work=work) as wonder:
        run = await wonder.start(await wonder.deploy(definition), {"items": list(range(5))})
        await until(lambda: _is(inside == 2))
        statuses = [token.status for token in (await stored(wonder, run))["each"]]
        assert len(statuses) == 5
        assert statuses.count("pending") == 3
    async with running(store_url, work=work) as wonder:
        await until(lambda: _is(inside == 2))
        gate.set()
        assert (await wonder.wait(run.id)).status == "completed"
    assert most == 2


@pytest.mark.parametrize("error", [DiskFull("commit"), ConnectionLost("commit")], ids=lambda error: error.code)
async def test_ctl_9_a_fan_in_fires_once_whatever_commit_fails_in_between(
    store_url: str, error: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    stores: list[FaultyStore] = []

    def wrap(real: Store) -> FaultyStore:
        stores.append(FaultyStore(real))
        return stores[0]

    definition = bundle(
        "joins",
        {
            "start": update(),
            "left": calls("nothing"),
            "right": calls("nothing"),
            "done": calls("nothing"),
        },
        joined(("left", "right"), "done"),
    )
    async with wonder_on(store_url, wrap, {"nothing": dict}) as wonder:
        workflow = await wonder.deploy(definition)
        for when in ("before", "after"):
            for ahead in range(2, 6):
                stores[0].faults.clear()
                stores[0].fail(ahead, error, when)
                run = await wonder.start(workflow)
                async with asyncio.timeout(20):
                    assert (await run.wait()).status == "completed"
                assert (await event_types(wonder, run)).count("fan_in_completed") == 1
                assert len((await stored(wonder, run))["done"]) == 1
                await no_run_in_memory(wonder)
        assert stores[0].hits >= 4
    await assert_sound(store_url)


async def test_ctl_10_cancel_ends_the_rest_with_all_that_is_nested_in_them(store_url: str) -> None:
    began, aborted = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        began.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            aborted.set()
            raise

    nested = ("work", "ask", "nap", "hear", "call")
    definition = bundle(
        "hurries",
        {
            "start": update(),
            "quick": waits("wait_for_event", {"event": "quick", "key": "k"}),
            "slow": update(),
            "work": calls("work"),
            "ask": ASK,
            "nap": waits("sleep", {"ms": 60_000}),
            "hear": waits("wait_for_event", {"event": "go", "key": "k"}),
            "call": waits("workflow_call", {"workflow_def_id": "inner"}),
            "done": update(),
        },
        [*joined(("quick", "slow"), "done", strategy="any")[:3], *({"from": "slow", "to": name} for name in nested)],
    )
    async with running(store_url, work=work) as wonder:
        run = await wonder.start(await wonder.deploy({**definition, "workflows": {"inner": INNER}}))
        await began.wait()
        item = await open_item(wonder, run)
        (child,) = await until(lambda: children_of_run(wonder.store, run.id))
        await wonder.send_event("quick", "k", {})
        async with asyncio.timeout(20):
            assert (await run.wait()).status == "completed"
            await aborted.wait()
        await status_of(wonder, child.id, "cancelled")
        with pytest.raises(ItemClosed):
            await wonder.answer(item.id, {})
        tokens = await stored(wonder, run)
        assert {name: tokens[name][0].status for name in nested} == dict.fromkeys(nested, "cancelled")
        for table in ("timers", "event_waits"):
            assert await wonder.store.query(f"SELECT count(*) FROM {table}") == [(0,)]
        await no_run_in_memory(wonder)


async def test_ctl_10_an_abandoned_branch_keeps_the_run_live_until_it_ends(store_url: str) -> None:
    definition = bundle(
        "abandons",
        {"start": update(), "quick": update(), "ask": ASK, "done": update(**{"output.done": "true"})},
        joined(("quick", "ask"), "done", strategy="any", on_early_complete="abandon"),
    )
    async with running(store_url) as wonder:
        run = await wonder.start(await wonder.deploy(definition))
        item = await open_item(wonder, run)
        assert (await stored(wonder, run))["done"][0].status == "completed"
        await status_of(wonder, run, "waiting")
        await wonder.answer(item.id, {})
        assert (await run.wait()).output == {"done": True}
        assert len((await stored(wonder, run))["done"]) == 1
        late = [e for e in await events_of_run(wonder.store, run.id) if "late_at" in e.metadata]
        assert [event.type for event in late] == ["token_completed"]


async def test_ctl_13_a_fan_in_that_waits_too_long_fails_the_run(store_url: str) -> None:
    """RET-3: also when its time came while no process ran."""
    definition = bundle(
        "hurries",
        {"start": update(), "quick": update(), "ask": ASK, "done": update()},
        joined(("quick", "ask"), "done", timeout_ms=300, on_timeout="fail"),
    )
    async with running(store_url) as wonder:
        run = await wonder.start(await wonder.deploy(definition))
        await status_of(wonder, run, "waiting")
    await asyncio.sleep(0.35)
    async with running(store_url) as wonder:
        result = await wonder.wait(run.id)
        assert result.error
        assert (result.status, result.error["code"]) == ("failed", "FAN_IN_TIMEOUT")
        tokens = await stored(wonder, run)
        assert (tokens["quick"][0].status, tokens["ask"][0].status) == ("failed", "timed_out")
        assert "done" not in tokens


async def test_ctl_14_a_loop_is_counted_across_a_restart(store_url: str) -> None:
    definition = bundle(
        "loop",
        {"ask": ASK, "end": update(**{"output.n": "1"})},
        [
            {"from": "ask", "to": "ask", "loop_config": {"max_iterations": 2}},
            {"from": "ask", "to": "end", "priority": 1},
        ],
    )
    run_id = ""
    for number in range(3):
        async with running(store_url) as wonder:
            if not run_id:
                run_id = (await wonder.start(await wonder.deploy(definition))).id
            run = Run(run_id, wonder.wait)
            await wonder.answer((await open_item(wonder, run)).id, {})
            if number == 2:
                assert (await run.wait()).status == "completed"
            assert len((await stored(wonder, run))["ask"]) == min(number + 2, 3)


async def test_ctl_15_a_failure_is_routed_with_what_is_known_of_it(store_url: str) -> None:
    """CTL-15a: one that no transition takes fails the run, with the same error."""

    def broken() -> None:
        raise ActionFailed("BROKEN", "it is broken", details={"part": 7})

    fix = update(**{"output.code": "_last_error.code", "output.node": "state._last_error.node"})
    definition = bundle(
        "fixes",
        {"work": calls("broken"), "fix": fix, "next": update(**{"output.gone": "_last_error IS NULL"})},
        [{"from": "work", "to": "fix", "condition": "_last_error.code = input.code"}, *line("fix", "next")],
    )
    async with running(store_url, broken=broken) as wonder:
        workflow = await wonder.deploy(definition)
        run = await wonder.start(workflow, {"code": "BROKEN"})
        assert (await run.wait()).output == {"code": "BROKEN", "node": "work", "gone": True}
        tokens = await stored(wonder, run)
        assert (tokens["work"][0].status, tokens["fix"][0].status) == ("failed", "completed")
        other = await wonder.start(workflow, {"code": "ANOTHER"})
        result = await other.wait()
        assert result.error
        assert sorted(result.error) == ["attempts", "code", "details", "message", "node", "retryable"]
        assert (result.error["node"], result.error["code"], result.error["attempts"]) == ("work", "BROKEN", 1)


async def _is(fact: bool) -> bool:
    return fact
