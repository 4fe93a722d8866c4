"""Logged facts: runs go on when results are durable in the journal; from rows and facts anybody comes to the same."""

import asyncio
import logging
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import apsw
import pytest

from support.faulty_stores import FaultyStore, wonder_on
from support.lines import NODES, work_in_line
from support.systems import assert_sound, event_types
from support.tasks import until
from wonder.app.application import Application
from wonder.app.opening import open_wonder
from wonder.app.results import Run
from wonder.coordinator import starting
from wonder.coordinator.live import LiveRun
from wonder.coordinator.starting import Starter
from wonder.engine.decisions import MoveToken
from wonder.engine.evolve import EVOLVERS
from wonder.engine.facts import TaskCompleted
from wonder.engine.state import COMPLETED, RunState
from wonder.errors import WonderError
from wonder.storage import run_writer
from wonder.storage.errors import ConnectionLost, DatabaseFailed, DiskFull
from wonder.storage.logged_facts import LoggedFact, decode_facts, encode_facts
from wonder.storage.runs.loading import LoadedRun
from wonder.storage.sqlite import commits as sqlite_commits
from wonder.storage.sqlite.durable_file import DurableFile
from wonder.storage.store import Store


class LoggingStore(FaultyStore):
    """A store that counts what is logged, and keeps what a crash would leave at a chosen moment."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.logged = 0
        self.copy_at: tuple[int, Path] | None = None

    def log(self, *arguments: Any) -> bool:
        """Log facts."""
        is_logged = super().log(*arguments)
        self.logged += is_logged
        if is_logged and self.copy_at and self.logged == self.copy_at[0]:
            database = Path(self.address)
            for file in database.parent.glob(f"{database.name}*"):
                if not file.name.endswith(("-shm", ".lock")):
                    shutil.copy(file, self.copy_at[1] / file.name)
        return is_logged


class Works:
    """A database on a disk that is taken for fast, and what was done by its runs."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.stores: list[LoggingStore] = []
        self.worked: Counter[str] = Counter()
        self.value: Any = "done"
        self._held: dict[str, tuple[asyncio.Event, asyncio.Event]] = {}

    def wrap(self, store: Store) -> LoggingStore:
        """Wrap a store that was opened."""
        self.stores.append(LoggingStore(store))
        return self.stores[-1]

    async def work(self, name: str) -> Any:
        """Do the work of a node."""
        self.worked[name] += 1
        if name in self._held:
            reached, go_on = self._held[name]
            reached.set()
            await go_on.wait()
        return self.value

    def held_at(self, name: str) -> tuple[asyncio.Event, asyncio.Event]:
        """Have a node wait; gives what is set when it is reached, and what lets it go on."""
        self._held[name] = asyncio.Event(), asyncio.Event()
        return self._held[name]

    def opened(self) -> Any:
        """Open the database with its engine."""
        return wonder_on(self.url, self.wrap, {"work": self.work})


@pytest.fixture
def works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Works:
    """All facts are logged that may be, and their rows wait until somebody wants them."""
    monkeypatch.setattr(sqlite_commits, "FAST_SECONDS", 60.0)
    monkeypatch.setattr(sqlite_commits, "QUICK_SECONDS", 60.0)
    monkeypatch.setattr(run_writer, "UNSETTLED_MS", 60_000)
    return Works(f"sqlite:///{tmp_path / 'wonder.db'}")


async def started(wonder: Application, definition: dict[str, Any] | None = None) -> Run:
    workflow = await wonder.deploy(definition or work_in_line())
    return await wonder.start(workflow)


