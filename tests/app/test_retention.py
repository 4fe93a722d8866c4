"""EVT-5: what is older than the settings say goes, in small steps, and never what a live run needs."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from support.old_rows import OLD_MS, count, put_old_row, tables_of
from support.systems import assert_sound, bundle, calls, line, open_item, settle, status_of, until, waits
from support.triggers import give, source, trigger, triggered
from wonder.app.application import Application
from wonder.app.engine import Engine
from wonder.app.opening import open_wonder
from wonder.app.results import Run
from wonder.app.retention import CONTENT_MS, Retention
from wonder.checker.checking import Count, check_runs
from wonder.definitions.records.tenancy import ProjectSettings
from wonder.operations.declaring import NoInput
from wonder.operations.retention import apply_retention, preview_retention
from wonder.operations.schedules import CreateSchedule, OneSchedule, create_schedule, delete_schedule
from wonder.storage import retention as removing
from wonder.storage.store import Store, Transaction

DAY_MS = 86_400_000
NODE = {"action": {"kind": "update_context", "implementation": {"updates": []}}}
ARTIFACT = {
    "action": {
        "kind": "write_artifact",
        "implementation": {"artifact_type_id": "blob", "content_mapping": {"content": "the same"}},
    },
    "output_mapping": {"output.id": "$.artifact_id"},
}
ASK = waits("human_input", {"prompt": "?", "schema": {}})
READS = bundle("reads", {"ask": ASK}, input_schema={"type": "object", "properties": {"id": {"type": "string"}}})

# Why a table keeps its rows. One that is neither here nor emptied below fails the test: say why, or remove its rows.
KEPT = {
    "definitions are immutable, and archived instead of deleted (RES-2, RES-5)": (
        "workflow_defs nodes transitions triggers task_defs steps action_defs prompt_specs artifact_types phase_forms "
        "context_tables shared_context_tables query_views"
    ),
    "a person has made them, and archives or deletes them": (
        "workspaces workspace_settings projects project_settings libraries workflows model_profiles mcp_servers "
        "vector_indexes secrets schedules mcp_approvals"
    ),
    "a person has made them and revokes them; who used one can be asked for later (KEY-1)": ("api_keys"),
    "one row for each schedule, which goes with it": "schedule_states",
    "one row for each lease": "leases",
    "one row for each key that servers share": "server_keys",
    "two rows for each workflow and status, whatever the number of its runs": "run_counts",
    "a bounded number of slots, which are written again and again": "journal",
    "one row for each migration": "schema_migrations",
    "one row for each source of a transform, and for each server's tools: it grows with definitions, not with runs": (
        "compiled_transforms tool_schemas"
    ),
    "one row for 2,000 log records, which are kept for good in the object store (EVT-4a)": "log_archives",
}
# What is not filled with a row of no meaning: runs themselves, and what their removal needs.
FILLED_BY_RUNS = {"runs", "removed_runs", "removed_contents"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working directory of the test's own: the object store of a PostgreSQL database is in it."""
    monkeypatch.chdir(tmp_path)


@asynccontextmanager
async def opened(url: str, **functions: Any) -> AsyncIterator[tuple[Application, Retention]]:
    """Open a database whose project keeps runs for 90 days, with its retention as it is 100 days later."""
    named = {f"tests:{name}": function for name, function in (functions | {"give": give}).items()}
    async with open_wonder(url, functions=named) as wonder:
        await settle(wonder, retention={"events_days": 90})
        engine = engine_of(wonder)
        now_ms = engine.environment.now_ms
        engine.retention.now_ms = lambda: now_ms() + 100 * DAY_MS
        yield wonder, engine.retention
    await assert_sound(url)


def engine_of(wonder: Application) -> Engine:
    assert wonder.engine
    return wonder.engine


async def finish(retention: Retention) -> None:
    """Do all steps."""
    while await retention.step():
        pass


async def run_ids(wonder: Application) -> set[str]:
    return {str(id) for (id,) in await wonder.store.query("SELECT id FROM runs")}


async def ended(wonder: Application, name: str, input: Any = None) -> Run:
    run = await wonder.start(name, input)
    await run.wait()
    return run


async def written(wonder: Application) -> tuple[Run, str]:
    """Give a run that has ended, and the id of the artifact that it has written."""
    await wonder.deploy(bundle("writes", {"write": ARTIFACT}))
    run = await ended(wonder, "writes")
    ((artifact_id,),) = await wonder.store.query("SELECT id FROM artifacts WHERE run_id = $1", run.id)
    return run, str(artifact_id)


