"""Commits that fail: the runs in them are loaded again from their rows, and nothing that was acknowledged is lost."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.definitions import update
from support.faulty_stores import FaultyStore, wonder_on
from support.systems import assert_sound, bundle, calls, line, no_run_in_memory, open_item, running, status_of, waits
from wonder.app.application import Application
from wonder.app.results import Run
from wonder.coordinator.errors import EngineStopped
from wonder.engine import turn
from wonder.engine.decisions import CreateToken, MoveToken
from wonder.engine.evolve import EVOLVERS
from wonder.engine.state import COMPLETED, RunState
from wonder.errors import WonderError
from wonder.storage.errors import ConnectionLost, DiskFull, LeaseLost
from wonder.storage.runs.listing import list_runs
from wonder.storage.runs.reading import events_of_run, inbox_of_run
from wonder.storage.runs.records import NewRun
from wonder.storage.runs.starting import Accepted, Starts
from wonder.storage.store import Fence, Reader, Store

CHILD = bundle("inner", {"work": calls("work", input_mapping={"name": "inner"})})["workflow"]
del CHILD["name"]
EVERYTHING = {
    **bundle(
        "everything",
        {
            "start": update(),
            "each": calls("work", input_mapping={"name": "$.item"}),
            "ask": waits("human_input", {"prompt": "?", "schema": {}}),
            "sleep": waits("sleep", {"ms": 10}),
            "call": waits("workflow_call", {"workflow_def_id": "inner"}),
            "listen": waits("wait_for_event", {"event": "go", "key": "{{input.key}}"}, input_mapping="$.input"),
            "done": update(**{"output.done": "true"}),
        },
        [
            {"from": "start", "to": "each", "foreach": {"collection": "input.items"}},
            {"from": "each", "to": "ask", "synchronization": {"strategy": "all", "sibling_group": "start"}},
            *line("ask", "sleep", "call", "listen", "done"),
        ],
    ),
    "workflows": {"inner": CHILD},
}


async def persist(wonder: Application, run: Run, key: str) -> str:
    """Do all that a run waits for, again whenever that fails, until it has ended; gives its status."""
    ended = asyncio.create_task(run.wait())
    while not ended.done():
        items = await inbox_of_run(wonder.store, run.id)
        orders = [wonder.answer(item.id, {}) for item in items if item.status == "open"]
        await asyncio.gather(*orders, wonder.send_event("go", key, {}, id=key), return_exceptions=True)
        await asyncio.wait([ended], timeout=0.02)
    return ended.result().status


async def persistent_start(wonder: Application, workflow: Any, key: str) -> Run:
    """Start a run, again whenever that fails."""
    while True:
        try:
            return await wonder.start(workflow, {"items": ["a", "b"], "key": key}, idempotency_key=key)
        except WonderError:
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("error", [DiskFull("commit"), ConnectionLost("commit")], ids=lambda error: error.code)
async def test_a_run_survives_a_commit_that_fails_at_any_moment(
    store_url: str, when: str, error: WonderError, caplog: pytest.LogCaptureFixture
) -> None:
    """INV-1, INV-2, INV-4: whether it was stored or not, when the connection breaks in the answer."""
    caplog.set_level(logging.CRITICAL)
    worked: Counter[str] = Counter()

    async def work(name: str) -> dict[str, int]:
        worked[name] += 1
        return {}

    store: FaultyStore

    def wrap(real: Store) -> FaultyStore:
        nonlocal store
        store = FaultyStore(real)
        return store

    async with wonder_on(store_url, wrap, {"work": work}) as wonder:
        workflow = await wonder.deploy(EVERYTHING)
        for ahead in range(1, 13):
            worked.clear()
            store.faults.clear()
            store.fail(ahead, error, when)
            run = await persistent_start(wonder, workflow, f"{when}-{ahead}")
            async with asyncio.timeout(30):
                status = await persist(wonder, run, f"{when}-{ahead}")
            assert status == "completed", ahead
            assert worked == {"a": 1, "b": 1, "inner": 1}, ahead
        assert store.hits >= 7
        await no_run_in_memory(wonder)
        runs = (await list_runs(wonder.store, wonder.home.project_id, limit=200)).items
        roots = [header for header in runs if header.parent_run_id is None]
        assert len({header.idempotency_key for header in roots}) == len(roots)
        assert len(runs) == 2 * len(roots)
        assert all(header.status == "completed" for header in runs)
    await assert_sound(store_url)


async def test_inv_4_a_task_under_way_when_a_commit_fails_is_not_executed_again(
    store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """INV-4: neither one that ends while nothing can be stored, nor one that ends when its run is loaded again."""
    caplog.set_level(logging.CRITICAL)
    worked: Counter[str] = Counter()
    gates = {name: asyncio.Event() for name in ("first", "meanwhile", "later")}
    stores: list[FaultyStore] = []

    def wrap(real: Store) -> FaultyStore:
        stores.append(FaultyStore(real))
        return stores[0]

    async def work(name: str) -> dict[str, int]:
        worked[name] += 1
        await gates[name].wait()
        return {}

    async def until(is_true: Callable[[], bool]) -> None:
        async with asyncio.timeout(60):
            while not is_true():  # noqa: ASYNC110  # nobody tells
                await asyncio.sleep(0.005)

    nodes = {"start": update(), "each": calls("work", input_mapping={"name": "$.item"})}
    fan = [{"from": "start", "to": "each", "foreach": {"collection": "input.items"}}]
    async with wonder_on(store_url, wrap, {"work": work}) as wonder:
        assert wonder.engine
        run = await wonder.start(await wonder.deploy(bundle("fan", nodes, fan)), {"items": list(gates)})
        await until(lambda: len(worked) == 3)
        for ahead in (1, 2, 3):
            stores[0].fail(ahead, DiskFull("commit"))
        gates["first"].set()
        await until(lambda: stores[0].hits == 1)
        gates["meanwhile"].set()
        await until(lambda: stores[0].hits == 3)
        await until(lambda: wonder.engine is not None and wonder.engine.coordinator.residency.has(run.id))
        gates["later"].set()
        async with asyncio.timeout(60):
            assert (await run.wait()).status == "completed"
        assert worked == {"first": 1, "meanwhile": 1, "later": 1}
        await no_run_in_memory(wonder)
    await assert_sound(store_url)


async def test_inv_4_an_outcome_in_the_batch_after_one_that_fails_is_kept(
    store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """INV-4: what came while a commit was under way goes with it, and is taken again like what was in it."""
    caplog.set_level(logging.CRITICAL)
    worked: Counter[str] = Counter()
    begun, gates = asyncio.Event(), {name: asyncio.Event() for name in ("in it", "after it")}

    class SlowStore(FaultyStore):
        """Fails one commit, and takes its time for that."""

        async def commit(self, batch: Any, **options: Any) -> None:
            if gates["in it"].is_set() and not self.hits:
                self.hits += 1
                begun.set()
                await asyncio.sleep(0.1)
                raise DiskFull("commit")
            await super().commit(batch, **options)

    async def work(name: str) -> dict[str, int]:
        worked[name] += 1
        await gates[name].wait()
        return {}

    nodes = {"start": update(), "each": calls("work", input_mapping={"name": "$.item"})}
    fan = [{"from": "start", "to": "each", "foreach": {"collection": "input.items"}}]
    async with wonder_on(store_url, SlowStore, {"work": work}) as wonder:
        run = await wonder.start(await wonder.deploy(bundle("fan", nodes, fan)), {"items": list(gates)})
        async with asyncio.timeout(60):
            while len(worked) < 2:  # noqa: ASYNC110  # nobody tells
                await asyncio.sleep(0.005)
            gates["in it"].set()
            await begun.wait()
            gates["after it"].set()
            assert (await run.wait()).status == "completed"
    assert worked == {"in it": 1, "after it": 1}


async def test_inv_4_a_task_whose_outcome_can_t_be_logged_is_not_executed_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """INV-4: on SQLite, where a run that is alone goes on by the log."""
    caplog.set_level(logging.CRITICAL)
    worked: Counter[str] = Counter()
    refused = 0

    class FullLog(FaultyStore):
        """Logs nothing, because the disk is full."""

        def log(self, entry: bytes, fence: Fence) -> bool:
            nonlocal refused
            refused += 1
            if refused > 2:
                return False
            raise DiskFull("log")

    async def work(name: str) -> dict[str, int]:
        worked[name] += 1
        return {}

    names = ["a", "b", "c", "d"]
    nodes = {name: calls("work", input_mapping={"name": name}) for name in names}
    async with wonder_on(f"sqlite:///{tmp_path}/wonder.db", FullLog, {"work": work}) as wonder:
        run = await wonder.start(await wonder.deploy(bundle("chain", nodes, line(*names))))
        async with asyncio.timeout(60):
            assert (await run.wait()).status == "completed"
    assert refused >= 2
    assert worked == dict.fromkeys(names, 1)


async def test_what_is_decided_later_is_never_stored_before_what_it_stands_on(store_url: str) -> None:
    """INV-2: one commit at a time."""
    stores: list[FaultyStore] = []

    def wrap(real: Store) -> FaultyStore:
        stores.append(FaultyStore(real))
        return stores[0]

    async def work() -> dict[str, int]:
        await asyncio.sleep(0)
        return {}

    names = [f"n{number}" for number in range(5)]
    async with wonder_on(store_url, wrap, {"work": work}) as wonder:
        chain = await wonder.deploy(bundle("chain", dict.fromkeys(names, calls("work")), line(*names)))
        # Many turns, each of which begins in the moment when the commit of the one before has ended.
        loop = await wonder.deploy(
            bundle(
                "loop",
                {"count": update(**{"state.n": "coalesce(state.n, 0) + 1"}), "done": update()},
                [
                    {"from": "count", "to": "count", "condition": "state.n < 4000"},
                    {"from": "count", "to": "done", "priority": 1},
                ],
                context_schema={"type": "object", "properties": {"n": {"type": "integer"}}},
            )
        )
        runs = await asyncio.gather(*(wonder.start(loop if n % 10 == 0 else chain) for n in range(50)))
        await asyncio.gather(*(run.wait() for run in runs))
        assert stores[0].commits > 5
        assert stores[0].most_inside == 1


async def test_a_start_that_could_not_be_stored_is_told_so_and_leaves_nothing(
    store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """CTL-17, INV-2."""
    caplog.set_level(logging.CRITICAL)
    stores: list[FaultyStore] = []

    def wrap(real: Store) -> FaultyStore:
        stores.append(FaultyStore(real))
        return stores[0]

    async with wonder_on(store_url, wrap) as wonder:
        workflow = await wonder.deploy(bundle("quick", {"only": update()}))
        stores[0].fail(1, DiskFull("commit"))
        outcomes = await asyncio.gather(
            *(wonder.start(workflow, idempotency_key="one") for _ in range(3)),
            *(wonder.start(workflow) for _ in range(3)),
            return_exceptions=True,
        )
        refused = [outcome for outcome in outcomes if isinstance(outcome, DiskFull)]
        accepted = {outcome.id for outcome in outcomes if isinstance(outcome, Run)}
        assert refused
        assert len(refused) + sum(isinstance(outcome, Run) for outcome in outcomes) == 6
        stored = (await list_runs(wonder.store, wonder.home.project_id)).items
        assert {header.id for header in stored} == accepted
        run = await wonder.start(workflow, idempotency_key="one")
        assert (await run.wait()).status == "completed"
        await no_run_in_memory(wonder)


async def test_nobody_hears_of_a_run_whose_start_failed_in_the_moment_when_another_found_its_key(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CTL-17, INV-3: not even by the answer to a request, which is written down in a commit of its own."""
    async with running(store_url) as wonder:
        assert wonder.engine
        workflow, starter = await wonder.deploy(bundle("one", {"only": update()})), wonder.engine.collaborators.starter
        accept = Starts.accept
        lost = [Accepted("0" * 26, False)]

        async def find(starts: Starts, reader: Reader, run: NewRun) -> Accepted:
            return lost.pop() if lost else await accept(starts, reader, run)

        monkeypatch.setattr(Starts, "accept", find)
        told: list[str] = []
        for count in (1, 2):
            accepted = await starter.start(workflow, {}, idempotency_key="k", also=lambda _, id: told.append(id))
            assert (accepted.is_new, told, lost) == (count == 1, [accepted.run_id] * count, [])


