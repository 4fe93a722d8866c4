"""CMD-12: data moves from SQLite to PostgreSQL by a command, as a whole or not at all."""

import json
from pathlib import Path
from typing import Any

import pytest

import wonder
from support.definitions import update, workflow
from support.systems import waits
from wonder.cli.main import main
from wonder.operations.databases import CopyTo, copy
from wonder.operations.declaring import Place
from wonder.operations.run_orders import find_run
from wonder.storage import context_tables
from wonder.storage.copying import CopyFailed
from wonder.storage.resource_errors import NotFound

SCHEMA: Any = {
    "type": "object",
    "properties": {
        "yes": {"type": "boolean"},
        "big": {"type": "integer"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "any": {},
    },
}
STATE = {
    "state.yes": "1 = 1",
    "state.big": "9007199254740993",
    "state.tags": """json('["b","a"]')""",
    "state.any": """json('{"x":[1.0]}')""",
}
NODES = {
    "set": update(**STATE),
    "ask": waits("human_input", {"prompt": "Go on?", "schema": {"type": "boolean"}}),
    "end": update(**{"output.tags": "state.tags", "output.yes": "state.yes", "output.any": "state.any"}),
}
WAYS: Any = [{"from": "set", "to": "ask"}, {"from": "ask", "to": "end"}]
MOVES = workflow(NODES, WAYS, name="moves", context_schema=SCHEMA)
FAILS = workflow({"no": {"action": {"kind": "assert", "implementation": {"expr": "1 = 2"}}}}, name="fails")


@pytest.mark.parametrize("tables_max", [100, 0], ids=["own tables", "shared tables"])
async def test_cmd_12_runs_go_on_in_the_copy(
    tmp_path: Path, fresh_postgres_url: str, monkeypatch: pytest.MonkeyPatch, tables_max: int
) -> None:
    """What has ended is there with all its events, what waits goes on, and what failed can be retried."""
    monkeypatch.setattr(context_tables, "OWN_TABLES_MAX", tables_max)
    monkeypatch.setattr(context_tables, "STORED_VIEWS_MAX", tables_max)
    source, objects = f"sqlite:///{tmp_path}/wonder.db", f"file://{tmp_path}/objects"
    async with wonder.open(source, objects=objects) as app:
        moves, fails = await app.deploy(MOVES), await app.deploy(FAILS)
        waiting = await app.start(moves, idempotency_key="one")
        failed = await app.start(fails)
        await failed.wait()
        while not [question async for question in app.inbox()]:
            pass
        before = [run async for run in app.runs()]
        context = await wonder.call(app, "runs.context", run_id=waiting.id)
        events = await wonder.call(app, "runs.events", run_id=waiting.id)
    copied = await copy(Place(source), CopyTo(target=fresh_postgres_url))
    assert copied.check.sound, copied.check.findings
    assert (copied.tables["runs"], copied.check.runs) == (2, 2)
    async with wonder.open(fresh_postgres_url, objects=objects) as app:
        assert [run async for run in app.runs()] == before
        assert await wonder.call(app, "runs.context", run_id=waiting.id) == context
        assert await wonder.call(app, "runs.events", run_id=waiting.id) == events
        assert (await app.start("moves", idempotency_key="one")).id == waiting.id
        (question,) = [question async for question in app.inbox()]
        await app.answer(question.id, True)
        result = await app.wait(waiting.id)
        assert result.output == {"tags": ["b", "a"], "yes": True, "any": {"x": [1.0]}}, result.error
        assert (await (await app.retry(failed.id)).wait()).status == "failed"
        view = await app.store.query("SELECT run_id, state_yes, state_tags FROM context_moves")
        assert [(run_id, yes) for run_id, yes, _ in view] == [(waiting.id, True)]
        with pytest.raises(NotFound):
            await find_run(app, "nothing")
        again = await app.deploy({"workflow": {**MOVES["workflow"], "description": "second"}})
        assert (await app.start(again)).id


async def test_cmd_12_a_copy_needs_an_empty_target_and_no_engine(tmp_path: Path, fresh_postgres_url: str) -> None:
    source = f"sqlite:///{tmp_path}/wonder.db"
    async with wonder.open(source) as app:
        await app.deploy(FAILS)
        with pytest.raises(CopyFailed, match="a process runs the engine of"):
            await copy(Place(source), CopyTo(target=fresh_postgres_url))
    with pytest.raises(CopyFailed, match="from SQLite"):
        await copy(Place(fresh_postgres_url), CopyTo(target=source))
    with pytest.raises(wonder.WonderError, match="there is no such file"):
        await copy(Place(f"sqlite:///{tmp_path}/nothing.db"), CopyTo(target=fresh_postgres_url))
    assert (await copy(Place(source), CopyTo(target=fresh_postgres_url))).check.sound
    with pytest.raises(CopyFailed, match="has data of Wonder already"):
        await copy(Place(source), CopyTo(target=fresh_postgres_url))


async def test_cmd_12_a_copy_that_fails_leaves_the_target_empty(
    tmp_path: Path, fresh_postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And can be made again, into the same target."""
    source = f"sqlite:///{tmp_path}/wonder.db"
    async with wonder.open(source) as app:
        await (await app.start(await app.deploy(FAILS))).wait()

    def fail(table: str, rows: int) -> None:
        if table == "runs":
            raise CopyFailed("the power failed")

    from wonder.app.copying import copy_database

    with pytest.raises(CopyFailed, match="the power failed"):
        await copy_database(source, fresh_postgres_url, fail)
    assert (await copy(Place(source), CopyTo(target=fresh_postgres_url))).check.sound


def test_cmd_12_the_command_says_what_it_copied(
    tmp_path: Path, fresh_postgres_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fails.json").write_text(json.dumps(FAILS))
    source = f"sqlite:///{tmp_path}/wonder.db"
    assert main(["run", "fails.json", "--db", source]) == 1
    assert main(["db", "copy", source, fresh_postgres_url]) == 0
    assert "1 run checked" in capsys.readouterr().out
    assert main(["db", "copy", source, fresh_postgres_url, "--json"]) == 2
    assert "COPY_FAILED" in capsys.readouterr().out
