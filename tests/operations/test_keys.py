"""API keys on both databases: shown once, proved by a hash, revoked at once, and never wider than who made them."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from wonder.app.application import Application
from wonder.app.callers import REACHES, ROLES, Caller, Reach, Role, local_user
from wonder.app.opening import open_app
from wonder.operations.declaring import Place
from wonder.operations.keys import (
    CreateKey,
    KeyNotAllowed,
    ListKeys,
    RevokeKey,
    authenticate,
    create_key,
    has_keys,
    list_keys,
    revoke_key,
)
from wonder.operations.names import NameRefused
from wonder.operations.projects import CreateProject, OneProject, archive_project, create_new_project, restore_project
from wonder.operations.workspaces import OneWorkspace, archive_workspace, create_new_workspace, restore_workspace
from wonder.storage.resource_errors import BadCursor, NotFound
from wonder.storage.tenancy import Home


class Clock:
    """A time that a test sets."""

    now = "2026-03-01T12:00:00.000000Z"

    def __call__(self) -> str:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def app(store_url: str, clock: Clock) -> AsyncIterator[Application]:
    async with open_app(store_url, clock=clock) as app:
        yield app


async def made(app: Application, role: Role = "viewer", **given: Any) -> tuple[str, str]:
    """Make a key, and give its text and its id."""
    created = await create_key(app, CreateKey(role=role, **given))
    return created.key, created.record.id


async def acting(app: Application, role: Role = "admin", **given: Any) -> Application:
    """Give the application as somebody with a new key uses it."""
    caller = await authenticate(app, (await made(app, role, **given))[0])
    assert caller
    return app.acting_for(caller)


async def test_key_1_a_key_proves_its_name_role_and_scope(app: Application) -> None:
    home = app.home
    for role in ROLES:
        for scope in REACHES:
            key, id = await made(app, role, scope=scope, name=f"{role} of {scope}")
            caller = await authenticate(app, key)
            workspace_id = None if scope == "server" else home.workspace_id
            project_id = home.project_id if scope == "project" else None
            assert caller == Caller(f"{role} of {scope}", role, workspace_id, project_id, id)
            assert (caller.reach, caller.kind) == (scope, "key")


async def test_key_1_nothing_else_is_a_key(app: Application) -> None:
    key, id = await made(app)
    other, _ = await made(app)
    assert len(key) == len("wonder_") + 8 + 1 + 64
    wrong = key[:-1] + ("0" if key[-1] != "0" else "1")
    mixed = key[:16] + other[16:]
    for text in (
        "",
        id,
        key[:-1],
        key + "0",
        key.upper(),
        f" {key}",
        f"{key}\n",
        wrong,
        mixed,
        "\0",
        "wonder_é",
        "x" * 9_999,
    ):
        assert await authenticate(app, text) is None, text
    assert await authenticate(app, key)


async def test_key_1_the_database_has_a_hash_and_no_key(app: Application) -> None:
    key, _ = await made(app)
    (row,) = await app.store.query("SELECT * FROM api_keys")
    secret = key.rpartition("_")[2]
    assert not any(secret in str(cell) or (isinstance(cell, bytes) and bytes.fromhex(secret) in cell) for cell in row)
    (listed,) = (await list_keys(app, ListKeys())).keys
    assert secret not in str(listed)
    assert key.startswith(listed.prefix)


async def test_key_1_a_key_that_another_process_has_revoked_is_refused_at_once(
    app: Application, store_url: str
) -> None:
    key, id = await made(app)
    kept, _ = await made(app)
    async with open_app(store_url) as other:
        for shown in (app, other):
            assert await authenticate(shown, key)
        (revoked,) = (await revoke_key(other, RevokeKey(key=id))).keys
        assert (revoked.id, revoked.state) == (id, "revoked")
        for shown in (app, other):
            assert await authenticate(shown, key) is None
            assert await authenticate(shown, kept)
        (again,) = (await revoke_key(other, RevokeKey(key=f"wonder_{id}"))).keys
        assert again == revoked, "the first revocation counts"


async def test_key_1_a_key_expires(app: Application, clock: Clock) -> None:
    key, _ = await made(app, expires_seconds=90 * 86_400)
    clock.now = "2026-05-30T11:59:59.999999Z"
    assert await authenticate(app, key)
    assert await has_keys(app)
    clock.now = "2026-05-30T12:00:00.000000Z"
    assert await authenticate(app, key) is None
    assert not await has_keys(app)
    (listed,) = (await list_keys(app, ListKeys())).keys
    assert (listed.state, listed.expires_at) == ("expired", clock.now)
    for seconds in (0, -1, 59, 3_651 * 86_400):
        with pytest.raises(KeyNotAllowed, match=r"from a minute to 3,650 days"):
            await made(app, expires_seconds=seconds)


async def test_key_1_a_key_of_what_is_archived_can_not_be_used(app: Application, store_url: str) -> None:
    await create_new_project(app, CreateProject(name="side"))
    await create_new_workspace(Place(store_url), OneWorkspace(name="acme"))
    async with open_app(store_url, project="side") as side, open_app(store_url, workspace="acme") as acme:
        of_project, of_workspace = (await made(side))[0], (await made(acme, scope="workspace"))[0]
    everywhere = (await made(app, scope="server"))[0]
    await archive_project(app, OneProject(name="side"))
    await archive_workspace(Place(store_url), OneWorkspace(name="acme"))
    assert [bool(await authenticate(app, key)) for key in (of_project, of_workspace, everywhere)] == [
        False,
        False,
        True,
    ]
    await restore_project(app, OneProject(name="side"))
    await restore_workspace(Place(store_url), OneWorkspace(name="acme"))
    assert [bool(await authenticate(app, key)) for key in (of_project, of_workspace)] == [True, True]


async def test_key_1_the_last_use_is_written_once_in_ten_minutes(app: Application, clock: Clock) -> None:
    key, _ = await made(app)

    async def used() -> str | None:
        await authenticate(app, key)
        return (await list_keys(app, ListKeys())).keys[0].last_used_at

    assert (await list_keys(app, ListKeys())).keys[0].last_used_at is None
    first = clock.now
    assert await used() == first
    clock.now = "2026-03-01T12:09:59.000000Z"
    assert await used() == first
    clock.now = "2026-03-01T12:10:00.000000Z"
    assert await used() == clock.now


@pytest.mark.parametrize("own", ROLES)
async def test_key_2_nobody_makes_a_key_with_a_higher_role(app: Application, own: Role) -> None:
    caller = app.acting_for(Caller("ann", own))
    for role in ROLES:
        if ROLES.index(role) <= ROLES.index(own):
            assert (await create_key.function(caller, CreateKey(role=role))).record.created_by == "ann"
        else:
            with pytest.raises(KeyNotAllowed, match=f"the role {own} can't make a key with the role {role}"):
                await create_key.function(caller, CreateKey(role=role))


@pytest.mark.parametrize("own", REACHES)
async def test_key_2_nobody_makes_a_key_with_a_wider_scope(app: Application, own: Reach) -> None:
    caller = await acting(app, scope=own)
    for scope in REACHES:
        if REACHES.index(scope) <= REACHES.index(own):
            await create_key.function(caller, CreateKey(role="admin", scope=scope))
        else:
            with pytest.raises(KeyNotAllowed, match=f"a caller of one {own} can't make a key for the"):
                await create_key.function(caller, CreateKey(role="viewer", scope=scope))


async def test_key_2_a_caller_sees_and_revokes_only_keys_within_its_scope(app: Application, store_url: str) -> None:
    await create_new_project(app, CreateProject(name="side"))
    await create_new_workspace(Place(store_url), OneWorkspace(name="acme"))
    async with open_app(store_url, project="side") as side, open_app(store_url, workspace="acme") as acme:
        ids = {
            "server": (await made(app, scope="server"))[1],
            "workspace": (await made(app, scope="workspace"))[1],
            "project": (await made(app))[1],
            "side": (await made(side))[1],
            "acme": (await made(acme, scope="workspace"))[1],
        }
    home: Home = app.home
    sees = {
        Caller("all", "admin"): {"server", "workspace", "project", "side", "acme"},
        Caller("workspace", "admin", home.workspace_id): {"workspace", "project", "side"},
        Caller("project", "admin", home.workspace_id, home.project_id): {"project"},
    }
    for caller, names in sees.items():
        theirs = app.acting_for(caller)
        assert {one.id for one in (await list_keys(theirs, ListKeys())).keys} == {ids[name] for name in names}
        for name in ids.keys() - names:
            with pytest.raises(NotFound):
                await revoke_key(theirs, RevokeKey(key=ids[name]))
    assert {one.state for one in (await list_keys(app, ListKeys(revoked=True))).keys} == {"active"}


async def test_key_2_all_keys_that_were_made_with_a_key_are_revoked_with_it(app: Application) -> None:
    first = await acting(app, name="first", scope="workspace")
    second = await acting(first, name="second")
    third, _ = await made(second, "author", name="third")
    aside, _ = await made(app, name="aside")
    assert first.caller
    assert first.caller.key_id
    revoked = (await revoke_key(app, RevokeKey(key=first.caller.key_id, with_made=True))).keys
    assert {one.name for one in revoked} == {"first", "second", "third"}
    assert [bool(await authenticate(app, key)) for key in (third, aside)] == [False, True]
    assert [one.name for one in (await list_keys(app, ListKeys())).keys] == ["aside"]
    assert {one.created_by for one in (await list_keys(app, ListKeys(revoked=True))).keys} == {
        local_user(),
        "first",
        "second",
    }


async def test_keys_are_listed_in_pages(app: Application) -> None:
    ids = {(await made(app))[1] for _ in range(5)}
    found: list[str] = []
    cursor = None
    while page := await list_keys(app, ListKeys(limit=2, cursor=cursor)):
        found += [one.id for one in page.keys]
        cursor = page.cursor
        if cursor is None:
            break
    assert len(found) == 5
    assert set(found) == ids
    with pytest.raises(BadCursor):
        await list_keys(app, ListKeys(cursor="x"))


async def test_a_key_that_there_is_not_and_a_bad_name_are_refused(app: Application) -> None:
    for text in ("", "zzzzzzzz", "wonder_zzzzzzzz", "u" * 8, "x" * 999, "\0"):
        with pytest.raises(NotFound) as refused:
            await revoke_key(app, RevokeKey(key=text))
        assert len(str(refused.value)) < 200
    for name in ("", "a\nb", "x" * 999):
        with pytest.raises(NameRefused):
            await made(app, name=name)
    assert (await made(app, name=None))[1]