async def test_evt_5_a_run_that_ended_long_ago_goes_with_all_that_it_has(store_url: str) -> None:
    async with opened(store_url) as (wonder, retention):
        schema = {"type": "object", "properties": {"list": {"type": "array", "items": {"type": "integer"}}}}
        await wonder.deploy(bundle("plain", {"write": ARTIFACT}, input_schema=schema, context_schema=schema))
        run = await ended(wonder, "plain", {"list": [1, 2, 3]})
        now_ms, retention.now_ms = retention.now_ms, engine_of(wonder).environment.now_ms
        await finish(retention)
        assert await run_ids(wonder) == {run.id}, "it has just ended"
        retention.now_ms = now_ms
        await finish(retention)
        assert await run_ids(wonder) == set()
        ((key,),) = await wonder.store.query("SELECT storage_key FROM removed_contents")
        objects = engine_of(wonder)._artifacts
        assert objects
        assert await objects.objects.has(str(key)), "a backup may still copy it"
        retention.now_ms = lambda: now_ms() + CONTENT_MS + 1
        await finish(retention)
        assert not await objects.objects.has(str(key))


async def test_evt_5_content_that_another_artifact_has_too_is_kept(store_url: str) -> None:
    async with opened(store_url) as (wonder, retention):
        await wonder.deploy(bundle("plain", {"write": ARTIFACT}))
        await ended(wonder, "plain")
        await finish(retention)
        again = await ended(wonder, "plain")
        now_ms = retention.now_ms
        # A later look, at which the second run has not ended long ago.
        await wonder.store.commit([("UPDATE removed_contents SET since_ms = $1", [(OLD_MS,)])])
        retention.now_ms = engine_of(wonder).environment.now_ms
        await finish(retention)
        ((key,),) = await wonder.store.query("SELECT storage_key FROM artifacts")
        artifacts = engine_of(wonder)._artifacts
        assert artifacts
        assert await artifacts.objects.has(str(key))
        assert await run_ids(wonder) == {again.id}
        retention.now_ms = now_ms


async def test_evt_5_without_a_setting_runs_are_kept_for_ever(store_url: str) -> None:
    """Less than 90 days can't be set."""
    async with opened(store_url) as (wonder, retention):
        await wonder.deploy(bundle("plain", {"only": NODE}))
        run = await ended(wonder, "plain")
        await settle(wonder)
        retention.now_ms = lambda: OLD_MS * 10
        await finish(retention)
        assert await run_ids(wonder) == {run.id}
    with pytest.raises(ValueError, match="greater than or equal to 90"):
        ProjectSettings.model_validate({"retention": {"events_days": 89}})


async def test_evt_5_nothing_that_a_live_run_needs_is_removed(store_url: str) -> None:
    """Not what it called, retries, was forked or triggered from, nor an artifact whose id it knows."""
    tries = 0

    def fails_once() -> None:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise ValueError("once")

    async with opened(store_url, fails=fails_once) as (wonder, retention):
        await wonder.deploy(bundle("child", {"only": NODE}))
        call = {"action": {"kind": "workflow_call", "implementation": {"workflow_def_id": "child"}}}
        await wonder.deploy(bundle("caller", {"call": call, "ask": ASK}, [{"from": "call", "to": "ask"}]))
        caller = await wonder.start("caller")
        await open_item(wonder, caller)

        await wonder.deploy(bundle("failing", {"fail": calls("fails"), "ask": ASK}, [{"from": "fail", "to": "ask"}]))
        failed = await ended(wonder, "failing")
        again = await wonder.retry(failed.id)
        await open_item(wonder, again)

        asks = {key: value for key, value in bundle("waiting", {"ask": ASK})["workflow"].items() if key != "name"}
        await wonder.deploy(source(trigger("waiting"), waiting=asks))
        origin = await ended(wonder, "source", {})

        writer, artifact_id = await written(wonder)
        await wonder.deploy(READS)
        reader = await wonder.start("reads", {"id": artifact_id})
        await open_item(wonder, reader)

        before = await run_ids(wonder)
        assert len(before) == 8
        await finish(retention)
        assert await run_ids(wonder) == before
        assert (origin.id in before, writer.id in before) == (True, True)

        # Once all has ended, all goes.
        for run_id in before:
            if (await status_of(wonder, run_id, "waiting", "completed", "failed")).status == "waiting":
                await wonder.cancel(run_id)
        await finish(retention)
        assert await run_ids(wonder) == set()


