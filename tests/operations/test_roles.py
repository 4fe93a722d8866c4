"""KEY-4: the role and the reach that each operation needs, pinned here so that a change of one is seen."""

from typing import Any, get_args

import msgspec
import pytest

from wonder.app.callers import REACHES, ROLES, Caller
from wonder.app.opening import open_app
from wonder.operations.catalogue import all_operations, call
from wonder.operations.declaring import DatabaseOperation, Declared, Input
from wonder.operations.permitting import NotAllowed, check_role

OPERATIONS = all_operations()
NEEDED = {
    name: (role, reach)
    for name, role, reach in (
        line.split()
        for line in """
    actions.archive author project
    actions.list viewer project
    actions.restore author project
    actions.show viewer project
    artifact_types.archive author project
    artifact_types.list viewer project
    artifact_types.restore author project
    artifact_types.show viewer project
    artifacts.content viewer project
    artifacts.list viewer project
    artifacts.show viewer project
    audit.list admin project
    backups.check admin server
    backups.make admin server
    backups.restore admin server
    costs.show viewer project
    database.check admin server
    database.copy admin server
    database.grant_reader admin server
    database.migrate admin server
    database.repair admin server
    database.trust admin server
    definitions.deploy author project
    definitions.deploy_public admin server
    definitions.schema viewer project
    definitions.validate viewer project
    engine.status viewer project
    events.find viewer project
    events.send operator project
    inbox.answer operator project
    inbox.claim operator project
    inbox.delegate operator project
    inbox.list viewer project
    inbox.release operator project
    inbox.show viewer project
    keys.create admin project
    keys.list admin project
    keys.revoke admin project
    kinds.list viewer project
    kinds.show viewer project
    libraries.archive author workspace
    libraries.archive_public admin server
    libraries.create author workspace
    libraries.create_public admin server
    libraries.list viewer project
    libraries.restore author workspace
    libraries.restore_public admin server
    libraries.show viewer project
    logs.follow viewer project
    logs.list viewer project
    mcp.allow admin workspace
    mcp.approvals viewer project
    mcp.archive author project
    mcp.forget admin workspace
    mcp.list viewer project
    mcp.restore author project
    mcp.tools author project
    metrics.prometheus viewer project
    metrics.show viewer project
    models.archive author project
    models.list viewer project
    models.restore author project
    models.show viewer project
    projects.archive admin workspace
    projects.create admin workspace
    projects.list viewer workspace
    projects.rename admin workspace
    projects.restore admin workspace
    projects.show viewer workspace
    prompts.archive author project
    prompts.list viewer project
    prompts.restore author project
    prompts.show viewer project
    query.functions operator server
    query.run operator server
    query.tables operator server
    retention.apply admin server
    retention.preview admin project
    runs.cancel operator project
    runs.context viewer project
    runs.count viewer project
    runs.events viewer project
    runs.fork operator project
    runs.history viewer project
    runs.list viewer project
    runs.outcome viewer project
    runs.pause operator project
    runs.progress viewer project
    runs.resume operator project
    runs.retry operator project
    runs.retry_all operator project
    runs.show viewer project
    runs.start operator project
    runs.to_retry viewer project
    runs.verify viewer project
    runs.wait_for_triggered viewer project
    schedules.create author project
    schedules.delete author project
    schedules.fire operator project
    schedules.list viewer project
    schedules.next viewer project
    schedules.pause operator project
    schedules.resume operator project
    schedules.show viewer project
    secrets.delete admin project
    secrets.list author project
    secrets.rotate admin server
    secrets.scope admin project
    secrets.set admin project
    settings.set admin project
    settings.show viewer project
    system.diagnose admin server
    tasks.archive author project
    tasks.list viewer project
    tasks.restore author project
    tasks.show viewer project
    vectors.archive author project
    vectors.index operator project
    vectors.list viewer project
    vectors.restore author project
    vectors.show viewer project
    workflows.archive author project
    workflows.bind author project
    workflows.diff viewer project
    workflows.disable operator project
    workflows.enable operator project
    workflows.list viewer project
    workflows.pin author project
    workflows.rename author project
    workflows.restore author project
    workflows.show viewer project
    workflows.unpin author project
    workspaces.archive admin server
    workspaces.create admin server
    workspaces.list admin server
    workspaces.rename admin server
    workspaces.restore admin server
    workspaces.show admin server
""".strip().splitlines()
    )
}