async def test_an_answer_that_could_not_be_stored_can_be_given_again(
    store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """ACT-4, INV-2."""
    caplog.set_level(logging.CRITICAL)
    stores: list[FaultyStore] = []

    def wrap(real: Store) -> FaultyStore:
        stores.append(FaultyStore(real))
        return stores[0]

    async with wonder_on(store_url, wrap) as wonder:
        ask = bundle(
            "asks", {"ask": waits("human_input", {"prompt": "?", "schema": {}}, output_mapping={"output": "$"})}
        )
        run = await wonder.start(await wonder.deploy(ask))
        item = await open_item(wonder, run)
        await no_run_in_memory(wonder)
        stores[0].fail(1, DiskFull("commit"))
        with pytest.raises(DiskFull):
            await wonder.answer(item.id, {"n": 1})
        assert (await status_of(wonder, run, "waiting")).status == "waiting"
        await wonder.answer(item.id, {"n": 2})
        assert (await run.wait()).output == {"n": 2}
    await assert_sound(store_url)


async def test_an_engine_whose_lease_is_anothers_writes_nothing_and_says_so(
    store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """INV-5."""
    gate, began = asyncio.Event(), asyncio.Event()

    async def work() -> dict[str, int]:
        began.set()
        await gate.wait()
        return {}

    async with wonder_on(store_url, lambda store: store, {"work": work}) as wonder:
        engine = wonder.engine
        assert engine
        run = await wonder.start(await wonder.deploy(bundle("slow", {"only": calls("work")})))
        await began.wait()
        ended = engine.coordinator.ends.of(run.id)
        async with wonder.store.transaction() as transaction:
            await transaction.run("UPDATE leases SET owner_id = 'another', epoch = epoch + 1")
        before = await wonder.store.query("SELECT count(*) FROM events")
        gate.set()
        with pytest.raises(EngineStopped):
            await ended
        assert engine.stopped.is_set()
        assert "the engine stops" in caplog.text
        assert await wonder.store.query("SELECT count(*) FROM events") == before
        with pytest.raises(EngineStopped):
            await engine.collaborators.outside.cancel(run.id)
        with pytest.raises(WonderError):
            await engine.coordinator.durable()


async def test_an_engine_whose_lease_is_anothers_takes_no_parked_run_up(
    store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """INV-5: what it reads is what another one writes just then, and to go on with that would act a second time."""
    caplog.set_level(logging.CRITICAL)
    acted: list[str] = []

    async def work() -> dict[str, int]:
        acted.append("acted")
        return {}

    async with wonder_on(store_url, lambda store: store, {"work": work}) as wonder:
        engine = wonder.engine
        assert engine
        nodes = {"sleep": waits("sleep", {"ms": 3_600_000}), "only": calls("work")}
        run = await wonder.start(await wonder.deploy(bundle("parked", nodes, line("sleep", "only"))))
        await no_run_in_memory(wonder)
        async with wonder.store.transaction() as transaction:
            await transaction.run("UPDATE leases SET owner_id = 'another', epoch = epoch + 1")
            await transaction.run("UPDATE tokens SET status = 'dispatched'")
        with pytest.raises(EngineStopped):
            await engine.coordinator.residency.get(run.id)
        assert engine.stopped.is_set()
        assert not acted


async def test_an_engine_that_lost_its_lease_goes_on_when_it_has_it_again(
    store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """INV-1, INV-5: whoever has the database open takes over."""
    caplog.set_level(logging.CRITICAL)
    stores: list[FaultyStore] = []

    def wrap(real: Store) -> FaultyStore:
        stores.append(FaultyStore(real))
        return stores[0]

    async with wonder_on(store_url, wrap, {"work": dict}) as wonder:
        first = wonder.engine
        workflow = await wonder.deploy(bundle("two", {"a": calls("work"), "b": calls("work")}, line("a", "b")))
        run = await wonder.start(workflow)
        stores[0].fail(1, LeaseLost())
        async with asyncio.timeout(60):
            assert (await run.wait()).status == "completed"
        assert wonder.engine is not first
    await assert_sound(store_url)


async def test_a_run_on_which_the_engine_itself_fails_is_failed_and_others_go_on(
    store_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """INV-1: a bug of ours ends one run, visibly, and not the process."""
    caplog.set_level(logging.CRITICAL)

    move = EVOLVERS[MoveToken]

    def broken(run: RunState, decision: MoveToken) -> None:
        if decision.status == COMPLETED and run.tokens[decision.token_id].node.ref == "faulty":
            raise RecursionError("a bug")
        move(run, decision)

    monkeypatch.setitem(EVOLVERS, MoveToken, broken)
    called = 0

    async def bad_at_once() -> dict[str, bool]:
        nonlocal called
        called += 1
        return {"bad": True}

    async with wonder_on(store_url, lambda store: store, {"bad": bad_at_once, "good": dict}) as wonder:
        bad = await wonder.start(await wonder.deploy(bundle("bad", {"faulty": calls("bad")})))
        good = await wonder.start(await wonder.deploy(bundle("good", {"only": calls("good")})))
        assert (await good.wait()).status == "completed"
        async with asyncio.timeout(60):
            result = await bad.wait()
        assert result.error
        assert (result.status, result.error["code"]) == ("failed", "ENGINE_ERROR")
        assert called == 1  # not again and again: what it does in the world would be done each time
        await no_run_in_memory(wonder)
    await assert_sound(store_url)


async def test_nothing_is_stored_of_a_turn_on_which_the_engine_fails_when_parts_of_it_are_rows(
    store_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """INV-1, INV-3: all decisions of a turn are durable together, or none; the other runs of the batch go on."""
    caplog.set_level(logging.CRITICAL)
    monkeypatch.setattr(turn, "PART", 2)
    create = EVOLVERS[CreateToken]

    def broken(run: RunState, decision: CreateToken) -> None:
        if decision.branch_index == 5:
            raise RecursionError("a bug")
        create(run, decision)

    monkeypatch.setitem(EVOLVERS, CreateToken, broken)
    called = 0

    async def work(**_: Any) -> dict[str, bool]:
        nonlocal called
        called += 1
        return {}

    fan = bundle(
        "fan",
        {"first": calls("good"), "each": calls("work")},
        [{"from": "first", "to": "each", "foreach": {"collection": "input.items"}}],
    )
    async with wonder_on(store_url, lambda store: store, {"work": work, "good": dict}) as wonder:
        bad, good = await wonder.deploy(fan), await wonder.deploy(bundle("good", {"only": calls("good")}))
        runs = await asyncio.gather(
            wonder.start(bad, {"items": list(range(9))}), *[wonder.start(good, {}) for _ in range(5)]
        )
        async with asyncio.timeout(60):
            result, *others = await asyncio.gather(*[run.wait() for run in runs])
        assert result.error
        assert (result.status, result.error["code"]) == ("failed", "ENGINE_ERROR")
        assert [other.status for other in others] == ["completed"] * 5
        types = {event.type for event in await events_of_run(wonder.store, runs[0].id, limit=1_000)}
        assert "fan_out_started" not in types
        assert called == 0
        await no_run_in_memory(wonder)
    await assert_sound(store_url)
