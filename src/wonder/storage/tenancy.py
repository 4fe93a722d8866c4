"""Workspaces, projects and libraries with their settings, and the embedded default (RES-1, RES-6)."""

from collections.abc import Callable
from pathlib import PurePath
from typing import TypeVar

from msgspec import Struct

from wonder.definitions.records.tenancy import Library, Project, ProjectSettings, Workspace, WorkspaceSettings
from wonder.storage.errors import ConstraintViolated
from wonder.storage.own_databases import remember
from wonder.storage.pages import LIMIT, Page, check_limit, cut, read_cursor, write_cursor
from wonder.storage.resource_errors import FilesRootRelative, NameTaken, NotFound
from wonder.storage.store import NewId, Reader, Store, Transaction, UtcNow, Value
from wonder.storage.tables import LIBRARIES, PROJECT_SETTINGS, PROJECTS, WORKSPACE_SETTINGS, WORKSPACES, Table

DEFAULT = "default"
T = TypeVar("T", Workspace, Project, Library)


class Home(Struct, frozen=True):
    """The ids of the workspace and project that are meant when none is named."""

    workspace_id: str
    project_id: str


async def ensure_default(store: Store, *, clock: UtcNow, new_id: NewId, fleeting: bool = False) -> Home:
    """Return the embedded default workspace and project, making them if they are missing.

    An SQLite database that gets them is one of this user's from here on, unless it is a fleeting one.
    """
    home = await _default(store)
    if home is not None:
        return home
    async with store.transaction() as transaction:
        now = clock()
        workspace_id = new_id()
        if store.dialect == "sqlite" and not fleeting:
            # Before it is durable: a process that dies in between must not leave one that nobody knows. Where it can't
            # be remembered, the command line asks, or is told which database to use.
            remember(workspace_id)
        await transaction.execute("insert_if_new_workspace", workspace_id, DEFAULT, now, now)
        (workspace,) = await transaction.fetch_named("workspace_by_name", DEFAULT)
        await transaction.execute("insert_if_new_project", new_id(), workspace["id"], DEFAULT, None, now, now)
        home = await _default(transaction)
        assert home is not None
        return home


async def find_home(reader: Reader, default: Home, workspace: str | None, project: str | None) -> Home:
    """Find the workspace and project that a caller chose by name or id; what is not chosen is the default.

    Of another workspace that is its project `default`. Raises NotFound, also for what is archived.
    """
    workspace_id = default.workspace_id
    if workspace is not None:
        workspace_id = (await require_workspace(reader, workspace)).id
    if project is None and workspace_id == default.workspace_id:
        return default
    return Home(workspace_id, (await require_project(reader, workspace_id, project or DEFAULT)).id)


async def require_workspace(reader: Reader, wanted: str) -> Workspace:
    """Find a live workspace by its name or id (RES-7); raises NotFound."""
    rows = await reader.fetch_named("live_workspace", wanted)
    if not rows:
        raise NotFound("workspace", wanted)
    return await _workspace(reader, rows[0])


async def require_project(reader: Reader, workspace_id: str, wanted: str) -> Project:
    """Find a live project of a workspace by its name or id (RES-7); raises NotFound."""
    rows = await reader.fetch_named("live_project", workspace_id, wanted)
    if not rows:
        raise NotFound("project", wanted)
    return await _project(reader, rows[0])


async def create_workspace(transaction: Transaction, workspace: Workspace) -> None:
    """Store a new workspace; raises NameTaken."""
    await _insert(transaction, WORKSPACES, workspace)
    await put_workspace_settings(transaction, workspace.id, workspace.settings)


async def create_project(transaction: Transaction, project: Project) -> None:
    """Store a new project; raises NameTaken or NotFound."""
    await _require(transaction, WORKSPACES, project.workspace_id)
    await _insert(transaction, PROJECTS, project)
    await put_project_settings(transaction, project.id, project.settings)


async def create_library(transaction: Transaction, library: Library) -> None:
    """Store a new library, public if it has no workspace; raises NameTaken or NotFound."""
    if library.workspace_id is not None:
        await _require(transaction, WORKSPACES, library.workspace_id)
    await _insert(transaction, LIBRARIES, library)


async def put_workspace_settings(transaction: Transaction, workspace_id: str, settings: WorkspaceSettings) -> None:
    """Replace the settings of a workspace."""
    row = WORKSPACE_SETTINGS.row(settings.model_dump(by_alias=True))
    await transaction.execute("put_workspace_settings", workspace_id, *row)


async def put_project_settings(transaction: Transaction, project_id: str, settings: ProjectSettings) -> None:
    """Replace the settings of a project; raises FilesRootRelative."""
    if settings.files_root is not None and not PurePath(settings.files_root).is_absolute():
        raise FilesRootRelative(settings.files_root)
    row = PROJECT_SETTINGS.row(settings.model_dump(by_alias=True))
    await transaction.execute("put_project_settings", project_id, *row)


async def change_workspace_settings(
    store: Store, workspace_id: str, change: Callable[[WorkspaceSettings], WorkspaceSettings], *, clock: UtcNow
) -> None:
    """Change settings of a workspace, safe against concurrent changes; raises NotFound."""
    async with store.transaction() as transaction:
        await transaction.execute("touch_tenant(workspaces)", workspace_id, clock())
        workspace = await load_workspace(transaction, workspace_id)
        await put_workspace_settings(transaction, workspace_id, change(workspace.settings))


