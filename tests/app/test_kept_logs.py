"""EVT-4a: what actions, their programs and Wonder itself log is kept with its run and node, and never slows a run."""

import asyncio
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from support.systems import bundle, calls, line, running, settle_workspace, until
from wonder.actions.captured_logs import say
from wonder.actions.logs import collecting
from wonder.actions.python.kind import current_context
from wonder.app import log_writing
from wonder.app.application import Application
from wonder.app.log_archive import archive_records
from wonder.app.objects import objects_of
from wonder.operations.logs import ListLogs, LogMessage, WhichLogs, follow_logs, list_logs
from wonder.storage.errors import DiskFull
from wonder.storage.logs import LogRecord, oldest_records
from wonder.storage.pages import LAST
from wonder.storage.resource_errors import NotFound
from wonder.storage.store import Store

log = logging.getLogger("shop.prices")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working directory of the test's own: the object store of a PostgreSQL database is in it."""
    monkeypatch.chdir(tmp_path)


async def logged(wonder: Application, count: int, **which: Any) -> list[LogMessage]:
    """Give so many messages, oldest first, as soon as they are written."""

    async def look() -> list[LogMessage] | None:
        found = (await list_logs(wonder, ListLogs(**which))).logs
        return found if len(found) >= count else None

    return list(reversed(await until(look)))


async def of_no_project(wonder: Application) -> list[LogRecord]:
    """Give what belongs to no project."""
    return await oldest_records(wonder.store, None, LAST, 1_000)


@pytest.mark.parametrize("way", ["async", "thread"])
async def test_evt_4a_what_a_function_logs_is_kept_with_its_run_node_and_token(store_url: str, way: str) -> None:
    def price() -> str:
        log.warning("no discount for %s", "tea", extra={"cents": 300})
        current_context().logger.info("the price is %d", 3)
        say(logging.INFO, "stdout", "printed")
        return "done"

    async def priced() -> str:
        return price()

    async with running(store_url, price=price if way == "thread" else priced) as wonder:
        await wonder.deploy(bundle("prices", {"ask": calls("price", output_mapping={})}))
        run = await wonder.start("prices")
        assert (await run.wait()).status == "completed"
        first, second, third = await logged(wonder, 3, run_id=run.id)
        assert (first.level, first.service, first.message) == ("warning", "shop.prices", "no discount for tea")
        assert first.metadata == {"step": "action", "branch": "0", "attempt": 1, "cents": 300}
        assert (second.level, second.service, second.message) == ("info", "wonder.actions", "the price is 3")
        assert (third.level, third.service, third.message) == ("info", "stdout", "printed")
        ((token_id,),) = await wonder.store.query("SELECT id FROM tokens")
        for message in (first, second, third):
            home = wonder.home
            assert (message.workspace_id, message.project_id) == (home.workspace_id, home.project_id)
            assert (message.trace_id, message.run_id, message.node) == (run.id, run.id, "ask")
            assert message.token_id == token_id
        assert [one.message for one in await logged(wonder, 1, level="warning")] == ["no discount for tea"]
        assert (await list_logs(wonder, ListLogs(node="other"))).logs == []
        assert (await list_logs(wonder, ListLogs(until_ms=first.timestamp))).logs == []
        assert len((await list_logs(wonder, ListLogs(since_ms=first.timestamp))).logs) == 3


async def test_evt_4a_a_failed_attempt_is_logged_with_the_traceback_of_the_function(store_url: str) -> None:
    def broken() -> None:
        raise KeyError("tea")

    async with running(store_url, broken=broken) as wonder:
        await wonder.deploy(bundle("prices", {"ask": calls("broken")}))
        run = await wonder.start("prices")
        assert (await run.wait()).status == "failed"
        (message,) = await logged(wonder, 1, run_id=run.id, level="error")
        assert message.message.startswith("PYTHON_EXCEPTION: ")
        assert message.error_stack
        assert 'raise KeyError("tea")' in message.error_stack


