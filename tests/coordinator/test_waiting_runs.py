"""Runs that wait for people, time and events: parked, woken once, and never early."""

import asyncio
import time
from typing import Any

import pytest

from support.definitions import update
from support.systems import (
    bundle,
    calls,
    event_types,
    no_run_in_memory,
    open_item,
    running,
    status_of,
    until,
    waits,
)
from wonder.app.application import Application
from wonder.app.results import Run
from wonder.coordinator.errors import InputRefused, ItemClosed
from wonder.storage.resource_errors import NotFound
from wonder.storage.runs.reading import events_of_run, load_inbox_item

YES = {"type": "object", "required": ["yes"], "properties": {"yes": {"type": "boolean"}}}
OUT = {"output.given": "$"}


def asks(**fields: Any) -> dict[str, Any]:
    return bundle(
        "asks", {"ask": waits("human_input", {"prompt": "go on?", "schema": YES, **fields}, output_mapping=OUT)}
    )


async def start(wonder: Application, definition: dict[str, Any], given: Any = None) -> Run:
    return await wonder.start(await wonder.deploy(definition), given)


async def test_an_answer_moves_the_run_on_and_the_second_is_refused(store_url: str) -> None:
    """ACT-4; a parked run is not in memory and wakes."""
    async with running(store_url) as wonder:
        run = await start(wonder, asks())
        item = await open_item(wonder, run)
        assert (await status_of(wonder, run, "waiting")).status == "waiting"
        await no_run_in_memory(wonder)
        await wonder.answer(item.id, {"yes": True}, by="Ada")
        assert (await run.wait()).output == {"given": {"yes": True}}
        with pytest.raises(ItemClosed):
            await wonder.answer(item.id, {"yes": False})
        stored = await load_inbox_item(wonder.store, item.id)
        assert (stored.status, stored.answer, stored.answered_by) == ("answered", {"yes": True}, "Ada")


async def test_an_answer_that_does_not_fit_is_refused_and_changes_nothing(store_url: str) -> None:
    """ACT-4."""
    async with running(store_url) as wonder:
        run = await start(wonder, asks())
        item = await open_item(wonder, run)
        before = await event_types(wonder, run)
        with pytest.raises(InputRefused):
            await wonder.answer(item.id, {"yes": "perhaps"})
        assert await event_types(wonder, run) == before
        assert (await load_inbox_item(wonder.store, item.id)).status == "open"
        await no_run_in_memory(wonder)
        await wonder.answer(item.id, {"yes": False})
        assert (await run.wait()).status == "completed"


async def test_of_two_answers_at_the_same_time_one_counts(store_url: str) -> None:
    """ACT-4."""
    async with running(store_url) as wonder:
        run = await start(wonder, asks())
        item = await open_item(wonder, run)
        answers = [wonder.answer(item.id, {"yes": bool(number % 2)}) for number in range(4)]
        outcomes = await asyncio.gather(*answers, return_exceptions=True)
        assert outcomes.count(None) == 1
        assert all(isinstance(outcome, ItemClosed) for outcome in outcomes if outcome is not None)
        assert (await run.wait()).status == "completed"


async def test_an_unknown_item_is_refused(store_url: str) -> None:
    """ACT-4."""
    async with running(store_url) as wonder:
        with pytest.raises(NotFound):
            await wonder.answer("nothing", {"yes": True})


@pytest.mark.parametrize(
    ("on_deadline", "status"), [({"default": {"yes": False}}, "completed"), ("fail", "failed")], ids=["default", "fail"]
)
async def test_a_question_that_nobody_answers_in_time_has_its_default_or_fails(
    store_url: str, on_deadline: Any, status: str
) -> None:
    """ACT-4."""
    async with running(store_url) as wonder:
        run = await start(wonder, asks(deadline_ms=800, on_deadline=on_deadline))
        item = await open_item(wonder, run)
        result = await run.wait()
        assert result.status == status
        assert result.output == ({"given": {"yes": False}} if status == "completed" else None)
        with pytest.raises(ItemClosed):
            await wonder.answer(item.id, {"yes": True})


