"""Triggers of real runs: what completes starts others, each once (PHS-6)."""

import asyncio
from typing import Any

import pytest

from support.definitions import update
from support.systems import (
    bundle,
    calls,
    event_types,
    line,
    no_run_in_memory,
    open_item,
    running,
    settle,
    status_of,
    until,
    waits,
)
from support.triggers import fired, give, source, target, trigger, triggered
from wonder.actions.protocol import ActionFailed
from wonder.app.application import Application
from wonder.app.results import Run
from wonder.coordinator import admission
from wonder.storage.named_resources import put_resource
from wonder.storage.runs.headers import load_header, load_headers
from wonder.storage.runs.listing import list_runs
from wonder.storage.runs.reading import events_of_run
from wonder.storage.runs.triggering import firings_of_run, trigger_status

PICKY = target("picky", input_schema={"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}})


async def test_a_run_that_completes_triggers_another_with_what_its_refs_name(store_url: str) -> None:
    """PHS-6: `@output`, `@input`, and what is no ref; the one that is triggered says by whom."""
    inputs = {"all": "@output", "deep": ["@output.a.b[1]", {"x": "@input.n"}], "text": "@@home", "number": 1}
    async with running(store_url, give=give) as wonder:
        workflow = await wonder.deploy(source(trigger(inputs=inputs)))
        given = {"a": {"b": [1, 2]}, "n": None}
        run = await wonder.start(workflow, given)
        assert (await run.wait()).status == "completed"
        (other,) = await triggered(wonder, run)
        expected = {"all": given, "deep": [2, {"x": None}], "text": "@home", "number": 1}
        assert other.output == {"got": expected}
        assert other.origin
        assert (other.origin.triggered_by_run_id, other.origin.depth) == (run.id, 1)
        assert (await event_types(wonder, run))[-2:] == ["workflow_completed", "trigger_fired"]
        await no_run_in_memory(wonder)


OUTCOMES: list[tuple[dict[str, Any], str, int, str | None]] = [
    (trigger(inputs={"x": "@output.null"}), "triggered", 1, None),  # null is there
    (trigger(inputs={"x": "@output.absent"}), "skipped", 0, "TRIGGER_REF_MISSING"),  # absent is missing
    (trigger(inputs={"x": {"y": ["@input.absent.z"]}}), "skipped", 0, "TRIGGER_REF_MISSING"),  # at any depth
    (trigger(inputs={"x": "@output.items[7]"}), "skipped", 0, "TRIGGER_REF_MISSING"),
    (trigger(inputs={"x": "@item", "n": "@index"}, forEach="@output.items"), "triggered", 3, None),
    (trigger(inputs={"x": "@item"}, forEach="@output.absent"), "skipped", 0, "TRIGGER_REF_MISSING"),
    (trigger(inputs={"x": "@item"}, forEach="@output.none"), "triggered", 0, None),
    (trigger(inputs={"x": "@item"}, forEach="@output.n"), "failed", 0, "TRIGGER_NOT_A_LIST"),
    (trigger(inputs={"x": "@item"}, forEach="@output.null"), "failed", 0, "TRIGGER_NOT_A_LIST"),
    (
        trigger(inputs={"x": "@item.id"}, forEach="@output.some"),
        "triggered",
        2,
        None,
    ),  # an item that lacks it is skipped
    (trigger(inputs={"x": "@item.nothing"}, forEach="@output.some"), "skipped", 0, None),
    (trigger("unknown"), "failed", 0, "NOT_FOUND"),
    (trigger("archived"), "failed", 0, "NOT_FOUND"),
    (trigger("disabled"), "failed", 0, "WORKFLOW_DISABLED"),
    (trigger("picky", inputs={"n": "@output.text"}), "failed", 0, "INPUT_REFUSED"),
    (trigger("picky", inputs={"n": "@item"}, forEach="@output.mixed"), "failed", 2, "INPUT_REFUSED"),
    (trigger("target@99"), "failed", 0, "NOT_FOUND"),
    (trigger("target@1"), "triggered", 1, None),
    (trigger("shelf/book"), "triggered", 1, None),
    (trigger("shelf/nothing"), "failed", 0, "NOT_FOUND"),
]
GIVEN = {
    "null": None,
    "n": 1,
    "text": "x",
    "items": [None, "b", 3],
    "none": [],
    "some": [{"id": 1}, {}, {"id": None}],
    "mixed": [1, "two", 3],
}


async def test_each_trigger_does_what_its_refs_and_its_target_say(store_url: str) -> None:
    """PHS-6: missing refs skip, bad targets fail with a reason, and neither touches the others or the run."""
    definition = source(*(one[0] for one in OUTCOMES), **PICKY, **target("disabled"), **target("archived"))
    definition["libraries"] = {"shelf": {"workflows": target("book")}}
    async with running(store_url, give=give) as wonder:
        workflow = await wonder.deploy(definition)
        await _disable(wonder, "disabled")
        await _archive(wonder, "archived")
        run = await wonder.start(workflow, GIVEN)
        result = await run.wait()
        assert (result.status, result.output) == ("completed", GIVEN)
        firings = await fired(wonder, run)
        told = [(one.status, one.started, one.failure.code if one.failure else None) for one in firings]
        assert told == [one[1:] for one in OUTCOMES]
        assert trigger_status(firings) == "failed"
        headers = await triggered(wonder, run)
        assert len(headers) == sum(one[2] for one in OUTCOMES)
        by_trigger: dict[int, list[Any]] = {}
        for header in headers:
            assert header.status == "completed"
            assert header.origin
            output: Any = header.output
            by_trigger.setdefault(header.origin.ordinal, []).append(output["got"])
        assert by_trigger[4] == [{"x": None, "n": 0}, {"x": "b", "n": 1}, {"x": 3, "n": 2}]
        assert by_trigger[9] == [{"x": 1}, {"x": None}]
        assert by_trigger[15] == [{"n": 1}, {"n": 3}]
        refused = firings[15].failure
        assert refused
        assert "item 1" in refused.message
        events = [event for event in await events_of_run(wonder.store, run.id) if "trigger_" in event.type]
        names = {"triggered": "trigger_fired", "skipped": "trigger_skipped", "failed": "trigger_failed"}
        kinds = {event.metadata["trigger"]: (event.type, event.metadata["runs"]) for event in events}
        assert kinds == {n: (names[one[1]], one[2]) for n, one in enumerate(OUTCOMES)}
        assert len(events) == len(OUTCOMES)


async def _disable(wonder: Application, name: str) -> None:
    workflow = await wonder.workflow(name)
    async with wonder.store.transaction() as transaction:
        await put_resource(transaction, workflow.model_copy(update={"enabled": False}))


async def _archive(wonder: Application, name: str) -> None:
    workflow = await wonder.workflow(name)
    async with wonder.store.transaction() as transaction:
        # By hand: as long as a trigger names it, it is not archived, but a database may have one that was.
        await transaction.execute("archive_resource(workflows)", workflow.id, wonder.clock())


async def test_the_status_of_triggers_is_null_without_any_and_triggered_when_all_are_skipped(store_url: str) -> None:
    """PHS-6: `triggerStatus` and `triggeredExecutionIds`."""
    async with running(store_url, give=give) as wonder:
        without = await wonder.start(await wonder.deploy(source(name="without")))
        skipped = await wonder.start(await wonder.deploy(source(trigger(inputs={"x": "@output.absent"}))))
        for run, status, firings in ((without, None, 0), (skipped, "triggered", 1)):
            assert (await run.wait()).status == "completed"
            found = await wonder.triggers(run.id)
            assert (found.status, found.run_ids, len(found.triggers)) == (status, [], firings)


async def test_a_trigger_names_its_target_by_id_as_well_unless_it_is_another_projects(store_url: str) -> None:
    """RES-7, INV-7, and RES-3: a pinned version is the one that is started."""
    async with running(store_url, give=give) as wonder:
        one = await wonder.deploy(bundle("one", {"only": update(**{"output.version": "1"})}))
        await wonder.deploy(bundle("one", {"only": update(**{"output.version": "2"})}))
        other = await wonder.deploy(bundle("other", {"only": update()}))
        async with wonder.store.transaction() as transaction:
            await put_resource(transaction, one.model_copy(update={"pinned_version": 1}))
            columns = "id, workspace_id, name, created_at, updated_at"
            fields = "'P2', workspace_id, 'p2', created_at, updated_at"
            await transaction.run(f"INSERT INTO projects ({columns}) SELECT {fields} FROM projects", [()])
            await transaction.run("UPDATE workflows SET project_id = 'P2' WHERE id = $1", [(other.id,)])
        run = await wonder.start(await wonder.deploy(source(trigger(one.id), trigger(other.id))))
        headers = await triggered(wonder, run)
        assert [header.output for header in headers] == [{"version": 1}]
        failed = (await wonder.triggers(run.id)).triggers[1].failure
        assert failed
        assert failed.code == "NOT_FOUND"


async def test_only_a_run_that_completed_fires_its_triggers(store_url: str) -> None:
    """PHS-6: not one that failed or was cancelled."""

    def fail() -> None:
        raise ActionFailed("BROKEN", "it broke")

    ask = waits("human_input", {"prompt": "?", "schema": {}})
    failing = {**bundle("failing", {"only": calls("fail")}, triggers=[trigger()]), "workflows": target()}
    asking = bundle("asking", {"only": ask}, triggers=[trigger()])
    async with running(store_url, fail=fail) as wonder:
        failed = await wonder.start(await wonder.deploy(failing))
        assert (await failed.wait()).status == "failed"
        cancelled = await wonder.start(await wonder.deploy(asking))
        await open_item(wonder, cancelled)
        await wonder.cancel(cancelled.id)
        assert (await cancelled.wait()).status == "cancelled"
        for run in (failed, cancelled):
            assert await firings_of_run(wonder.store, run.id) == []
        assert len((await list_runs(wonder.store, wonder.home.project_id)).items) == 2


async def test_a_trigger_of_the_phase_form_reads_what_a_step_gave(store_url: str) -> None:
    """PHS-6: `@step.output` is `state.steps."step"` of the final context."""
    steps = {"type": "object", "properties": {"fetch-it": {}, "none": {}}}
    definition = bundle(
        "phases",
        {"fetch-it": calls("give", input_mapping={"a": [1, 2]}, output_mapping={'state.steps."fetch-it"': "$"})},
        context_schema={"type": "object", "properties": {"steps": steps}},
        triggers=[
            trigger(inputs={"x": "@item", "all": '@"fetch-it".output'}, forEach="@fetch-it.output.a"),
            trigger(inputs={"x": "@none.output"}),
        ],
    )
    async with running(store_url, give=give) as wonder:
        run = await wonder.start(await wonder.deploy({**definition, "workflows": target()}))
        headers = await triggered(wonder, run)
        assert [header.output for header in headers] == [{"got": {"x": n, "all": {"a": [1, 2]}}} for n in (1, 2)]
        assert [firing.status for firing in await fired(wonder, run)] == ["triggered", "skipped"]


async def test_triggers_lead_ten_levels_deep_and_no_further(store_url: str) -> None:
    """PHS-6, also through a sub-workflow: what it triggers is one level below its caller's."""
    inner = bundle("inner", {"only": update()}, triggers=[trigger("circle", {"n": 1})])["workflow"]
    del inner["name"]
    call = waits("workflow_call", {"workflow_def_id": "inner"})
    definition = {**bundle("circle", {"call": call}), "workflows": {"inner": inner}}
    async with running(store_url) as wonder:
        first = await wonder.start(await wonder.deploy(definition))
        await first.wait()

        async def last() -> list[Any]:
            query = "SELECT run_id, error FROM trigger_firings WHERE status = 'failed'"
            return await wonder.store.query(query)

        ((run_id, error),) = await until(last)
        assert "TRIGGER_DEPTH" in str(error)
        depths = await wonder.store.query("SELECT trigger_depth FROM triggered_runs ORDER BY 1")
        assert depths == [(n,) for n in range(1, 11)]
        parent = (await load_header(wonder.store, str(run_id))).parent_run_id
        assert parent
        origin = (await load_header(wonder.store, parent)).origin
        assert origin
        assert origin.depth == 10


async def test_a_triggered_run_that_failed_is_retried_as_often_as_its_trigger_says(store_url: str) -> None:
    """PHS-6, `max_retries`; CTL-19: each retry is a new run, and what was completed before is not done again."""
    count = {"first": 0, "flaky": 0}

    def flaky(name: str, wins_at: int | None) -> dict[str, Any]:
        count[name] += 1
        if name == "flaky" and count[name] != wins_at:
            raise ActionFailed("BROKEN", "it broke")
        return {"n": count[name]}

    nodes = {
        "first": calls("flaky", input_mapping={"name": "first", "wins_at": None}),
        "second": calls(
            "flaky",
            input_mapping={"name": "flaky", "wins_at": "$.input.wins_at"},
            output_mapping={"output.n": "$.n"},
        ),
    }
    shaky = bundle("shaky", nodes, line("first", "second"))["workflow"]
    del shaky["name"]
    definition = source(trigger("shaky", {"wins_at": "@output.wins_at"}, max_retries=2), shaky=shaky)
    async with running(store_url, give=give, flaky=flaky) as wonder:
        workflow = await wonder.deploy(definition)
        won = await wonder.start(workflow, {"wins_at": 3})
        assert [header.status for header in await triggered(wonder, won)] == ["failed"]
        (again,) = await _retries(wonder, won, 2)
        assert (await wonder.wait(again)).output == {"n": 3}
        assert count == {"first": 1, "flaky": 3}
        lost = await wonder.start(workflow, {"wins_at": None})
        await triggered(wonder, lost)
        (last,) = await _retries(wonder, lost, 2)
        assert (await wonder.wait(last)).status == "failed"
        await no_run_in_memory(wonder)
        assert count == {"first": 2, "flaky": 6}
        assert await _retries(wonder, lost, 3, wait=False) == []
        for run in (won, lost):
            ids = (await wonder.triggers(run.id)).run_ids
            attempts = [header.origin.attempt for header in await load_headers(wonder.store, ids) if header.origin]
            assert attempts == [0, 1, 2]


async def test_phs_6_before_each_retry_there_is_a_pause_twice_as_long(store_url: str) -> None:
    """PHS-6: from 1 s on; meanwhile the failed run takes no place of `max_concurrent_runs`."""
    shaky = bundle("shaky", {"only": calls("fail")})["workflow"]
    del shaky["name"]

    def fail() -> None:
        raise ActionFailed("BROKEN", "it broke")

    async with running(store_url, give=give, fail=fail) as wonder:
        await settle(wonder, rate_limits={"max_concurrent_runs": 1})
        run = await wonder.start(await wonder.deploy(source(trigger("shaky", max_retries=2), shaky=shaky)))
        (first,) = await triggered(wonder, run)
        other = await wonder.start("target")
        assert (await other.wait()).status == "completed"
        assert (await load_header(wonder.store, first.id)).retry_due
        (second,) = await _retries(wonder, run, 1)
        (third,) = await _retries(wonder, run, 2)
        await wonder.wait(third)
        first, second, third = await load_headers(wonder.store, [first.id, second, third])
        assert first.completed_ms
        assert second.completed_ms
        assert second.created_ms - first.completed_ms >= 1_000
        assert third.created_ms - second.completed_ms >= 2_000


async def _retries(wonder: Application, run: Run, attempt: int, *, wait: bool = True) -> list[str]:
    async def look() -> list[str]:
        query = "SELECT run_id FROM triggered_runs WHERE triggered_by_run_id = $1 AND attempt = $2"
        return [str(id) for (id,) in await wonder.store.query(query, run.id, attempt)]

    found: list[str] = await until(look) if wait else await look()
    return found


async def test_the_time_out_of_a_trigger_counts_instead_of_the_definitions(store_url: str) -> None:
    """PHS-6, `workflow_timeout_ms`; also after the run was queued, and parked."""
    ask = waits("human_input", {"prompt": "?", "schema": {}})
    slow = bundle("slow", {"ask": ask}, timeout_ms=3_600_000, on_timeout="fail")["workflow"]
    del slow["name"]
    async with running(store_url, give=give) as wonder:
        await settle(wonder, rate_limits={"max_concurrent_runs": 1})
        run = await wonder.start(await wonder.deploy(source(trigger("slow", workflow_timeout_ms=30), slow=slow)))
        (other,) = await triggered(wonder, run)
        assert other.error
        assert (other.error.code, "30" in other.error.message) == ("WORKFLOW_TIMEOUT", True)
        by_hand = await wonder.start("slow")
        await open_item(wonder, by_hand)
        assert (await load_header(wonder.store, by_hand.id)).status == "waiting"


@pytest.mark.parametrize("own_timeout_ms", [None, 3_600_000])
async def test_what_a_person_forks_of_a_triggered_run_has_the_time_of_its_definition(
    store_url: str, own_timeout_ms: int | None
) -> None:
    """CTL-19, PHS-6: the trigger's time-out was copied, and broke the engine where the definition has none."""
    ask = waits("human_input", {"prompt": "?", "schema": {}})
    slow = bundle("slow", {"ask": ask}, timeout_ms=own_timeout_ms, on_timeout="fail")["workflow"]
    del slow["name"]
    async with running(store_url, give=give) as wonder:
        run = await wonder.start(await wonder.deploy(source(trigger("slow", workflow_timeout_ms=30), slow=slow)))
        (other,) = await triggered(wonder, run)
        events = await events_of_run(wonder.store, other.id)
        after = next(event.sequence for event in events if event.type == "workflow_timed_out") - 1
        forked = await wonder.fork(other.id, after)
        await status_of(wonder, forked, "waiting")
        header = await load_header(wonder.store, forked.id)
        timers = await wonder.store.query(f"SELECT due_ms FROM timers WHERE run_id = '{forked.id}'")
        expected = [] if own_timeout_ms is None else [(header.created_ms + own_timeout_ms,)]
        assert [tuple(row) for row in timers] == expected


async def test_a_run_that_took_too_long_has_its_whole_time_again_when_its_trigger_retries_it(store_url: str) -> None:
    """PHS-6, RET-3: else the time-out of the first try would end each that follows at once."""
    count = 0

    async def slow_at_first() -> None:
        nonlocal count
        count += 1
        await asyncio.sleep(3_600 if count == 1 else 0)

    slow = bundle("slow", {"only": calls("slow_at_first")})["workflow"]
    del slow["name"]
    async with running(store_url, give=give, slow_at_first=slow_at_first) as wonder:
        definition = source(trigger("slow", workflow_timeout_ms=1_000, max_retries=1), slow=slow)
        run = await wonder.start(await wonder.deploy(definition))
        (first,) = await triggered(wonder, run)
        assert first.error
        assert first.error.code == "WORKFLOW_TIMEOUT"
        (again,) = await _retries(wonder, run, 1)
        assert (await wonder.wait(again)).status == "completed"


@pytest.mark.parametrize(("decision", "status"), [("extend", "completed"), ("fail", "failed"), ("abort", "cancelled")])
async def test_phs_6_a_trigger_with_on_timeout_human_gate_asks_and_its_run_waits_for_the_answer(
    store_url: str, decision: str, status: str
) -> None:
    """PHS-6, RET-3: what was under way comes to its end, and the run does not complete behind the question's back."""
    ends = asyncio.Event()

    async def slowly() -> None:
        await ends.wait()

    slow = bundle("slow", {"only": calls("slowly")}, on_timeout="fail")["workflow"]
    del slow["name"]
    async with running(store_url, give=give, slowly=slowly) as wonder:
        asking = trigger("slow", workflow_timeout_ms=30, on_timeout="human_gate", max_retries=1)
        run = await wonder.start(await wonder.deploy(source(asking, slow=slow)))
        await fired(wonder, run)
        (other,) = (await wonder.triggers(run.id)).run_ids
        await status_of(wonder, other, "paused")
        ends.set()
        await until(lambda: _has_completed_node(wonder, other))
        # Also where another process finds it so.
    async with running(store_url, give=give, slowly=slowly) as wonder:
        header = await load_header(wonder.store, other)
        assert (header.status, header.paused_reason) == ("paused", "timeout")
        assert header.gate_item_id
        await wonder.answer(header.gate_item_id, {"decision": decision})
        assert (await wonder.wait(other)).status == status
        if decision == "fail":
            # What a person lets fail is retried as what failed by itself; all its tokens had come to their end.
            (again,) = await _retries(wonder, run, 1)
            assert (await wonder.wait(again)).status == "completed"


async def _has_completed_node(wonder: Application, run_id: str) -> bool:
    return "node_completed" in await event_types(wonder, run_id)


async def test_triggered_runs_count_for_max_concurrent_runs(store_url: str) -> None:
    """RES-6: further ones queue, in the order of their items."""
    inside, most, order = 0, 0, list[int]()

    async def slowly(n: int) -> None:
        nonlocal inside, most
        inside, most = inside + 1, max(most, inside + 1)
        order.append(n)
        await asyncio.sleep(0.001)
        inside -= 1

    busy = bundle("busy", {"only": calls("slowly", input_mapping={"n": "$.input.n"})})["workflow"]
    del busy["name"]
    async with running(store_url, give=give, slowly=slowly) as wonder:
        await settle(wonder, rate_limits={"max_concurrent_runs": 2})
        definition = source(trigger("busy", {"n": "@item"}, forEach="@output.items"), busy=busy)
        run = await wonder.start(await wonder.deploy(definition), {"items": list(range(20))})
        headers = await triggered(wonder, run)
        assert [header.status for header in headers] == ["completed"] * 20
        assert most <= 2
        assert sorted(order) == list(range(20))
        # Two go at a time, and which of them comes first to its action is not promised.
        assert all(abs(place - n) <= 1 for place, n in enumerate(order))


async def test_more_triggered_runs_than_memory_should_hold_wait_in_the_queue(store_url: str, monkeypatch: Any) -> None:
    """Runs that nobody waits for are not all taken into memory at once, and all of them run."""
    monkeypatch.setattr(admission, "_CROWD", 10)
    most = 0

    async def look() -> None:
        nonlocal most
        assert wonder.engine
        most = max(most, len(wonder.engine.coordinator.residency))
        await asyncio.sleep(0)

    busy = bundle("busy", {"only": calls("look")})["workflow"]
    del busy["name"]
    async with running(store_url, give=give, look=look) as wonder:
        definition = source(trigger("busy", {"n": "@item"}, forEach="@output.items"), busy=busy)
        run = await wonder.start(await wonder.deploy(definition), {"items": list(range(150))})
        headers = await triggered(wonder, run)
        assert [header.status for header in headers] == ["completed"] * 150
        # A page of those that are queued is loaded at a time.
        assert most <= 10 + 100 + 1
        await status_of(wonder, run, "completed")
