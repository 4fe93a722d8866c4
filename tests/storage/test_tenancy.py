"""RES-1, RES-6, RES-7: workspaces, projects and libraries with their settings, and the default."""

import asyncio

import pytest

from support.processes import run_at_once
from support.stored_records import LATER, NOW, clock, new_id
from wonder.definitions.records.tenancy import (
    Budget,
    Library,
    Project,
    ProjectBudget,
    ProjectSettings,
    RateLimits,
    Retention,
    SnapshotPolicy,
    Workspace,
    WorkspaceSettings,
)
from wonder.storage.resource_errors import BadCursor, BadLimit, FilesRootRelative, NameTaken, NotFound
from wonder.storage.store import Store
from wonder.storage.tenancy import (
    create_library,
    create_project,
    create_workspace,
    ensure_default,
    find_library,
    find_project,
    find_workspace,
    list_libraries,
    list_projects,
    list_workspaces,
    load_library,
    load_project,
    load_workspace,
    put_project_settings,
    put_workspace_settings,
)

WORKSPACE_SETTINGS = WorkspaceSettings(
    allowed_model_providers=["anthropic"],
    allowed_mcp_servers=[],
    budget=Budget(max_monthly_spend_cents=2**53 - 1),
    allow_private_addresses=True,
    allow_shell=True,
)
PROJECT_SETTINGS = ProjectSettings(
    default_model_profile_id="some model",
    rate_limits=RateLimits(max_concurrent_runs=3),
    budget=ProjectBudget(alert_threshold_cents=0, on_exceeded="human_gate"),
    snapshot_policy=SnapshotPolicy(every_events=None, at_end=False),
    files_root="/srv/files",
    foreach_limit=7,
    call_depth_max=8,
    retention=Retention(events_days=90, logs_days=1, audit_days=90),
)


def workspace(name: str, settings: WorkspaceSettings | None = None) -> Workspace:
    return Workspace(id=new_id(), name=name, settings=settings or WorkspaceSettings(), created_at=NOW, updated_at=LATER)


def project(name: str, workspace_id: str, settings: ProjectSettings | None = None) -> Project:
    settings = settings or ProjectSettings()
    return Project(
        id=new_id(), workspace_id=workspace_id, name=name, settings=settings, created_at=NOW, updated_at=LATER
    )


def library(name: str, workspace_id: str | None) -> Library:
    return Library(id=new_id(), workspace_id=workspace_id, name=name, created_at=NOW, updated_at=NOW)


async def test_tenants_come_back_with_their_settings(store: Store) -> None:
    home, work, shared = (one := workspace("acme", WORKSPACE_SETTINGS)), project("work", one.id, PROJECT_SETTINGS), None
    async with store.transaction() as transaction:
        await create_workspace(transaction, home)
        await create_project(transaction, work)
        await create_library(transaction, shared := library("shared", None))
    assert await load_workspace(store, home.id) == await find_workspace(store, "acme") == home
    assert await load_project(store, work.id) == await find_project(store, home.id, "work") == work
    assert await load_library(store, shared.id) == await find_library(store, home.id, "shared") == shared
    assert await find_workspace(store, "nobody") is None
    assert await find_project(store, "nobody", "work") is None
    assert await find_library(store, home.id, "nothing") is None


async def test_settings_are_replaced_as_a_whole(store: Store) -> None:
    home = workspace("acme", WORKSPACE_SETTINGS)
    work = project("work", home.id, PROJECT_SETTINGS)
    async with store.transaction() as transaction:
        await create_workspace(transaction, home)
        await create_project(transaction, work)
        await put_workspace_settings(transaction, home.id, WorkspaceSettings())
        await put_project_settings(transaction, work.id, ProjectSettings())
    assert (await load_workspace(store, home.id)).settings == WorkspaceSettings()
    assert (await load_project(store, work.id)).settings == ProjectSettings()


async def test_res_6_a_files_root_is_an_absolute_path(store: Store) -> None:
    """RES-6: a relative one would be another folder for each process."""
    home = workspace("acme")
    async with store.transaction() as transaction:
        await create_workspace(transaction, home)
    work = project("work", home.id, ProjectSettings(files_root="work"))
    with pytest.raises(FilesRootRelative, match="write an absolute path"):
        async with store.transaction() as transaction:
            await create_project(transaction, work)
    assert await find_project(store, home.id, "work") is None


