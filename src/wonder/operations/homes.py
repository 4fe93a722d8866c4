"""Which project a request is about: what its path names, as far as its caller sees it, and never what its body says."""

from wonder.app.application import Application
from wonder.app.callers import Caller
from wonder.storage.resource_errors import NotFound
from wonder.storage.tenancy import Home as Home
from wonder.storage.tenancy import find_home, require_project, require_workspace


async def home_of(application: Application, caller: Caller, workspace: str | None, project: str | None) -> Home:
    """Find the workspace and the project that a caller names, by name or id; without names they are the caller's own.

    Raises NotFound, also for what is there and the caller does not see.
    """
    reader = application.store.unsettled
    if caller.workspace_id is None:
        return await find_home(reader, application.home, workspace, project)
    if workspace is not None and (await require_workspace(reader, workspace)).id != caller.workspace_id:
        raise NotFound("workspace", workspace)
    if caller.project_id is None:
        return Home(caller.workspace_id, (await require_project(reader, caller.workspace_id, project or "default")).id)
    if project is not None and (await require_project(reader, caller.workspace_id, project)).id != caller.project_id:
        raise NotFound("project", project)
    return Home(caller.workspace_id, caller.project_id)
