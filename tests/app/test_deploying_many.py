"""Deploying does not get slower because of what else is stored."""

import asyncio
from pathlib import Path
from typing import Any

import apsw
import pytest

from support.definitions import noop, workflow
from wonder.app.opening import open_wonder
from wonder.storage.queries import load_queries
from wonder.storage.sqlite.store import SqliteStore
from wonder.storage.store import Store
from wonder.storage.url import SqliteAddress


async def test_deploying_reads_nothing_by_another_connection_than_the_one_that_writes(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On SQLite another one would first read the whole schema anew: 45 ms with 1,200 workflows, and more with each."""
    async with open_wonder(store_url, runs="none") as wonder:
        asked: list[str] = []
        deploying = asyncio.current_task()

        def watch(name: str) -> None:
            original = getattr(wonder.store, name)

            async def watched(query: str, *parameters: Any) -> Any:
                # The engine's own looks go on meanwhile, in tasks of theirs.
                if asyncio.current_task() is deploying:
                    asked.append(query)
                return await original(query, *parameters)

            monkeypatch.setattr(wonder.store, name, watched)

        for name in ("fetch", "fetch_named", "query"):
            watch(name)
        deployed = await wonder.deploy(workflow({"a": noop()}))
        assert asked == []
        monkeypatch.undo()
        assert await wonder.workflow(deployed.name) == deployed
        assert await wonder.deploy(workflow({"a": noop()})) == deployed, "what is there already is given as it is"


async def test_the_name_of_a_context_table_is_looked_up_by_an_index(store: Store) -> None:
    if store.dialect != "sqlite":
        pytest.skip("PostgreSQL plans by the sizes of tables, which are small here")
    sql = load_queries("sqlite")["owner_of_context_table"]
    plan = [str(step) for *_, step in await store.query(f"EXPLAIN QUERY PLAN {sql}", "context_a")]
    assert [step for step in plan if "SCAN" in step] == []
    assert {name for step in plan for name in step.split() if name.endswith("_name")} == {
        "context_tables_name",
        "query_views_name",
    }


async def test_a_read_goes_on_when_the_schema_changes_faster_than_it_can_be_read(tmp_path: Path) -> None:
    store = await SqliteStore.open(SqliteAddress(tmp_path / "app.db"), busy_seconds=1)
    seen: list[bool] = []

    def work(connection: apsw.Connection) -> str:
        seen.append(connection.in_transaction)
        if len(seen) == 1:
            raise apsw.SchemaChangeError("database schema has changed")
        return "read"

    try:
        assert await store._read(work) == "read"
        assert seen == [False, True], "the second time in a transaction, in which the schema stays as it is"
        assert await store.query("SELECT 1") == [(1,)]
    finally:
        await store.close()