async def test_a_name_is_taken_once_among_the_live(store: Store) -> None:
    home = workspace("acme")
    async with store.transaction() as transaction:
        await create_workspace(transaction, home)
        await create_project(transaction, project("work", home.id))
        await create_library(transaction, library("shared", home.id))
        await create_library(transaction, library("shared", None))

    async def refused(create: object, record: object) -> None:
        async with store.transaction() as transaction:
            await create(transaction, record)  # type: ignore[operator]  # one of the three below

    for create, record in [
        (create_workspace, workspace("acme")),
        (create_project, project("work", home.id)),
        (create_library, library("shared", home.id)),
        (create_library, library("shared", None)),
    ]:
        with pytest.raises(NameTaken, match="already"):
            await refused(create, record)
    with pytest.raises(NotFound, match="no workspace 'nobody'"):
        await refused(create_project, project("work", "nobody"))
    with pytest.raises(NotFound, match="no workspace 'nobody'"):
        await refused(create_library, library("shared", "nobody"))


async def test_a_workspaces_own_library_hides_a_public_one_of_that_name(store: Store) -> None:
    home, other = workspace("acme"), workspace("other")
    own, public = library("shared", home.id), library("shared", None)
    async with store.transaction() as transaction:
        for one in (home, other):
            await create_workspace(transaction, one)
        for lib in (public, own):
            await create_library(transaction, lib)
    assert await find_library(store, home.id, "shared") == own
    assert await find_library(store, other.id, "shared") == public
    assert await find_library(store, None, "shared") == public


async def test_lists_go_by_name_and_show_no_other_workspace(store: Store) -> None:
    home, other = workspace("acme"), workspace("Zeta")
    async with store.transaction() as transaction:
        for one in (home, other):
            await create_workspace(transaction, one)
        for name in ("b", "a", "Ä", "Z", "z"):
            await create_project(transaction, project(name, home.id))
        await create_project(transaction, project("theirs", other.id))
        for lib in (library("x", home.id), library("x", None), library("theirs", other.id), library("y", None)):
            await create_library(transaction, lib)
    assert [one.name for one in (await list_workspaces(store)).items] == ["Zeta", "acme"]
    names, cursor = [], None
    while True:
        page = await list_projects(store, home.id, limit=2, cursor=cursor)
        names += [one.name for one in page.items]
        cursor = page.cursor
        if cursor is None:
            break
    assert names == ["Z", "a", "b", "z", "Ä"]  # by code point, on both databases
    first = await list_libraries(store, home.id, limit=1)
    rest = await list_libraries(store, home.id, limit=10, cursor=first.cursor)
    assert [one.name for one in first.items + rest.items] == ["x", "x", "y"]
    assert rest.cursor is None
    with pytest.raises(BadCursor):
        await list_projects(store, home.id, cursor=first.cursor)


@pytest.mark.parametrize("limit", [0, -1, 201, 10**30])
async def test_a_page_has_bounds(store: Store, limit: int) -> None:
    with pytest.raises(BadLimit, match="1 to 200"):
        await list_workspaces(store, limit=limit)


@pytest.mark.parametrize(
    "cursor", ["", "x", "nonsense!", "ä", "WzFd", "e30", "W10", "=", "A" * 10_000, "WyJ3b3Jrc3BhY2VzIiwxXQ"]
)
async def test_a_cursor_that_we_did_not_write_is_refused(store: Store, cursor: str) -> None:
    with pytest.raises(BadCursor, match="begin again"):
        await list_workspaces(store, cursor=cursor)


async def test_the_default_is_made_once(store: Store) -> None:
    homes = await asyncio.gather(*(ensure_default(store, clock=clock, new_id=new_id) for _ in range(8)))
    assert len(set(homes)) == 1
    home = await load_project(store, homes[0].project_id)
    assert (home.name, home.settings, home.workspace_id) == ("default", ProjectSettings(), homes[0].workspace_id)
    assert (await load_workspace(store, homes[0].workspace_id)).settings == WorkspaceSettings()


async def test_several_processes_get_the_same_default(store_url: str) -> None:
    answers = await asyncio.to_thread(run_at_once, [["default", store_url]] * 3)
    assert len({tuple(answer) for answer in answers}) == 1