def test_key_4_each_operation_needs_the_role_and_the_reach_that_are_listed_here() -> None:
    assert {name: (one.role, one.reach) for name, one in OPERATIONS.items()} == NEEDED


def test_key_4_what_changes_or_repeats_a_run_and_every_query_needs_an_operator() -> None:
    for name in (
        "runs.retry",
        "runs.retry_all",
        "runs.fork",
        "inbox.answer",
        "inbox.claim",
        "events.send",
        "query.run",
    ):
        assert OPERATIONS[name].role == "operator", name
    assert {one.role for name, one in OPERATIONS.items() if name.startswith("query.")} == {"operator"}


def test_key_4_what_is_asked_of_the_database_needs_the_whole_server() -> None:
    assert {one.reach for one in OPERATIONS.values() if isinstance(one, DatabaseOperation)} == {"server"}


@pytest.mark.parametrize("declared", OPERATIONS.values(), ids=OPERATIONS.keys())
def test_key_4_a_caller_with_less_is_refused_and_one_with_enough_is_not(declared: Declared[Any, Any]) -> None:
    scopes = {"server": (None, None), "workspace": ("w", None), "project": ("w", "p")}
    for role in ROLES:
        for reach in REACHES:
            is_allowed = ROLES.index(role) >= ROLES.index(declared.role)
            is_allowed &= REACHES.index(reach) >= REACHES.index(declared.reach)
            caller = Caller("ann", role, *scopes[reach])
            if is_allowed:
                check_role(caller, declared)
            else:
                with pytest.raises(NotAllowed, match=r"needs (the role|a key of)"):
                    check_role(caller, declared)


def test_key_4_who_says_nothing_or_has_a_role_that_there_is_not_is_refused() -> None:
    declared = OPERATIONS["kinds.list"]
    nobody: Any = "nobody"
    for caller in (None, Caller("ann", nobody), Caller("ann", "")):  # type: ignore[arg-type]
        with pytest.raises(NotAllowed):
            check_role(caller, declared)


def test_key_4_an_input_that_can_name_the_workspace_says_what_it_needs() -> None:
    for name, declared in OPERATIONS.items():
        if name == "keys.create":
            continue  # compares the scope of the new key with the caller's (KEY-2)
        for one in msgspec.structs.fields(declared.input):
            if "workspace" in get_args(one.type):
                assert declared.input.needs is not Input.needs, name


WIDER: dict[str, dict[str, Any]] = {
    "settings.set": {"of": "workspace", "key": "allow_shell", "value": True},
    "settings.show": {"of": "workspace"},
    "secrets.set": {"name": "TOKEN", "scope": "workspace", "value": "long enough"},
    "secrets.scope": {"name": "TOKEN", "scope": "workspace", "for_host": ["example.org"]},
    "secrets.delete": {"name": "TOKEN", "scope": "workspace"},
    "definitions.deploy": {"files": [{"text": "libraries: {lib: {actions: {}}}"}]},
    "definitions.validate": {"files": [], "allow_mcp": ["git"]},
    "projects.create": {"name": "mine"},
    "projects.list": {},
    "mcp.allow": {"server": "git"},
    "secrets.rotate": {},
    "keys.create": {"role": "viewer", "scope": "workspace"},
    "workspaces.list": {},
    "query.run": {"sql": "SELECT 1"},
}


async def test_key_4_an_admin_of_one_project_reaches_nothing_of_the_workspace(store_url: str) -> None:
    async with open_app(store_url) as app:
        home = app.home
        theirs = app.acting_for(Caller("ann", "admin", home.workspace_id, home.project_id))
        for name, given in WIDER.items():
            with pytest.raises(Exception, match=r"whole server|workspace") as refused:
                await call(theirs, name, **given)
            assert getattr(refused.value, "code", "") in ("NOT_ALLOWED", "KEY_NOT_ALLOWED"), name
        author = app.acting_for(Caller("bob", "author"))
        with pytest.raises(NotAllowed, match="needs the role admin"):
            await call(author, "definitions.deploy", files=[], allow_mcp=["git"])
        with pytest.raises(NotAllowed, match="needs the role admin; 'bob' has the role author"):
            await call(author, "secrets.set", name="TOKEN", value="long enough")
