"""Workspaces, projects and libraries, renamed, archived and restored (RES-1, RES-5).

What is archived keeps all that it holds, and its name is free again. Nothing is archived that a live run needs, or in
which something is about to start a run.
"""

from typing import TypeAlias

from wonder.definitions.records.tenancy import Library, Project, Workspace
from wonder.errors import WonderError
from wonder.storage.errors import ConstraintViolated
from wonder.storage.resource_errors import InUse, LiveRuns, NameTaken, NotFound, User
from wonder.storage.run_needs import read_live_runs
from wonder.storage.store import Reader, Transaction
from wonder.storage.tables import LIBRARIES, PROJECTS, WORKSPACES, Table
from wonder.storage.tenancy import DEFAULT, load_project, load_workspace

AnyTenant: TypeAlias = Workspace | Project | Library
_RUNS_SHOWN = 3
_TABLES: dict[type[AnyTenant], Table[AnyTenant]] = {Workspace: WORKSPACES, Project: PROJECTS, Library: LIBRARIES}  # type: ignore[dict-item]  # each has its own


class DefaultStays(WonderError):
    """The workspace or project `default` was to be renamed or archived."""

    code = "DEFAULT_STAYS"

    def __init__(self, kind: str) -> None:
        super().__init__(
            f"the {kind} 'default' can't be renamed or archived: it is used wherever no {kind} is named; make another "
            f"one with `wonder {kind}s create NAME` and choose it with --{kind} NAME"
        )
        self.kind = kind


async def rename_tenant(transaction: Transaction, tenant: AnyTenant, name: str, *, at: str) -> None:
    """Give a live workspace, project or library another name; raises NameTaken or DefaultStays."""
    table = _TABLES[type(tenant)]
    _check_not_default(tenant)
    try:
        await transaction.execute(f"rename_tenant({table.name})", tenant.id, name, at)
    except ConstraintViolated as error:
        raise NameTaken(table.noun, name) from error


async def archive_workspace(transaction: Transaction, workspace: Workspace, *, at: str) -> None:
    """Archive a workspace whose only live project is the one that it was made with; raises InUse or DefaultStays."""
    _check_not_default(workspace)
    users: list[User] = []
    runs = LiveRuns()
    for id, name in await transaction.fetch("projects_of_workspace", workspace.id):
        if name != DEFAULT:
            users.append(User("project", str(name), None))
        else:
            users += await _starters(transaction, str(id))
            runs = await _live_runs(transaction, str(id))
    if users or runs:
        raise InUse("workspace", workspace.name, users, runs)
    await transaction.execute("archive_tenant(workspaces)", workspace.id, at)


async def archive_project(transaction: Transaction, project: Project, *, at: str) -> None:
    """Archive a project in which nothing runs or is about to start; raises InUse or DefaultStays."""
    _check_not_default(project)
    users, runs = await _starters(transaction, project.id), await _live_runs(transaction, project.id)
    if users or runs:
        raise InUse("project", project.name, users, runs)
    await transaction.execute("archive_tenant(projects)", project.id, at)


async def restore_tenant(transaction: Transaction, tenant: AnyTenant, *, at: str) -> None:
    """Make an archived workspace, project or library live again, with all that it holds; raises NameTaken."""
    table = _TABLES[type(tenant)]
    try:
        restored = await transaction.execute(f"restore_tenant({table.name})", tenant.id, at)
    except ConstraintViolated as error:
        raise NameTaken(table.noun, tenant.name) from error
    assert restored == 1, "it is archived"


async def find_archived_workspace(reader: Reader, wanted: str) -> Workspace:
    """Find an archived workspace by its name or id; raises NotFound."""
    rows = await reader.fetch_named("archived_workspace", wanted)
    if not rows:
        raise NotFound("archived workspace", wanted)
    return await load_workspace(reader, str(rows[0]["id"]))


async def find_archived_project(reader: Reader, workspace_id: str, wanted: str) -> Project:
    """Find an archived project of a workspace by its name or id; raises NotFound."""
    rows = await reader.fetch_named("archived_project", workspace_id, wanted)
    if not rows:
        raise NotFound("archived project", wanted)
    return await load_project(reader, str(rows[0]["id"]))


async def is_archived(reader: Reader, project_id: str) -> bool:
    """Say whether a project is archived, itself or with its workspace."""
    return bool(await reader.fetch("project_is_archived", project_id))


def _check_not_default(tenant: AnyTenant) -> None:
    if tenant.name == DEFAULT and not isinstance(tenant, Library):
        raise DefaultStays(_TABLES[type(tenant)].noun)


async def _starters(transaction: Transaction, project_id: str) -> list[User]:
    return [
        User(str(kind), str(name), None) for kind, name, _ in await transaction.fetch("users(projects)", project_id)
    ]


async def _live_runs(transaction: Transaction, project_id: str) -> LiveRuns:
    return read_live_runs(await transaction.fetch_named("live_runs_of_project", project_id, _RUNS_SHOWN))