async def test_a_sleep_is_over_neither_early_nor_much_too_late(store_url: str) -> None:
    """INV-6."""
    async with running(store_url) as wonder:
        definition = bundle("sleeps", {"sleep": waits("sleep", {"ms": 150})})
        run = await start(wonder, definition)
        result = await run.wait()
        assert result.status == "completed"
        events = {event.type: event.at_ms for event in await events_of_run(wonder.store, run.id)}
        assert 150 <= events["timer_fired"] - events["timer_set"] < 60_000


async def test_a_timer_that_came_due_while_no_process_ran_fires_when_one_does(store_url: str) -> None:
    """RET-3."""
    async with running(store_url) as wonder:
        run = await start(wonder, bundle("sleeps", {"sleep": waits("sleep", {"ms": 1_000})}))
        await status_of(wonder, run, "waiting")
    await asyncio.sleep(1)
    async with running(store_url) as wonder:
        began = time.monotonic()
        assert (await wonder.wait(run.id)).status == "completed"
        assert time.monotonic() - began < 30


def listens(**fields: Any) -> dict[str, Any]:
    implementation = {"event": "paid", "key": "{{input.order}}", **fields}
    node = waits("wait_for_event", implementation, input_mapping={"order": "$.input.order"}, output_mapping=OUT)
    return bundle("listens", {"wait": node})


async def test_an_event_wakes_all_that_wait_for_its_name_and_key(store_url: str) -> None:
    """ACT-10, `wait_for_event`."""
    async with running(store_url) as wonder:
        workflow = await wonder.deploy(listens())
        same = [await wonder.start(workflow, {"order": "7"}) for _ in range(3)]
        other = await wonder.start(workflow, {"order": "8"})
        for run in [*same, other]:
            await status_of(wonder, run, "waiting")
        await no_run_in_memory(wonder)
        await wonder.send_event("refunded", "7", {"cents": 3})
        await wonder.send_event("paid", "7", {"cents": 5})
        for run in same:
            assert (await run.wait()).output == {"given": {"cents": 5}}
        assert (await status_of(wonder, other, "waiting")).status == "waiting"
        await wonder.cancel(other.id)


async def test_an_event_that_comes_first_is_kept_for_the_first_that_waits(store_url: str) -> None:
    """ACT-10, `wait_for_event`."""
    async with running(store_url) as wonder:
        workflow = await wonder.deploy(listens(timeout_ms=100))
        await wonder.send_event("paid", "7", {"cents": 5})
        first = await wonder.start(workflow, {"order": "7"})
        assert (await first.wait()).output == {"given": {"cents": 5}}
        second = await wonder.start(workflow, {"order": "7"})
        result = await second.wait()
        assert result.error
        assert result.error["code"] == "EVENT_TIMEOUT"


async def test_a_senders_id_makes_an_event_count_once(store_url: str) -> None:
    """ACT-10, `wait_for_event`."""
    async with running(store_url) as wonder:
        workflow = await wonder.deploy(listens(timeout_ms=100))
        await asyncio.gather(*(wonder.send_event("paid", "7", {"n": n}, id="payment-1") for n in range(3)))
        assert (await (await wonder.start(workflow, {"order": "7"})).wait()).status == "completed"
        await wonder.send_event("paid", "7", {"n": 3}, id="payment-1")
        assert (await (await wonder.start(workflow, {"order": "7"})).wait()).status == "failed"
        assert await wonder.store.query("SELECT count(*) FROM kept_events") == [(1,)]


async def test_an_event_is_kept_no_longer_than_its_time_to_live(store_url: str) -> None:
    """ACT-10, `wait_for_event`."""
    async with running(store_url) as wonder:
        workflow = await wonder.deploy(listens(timeout_ms=100))
        await wonder.send_event("paid", "7", {"n": 1}, ttl_seconds=0)
        assert (await (await wonder.start(workflow, {"order": "7"})).wait()).status == "failed"


