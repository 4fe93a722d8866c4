"""EVT-1a, TSK-6: what people see afterwards of each execution of a node: input, output, attempts."""

import asyncio
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from support.systems import bundle, calls, line, open_item, running, settle, waits
from wonder.actions.protocol import ActionFailed
from wonder.app.application import Application
from wonder.app.opening import open_wonder
from wonder.engine.events import EVENTS
from wonder.objects.opening import open_objects
from wonder.objects.store import read_whole
from wonder.observe.event_messages import message_of
from wonder.observe.time_travel import EventNotThere
from wonder.operations.run_events import EventsOfRun, list_events
from wonder.operations.run_history import ExecutionRecord, HistoryOfRun, show_history
from wonder.operations.runs import ContextOfRun, show_context
from wonder.storage.artifacts import load_artifact

# Of these, the message tells a field that they always have.
DETAILED = {
    "token_suspended",
    "token_resumed",
    "workflow_paused",
    "workflow_cancelled",
    "human_input_requested",
    "human_input_answered",
    "human_input_claimed",
    "human_input_released",
    "human_input_delegated",
    "human_input_counted",
    "fan_out_started",
    "fan_in_completed",
    "context_updated",
    "artifact_written",
    "llm_call_completed",
    "tokens_ended",
}
NODES = {
    "good": calls("good", input_mapping={"n": "$.input.n"}, output_mapping={"state.got": "$"}),
    "bad": calls("bad", input_mapping={"got": "$.state.got"}),
    "last": {"action": {"kind": "update_context", "implementation": {"updates": []}}},
}
ROUTES = [*line("good", "bad"), {"from": "bad", "to": "last", "condition": "_last_error.code = 'BAD'"}]


def good(n: int) -> dict[str, int]:
    return {"twice": n * 2}


def bad(got: Any) -> None:
    raise ActionFailed("BAD", "it is bad")


async def history(wonder: Application, run_id: str, **given: Any) -> dict[str, ExecutionRecord]:
    """Give the executions of a run by their nodes."""
    return {one.node: one async for one in show_history(wonder, HistoryOfRun(run_id=run_id, **given))}


def has(one: ExecutionRecord, *names: str) -> list[Any]:
    """Give those of its input and output that were kept."""
    return [getattr(one, name) for name in names if not isinstance(getattr(one, name), type(one.item))]


@pytest.mark.parametrize(
    ("record_io", "of_good", "of_bad"),
    [
        ("all", [{"n": 2}, {"twice": 4}], [{"got": {"twice": 4}}]),
        ("failed", [], [{"got": {"twice": 4}}]),
        ("none", [], []),
    ],
)
async def test_evt_1a_the_input_and_output_of_executions_are_kept_as_the_project_says(
    store_url: str, record_io: str, of_good: list[Any], of_bad: list[Any]
) -> None:
    async with running(store_url, good=good, bad=bad) as wonder:
        await settle(wonder, record_io=record_io)
        workflow = await wonder.deploy(bundle("io", NODES, ROUTES, input_schema={"type": "object"}))
        run = await wonder.start(workflow, {"n": 2})
        assert (await run.wait()).status == "completed"
        found = await history(wonder, run.id)
        assert has(found["good"], "input", "output") == of_good
        assert has(found["bad"], "input", "output") == of_bad
        assert (found["bad"].error.code, found["bad"].status) == ("BAD", "failed")  # type: ignore[union-attr]
        assert list(await history(wonder, run.id, failed=True)) == ["bad"]
        rows = await wonder.store.query("SELECT count(*) FROM tokens WHERE input IS NOT NULL")
        assert rows[0][0] == len(of_good) // 2 + len(of_bad)


async def test_evt_1a_a_branch_that_arrived_at_its_join_keeps_its_input_and_tells_its_item(store_url: str) -> None:
    nodes = {
        "begin": {"action": {"kind": "update_context", "implementation": {"updates": []}}},
        "work": calls("good", input_mapping={"n": "$._branch.item"}, output_mapping={"_branch.output.x": "$"}),
        "end": {"action": {"kind": "update_context", "implementation": {"updates": []}}},
    }
    joined = {"strategy": "all", "sibling_group": "begin"}
    routes = [
        {"from": "begin", "to": "work", "foreach": {"collection": "input.items", "max_parallel": 1}},
        {"from": "work", "to": "end", "synchronization": joined},
    ]
    async with running(store_url, good=good) as wonder:
        workflow = await wonder.deploy(bundle("each", nodes, routes, input_schema={"type": "object"}))
        run = await wonder.start(workflow, {"items": [3, 5]})
        assert (await run.wait()).status == "completed"
        found = [one async for one in show_history(wonder, HistoryOfRun(run_id=run.id, node="work"))]
        assert [(one.item, one.input, one.output) for one in found] == [
            (3, {"n": 3}, {"twice": 6}),
            (5, {"n": 5}, {"twice": 10}),
        ]