async def test_evt_4a_the_standard_error_of_a_command_is_logged_line_by_line(store_url: str) -> None:
    script = "import sys; print('one', file=sys.stderr); print('two', file=sys.stderr); sys.exit(3)"
    command = {"command": [sys.executable, "-I", "-S", "-c", script]}
    async with running(store_url) as wonder:
        await settle_workspace(wonder, allow_shell=True)
        await wonder.deploy(bundle("shell", {"sh": {"action": {"kind": "shell_command", "implementation": command}}}))
        run = await wonder.start("shell")
        assert (await run.wait()).status == "failed"
        *lines, failure = await logged(wonder, 3, run_id=run.id)
        assert [(one.service, one.level, one.message) for one in lines] == [
            ("shell_command", "info", "one"),
            ("shell_command", "info", "two"),
        ]
        assert failure.level == "error"
        assert failure.message.startswith("COMMAND_FAILED: ")


async def test_evt_4a_what_wonder_itself_warns_of_is_kept_with_the_run_that_it_names(store_url: str) -> None:
    async with running(store_url, nothing=lambda: None) as wonder:
        await wonder.deploy(bundle("quiet", {"ask": calls("nothing")}))
        run = await wonder.start("quiet")
        await run.wait()
        logging.getLogger("wonder.coordinator").warning("run %s is odd", run.id, extra={"run_id": run.id})
        logging.getLogger("wonder.engine").error("the engine is odd")
        logging.getLogger("elsewhere").error("of no concern")
        (named,) = await logged(wonder, 1)
        assert (named.run_id, named.project_id, named.trace_id) == (run.id, wonder.home.project_id, run.id)
        (other,) = await until(lambda: of_no_project(wonder))
        assert (other.message, other.run_id) == ("the engine is odd", None)
        assert len(other.trace_id) == 26


async def test_evt_4a_nothing_is_begun_while_nobody_logs(store_url: str) -> None:
    begun: list[object] = []
    made = log_writing.LogWriter._keep_writing
    log_writing.LogWriter._keep_writing = lambda self: begun.append(self) or made(self)  # type: ignore[method-assign,func-returns-value]
    try:
        async with running(store_url, nothing=lambda: None) as wonder:
            await wonder.deploy(bundle("quiet", {"ask": calls("nothing")}))
            await (await wonder.start("quiet")).wait()
            assert begun == []
    finally:
        log_writing.LogWriter._keep_writing = made  # type: ignore[method-assign]