async def test_evt_5_each_artifact_of_a_run_may_be_named_by_a_live_run(store_url: str, monkeypatch: Any) -> None:
    """Only the first ids that one query gives were looked for."""
    monkeypatch.setattr(removing, "ROWS_AT_ONCE", 2)
    async with opened(store_url) as (wonder, retention):
        nodes = {f"write{number}": ARTIFACT for number in range(5)}
        await wonder.deploy(bundle("writes", nodes, line(*nodes)))
        await wonder.deploy(READS)
        for place in range(5):
            writer = await ended(wonder, "writes")
            ids = await wonder.store.query("SELECT id FROM artifacts WHERE run_id = $1 ORDER BY id", writer.id)
            reader = await wonder.start("reads", {"id": ids[place][0]})
            await open_item(wonder, reader)
            await finish(retention)
            assert await run_ids(wonder) == {writer.id, reader.id}
            await wonder.cancel(reader.id)
            await finish(retention)
            assert await run_ids(wonder) == set()


async def test_evt_5_an_artifact_that_a_queued_run_is_given_is_kept(store_url: str) -> None:
    """Its input is not in its events yet."""
    gate = asyncio.Event()

    async def hold() -> None:
        await gate.wait()

    async with opened(store_url, hold=hold) as (wonder, retention):
        await settle(wonder, retention={"events_days": 90}, rate_limits={"max_concurrent_runs": 1})
        await wonder.deploy(bundle("holds", {"hold": calls("hold")}))
        await wonder.deploy(READS)
        writer, artifact_id = await written(wonder)
        holder = await wonder.start("holds")
        reader = await wonder.start("reads", {"id": artifact_id})
        await status_of(wonder, reader, "queued")
        await finish(retention)
        assert await run_ids(wonder) == {writer.id, holder.id, reader.id}
        gate.set()
        await open_item(wonder, reader)
        await holder.wait()
        await finish(retention)
        assert await run_ids(wonder) == {writer.id, reader.id}


@pytest.mark.parametrize("by", ["event", "schedule"])
async def test_evt_5_an_artifact_that_a_later_run_will_be_given_is_kept(store_url: str, by: str) -> None:
    async with opened(store_url) as (wonder, retention):
        await wonder.deploy(READS)
        writer, artifact_id = await written(wonder)
        if by == "event":
            await wonder.send_event("read", None, {"id": artifact_id})
        else:
            given = CreateSchedule(name="later", workflow="reads", cron="0 0 1 1 *", input={"id": artifact_id})
            await create_schedule(wonder, given)
        await finish(retention)
        assert await run_ids(wonder) == {writer.id}
        if by == "event":
            await wonder.store.commit([("UPDATE kept_events SET used_ms = 1, payload = NULL", [()])])
        else:
            await delete_schedule(wonder, OneSchedule(name="later"))
        await finish(retention)
        assert await run_ids(wonder) == set()


class Killed(Exception):
    """The process is gone."""


class Mortal:
    """A store whose process ends after some transactions; after each of them its runs are looked at."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.deaths = self.left = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        async with self._store.transaction() as transaction:
            yield transaction
        found = [str(violation) async for violation in check_runs(self._store, Count())]
        assert found == []
        self.left -= 1
        if self.left <= 0:
            self.deaths += 1
            raise Killed


async def test_evt_5_a_removal_goes_on_wherever_its_process_was_killed(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checker accepts the database after each transaction."""
    monkeypatch.setattr(removing, "RUNS_AT_ONCE", 2)
    monkeypatch.setattr(removing, "ROWS_AT_ONCE", 7)
    monkeypatch.setattr(removing, "_CLEANED_AT_ONCE", 2)
    async with opened(store_url) as (wonder, retention):
        await wonder.deploy(source(trigger("target", forEach="@input.items")))
        origin = await ended(wonder, "source", {"items": [1, 2, 3, 4, 5]})
        assert len(await triggered(wonder, origin)) == 5
        await wonder.deploy(bundle("other", {"write": ARTIFACT}))
        await ended(wonder, "other")
        assert len(await run_ids(wonder)) == 7
        mortal: Any = Mortal(wonder.store)
        engine = engine_of(wonder)
        for number in range(500):
            mortal.left = number % 6 + 1
            fresh = Retention(mortal, retention._lease, None, retention.now_ms, artifacts=engine._artifacts)
            try:
                await finish(fresh)
                break
            except Killed:
                continue
        else:
            pytest.fail("it does not end")
        assert mortal.deaths > 5
        assert await run_ids(wonder) == set()
        for table in (*removing.TABLES_OF_RUNS, "removed_runs", "artifacts"):
            assert await wonder.store.query(f"SELECT count(*) FROM {table}") == [(0,)], table


