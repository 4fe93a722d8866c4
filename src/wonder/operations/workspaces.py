"""Workspaces of a database: made, listed, shown, renamed, archived and restored (RES-1, RES-5).

They are asked of the database and not of a project: whoever uses one workspace sees nothing of the others (INV-7).
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from wonder.app.ids import new_ulid
from wonder.definitions.records.tenancy import Project, ProjectSettings, Workspace, WorkspaceSettings
from wonder.operations.declaring import Input, Place, database_operation
from wonder.operations.names import check_name
from wonder.operations.outputs import Output
from wonder.storage import tenants
from wonder.storage.clock import utc_now
from wonder.storage.opening import open_store
from wonder.storage.pages import LIMIT
from wonder.storage.store import Store
from wonder.storage.tenancy import (
    DEFAULT,
    create_project,
    create_workspace,
    ensure_default,
    list_workspaces,
    require_workspace,
)


class WorkspaceRecord(Output, frozen=True):
    """A workspace, without its settings."""

    id: str
    name: str
    created_at: str
    updated_at: str


class WorkspacePage(Output, frozen=True):
    """Some workspaces, by name; `cursor` gets the next page, or is null at the end."""

    workspaces: list[WorkspaceRecord]
    cursor: str | None


class ListWorkspaces(Input, frozen=True):
    """Which workspaces, and which page of them."""

    archived: bool = False
    """Those that are archived, instead of those that are live."""
    limit: int = LIMIT
    cursor: str | None = None


@database_operation("workspaces.list", role="admin")
async def list_all_workspaces(place: Place, given: ListWorkspaces) -> WorkspacePage:
    """List the workspaces of the database."""
    async with _opened(place) as store:
        page = await list_workspaces(store, archived=given.archived, limit=given.limit, cursor=given.cursor)
    return WorkspacePage(workspaces=[_record(one) for one in page.items], cursor=page.cursor)


class OneWorkspace(Input, frozen=True):
    """A workspace."""

    name: str
    """Its name or its id."""


@database_operation("workspaces.show", role="admin")
async def show_workspace(place: Place, given: OneWorkspace) -> WorkspaceRecord:
    """Show a workspace."""
    async with _opened(place) as store:
        return _record(await require_workspace(store, given.name))


@database_operation("workspaces.create", role="admin", changes=True)
async def create_new_workspace(place: Place, given: OneWorkspace) -> WorkspaceRecord:
    """Make a workspace, with a project `default` in it, which is used where no other is named."""
    name, now = check_name("workspace", given.name), utc_now()
    workspace = Workspace(id=new_ulid(), name=name, settings=WorkspaceSettings(), created_at=now, updated_at=now)
    project = Project(
        id=new_ulid(),
        workspace_id=workspace.id,
        name=DEFAULT,
        settings=ProjectSettings(),
        created_at=now,
        updated_at=now,
    )
    async with _opened(place) as store, store.transaction() as transaction:
        await create_workspace(transaction, workspace)
        await create_project(transaction, project)
    return _record(workspace)


class RenameWorkspace(Input, frozen=True):
    """A workspace, and its new name."""

    name: str
    to: str


@database_operation("workspaces.rename", role="admin", changes=True)
async def rename_workspace(place: Place, given: RenameWorkspace) -> WorkspaceRecord:
    """Give a workspace another name; all that it holds stays, and so does its id."""
    async with _opened(place) as store:
        async with store.transaction() as transaction:
            workspace = await require_workspace(transaction, given.name)
            await tenants.rename_tenant(transaction, workspace, check_name("workspace", given.to), at=utc_now())
        return _record(await require_workspace(store, workspace.id))


@database_operation("workspaces.archive", role="admin", changes=True)
async def archive_workspace(place: Place, given: OneWorkspace) -> WorkspaceRecord:
    """Archive a workspace in which nothing runs; it keeps all that it holds, and its name is free again."""
    async with _opened(place) as store, store.transaction() as transaction:
        workspace = await require_workspace(transaction, given.name)
        await tenants.archive_workspace(transaction, workspace, at=utc_now())
    return _record(workspace)


@database_operation("workspaces.restore", role="admin", changes=True)
async def restore_workspace(place: Place, given: OneWorkspace) -> WorkspaceRecord:
    """Make an archived workspace live again; of several with the name, the one that was archived last."""
    async with _opened(place) as store, store.transaction() as transaction:
        workspace = await tenants.find_archived_workspace(transaction, given.name)
        await tenants.restore_tenant(transaction, workspace, at=utc_now())
    return _record(workspace)


@asynccontextmanager
async def _opened(place: Place) -> AsyncIterator[Store]:
    store = await open_store(place.url)
    try:
        # A new database is this user's own by the id of its default workspace.
        await ensure_default(store, clock=utc_now, new_id=new_ulid)
        yield store
    finally:
        await store.close()


def _record(workspace: Workspace) -> WorkspaceRecord:
    return WorkspaceRecord(
        id=workspace.id, name=workspace.name, created_at=workspace.created_at, updated_at=workspace.updated_at
    )
