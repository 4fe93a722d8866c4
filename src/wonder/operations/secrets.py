"""Secrets: stored sealed, given a scope, listed by name, deleted, sealed anew; nobody gets to see a value."""

from typing import Literal

from msgspec import field
from msgspec.structs import asdict

from wonder.app.application import Application
from wonder.definitions.secret_scopes import SecretScope, make_scope
from wonder.operations.declaring import Input, NoInput, operation
from wonder.operations.outputs import Output
from wonder.operations.permitting import Needs
from wonder.storage import secrets as kept
from wonder.storage.secret_keys import VARIABLE as VARIABLE
from wonder.storage.secret_keys import KeySource
from wonder.storage.secrets import LENGTH_MAX as LENGTH_MAX
from wonder.storage.secrets import Owner
from wonder.storage.secrets import SecretRefused as SecretRefused
from wonder.storage.secrets import check_name as check_name

Of = Literal["project", "workspace"]


class ScopeRecord(Output, frozen=True):
    """Where a secret may go; without workflows, every workflow of its project may use it."""

    hosts: list[str]
    servers: list[str]
    programs: list[str]
    kinds: list[str]
    workflows: list[str]


class Destinations(Input, frozen=True):
    """The hosts, servers, programs and kinds of action that a secret may go to, and the workflows that may use it."""

    name: str
    scope: Of = "project"
    """Whether it is the project's own, or of all projects of its workspace."""
    for_host: list[str] = field(default_factory=list)
    for_server: list[str] = field(default_factory=list)
    for_program: list[str] = field(default_factory=list)
    for_kind: list[str] = field(default_factory=list)
    for_workflow: list[str] = field(default_factory=list)

    @property
    def needs(self) -> Needs:
        """A secret of the workspace is every project's."""
        return Needs(reach=self.scope)

    def written(self, project_id: str) -> SecretScope | None:
        """Give the scope that is meant; None if nothing is named. Raises BadScope."""
        entries = (self.for_host, self.for_server, self.for_program, self.for_kind, self.for_workflow)
        return make_scope(*entries, project_id) if any(entries) else None


class SetSecret(Destinations, frozen=True, kw_only=True):
    """A secret; without destinations it keeps those that it has."""

    unaudited = frozenset({"value"})

    value: str


class StoredSecret(Output, frozen=True):
    """A secret that was stored."""

    name: str
    scope: Of
    new: bool
    unscoped: bool
    """Whether it is new and has no destinations: long-running processes refuse it then."""


@operation("secrets.set", role="admin", changes=True)
async def set_secret(application: Application, given: SetSecret) -> StoredSecret:
    """Store a secret, sealed; over one that has the name."""
    scope = given.written(application.home.project_id)
    is_new = await kept.set_secret(
        application.store,
        _keys(application),
        _owner(application, given.scope),
        given.name,
        given.value,
        scope,
        clock=application.clock,
        new_id=application.new_id,
    )
    return StoredSecret(name=given.name, scope=given.scope, new=is_new, unscoped=is_new and scope is None)


class ScopedSecret(Output, frozen=True):
    """Where a secret may go from now on."""

    name: str
    scope: Of
    allowed: ScopeRecord = field(name="for")
    options: str
    """The same as the options of `wonder secrets`."""


@operation("secrets.scope", role="admin", changes=True)
async def set_scope(application: Application, given: Destinations) -> ScopedSecret:
    """Change where a secret may go, and leave its value as it is."""
    scope = given.written(application.home.project_id) or make_scope([], [], [], [], [], "")  # says what is missing
    owner = _owner(application, given.scope)
    await kept.set_scope(application.store, _keys(application), owner, given.name, scope, clock=application.clock)
    return ScopedSecret(name=given.name, scope=given.scope, allowed=_record(scope), options=scope.options())


class SecretRecord(Output, frozen=True):
    """What may be known of a secret: anything but its value."""

    name: str
    scope: Of
    allowed: ScopeRecord | None = field(name="for")
    options: str | None
    created_at: str
    updated_at: str


class SecretList(Output, frozen=True):
    """The secrets that a project sees: its own, and its workspace's."""

    secrets: list[SecretRecord]


@operation("secrets.list", role="author")
async def list_secrets(application: Application, given: NoInput) -> SecretList:
    """List the names of secrets and where they may go, never values."""
    found = await kept.list_secrets(application.store, application.home.project_id)
    return SecretList(
        secrets=[
            SecretRecord(
                name=one.name,
                scope=one.owner.scope,
                allowed=_record(one.scope) if one.scope else None,
                options=one.scope.options() if one.scope else None,
                created_at=one.created_at,
                updated_at=one.updated_at,
            )
            for one in found
        ]
    )


class OneSecret(Input, frozen=True):
    """A secret."""

    name: str
    scope: Of = "project"

    @property
    def needs(self) -> Needs:
        """A secret of the workspace is every project's."""
        return Needs(reach=self.scope)


class DeletedSecret(Output, frozen=True):
    """A secret that is gone."""

    name: str
    scope: Of


@operation("secrets.delete", role="admin", changes=True)
async def delete_secret(application: Application, given: OneSecret) -> DeletedSecret:
    """Delete a secret for good."""
    await kept.delete_secret(application.store, _owner(application, given.scope), given.name)
    return DeletedSecret(name=given.name, scope=given.scope)


class Rotation(Output, frozen=True):
    """How many secrets were sealed with another key, and where that is."""

    sealed: int
    key: str
    key_is_file: bool


@operation("secrets.rotate", role="admin", changes=True, reach="server")
async def rotate_key(application: Application, given: NoInput) -> Rotation:
    """Make a new key, and seal all secrets with it."""
    keys = _keys(application)
    sealed = await kept.rotate(application.store, keys)
    return Rotation(sealed=sealed, key=keys.where, key_is_file=keys.is_file)


def _keys(application: Application) -> KeySource:
    assert application.keys, "opened without keys"
    return application.keys()


def _owner(application: Application, scope: Of) -> Owner:
    home = application.home
    return Owner("workspace", home.workspace_id) if scope == "workspace" else Owner("project", home.project_id)


def _record(scope: SecretScope) -> ScopeRecord:
    shown = {name: list(entries) for name, entries in asdict(scope).items()}
    return ScopeRecord(**{**shown, "workflows": [name.partition("/")[2] for name in scope.workflows]})