async def change_project_settings(
    store: Store, project_id: str, change: Callable[[ProjectSettings], ProjectSettings], *, clock: UtcNow
) -> None:
    """Change settings of a project, safe against concurrent changes; raises NotFound."""
    async with store.transaction() as transaction:
        await transaction.execute("touch_tenant(projects)", project_id, clock())
        project = await load_project(transaction, project_id)
        await put_project_settings(transaction, project_id, change(project.settings))


async def load_workspace(reader: Reader, id: str) -> Workspace:
    """Load a workspace with its settings; raises NotFound."""
    return await _workspace(reader, await _require(reader, WORKSPACES, id))


async def load_project(reader: Reader, id: str) -> Project:
    """Load a project with its settings; raises NotFound."""
    return await _project(reader, await _require(reader, PROJECTS, id))


async def load_library(reader: Reader, id: str) -> Library:
    """Load a library; raises NotFound."""
    return LIBRARIES.load(await _require(reader, LIBRARIES, id))


async def find_workspace(reader: Reader, name: str) -> Workspace | None:
    """Find a live workspace by its name."""
    rows = await reader.fetch_named("workspace_by_name", name)
    return await _workspace(reader, rows[0]) if rows else None


async def find_project(reader: Reader, workspace_id: str, name: str) -> Project | None:
    """Find a live project of a workspace by its name."""
    rows = await reader.fetch_named("project_by_name", workspace_id, name)
    return await _project(reader, rows[0]) if rows else None


async def find_library(reader: Reader, workspace_id: str | None, name: str) -> Library | None:
    """Find a library that a workspace sees by its name; its own comes before a public one."""
    rows = await reader.fetch_named("library_by_name", workspace_id, name)
    return LIBRARIES.load(rows[0]) if rows else None


async def list_workspaces(
    reader: Reader, *, archived: bool = False, limit: int = LIMIT, cursor: str | None = None
) -> Page[Workspace]:
    """List all workspaces by name: those that are live, or those that are archived."""
    after = read_cursor(cursor, "workspaces", "", "")
    rows = await reader.fetch_named("workspaces_by_name_after", *after, check_limit(limit) + 1, int(archived))
    return _page("workspaces", [await _workspace(reader, row) for row in rows], limit)


async def list_projects(
    reader: Reader, workspace_id: str, *, archived: bool = False, limit: int = LIMIT, cursor: str | None = None
) -> Page[Project]:
    """List the projects of a workspace by name: those that are live, or those that are archived."""
    after = read_cursor(cursor, "projects", "", "")
    limits = (check_limit(limit) + 1, int(archived))
    rows = await reader.fetch_named("projects_by_name_after", workspace_id, *after, *limits)
    return _page("projects", [await _project(reader, row) for row in rows], limit)


async def list_libraries(
    reader: Reader, workspace_id: str | None, *, archived: bool = False, limit: int = LIMIT, cursor: str | None = None
) -> Page[Library]:
    """List the libraries that a workspace sees, its own and the public ones, by name."""
    after = read_cursor(cursor, "libraries", "", "")
    limits = (check_limit(limit) + 1, int(archived))
    rows = await reader.fetch_named("libraries_by_name_after", workspace_id, *after, *limits)
    return _page("libraries", [LIBRARIES.load(row) for row in rows], limit)


def _page(label: str, records: list[T], limit: int) -> Page[T]:
    page, more = cut(records, limit)
    return Page(page, write_cursor(label, page[-1].name, page[-1].id) if more else None)


async def _default(reader: Reader) -> Home | None:
    workspaces = await reader.fetch_named("workspace_by_name", DEFAULT)
    if not workspaces:
        return None
    projects = await reader.fetch_named("project_by_name", workspaces[0]["id"], DEFAULT)
    return Home(str(workspaces[0]["id"]), str(projects[0]["id"])) if projects else None


async def _insert(transaction: Transaction, table: Table[T], record: T) -> None:
    try:
        await transaction.execute(f"insert_{table.name}", *table.row(record.model_dump(by_alias=True)))
    except ConstraintViolated as error:
        raise NameTaken(table.noun, record.name) from error


async def _require(reader: Reader, table: Table[T], id: str) -> dict[str, Value]:
    rows = await reader.fetch_named(f"tenant_by_id({table.name})", id)
    if not rows:
        raise NotFound(table.noun, id)
    return rows[0]


async def _workspace(reader: Reader, row: dict[str, Value]) -> Workspace:
    settings = await reader.fetch_named("workspace_settings", row["id"])
    stored = {"settings": WORKSPACE_SETTINGS.load(settings[0])} if settings else {}
    return Workspace.model_validate(WORKSPACES.fields(row) | stored)


async def _project(reader: Reader, row: dict[str, Value]) -> Project:
    settings = await reader.fetch_named("project_settings", row["id"])
    stored = {"settings": PROJECT_SETTINGS.load(settings[0])} if settings else {}
    return Project.model_validate(PROJECTS.fields(row) | stored)