async def test_evt_4a_runs_go_on_while_logs_can_t_be_written_and_the_dropped_are_counted(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written, is_full = log_writing.write_records, True

    async def write(store: Store, records: Sequence[LogRecord]) -> None:
        if is_full:
            raise DiskFull("the disk is full")
        await written(store, records)

    monkeypatch.setattr(log_writing, "write_records", write)
    monkeypatch.setattr(log_writing, "_FIRST_PAUSE_MS", 10.0)
    monkeypatch.setattr(log_writing, "_LONGEST_PAUSE_MS", 20.0)
    monkeypatch.setattr(collecting, "RECORDS_MAX", 100)

    def chat() -> None:
        for number in range(1_000):
            log.warning("line %d", number)

    async with running(store_url, chat=chat) as wonder:
        await wonder.deploy(bundle("chat", {"ask": calls("chat")}))
        run = await wonder.start("chat")
        assert (await run.wait()).status == "completed"
        is_full = False

        async def reported() -> list[LogRecord]:
            return [one for one in await of_no_project(wonder) if "were dropped" in one.message]

        (dropped,) = await until(reported)
        lines = [one for one in await every(wonder) if one.message.startswith("line ")]
        assert 0 < len(lines) <= 200
        assert dropped.message.startswith(f"{1_000 - len(lines):,} log records were dropped")


async def every(wonder: Application, **which: Any) -> list[LogMessage]:
    """Give all messages, page by page."""
    found: list[LogMessage] = []
    cursor = None
    while True:
        page = await list_logs(wonder, ListLogs(limit=7, cursor=cursor, **which))
        found += page.logs
        cursor = page.cursor
        if cursor is None:
            return found


async def test_evt_4a_archived_logs_are_found_as_before(store_url: str) -> None:
    def chat(number: int) -> None:
        for line_number in range(5):
            (log.error if line_number == 4 else log.warning)("%d %d", number, line_number)

    async with running(store_url, chat=chat) as wonder:
        nodes = {name: calls("chat", input_mapping={"number": "$.input.number"}) for name in ("one", "two")}
        await wonder.deploy(bundle("chat", nodes, line("one", "two")))
        runs = [await wonder.start("chat", {"number": number}) for number in range(4)]
        await logged(wonder, 40)
        before, of_run = await every(wonder), await every(wonder, run_id=runs[1].id, node="two", level="error")
        assert len(before) == 40
        assert len(of_run) == 1
        claim: Any = wonder.claim
        objects = objects_of(wonder.url, wonder.objects_url)
        # What is newest stays in the table.
        end = before[9].id
        assert await archive_records(wonder.store, objects, claim._lease, wonder.home.project_id, end) == 30
        assert await archive_records(wonder.store, objects, claim._lease, wonder.home.project_id, end) == 0
        ((left,),) = await wonder.store.query("SELECT count(*) FROM log_records")
        assert left == 10
        assert await every(wonder) == before
        assert await every(wonder, run_id=runs[1].id, node="two", level="error") == of_run
        assert await every(wonder, since_ms=before[20].timestamp, until_ms=before[0].timestamp) == [
            one for one in before if before[20].timestamp <= one.timestamp < before[0].timestamp
        ]


async def test_evt_4a_the_engine_archives_logs_after_logs_days(store_url: str) -> None:
    async with running(store_url, chat=lambda: log.warning("old")) as wonder:
        await wonder.deploy(bundle("chat", {"ask": calls("chat")}))
        await (await wonder.start("chat")).wait()
        (before,) = await logged(wonder, 1)
        assert wonder.engine
        retention = wonder.engine.retention
        await retention.look()
        assert await wonder.store.query("SELECT count(*) FROM log_records") == [(1,)]
        now_ms = retention.now_ms
        retention.now_ms = lambda: now_ms() + 31 * 86_400_000
        await retention.look()
        assert await wonder.store.query("SELECT count(*) FROM log_records") == [(0,)]
        assert await logged(wonder, 1, run_id=before.run_id) == [before]


async def test_evt_4a_logs_can_be_followed_until_the_run_has_ended(store_url: str) -> None:
    go_on = asyncio.Event()

    async def chat() -> None:
        log.warning("begun")
        await go_on.wait()
        log.warning("ended")

    async with running(store_url, chat=chat) as wonder:
        await wonder.deploy(bundle("chat", {"ask": calls("chat")}))
        run = await wonder.start("chat")
        seen = []
        async with asyncio.timeout(60):
            async for message in follow_logs(wonder, WhichLogs(run_id=run.id, since_ms=0)):
                seen.append(message.message)
                go_on.set()
        assert seen == ["begun", "ended"]


async def test_inv_7_logs_of_another_project_are_not_found(store_url: str) -> None:
    async with running(store_url, chat=lambda: log.warning("mine")) as wonder:
        await wonder.deploy(bundle("chat", {"ask": calls("chat")}))
        run = await wonder.start("chat")
        await run.wait()
        await logged(wonder, 1)
        ours = wonder.home
        wonder.home = replace(wonder.home, project_id="01KOTHERPROJECT")
        try:
            assert (await list_logs(wonder, ListLogs())).logs == []
            with pytest.raises(NotFound):
                await list_logs(wonder, ListLogs(run_id=run.id))
        finally:
            wonder.home = ours