async def test_evt_1a_a_large_output_is_kept_as_an_artifact_and_the_event_says_where(
    store_url: str, tmp_path: Path
) -> None:
    large = {"text": "é" * 70_000}
    nodes = {"work": calls("work"), "ask": waits("human_input", {"prompt": "?", "schema": {}})}
    async with open_wonder(
        store_url, functions={"tests:work": lambda: large}, objects=f"file://{tmp_path / 'objects'}"
    ) as wonder:
        run = await wonder.start(await wonder.deploy(bundle("large", nodes, line("work", "ask"))))
        await wonder.answer((await open_item(wonder, run)).id, {"long": "x" * 70_000})
        assert (await run.wait()).status == "completed"
        found = await history(wonder, run.id)
        told = found["work"].output_cut
        assert (told["bytes"], told["start"][:12]) == (140_011, '{"text":"ééé')
        kind, _, id = told["kept_as"].partition(" ")
        artifact = await load_artifact(wonder.store, wonder.home.project_id, id)
        assert (kind, artifact.node, artifact.part) == ("artifact", "work", "recorded output")
        content = await read_whole(
            open_objects(f"file://{tmp_path / 'objects'}"), artifact.storage_key, size_max=200_000
        )
        assert content.decode() == '{"text":"' + "é" * 70_000 + '"}'
        assert found["ask"].output_cut["kept_as"].startswith("answer of inbox item ")


async def test_tsk_6_the_history_has_each_attempt_with_its_error_and_the_one_that_was_lost(store_url: str) -> None:
    begun, tries = asyncio.Event(), 0

    async def first() -> None:
        begun.set()
        await asyncio.Event().wait()

    def then() -> dict[str, int]:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise ConnectionError(f"try {tries}")
        return {"tries": tries}

    node = calls("work")
    node["action"]["execution"] = {"retry_policy": {"max_attempts": 3, "backoff": "none", "initial_delay_ms": 0}}
    async with running(store_url, work=first) as wonder:
        run_id = (await wonder.start(await wonder.deploy(bundle("lost", {"work": node})))).id
        await begun.wait()
    async with running(store_url, work=then) as wonder:
        assert (await wonder.wait(run_id)).status == "completed"
        work = (await history(wonder, run_id))["work"]
        assert [(one.attempt, one.outcome, one.lost_with) for one in work.attempts] == [
            (1, "lost", "process"),
            (2, "failed", None),
            (3, "failed", None),
            (4, "completed", None),
        ]
        error = work.attempts[1].error
        assert error is not None
        assert (error.code, error.message) == ("PYTHON_EXCEPTION", "tests:work raised ConnectionError: try 1")
        assert "in test_tsk_6" in error.details["traceback"][-1]


async def test_evt_3_the_context_is_shown_as_it_was_after_each_event(store_url: str) -> None:
    """From the first event or from a snapshot on, and only for events that there are."""
    names = [f"n{number}" for number in range(4)]
    nodes = {
        name: calls("good", input_mapping={"n": "$.input.n"}, output_mapping={f"state.{name}": "$"}) for name in names
    }
    async with running(store_url, good=good) as wonder:
        await settle(wonder, snapshot_policy={"every_events": 10, "at_end": True})
        workflow = await wonder.deploy(bundle("travel", nodes, line(*names), input_schema={"type": "object"}))
        run = await wonder.start(workflow, {"n": 1})
        assert (await run.wait()).status == "completed"
        seen: list[int] = []
        state: dict[str, Any] = {}
        events = [event async for event in list_events(wonder, EventsOfRun(run_id=run.id))]
        for event in events:
            if event.event_type == "context_updated":
                state[f"n{len(seen)}"] = {"twice": 2}
                seen.append(event.sequence_number)
            then = await show_context(wonder, ContextOfRun(run_id=run.id, at=event.sequence_number))
            assert (then.input, then.state) == ({"n": 1}, state)
        assert len(seen) == 4
        for number in (0, len(events) + 1):
            with pytest.raises(EventNotThere, match=f"its events are 1 to {len(events)}"):
                await show_context(wonder, ContextOfRun(run_id=run.id, at=number))


async def test_evt_1_every_event_has_a_message_and_its_time_of_recording_never_goes_back(store_url: str) -> None:
    nodes = {
        "begin": {"action": {"kind": "update_context", "implementation": {"updates": []}}},
        "fast": calls("fast"),
        "slow": calls("slow"),
    }
    routes = [{"from": "begin", "to": "fast"}, {"from": "begin", "to": "slow"}]

    async def fast() -> None:
        await asyncio.sleep(0.02)

    async def slow() -> None:
        await asyncio.sleep(0.05)
        raise ActionFailed("BAD", "it is bad")

    async with running(store_url, fast=fast, slow=slow) as wonder:
        run = await wonder.start(await wonder.deploy(bundle("times", nodes, routes)))
        assert (await run.wait()).status == "failed"
        events = [event async for event in list_events(wonder, EventsOfRun(run_id=run.id))]
        assert any(later.timestamp < event.timestamp for event, later in pairwise(events))
        assert all(later.recorded_ms >= event.recorded_ms for event, later in pairwise(events))
        messages = {event.event_type: event.message for event in events}
        assert all(messages.values())
        assert messages["workflow_started"] == "the run started"
        assert messages["node_failed"] == "a node failed: BAD: it is bad"


def test_evt_1_every_type_of_event_has_a_sentence_for_people() -> None:
    assert all(" " in message_of(name, {"error": None}) for name in EVENTS if name not in DETAILED)
