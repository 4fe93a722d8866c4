"""Every route with every role and for a foreign tenant, made from what the server has mounted (KEY-4, INV-7)."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from support.servers import RunningServer, running_server
from support.tenants import MARK, fill_project
from wonder.api.door import LOCAL_CALLER, Mounted
from wonder.app.application import Application
from wonder.app.callers import REACHES, ROLES
from wonder.operations.catalogue import call
from wonder.operations.homes import home_of

MISSING = "01KNEVERWASANYTHINGLIKETHI"
FOR_ALL = {"/healthz", "/readyz", "/openapi.json"}
# What a parameter of a path may be of all that the first project has.
IDS = {
    "run_id": ["run"],
    "item_id": ["item"],
    "artifact_id": ["artifact"],
    "server": ["server"],
    "workflow": ["workflow", "definition"],
    "name": ["workflow", "definition", "schedule", "model", "task"],
}


@dataclass
class Teams:
    """A server with two workspaces: the first has something of every kind, the second has nothing."""

    server: RunningServer
    by_role: dict[str, str]
    """Keys of the whole server."""
    by_reach: dict[str, str]
    """Keys of admins of the first workspace."""
    foreign: str
    """The key of an admin of the second workspace."""
    foreign_project: str
    """The key of an admin of a project beside the full one, in the same workspace."""
    project_id: str
    ids: dict[str, str]

    @property
    def routes(self) -> list[tuple[str, str, Mounted]]:
        """All that is mounted."""
        return self.server.door.paths.all


@pytest.fixture(scope="module")
def teams(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Teams]:
    """Two teams on one server."""
    path = tmp_path_factory.mktemp("teams") / "wonder.db"
    shutil.copy(sqlite_template, path)

    async def key(application: Application, role: str, scope: str) -> str:
        made: Any = await call(application, "keys.create", role=role, scope=scope)
        return str(made["key"])

    async def fill(application: Application) -> dict[str, Any]:
        ids = await fill_project(application)
        await call(application, "projects.create", name="beside")
        await call(application, "workspaces.create", name="other")
        homes = [
            await home_of(application, LOCAL_CALLER, workspace, project)
            for workspace, project in (("other", None), (None, "beside"))
        ]
        other, beside = (application.acting_for(LOCAL_CALLER, home) for home in homes)
        return {
            "by_role": {role: await key(application, role, "server") for role in ROLES},
            "by_reach": {reach: await key(application, "admin", reach) for reach in REACHES},
            "foreign": await key(other, "admin", "workspace"),
            "foreign_project": await key(beside, "admin", "project"),
            "project_id": application.home.project_id,
            "ids": ids,
        }

    with running_server(f"sqlite:///{path}") as server:
        yield Teams(server, **server.ask(fill))


def filled(path: str, **given: str) -> str:
    """Put something into the parameters of a path."""
    for name in [part.strip("{}") for part in path.split("/") if part.startswith("{")]:
        path = path.replace(f"{{{name}}}", given.get(name, MISSING))
    return path


def ask(client: httpx2.Client, method: str, path: str, **headers: str) -> httpx2.Response:
    # A bundle without anything in it makes a library, and a list is none.
    body: Any = [] if path.endswith("/bundles") else {}
    content = {"json": body} if method in ("POST", "PUT") else {}
    return client.request(method, path, headers=headers, **content)


def test_key_4_nothing_is_answered_without_a_key_but_that_the_server_lives(teams: Teams) -> None:
    assert {path for _, path, mounted in teams.routes if mounted.for_all} == FOR_ALL
    with teams.server.client() as nobody:
        for method, path, mounted in teams.routes:
            answer = ask(nobody, method, filled(path))
            assert answer.status_code == (200 if mounted.for_all else 401), path
    with teams.server.client(key="wonder_00000000_" + "0" * 64) as forger:
        for method, path, mounted in teams.routes:
            if not mounted.for_all and "{project}" not in path:
                assert ask(forger, method, filled(path)).status_code == 401, path


@pytest.mark.parametrize("role", ROLES)
def test_key_4_a_role_may_do_what_its_operations_allow_and_nothing_more(teams: Teams, role: str) -> None:
    """Before anything of the request is looked at: the path names nothing that is there."""
    with teams.server.client(teams.by_role[role]) as client:
        for method, path, mounted in teams.routes:
            if mounted.for_all or ("{project}" in path and role != "viewer"):
                continue
            answer = ask(client, method, filled(path, project="default"))
            allowed = ROLES.index(role) >= ROLES.index(mounted.role)  # type: ignore[arg-type]
            assert (answer.status_code == 403) == (not allowed), f"{role} {method} {path}: {answer.text}"
            assert answer.status_code not in (401, 500), f"{method} {path}: {answer.text}"


@pytest.mark.parametrize("reach", REACHES)
def test_key_4_a_key_of_a_project_or_a_workspace_does_not_reach_further(teams: Teams, reach: str) -> None:
    with teams.server.client(teams.by_reach[reach]) as client:
        for method, path, mounted in teams.routes:
            if mounted.for_all or "{project}" in path:
                continue
            answer = ask(client, method, filled(path))
            allowed = REACHES.index(reach) >= REACHES.index(mounted.reach)  # type: ignore[arg-type]
            assert allowed or answer.status_code == 403, f"{reach} {method} {path}: {answer.text}"


def test_inv_7_nobody_enters_a_project_of_another_tenant(teams: Teams) -> None:
    for key in (teams.foreign, teams.foreign_project):
        with teams.server.client(key) as client:
            for method, path, _ in teams.routes:
                if "{project}" not in path:
                    continue
                for project in (teams.project_id, "default" if key == teams.foreign_project else MISSING):
                    answer = ask(client, method, filled(path, project=project))
                    assert answer.status_code == 404, f"{method} {path}: {answer.text}"
    with teams.server.client(teams.foreign) as client:
        for workspace in ("default", MISSING):
            for method, path, mounted in teams.routes:
                if mounted.reach == "project" and "{project}" not in path and not mounted.for_all:
                    answer = ask(client, method, filled(path), **{"Wonder-Workspace": workspace})
                    assert answer.status_code == 404, f"{method} {path}: {answer.text}"


def test_inv_7_an_id_of_another_tenant_is_an_id_that_does_not_exist(teams: Teams) -> None:
    for key in (teams.foreign, teams.foreign_project):
        with teams.server.client(key) as client:
            for method, path, mounted in teams.routes:
                if mounted.for_all or "{project}" in path:
                    continue
                names = [part.strip("{}") for part in path.split("/") if part.startswith("{")]
                kinds = IDS.get(names[0], []) if names else []
                missing = ask(client, method, filled(path))
                assert MARK not in missing.text, f"{method} {path}"
                for kind in kinds:
                    id = teams.ids[kind]
                    foreign = ask(client, method, filled(path, **{names[0]: id}))
                    where = f"{method} {path} {kind}: {foreign.text}"
                    assert foreign.status_code == missing.status_code, where
                    assert foreign.text.replace(id, MISSING) == missing.text, where
