"""Projects of the caller's workspace: made, listed, shown, renamed, archived and restored (RES-1, RES-5)."""

from wonder.app.application import Application
from wonder.definitions.records.tenancy import Project, ProjectSettings
from wonder.operations.declaring import Input, operation
from wonder.operations.names import check_name
from wonder.operations.outputs import Output
from wonder.storage import tenants
from wonder.storage.pages import LIMIT
from wonder.storage.tenancy import create_project, list_projects, require_project


class ProjectRecord(Output, frozen=True):
    """A project, without its settings."""

    id: str
    workspace_id: str
    name: str
    description: str | None
    created_at: str
    updated_at: str
    chosen: bool
    """Whether it is the project that the caller uses."""


class ProjectPage(Output, frozen=True):
    """Some projects, by name; `cursor` gets the next page, or is null at the end."""

    projects: list[ProjectRecord]
    cursor: str | None


class ListProjects(Input, frozen=True):
    """Which projects, and which page of them."""

    archived: bool = False
    """Those that are archived, instead of those that are live."""
    limit: int = LIMIT
    cursor: str | None = None


@operation("projects.list", role="viewer", reach="workspace")
async def list_workspace_projects(application: Application, given: ListProjects) -> ProjectPage:
    """List the projects of the workspace."""
    store, workspace_id = application.store, application.home.workspace_id
    page = await list_projects(store, workspace_id, archived=given.archived, limit=given.limit, cursor=given.cursor)
    return ProjectPage(projects=[_record(application, one) for one in page.items], cursor=page.cursor)


class OneProject(Input, frozen=True):
    """A project of the workspace."""

    name: str
    """Its name or its id."""


@operation("projects.show", role="viewer", reach="workspace")
async def show_project(application: Application, given: OneProject) -> ProjectRecord:
    """Show a project of the workspace."""
    return _record(application, await require_project(application.store, application.home.workspace_id, given.name))


class CreateProject(Input, frozen=True):
    """A new project."""

    name: str
    description: str | None = None


@operation("projects.create", role="admin", changes=True, reach="workspace")
async def create_new_project(application: Application, given: CreateProject) -> ProjectRecord:
    """Make a project in the workspace, with default settings and nothing in it."""
    now = application.clock()
    project = Project(
        id=application.new_id(),
        workspace_id=application.home.workspace_id,
        name=check_name("project", given.name),
        description=given.description,
        settings=ProjectSettings(),
        created_at=now,
        updated_at=now,
    )
    async with application.store.transaction() as transaction:
        await create_project(transaction, project)
    return _record(application, project)


class RenameProject(Input, frozen=True):
    """A project, and its new name."""

    name: str
    to: str


@operation("projects.rename", role="admin", changes=True, reach="workspace")
async def rename_project(application: Application, given: RenameProject) -> ProjectRecord:
    """Give a project another name; all that it holds stays, and so does its id."""
    home = application.home
    async with application.store.transaction() as transaction:
        project = await require_project(transaction, home.workspace_id, given.name)
        await tenants.rename_tenant(transaction, project, check_name("project", given.to), at=application.clock())
    return _record(application, await require_project(application.store, home.workspace_id, project.id))


@operation("projects.archive", role="admin", changes=True, reach="workspace")
async def archive_project(application: Application, given: OneProject) -> ProjectRecord:
    """Archive a project in which nothing runs; it keeps all that it holds, and its name is free again."""
    async with application.store.transaction() as transaction:
        project = await require_project(transaction, application.home.workspace_id, given.name)
        await tenants.archive_project(transaction, project, at=application.clock())
    return _record(application, project)


@operation("projects.restore", role="admin", changes=True, reach="workspace")
async def restore_project(application: Application, given: OneProject) -> ProjectRecord:
    """Make an archived project live again; of several with the name, the one that was archived last."""
    async with application.store.transaction() as transaction:
        project = await tenants.find_archived_project(transaction, application.home.workspace_id, given.name)
        await tenants.restore_tenant(transaction, project, at=application.clock())
    return _record(application, project)


def _record(application: Application, project: Project) -> ProjectRecord:
    return ProjectRecord(
        id=project.id,
        workspace_id=project.workspace_id,
        name=project.name,
        description=project.description,
        created_at=project.created_at,
        updated_at=project.updated_at,
        chosen=project.id == application.home.project_id,
    )