async def test_evt_5_a_family_to_which_a_run_has_come_is_kept(store_url: str) -> None:
    def fails() -> None:
        raise ValueError("always")

    async with opened(store_url, fails=fails) as (wonder, retention):
        await wonder.deploy(bundle("failing", {"fail": calls("fails")}))
        failed = await ended(wonder, "failing")
        family = await removing.family_of(wonder.store, failed.id, retention.now_ms())
        assert family.is_over
        again = await wonder.retry(failed.id)
        await again.wait()
        assert not await removing.remove_family(wonder.store, retention._lease, family)
        assert await run_ids(wonder) == {failed.id, again.id}
        assert await wonder.store.query("SELECT count(*) FROM removed_runs") == [(0,)]


async def test_evt_5_the_runs_of_a_schedule_go_and_the_schedule_goes_on(store_url: str) -> None:
    async with opened(store_url) as (wonder, retention):
        await wonder.deploy(bundle("plain", {"only": NODE}))
        await create_schedule(wonder, CreateSchedule(name="often", workflow="plain", every_ms=1_000))

        async def two() -> set[str]:
            rows = await wonder.store.query("SELECT id FROM runs WHERE completed_ms IS NOT NULL")
            return {str(id) for (id,) in rows} if len(rows) >= 2 else set()

        before = await until(two)
        await finish(retention)
        assert not before & await run_ids(wonder)
        rows = await wonder.store.query("SELECT run_id FROM schedule_firings")
        assert not before & {str(id) for (id,) in rows}
        assert not before & await until(two)


async def test_evt_5_what_is_old_can_be_counted_and_removed_by_hand(store_url: str) -> None:
    async with opened(store_url) as (wonder, retention):
        await wonder.deploy(bundle("plain", {"only": NODE}))
        await ended(wonder, "plain")
        (now,) = (await preview_retention(wonder, NoInput())).projects
        assert (now.project, now.events_days, now.logs_days, now.runs) == ("default", 90, 30, 0)
        (later,) = await removing.old_rows(wonder.store, retention.now_ms())
        assert later.runs == 1
        assert (await apply_retention(wonder, NoInput())).runs == 1
        assert (await apply_retention(wonder, NoInput())).runs == 0
        (gone,) = await removing.old_rows(wonder.store, retention.now_ms())
        assert gone.runs == 0


async def test_evt_5_every_table_shrinks_or_says_why_not(store_url: str) -> None:
    kept = {table for tables in KEPT.values() for table in tables.split()}
    async with opened(store_url) as (wonder, retention):
        schema = {"type": "object", "properties": {"list": {"type": "array", "items": {"type": "integer"}}}}
        copy = {"updates": [{"path": "state.list", "expr": "input.list"}]}
        nodes = {"copy": {"action": {"kind": "update_context", "implementation": copy}}, "write": ARTIFACT}
        await wonder.deploy(bundle("plain", nodes, line(*nodes), input_schema=schema, context_schema=schema))
        run = await ended(wonder, "plain", {"list": [1, 2, 3]})
        tables = await tables_of(wonder.store)
        assert kept - tables <= {"journal"}, "PostgreSQL has none"
        generated = {name for name in tables if name.startswith(("context_", "contexts_"))} - kept
        assert len(generated) >= 2
        async with wonder.store.transaction() as transaction:
            for table in sorted(tables - kept - generated - FILLED_BY_RUNS):
                await put_old_row(transaction, wonder, table, run.id)
        filled = {name for name in tables - kept if await count(wonder.store, name)}
        assert filled == tables - kept - {"removed_runs", "removed_contents"}
        await engine_of(wonder)._tidy()
        await finish(retention)
        now_ms = retention.now_ms
        retention.now_ms = lambda: now_ms() + CONTENT_MS + 1
        await finish(retention)
        left = {name for name in tables - kept if await count(wonder.store, name)}
        assert left == set(), "remove the rows of these tables in storage/retention.py, or say in KEPT why they stay"
