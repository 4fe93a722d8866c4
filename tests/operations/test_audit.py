"""The audit log on both databases: each change by a caller has a record without secrets, which nothing changes."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import wonder.storage
from support.systems import bundle, running
from wonder.app.application import Application
from wonder.app.callers import Caller
from wonder.app.opening import open_app
from wonder.cli.main import main
from wonder.errors import WonderError
from wonder.operations.audit import AuditRecord, ListAudit, list_audit
from wonder.operations.audit_texts import shown_value
from wonder.operations.catalogue import call
from wonder.storage.retention import DAY_MS
from wonder.storage.ulids import ulid_of

CANARY = "canary-5d41402abc4b2a76"
NODE = {"action": {"kind": "update_context", "implementation": {"updates": []}}}


@pytest.fixture
async def app(store_url: str) -> AsyncIterator[Application]:
    """A database that a person has open, as somebody with the key `ci` uses it."""
    async with open_app(store_url) as app:
        home = app.home
        yield app.acting_for(Caller("ci", "admin", home.workspace_id, home.project_id, "abcdefgh"))


async def records(app: Application, **which: Any) -> list[AuditRecord]:
    return (await list_audit(app, ListAudit(oldest_first=True, **which))).records


async def test_key_5_a_change_has_a_record_of_who_did_what_and_how_it_ended(app: Application) -> None:
    await call(app, "schedules.list")
    await call(app, "settings.set", of="project", key="foreach_limit", value=7)
    with pytest.raises(WonderError):
        await call(app, "settings.set", of="project", key="foreach_limit", value="many")
    with pytest.raises(WonderError):
        await call(app, "workflows.archive", name="nothing")
    with pytest.raises(WonderError):
        await call(app, "projects.create", name="mine")
    done, refused, missing, denied = await records(app.acting_for(Caller("all", "admin")))
    assert (done.who, done.who_kind, done.key_id, done.role) == ("ci", "key", "abcdefgh", "admin")
    assert (done.operation, done.outcome, done.project_id) == ("settings.set", "ok", app.home.project_id)
    assert done.input == {"of": "project", "key": "foreach_limit", "value": 7}
    assert done.settings
    assert (done.settings.before, done.settings.after) == (100_000, 7)
    assert (refused.outcome, refused.settings) == ("SETTING_REFUSED", None)
    assert (missing.operation, missing.outcome) == ("workflows.archive", "NOT_FOUND")
    assert (denied.operation, denied.outcome, denied.project_id) == ("projects.create", "NOT_ALLOWED", None)


async def test_key_5_no_record_has_a_secret(app: Application, store_url: str) -> None:
    await call(app, "secrets.set", name="TOKEN", value=CANARY)
    made: Any = await call(app, "keys.create", role="viewer")
    await call(app, "keys.revoke", key=made["key"])
    await call(app, "definitions.deploy", files=[{"name": "a.yaml", "text": f"# {CANARY}"}])
    with pytest.raises(WonderError):
        await call(app, "database.copy", target=f"postgresql://u:{CANARY}@127.0.0.1:1/x")
    rows = str(await app.store.query("SELECT * FROM audit_records"))
    assert CANARY not in rows
    assert made["key"][20:] not in rows
    assert made["record"]["id"] in rows
    first, *_ = await records(app)
    assert first.input == {"name": "TOKEN", "value": "[hidden]"}


def test_key_5_what_is_shown_of_a_value_is_bounded_and_hides_what_looks_like_a_secret() -> None:
    assert shown_value({"a": {"api_key": "x", "Password": 1}}) == {"a": {"api_key": "[hidden]", "Password": "[hidden]"}}
    assert shown_value("https://u:pass@host/") == "https://u:***@host/"
    large = {str(number): ["x" * 10_000] * 100 for number in range(100)}
    assert len(json.dumps(shown_value(large))) < 200_000
    deep: Any = 1
    for _ in range(100):
        deep = [deep]
    assert len(json.dumps(shown_value(deep))) < 100
    assert shown_value(2**70) == "a int"


async def test_key_5_a_start_is_recorded_in_the_commit_of_its_run(store_url: str) -> None:
    async with running(store_url) as wonder:
        await wonder.deploy(bundle("plain", {"a": NODE}))
        theirs = wonder.acting_for(Caller("ci", "operator", key_id="abcdefgh"))
        started: Any = await call(theirs, "runs.start", workflow="plain", input={"password": CANARY})
        with pytest.raises(WonderError):
            await call(theirs, "runs.start", workflow="nothing")
        unheard = await wonder.start("plain")
        await asyncio.gather(wonder.wait(started["run_id"]), unheard.wait())
        done, failed = await records(wonder)
        assert (done.operation, done.ids, done.outcome) == ("runs.start", [started["run_id"]], "ok")
        assert done.input == {"workflow": "plain", "input": "[hidden]"}
        assert (failed.outcome, failed.ids) == ("NOT_FOUND", [])


async def test_key_5_a_start_that_another_process_carries_out_is_recorded_too(store_url: str) -> None:
    async with running(store_url) as engine, running_elsewhere(store_url) as other:
        await engine.deploy(bundle("plain", {"a": NODE}))
        started: Any = await call(other, "runs.start", workflow="plain")
        await engine.wait(started["run_id"])
        (record,) = await records(engine)
        assert (record.who, record.ids) == ("ci", [started["run_id"]])


def running_elsewhere(url: str) -> Any:
    from wonder.app.opening import open_wonder

    return open_wonder(url, caller=Caller("ci", "operator"))


async def test_key_5_a_program_without_a_caller_is_not_recorded(store_url: str) -> None:
    async with running(store_url) as wonder:
        await call(wonder, "settings.set", of="project", key="foreach_limit", value=7)
        assert await records(wonder) == []


async def test_key_5_a_caller_sees_the_records_within_its_scope(app: Application) -> None:
    server = app.acting_for(Caller("root", "admin"))
    await call(app, "settings.set", of="project", key="foreach_limit", value=7)
    await call(server, "settings.set", of="workspace", key="allow_shell", value=True)
    await call(server, "libraries.create_public", name="shared")
    of_workspace = app.acting_for(Caller("w", "admin", app.home.workspace_id))
    elsewhere = app.acting_for(Caller("x", "admin", "another workspace"))
    assert [len(await records(one)) for one in (server, of_workspace, app, elsewhere)] == [3, 2, 1, 0]
    assert [one.who for one in await records(server, who="root")] == ["root", "root"]
    assert [one.who for one in await records(server, who="abcdefgh")] == ["ci"]
    assert len(await records(server, operation="settings")) == 2
    assert len(await records(server, operation="settings.set", until_ms=1)) == 0
    assert len(await records(server, operation="setting")) == 0


async def test_key_5_records_are_read_in_pages_in_both_directions(app: Application) -> None:
    for value in range(1, 6):
        await call(app, "settings.set", of="project", key="foreach_limit", value=value)
    for oldest_first, expected in ((True, [1, 2, 3, 4, 5]), (False, [5, 4, 3, 2, 1])):
        found: list[Any] = []
        cursor: str | None = None
        for _ in range(3):
            page = await list_audit(app, ListAudit(oldest_first=oldest_first, limit=2, cursor=cursor))
            found += [one.input["value"] for one in page.records]
            cursor = page.cursor
        assert (found, cursor) == (expected, None)


async def test_key_5_records_are_deleted_after_audit_days_and_not_before(store_url: str) -> None:
    async with running(store_url) as wonder:
        theirs = wonder.acting_for(Caller("ci", "admin"))
        await call(theirs, "settings.set", of="project", key="retention.audit_days", value=90)
        await call(theirs, "libraries.create_public", name="shared")
        assert wonder.engine
        retention = wonder.engine.retention
        now_ms = retention.now_ms
        for days, left in ((89, 2), (91, 0)):
            retention.now_ms = lambda days=days: now_ms() + days * DAY_MS
            while await retention.step():
                pass
            assert len(await records(wonder)) == left
        with pytest.raises(WonderError, match="90"):
            await call(theirs, "settings.set", of="project", key="retention.audit_days", value=1)
    assert ulid_of(0) < ulid_of(1)


def test_key_5_nothing_changes_a_record_and_retention_alone_deletes_some() -> None:
    folder = Path(wonder.storage.__path__[0])
    queries = "\n".join(path.read_text() for path in folder.rglob("sql/*.sql"))
    named = [part.partition("\n") for part in queries.split("-- name: ")]
    writing = {
        name for name, _, sql in named if "audit_records" in sql and any(word in sql for word in ("UPDATE ", "DELETE "))
    }
    assert writing == {"delete_old_audit_records", "delete_old_audit_records_of_none"}


def test_key_5_commands_on_the_machine_are_recorded_and_exported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WONDER_DATABASE_URL", raising=False)
    (tmp_path / "plain.json").write_text(json.dumps(bundle("plain", {"a": NODE})))
    commands = (
        ["deploy", "plain.json"],
        ["run", "plain.json"],
        ["run", "plain"],
        ["workspaces", "create", "acme"],
        ["project", "set", "foreach_limit", "7"],
    )
    for words in commands:
        assert main(words) == 0, words
    capsys.readouterr()
    assert main(["audit", "export"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["operation"] for one in lines] == [
        *("definitions.deploy", "definitions.deploy", "runs.start", "runs.start", "workspaces.create", "settings.set")
    ]
    assert {(one["who_kind"], one["outcome"]) for one in lines} == {("local", "ok")}
    assert main(["audit", "list", "--operation", "settings"]) == 0
    assert "foreach_limit: 100000 → 7" in capsys.readouterr().out