async def test_many_events_and_waits_at_the_same_time_miss_nobody(store_url: str) -> None:
    """ACT-10: an event and a token that begins to wait do not miss each other."""
    async with running(store_url) as wonder:
        workflow = await wonder.deploy(listens())
        keys = [str(number) for number in range(20)]
        runs = [wonder.start(workflow, {"order": key}) for key in keys]
        sent = [wonder.send_event("paid", key, {"key": key}) for key in keys]
        made = await asyncio.gather(*runs, *sent)
        for key, run in zip(keys, made[:20], strict=True):
            async with asyncio.timeout(20):
                assert (await run.wait()).output == {"given": {"key": key}}


async def test_a_fan_in_that_waits_too_long_goes_on_with_what_is_there(store_url: str) -> None:
    """CTL-13."""
    definition = bundle(
        "hurries",
        {
            "start": update(),
            "quick": update(**{"state.x": "1"}),
            "slow": waits("human_input", {"prompt": "?", "schema": {}}),
            "done": update(**{"output.all": "state.all"}),
        },
        [
            {"from": "start", "to": "quick"},
            {"from": "start", "to": "slow"},
            *(
                {
                    "from": name,
                    "to": "done",
                    "synchronization": {
                        "strategy": "all",
                        "sibling_group": "start",
                        "merge": {"source": "_branch.output.x", "target": "state.all", "strategy": "append"},
                        "timeout_ms": 1_000,
                        "on_timeout": "proceed_with_available",
                    },
                }
                for name in ("quick", "slow")
            ),
        ],
        context_schema={"type": "object", "properties": {"x": {}, "all": {"type": "array"}}},
    )
    async with running(store_url) as wonder:
        run = await start(wonder, definition)
        item = await open_item(wonder, run)
        assert (await run.wait()).output == {"all": [1]}
        assert (await load_inbox_item(wonder.store, item.id)).status == "withdrawn"


@pytest.mark.parametrize(
    ("decision", "status", "code"),
    [("extend", "completed", None), ("abort", "cancelled", None), ("fail", "failed", "WORKFLOW_TIMEOUT")],
)
async def test_a_person_decides_about_a_run_at_its_time_out(
    store_url: str, decision: str, status: str, code: str | None
) -> None:
    """RET-3."""
    gate = asyncio.Event()

    async def wait_long() -> None:
        await gate.wait()

    definition = bundle("slow", {"only": calls("wait_long")}, timeout_ms=50)
    async with running(store_url, wait_long=wait_long) as wonder:
        run = await start(wonder, definition)
        header = await status_of(wonder, run, "paused")
        assert header.paused_reason == "timeout"
        item = await open_item(wonder, run)
        with pytest.raises(InputRefused):
            await wonder.answer(item.id, {"decision": "hope"})
        answer: dict[str, Any] = {"decision": decision}
        if decision == "extend":
            answer["extend_ms"] = 60_000
        await wonder.answer(item.id, answer)
        gate.set()
        result = await run.wait()
        assert result.status == status
        assert (result.error or {}).get("code") == code
        with pytest.raises(ItemClosed):
            await wonder.answer(item.id, answer)


async def test_a_run_that_takes_too_long_fails_if_its_workflow_says_so(store_url: str) -> None:
    """RET-3."""
    begun, aborted = asyncio.Event(), asyncio.Event()

    async def wait_long() -> None:
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            aborted.set()

    definition = bundle("slow", {"only": calls("wait_long")}, timeout_ms=400, on_timeout="fail")
    async with running(store_url, wait_long=wait_long) as wonder:
        result = await (await start(wonder, definition)).wait()
        assert result.error
        assert result.error["code"] == "WORKFLOW_TIMEOUT"
        if begun.is_set():  # On a machine that stands still for so long, its time is over before its task has begun.
            async with asyncio.timeout(60):
                await aborted.wait()


async def test_parked_runs_are_not_in_memory(store_url: str) -> None:
    """DESIGN 2: a parked run is rows only."""
    async with running(store_url) as wonder:
        workflow = await wonder.deploy(asks())
        await asyncio.gather(*(wonder.start(workflow) for _ in range(200)))

        async def all_wait() -> bool:
            return await wonder.store.query("SELECT count(*) FROM runs WHERE status = 'waiting'") == [(200,)]

        await until(all_wait)
        await no_run_in_memory(wonder)
        assert not wonder.engine.coordinator.tasks._young
