"""Retries and forks of real runs: new runs that begin where the old one was, which stays as it is (CTL-19)."""

from typing import Any

import pytest

from support.definitions import update
from support.systems import bundle, calls, no_run_in_memory, open_item, running, status_of, until, waits
from wonder.actions.protocol import ActionFailed
from wonder.app.application import Application
from wonder.engine.fork import ForkRefused
from wonder.storage.runs.headers import children_of_run, load_header
from wonder.storage.runs.reading import events_of_run, inbox_of_run, tokens_of_run

TABLES = ("runs", "tokens", "events", "timers", "inbox_items", "run_groups", "run_branches", "event_waits")
ASK = waits("human_input", {"prompt": "?", "schema": {}})
INNER = bundle("inner", {"ask": ASK})["workflow"]
del INNER["name"]


async def rows_of(wonder: Application, run_id: str) -> dict[str, Any]:
    """Give all that is stored of a run."""
    store = wonder.store
    own = {table: "id" if table == "runs" else "run_id" for table in TABLES}
    return {
        table: sorted(map(repr, await store.query(f"SELECT * FROM {table} WHERE {key} = '{run_id}'")))
        for table, key in own.items()
    }


async def test_ctl_19_a_retry_keeps_what_was_done_and_leaves_the_old_run_alone(store_url: str) -> None:
    done: list[int] = []
    is_mended = False

    async def work(n: int) -> dict[str, int]:
        if n == 1 and not is_mended:
            raise ActionFailed("BROKEN", "not yet")
        done.append(n)
        return {"n": n * 10}

    definition = bundle(
        "retried",
        {
            "start": update(),
            "each": calls("work", input_mapping={"n": "$.item"}, output_mapping={"state.n": "$.n"}),
            "done": update(**{"output.all": "state.all"}),
        },
        [
            {"from": "start", "to": "each", "foreach": {"collection": "input.items", "max_parallel": 1}},
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
        context_schema={"type": "object", "properties": {"n": {}, "all": {"type": "array"}}},
    )
    async with running(store_url, work=work) as wonder:
        run = await wonder.start(await wonder.deploy(definition), {"items": [0, 1, 2]})
        assert (await run.wait()).status == "failed"
        assert done == [0]
        before = await rows_of(wonder, run.id)
        is_mended = True
        again = await wonder.retry(run.id)
        assert (await again.wait()).output == {"all": [0, 10, 20]}
        assert done == [0, 1, 2]
        header = await load_header(wonder.store, again.id)
        assert (header.retry_of_run_id, header.forked_from_run_id) == (run.id, None)
        assert await rows_of(wonder, run.id) == before
        with pytest.raises(ForkRefused):
            await wonder.retry(again.id)


async def test_ctl_19_a_fork_recreates_what_was_live(store_url: str) -> None:
    """Gates get a new inbox entry, timers keep their due time, sub-workflows start anew; and what ran is pending."""
    nodes = {
        "start": update(),
        "ask": ASK,
        "nap": waits("sleep", {"ms": 60_000}),
        "call": waits("workflow_call", {"workflow_def_id": "inner"}),
        "work": calls("work"),
    }
    transitions = [{"from": "start", "to": name} for name in nodes if name != "start"]
    definition = {**bundle("waits", nodes, transitions), "workflows": {"inner": INNER}}
    worked = 0

    def work() -> None:
        nonlocal worked
        worked += 1

    async with running(store_url, work=work) as wonder:
        store = wonder.store
        run = await wonder.start(await wonder.deploy(definition))
        await status_of(wonder, run, "waiting")
        (child,) = await until(lambda: children_of_run(store, run.id))
        await status_of(wonder, child.id, "waiting")
        await no_run_in_memory(wonder)
        events = await events_of_run(store, run.id)
        after = next(event.sequence for event in events if event.type == "node_started") - 1
        before = await rows_of(wonder, run.id)
        timers = await store.query(f"SELECT due_ms FROM timers WHERE run_id = '{run.id}'")
        forked = await wonder.fork(run.id, after)
        await status_of(wonder, forked, "waiting")
        header = await load_header(store, forked.id)
        assert (header.forked_from_run_id, header.forked_from_sequence, header.retry_of_run_id) == (run.id, after, None)
        (anew,) = await until(lambda: children_of_run(store, forked.id))
        assert anew.id != child.id
        (old_item,), (new_item,) = await inbox_of_run(store, run.id), await inbox_of_run(store, forked.id)
        assert (old_item.status, new_item.status) == ("open", "open")
        assert await store.query(f"SELECT due_ms FROM timers WHERE run_id = '{forked.id}'") == timers
        assert worked == 2
        ids = {token.id for token in await tokens_of_run(store, run.id)}
        assert not ids & {token.id for token in await tokens_of_run(store, forked.id)}
        assert await rows_of(wonder, run.id) == before
        await wonder.cancel(run.id)
        await wonder.answer((await open_item(wonder, forked)).id, {})
        assert (await load_header(store, forked.id)).status == "waiting"
        await wonder.cancel(forked.id)
