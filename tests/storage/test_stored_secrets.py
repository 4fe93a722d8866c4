"""Secrets as they are stored: sealed, by name, of a project or of its workspace (INV-7, INV-8)."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from wonder.app.ids import new_ulid
from wonder.definitions.records.tenancy import Project, Workspace
from wonder.definitions.secret_scopes import Destination, SecretScope
from wonder.storage import secrets as storage_secrets
from wonder.storage.clock import utc_now
from wonder.storage.opening import open_store
from wonder.storage.resource_errors import NotFound
from wonder.storage.sealing import SecretBroken, SecretKeyMissing, new_key
from wonder.storage.secret_keys import KeySource
from wonder.storage.secrets import (
    LENGTH_MAX,
    LINES_MAX,
    Owner,
    SecretRefused,
    delete_secret,
    find_secret,
    list_secrets,
    rotate,
    set_scope,
    set_secret,
)
from wonder.storage.store import Store
from wonder.storage.tenancy import create_project, create_workspace, ensure_default

CANARY = "canary-5d41402abc4b2a76"
NOW = "2026-01-01T00:00:00.000000Z"


@pytest.fixture
def keys(tmp_path: Path) -> KeySource:
    """Keys in a file that is not there yet."""
    return KeySource(tmp_path / "key")


@pytest.fixture
async def owners(store: Store) -> tuple[Owner, Owner]:
    """The default project and its workspace."""
    home = await ensure_default(store, clock=utc_now, new_id=new_ulid)
    return Owner("project", home.project_id), Owner("workspace", home.workspace_id)


async def put(store: Store, keys: KeySource, owner: Owner, name: str, value: str) -> bool:
    """Store a secret."""
    return await set_secret(store, keys, owner, name, value, clock=utc_now, new_id=new_ulid)


async def test_inv_8_a_scope_that_was_changed_in_the_database_opens_nothing(
    store: Store, keys: KeySource, owners: tuple[Owner, Owner]
) -> None:
    """Neither widened, nor taken from another secret, nor taken away."""
    project, _ = owners
    narrow, wide = SecretScope(hosts=("api.example.com",)), SecretScope(hosts=("*.example.com",))
    for name, scope in (("NARROW", narrow), ("WIDE", wide)):
        await set_secret(store, keys, project, name, CANARY, scope, clock=utc_now, new_id=new_ulid)
    assert [one.scope for one in await list_secrets(store, project.id)] == [narrow, wide]
    written = {one.name: one for one in [await find_secret(store, project.id, "WIDE")] if one}["WIDE"].scope_text
    for scope_text in (written, None, "{}", '{"hosts":["evil.example"]}', "no JSON"):
        sealed, ring = await find_secret(store, project.id, "NARROW"), keys.load()
        assert sealed
        assert ring
        with pytest.raises(SecretBroken):
            sealed._replace(scope_text=scope_text).open(ring)
        assert not (sealed._replace(scope_text="no JSON").scope or narrow).allows(Destination("host", "evil.example"))


async def test_a_scope_stays_when_the_value_or_the_key_changes_and_is_changed_alone(
    store: Store, keys: KeySource, owners: tuple[Owner, Owner]
) -> None:
    project, _ = owners
    one, other = SecretScope(hosts=("api.example.com",)), SecretScope(kinds=("k",), workflows=("p/w",))
    await put(store, keys, project, "TOKEN", CANARY)
    assert [secret.scope for secret in await list_secrets(store, project.id)] == [None]
    await set_scope(store, keys, project, "TOKEN", one, clock=utc_now)
    await put(store, keys, project, "TOKEN", "another-value")
    await rotate(store, keys)
    assert [secret.scope for secret in await list_secrets(store, project.id)] == [one]
    assert await opened(store, keys, project.id, "TOKEN") == "another-value"
    await set_scope(store, keys, project, "TOKEN", other, clock=utc_now)
    assert [secret.scope for secret in await list_secrets(store, project.id)] == [other]
    assert await opened(store, keys, project.id, "TOKEN") == "another-value"
    with pytest.raises(NotFound):
        await set_scope(store, keys, project, "NONE", one, clock=utc_now)


async def opened(store: Store, keys: KeySource, project_id: str, name: str) -> str | None:
    """Give the value that a name has in a project."""
    sealed, ring = await find_secret(store, project_id, name), keys.load()
    return sealed.open(ring) if sealed and ring else None


async def stored(store: Store) -> str:
    """Give all rows of the secrets, as text."""
    rows = await store.query("SELECT * FROM secrets ORDER BY id")
    return repr([[bytes(cell).hex() if isinstance(cell, bytes) else cell for cell in row] for row in rows])


async def test_inv_8_a_secret_is_stored_sealed_and_opened_with_its_key(
    store: Store, keys: KeySource, owners: tuple[Owner, Owner]
) -> None:
    """INV-8"""
    project, _ = owners
    assert await put(store, keys, project, "TOKEN", CANARY)
    assert not await put(store, keys, project, "TOKEN", CANARY + "é\n")
    assert await opened(store, keys, project.id, "TOKEN") == CANARY + "é\n"
    rows = await stored(store)
    assert CANARY not in rows
    assert CANARY.encode().hex() not in rows
    (summary,) = await list_secrets(store, project.id)
    assert (summary.name, summary.owner) == ("TOKEN", project)
    assert summary.updated_at >= summary.created_at


async def test_a_projects_own_secret_comes_before_that_of_its_workspace(
    store: Store, keys: KeySource, owners: tuple[Owner, Owner]
) -> None:
    project, workspace = owners
    await put(store, keys, workspace, "TOKEN", "of the workspace")
    assert await opened(store, keys, project.id, "TOKEN") == "of the workspace"
    await put(store, keys, project, "TOKEN", "of the project")
    assert await opened(store, keys, project.id, "TOKEN") == "of the project"
    assert [one.owner.scope for one in await list_secrets(store, project.id)] == ["project", "workspace"]
    await delete_secret(store, project, "TOKEN")
    assert await opened(store, keys, project.id, "TOKEN") == "of the workspace"
    with pytest.raises(NotFound):
        await delete_secret(store, project, "TOKEN")


async def test_inv_7_a_secret_is_found_neither_from_another_project_nor_from_another_workspace(
    store: Store, keys: KeySource, owners: tuple[Owner, Owner]
) -> None:
    """INV-7"""
    project, workspace = owners
    times: Any = {"created_at": NOW, "updated_at": NOW}
    async with store.transaction() as transaction:
        await create_workspace(transaction, Workspace(id="w2", name="two", **times))
        await create_project(transaction, Project(id="p2", workspace_id="w2", name="two", **times))
        await create_project(transaction, Project(id="p3", workspace_id=workspace.id, name="three", **times))
    await put(store, keys, project, "OWN", "of the project")
    await put(store, keys, workspace, "SHARED", "of the workspace")
    assert await opened(store, keys, "p3", "SHARED") == "of the workspace"
    assert await opened(store, keys, "p3", "OWN") is None
    assert await opened(store, keys, "p2", "SHARED") is None
    assert await list_secrets(store, "p2") == []


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("TOKEN", "short", "at least 8"),
        ("TOKEN", "", "at least 8"),
        ("TOKEN", "x" * (LENGTH_MAX + 1), "too long"),
        ("TOKEN", "x\n" * (LINES_MAX + 1), "1,001 lines is too long"),
        ("TOKEN", "with\0zero", "U\\+0000"),
        ("TOKEN", "half a \ud800 pair", "Unicode"),
        ("", CANARY, "name"),
        ("1ST", CANARY, "name"),
        ("A-B", CANARY, "name"),
        ("A.B", CANARY, "name"),
        ("Ä", CANARY, "name"),
        ("A" * 201, CANARY, "name"),
        ("A\n", CANARY, "name"),
    ],
)
async def test_what_can_not_be_redacted_or_named_is_refused(
    store: Store, keys: KeySource, owners: tuple[Owner, Owner], name: str, value: str, reason: str
) -> None:
    with pytest.raises(SecretRefused, match=reason) as refused:
        await put(store, keys, owners[0], name, value)
    assert len(value) < 8 or value not in str(refused.value)
    assert await list_secrets(store, owners[0].id) == []
    assert not keys.path.exists()


@pytest.mark.parametrize("value", ["x" * LENGTH_MAX, "12345678", "ö\U0001f600\r\n\t ☃ \\ ' \" "])
async def test_any_other_text_comes_back_as_it_was(
    store: Store, keys: KeySource, owners: tuple[Owner, Owner], value: str
) -> None:
    await put(store, keys, owners[1], "_a1", value)
    assert await opened(store, keys, owners[0].id, "_a1") == value


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE secrets SET sealed = (SELECT sealed FROM secrets WHERE name = 'B') WHERE name = 'A'",
        "UPDATE secrets SET name = CASE name WHEN 'A' THEN 'B' ELSE 'A' END || 'X'",
        "UPDATE secrets SET id = id || 'x'",
        "UPDATE secrets SET workspace_id = (SELECT id FROM workspaces LIMIT 1), project_id = NULL",
        "UPDATE secrets SET sealed = {empty}",
    ],
    ids=["swapped", "renamed", "another id", "another owner", "emptied"],
)
async def test_inv_8_a_row_that_somebody_changed_is_not_opened(
    store: Store, keys: KeySource, owners: tuple[Owner, Owner], change: str
) -> None:
    """INV-8: what is sealed belongs to its id, its owner and its name."""
    for name in "AB":
        await put(store, keys, owners[0], name, f"the value of {name}")
    async with store.transaction() as transaction:
        await transaction.run(change.format(empty="x''" if store.dialect == "sqlite" else "''::bytea"))
    for name in ("A", "BX"):
        sealed, ring = await find_secret(store, owners[0].id, name), keys.load()
        if sealed:
            assert ring
            with pytest.raises(SecretBroken, match=name):
                sealed.open(ring)


async def test_with_another_key_nothing_is_opened_or_stored(
    store: Store, keys: KeySource, owners: tuple[Owner, Owner], tmp_path: Path
) -> None:
    await put(store, keys, owners[0], "A", CANARY)
    before = await stored(store)
    for other in (KeySource(tmp_path / "other"), KeySource(tmp_path / "other", new_key().text)):
        with pytest.raises(SecretKeyMissing, match="put that key there"):
            await put(store, other, owners[0], "B", CANARY)
        with pytest.raises(SecretKeyMissing):
            await put(store, other, owners[0], "A", CANARY)
        with pytest.raises(SecretKeyMissing):
            await rotate(store, other)
    assert await stored(store) == before
    assert not (tmp_path / "other").exists(), "no second key is made where one was lost"
    await delete_secret(store, owners[0], "A")
    assert await put(store, KeySource(tmp_path / "other"), owners[0], "A", CANARY), "the way on when a key is lost"


async def test_rotating_seals_everything_with_a_new_key_and_forgets_the_old_one(
    store: Store, keys: KeySource, owners: tuple[Owner, Owner]
) -> None:
    await put(store, keys, owners[0], "A", "the value of A")
    await put(store, keys, owners[1], "B", "the value of B")
    old, times = keys.load(), [one.updated_at for one in await list_secrets(store, owners[0].id)]
    assert await rotate(store, keys) == 2
    new = keys.load()
    assert old
    assert new
    assert len(new.keys) == 1
    assert old.first not in new.keys
    assert {one.key_id for one in await list_secrets(store, owners[0].id)} == {new.first.id}
    assert [await opened(store, keys, owners[0].id, name) for name in "AB"] == ["the value of A", "the value of B"]
    assert [one.updated_at for one in await list_secrets(store, owners[0].id)] == times


async def test_keys_of_the_environment_are_rotated_by_putting_a_new_one_first(
    store: Store, keys: KeySource, owners: tuple[Owner, Owner]
) -> None:
    old, new = new_key().text, new_key().text
    await put(store, KeySource(keys.path, old), owners[0], "A", CANARY)
    assert await rotate(store, KeySource(keys.path, f"{new}, {old}")) == 1
    assert await rotate(store, KeySource(keys.path, f"{new},{old}")) == 0
    assert await opened(store, KeySource(keys.path, new), owners[0].id, "A") == CANARY
    assert not keys.path.exists()


@pytest.mark.parametrize(
    "point", ["before the file", "behind the file", "before the commit", "before the end", "at it"]
)
async def test_inv_8_rotating_can_be_broken_off_anywhere(
    store: Store, keys: KeySource, owners: tuple[Owner, Owner], monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    """INV-8: every secret can still be opened, new ones can be stored, and the next rotation finishes it."""
    for name in "ABC":
        await put(store, keys, owners[0], name, f"the value of {name}")
    crash = _crash_at(point, keys, monkeypatch)
    with pytest.raises(_Crash):
        await rotate(store, keys)
    crash.undo()
    values = {name: await opened(store, keys, owners[0].id, name) for name in "ABC"}
    assert values == {name: f"the value of {name}" for name in "ABC"}
    await put(store, keys, owners[0], "D", "the value of D")
    assert await rotate(store, keys) == 4
    ring = keys.load()
    assert ring
    assert len(ring.keys) == 1
    assert [await opened(store, keys, owners[0].id, name) for name in "AD"] == ["the value of A", "the value of D"]
    assert [path.name for path in keys.path.parent.iterdir() if path.name.startswith("key")] == ["key"]


async def test_secrets_can_be_set_while_others_rotate(
    store: Store, store_url: str, keys: KeySource, owners: tuple[Owner, Owner]
) -> None:
    """Nothing is sealed with a key that is being given up, whoever comes first."""
    await put(store, keys, owners[0], "S0", "the value of S0")
    other = await open_store(store_url)
    setting = [put(other, keys, owners[0], f"S{number}", f"the value of S{number}") for number in range(1, 12)]
    rotating = [rotate(one, KeySource(keys.path)) for one in (store, other, store)]
    await asyncio.gather(*setting[:4], rotating[0], *setting[4:8], rotating[1], rotating[2], *setting[8:])
    await other.close()
    values = [await opened(store, keys, owners[0].id, f"S{number}") for number in range(12)]
    assert values == [f"the value of S{number}" for number in range(12)]


class _Crash(Exception):
    """What ends everything."""


def _crash_at(point: str, keys: KeySource, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    def crash(*given: Any) -> Any:
        raise _Crash

    async def crash_later(*given: Any) -> Any:
        raise _Crash

    replace, seal_anew, written = KeySource.replace, storage_secrets._seal_anew, []

    def replace_and_crash(self: KeySource, given: Any) -> Any:
        written.append(replace(self, given))
        raise _Crash

    def crash_the_second_time(self: KeySource, given: Any) -> Any:
        written.append(given)
        return replace(self, given) if len(written) == 1 else crash()

    async def seal_and_crash(*given: Any) -> Any:
        await seal_anew(*given)
        raise _Crash

    match point:
        case "before the file":
            monkeypatch.setattr(KeySource, "replace", crash)
        case "behind the file":
            monkeypatch.setattr(KeySource, "replace", replace_and_crash)
        case "before the commit":
            monkeypatch.setattr(storage_secrets, "_seal_anew", seal_and_crash)
        case "before the end":
            monkeypatch.setattr(storage_secrets, "_forget_old", crash_later)
        case "at it":
            monkeypatch.setattr(KeySource, "replace", crash_the_second_time)
    return monkeypatch