def in_tables(url: str) -> list[tuple[Any, ...]]:
    """Look at tokens as a program would that knows nothing of Wonder."""
    connection = apsw.Connection(url.removeprefix("sqlite:///"), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return connection.execute("SELECT status, count(*) FROM tokens GROUP BY status ORDER BY status").fetchall()
    finally:
        connection.close()


async def test_a_lone_run_is_two_commits_and_a_logged_fact_for_each_node_between(works: Works) -> None:
    async with works.opened() as wonder:
        assert (await (await started(wonder)).wait()).status == "completed"
        await asyncio.sleep(0.01)
        works.stores[0].logged = works.stores[0].commits = 0
        run = await started(wonder)
        assert (await run.wait()).status == "completed"
        assert works.stores[0].logged == len(NODES) - 1
        assert works.stores[0].commits == len(NODES) + 1
        types = Counter(await event_types(wonder, run))
        assert types["node_completed"] == types["token_completed"] == len(NODES)
    await assert_sound(works.url)


async def test_inv_3_no_task_acts_before_the_fact_that_leads_to_it_is_durable(
    works: Works, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though the rows of that fact are not in the tables."""
    seen: list[tuple[int, int]] = []
    write = DurableFile.write

    def write_and_look(file: DurableFile, place: int, content: bytes) -> None:
        before = works.worked.total()
        write(file, place, content)
        seen.append((before, works.worked.total()))

    monkeypatch.setattr(DurableFile, "write", write_and_look)
    async with works.opened() as wonder:
        await (await started(wonder)).wait()
        seen.clear()
        works.worked.clear()
        await (await started(wonder)).wait()
    assert seen == [(number, number) for number in range(1, len(NODES))]


async def test_many_runs_log_their_facts_together(works: Works) -> None:
    async with works.opened() as wonder:
        workflow = await wonder.deploy(work_in_line())
        runs = await asyncio.gather(*[wonder.start(workflow) for _ in range(40)])
        assert {(await run.wait()).status for run in runs} == {"completed"}
        assert 0 < works.stores[0].logged < 10 * len(NODES)
    assert works.worked == dict.fromkeys(NODES, 40)
    await assert_sound(works.url)


async def test_who_reads_through_the_engine_sees_all_facts_and_others_a_moment_later(
    works: Works, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached, go_on = works.held_at(NODES[8])
    async with works.opened() as wonder:
        run = await started(wonder)
        await reached.wait()
        assert dict(in_tables(works.url)).get("completed", 0) < 8
        types = Counter(await event_types(wonder, run))
        assert types["node_completed"] == 8
        assert dict(in_tables(works.url))["completed"] == 8
        go_on.set()
        assert (await run.wait()).status == "completed"
    monkeypatch.setattr(run_writer, "UNSETTLED_MS", 20)
    reached.clear()
    go_on.clear()
    async with works.opened() as wonder:
        run = await started(wonder)
        await reached.wait()
        await until(lambda: dict(in_tables(works.url))["completed"] == len(NODES) + 8)
        go_on.set()
        assert (await run.wait()).status == "completed"


async def test_what_starts_and_the_engines_own_looks_need_settles_nothing(
    works: Works, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Definitions, settings, schedules and requests are never logged: they are read while rows wait."""
    reached, go_on = works.held_at(NODES[8])
    async with works.opened() as wonder:
        workflow = await wonder.deploy(work_in_line())
        run = await wonder.start(workflow)
        await reached.wait()
        rows = in_tables(works.url)
        engine = wonder.engine
        await engine.collaborators.starter.program(workflow.workflow_def_id, None)
        monkeypatch.setattr(starting, "_SETTINGS_MS", -1)
        await engine.collaborators.starter.settings(workflow.project_id)
        await engine.resources.tenancy(workflow.project_id)
        await engine.collaborators.scheduler.look()
        await engine.collaborators.orders.look_for_requests()
        assert in_tables(works.url) == rows
        assert dict(rows).get("completed", 0) < 8
        go_on.set()
        assert (await run.wait()).status == "completed"


@pytest.mark.parametrize("logged", [1, 6, len(NODES) - 1])
async def test_inv_2_what_a_process_left_in_the_journal_is_taken_by_the_next_one(
    works: Works, tmp_path: Path, logged: int
) -> None:
    """INV-2, INV-4: no task whose result was logged is run again, and all rows are as they would have been."""
    left = tmp_path / "left"
    left.mkdir()
    async with works.opened() as wonder:
        await (await started(wonder, work_in_line("warm", NODES[:2]))).wait()
        store = works.stores[0]
        store.copy_at = (store.logged + logged, left)
        run = await started(wonder)
        assert (await run.wait()).status == "completed"
        expected = await event_types(wonder, run)
    other = Works(f"sqlite:///{left / 'wonder.db'}")
    async with other.opened() as wonder:
        result = await wonder.wait(run.id)
        assert result.status == "completed"
        types = await event_types(wonder, run.id)
        # But for the task that the process had when it ended, which is dispatched again.
        (again,) = [at for at in range(len(types) - 1) if types[at] == types[at + 1] == "token_dispatched"]
        assert [*types[:again], *types[again + 1 :]] == expected
    assert other.worked == dict.fromkeys(NODES[logged:], 1)
    await assert_sound(other.url)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("error", [DiskFull("commit"), ConnectionLost("commit")], ids=lambda error: error.code)
async def test_a_run_survives_a_log_or_a_commit_that_fails_at_any_moment(
    works: Works, when: str, error: WonderError, caplog: pytest.LogCaptureFixture
) -> None:
    """INV-1, INV-2, INV-4: what is logged follows upon the rows, whatever became of their commit."""
    caplog.set_level(logging.CRITICAL)
    async with works.opened() as wonder:
        workflow = await wonder.deploy(work_in_line())
        store = works.stores[0]
        for ahead in range(2, len(NODES) + 2):
            run = await wonder.start(workflow)
            works.worked.clear()
            store.fail(ahead - 1, error, when)
            assert (await run.wait()).status == "completed"
            assert works.worked == dict.fromkeys(NODES, 1)
        assert store.hits == len(NODES)
    await assert_sound(works.url)


async def test_inv_5_an_engine_whose_file_was_shut_stops_and_the_next_one_goes_on(works: Works) -> None:
    reached, go_on = asyncio.Event(), asyncio.Event()

    async def work(name: str) -> str:
        works.worked[name] += 1
        if name == NODES[4] and not reached.is_set():
            reached.set()
            await go_on.wait()
        return name

    works.work = work  # type: ignore[method-assign]
    async with works.opened() as first:
        run = await started(first)
        await reached.wait()
        assert first.engine is not None
        first.engine.coordinator._lease.abandon()
        async with works.opened() as second:
            assert (await second.wait(run.id)).status == "completed"
            go_on.set()
            await asyncio.sleep(0.05)
    assert works.worked == {name: 2 if name == NODES[4] else 1 for name in NODES}
    await assert_sound(works.url)


async def test_an_engine_that_runs_nothing_takes_the_facts_of_others_and_leaves_their_tasks_to_them(
    works: Works, tmp_path: Path
) -> None:
    left = tmp_path / "left"
    left.mkdir()
    async with works.opened() as wonder:
        await (await started(wonder, work_in_line("warm", NODES[:2]))).wait()
        works.stores[0].copy_at = (works.stores[0].logged + 5, left)
        run = await started(wonder)
        await run.wait()
    url = f"sqlite:///{left / 'wonder.db'}"
    before = dict(in_tables(url))
    async with open_wonder(url, runs="none"):
        pass
    after = dict(in_tables(url))
    assert (after["completed"] - before["completed"], after["dispatched"]) == (5, 1)
    other = Works(url)
    async with other.opened() as wonder:
        assert (await wonder.wait(run.id)).status == "completed"
    assert other.worked == dict.fromkeys(NODES[5:], 1)


async def test_facts_of_a_run_that_can_not_be_loaded_stay_until_it_can(
    works: Works, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """INV-2: whatever keeps it from being loaded, and whatever other runs do meanwhile."""
    caplog.set_level(logging.CRITICAL)
    left = tmp_path / "left"
    left.mkdir()
    async with works.opened() as wonder:
        await (await started(wonder, work_in_line("warm", NODES[:2]))).wait()
        works.stores[0].copy_at = (works.stores[0].logged + 5, left)
        run = await started(wonder)
        await run.wait()
    other = Works(f"sqlite:///{left / 'wonder.db'}")
    restored = Starter.restored

    async def refuse(starter: Starter, loaded: LoadedRun) -> LiveRun:
        if loaded.header.id == run.id:
            raise RuntimeError("a package is missing")
        return await restored(starter, loaded)

    with monkeypatch.context() as patch:
        patch.setattr(Starter, "restored", refuse)
        async with open_wonder(other.url, runs="own", functions={"tests:work": other.work}) as own:
            assert (await (await started(own)).wait()).status == "completed"
    other.worked.clear()
    async with other.opened() as wonder:
        assert (await wonder.wait(run.id)).status == "completed"
    assert other.worked == dict.fromkeys(NODES[5:], 1)
    await assert_sound(other.url)


async def test_who_reads_is_not_kept_waiting_by_a_run_that_goes_on_quickly(works: Works) -> None:
    many = [f"node-{number}" for number in range(1_000)]
    async with works.opened() as wonder:
        workflow = await wonder.deploy(work_in_line("many", many))
        run = await wonder.start(workflow)
        ended = asyncio.create_task(run.wait())
        reads = 0
        while not ended.done():
            await works.stores[0].query("SELECT count(*) FROM tokens")
            reads += 1
            await asyncio.sleep(0)
        assert (await ended).status == "completed"
        assert reads > 5  # some five milliseconds are the run's, and it takes a hundred or two


async def test_a_fact_on_which_the_engine_fails_fails_its_run_and_no_other(
    works: Works, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    move, count = EVOLVERS[MoveToken], 0

    def fail_once(run: RunState, decision: Any) -> None:
        nonlocal count
        count += decision.status == COMPLETED
        if count == 6 and decision.status == COMPLETED:
            raise RuntimeError("a bug of ours")
        move(run, decision)

    async with works.opened() as wonder:
        workflow = await wonder.deploy(work_in_line())
        await (await wonder.start(workflow)).wait()
        monkeypatch.setitem(EVOLVERS, MoveToken, fail_once)
        result = await (await wonder.start(workflow)).wait()
        assert (result.status, result.error["code"]) == ("failed", "ENGINE_ERROR")
        assert (await (await wonder.start(workflow)).wait()).status == "completed"
    await assert_sound(works.url)


@pytest.mark.parametrize("value", [2**70, -(2**70), "x" * 3_000_000, {"é": [1.0, 1, None]}, "𝄞" * 5_000])
async def test_whatever_a_task_gives_is_kept(works: Works, value: Any) -> None:
    works.value = value
    async with works.opened() as wonder:
        run = await started(wonder)
        await run.wait()
    async with works.opened() as wonder:
        result = await wonder.wait(run.id)
        assert (result.status, result.output) == ("completed", {"value": value})
    await assert_sound(works.url)


def test_facts_are_read_as_they_were_written() -> None:
    fact = TaskCompleted("t", {"a": [1, 1.0, None, "é"]}, 5, 2, [{"ref": "x"}], 7, 0.5, (("budget_alert", {"n": 1}),))
    facts = [LoggedFact("r1", 1, "t1", fact), LoggedFact("r2", 2, "t2", TaskCompleted("u", 2**63))]
    entry = encode_facts(facts)
    assert entry is not None
    found = decode_facts([entry, entry])
    assert list(found) == ["r1", "r2"]
    assert [one._replace(fact=fact) for one in found["r1"]] == [facts[0]] * 2
    read = found["r1"][0].fact
    assert (read.output, read.steps, read.cost_usd) == (fact.output, fact.steps, 0.5)
    assert read == fact


def test_what_can_not_be_written_down_is_not_logged() -> None:
    assert encode_facts([LoggedFact("r", 1, "t", TaskCompleted("u", 2**64))]) is None
    assert encode_facts([LoggedFact("r", 1, "t", TaskCompleted("u", "\ud800"))]) is None


@pytest.mark.parametrize("entry", [b"", b"\x92\x02\x90", b"\x92\x01\x91\x90", b"\xc1"])
def test_an_entry_that_can_not_be_read_is_not_left_out(entry: bytes) -> None:
    with pytest.raises(DatabaseFailed, match="an entry of the journal can't be read"):
        decode_facts([entry])
