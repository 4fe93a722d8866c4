"""API keys: made, listed, revoked; and the caller that a key proves (KEY-1, KEY-2)."""

from datetime import UTC, datetime, timedelta
from typing import Any

from wonder.app.application import Application
from wonder.app.callers import ROLES, Caller, Reach, Role, local_user
from wonder.errors import WonderError
from wonder.operations.declaring import Input, operation
from wonder.operations.names import check_name
from wonder.operations.outputs import Output
from wonder.storage import api_keys as kept
from wonder.storage.pages import LIMIT
from wonder.storage.resource_errors import NotFound

EXPIRES_SECONDS_MIN, EXPIRES_SECONDS_MAX = 60, 3_650 * 86_400


async def authenticate(application: Application, token: str) -> Caller | None:
    """Give the caller that a key proves; None for any text that is not a key which can be used now.

    The database is read each time, so that a revocation in any process works at once.
    """
    proved = await kept.prove_key(application.store, token, clock=application.clock)
    if proved is None:
        return None
    role: Any = proved.role
    return Caller(proved.name, role, proved.workspace_id, proved.project_id, proved.id)


async def has_keys(application: Application) -> bool:
    """Say whether there is a key that could be used now: a server without any is for this machine alone."""
    return await kept.has_usable_key(application.store.unsettled, clock=application.clock)


class KeyNotAllowed(WonderError):
    """A caller can't make this key."""

    code = "KEY_NOT_ALLOWED"


class KeyRecord(Output, frozen=True):
    """What may be known of a key: anything but its secret."""

    id: str
    prefix: str
    """How its text begins."""
    name: str
    role: Role
    scope: Reach
    workspace: str | None
    workspace_id: str | None
    project: str | None
    project_id: str | None
    state: str
    """`active`, `expired` or `revoked`."""
    created_at: str
    created_by: str
    created_by_key: str | None
    """The id of the key that it was made with; null where it was made on the machine itself."""
    expires_at: str | None
    last_used_at: str | None
    """Within ten minutes."""
    revoked_at: str | None
    revoked_by: str | None


class CreateKey(Input, frozen=True):
    """A new key."""

    role: Role
    name: str | None = None
    """Without a name it is called after its id."""
    scope: Reach = "project"
    """Of the caller's project, of its whole workspace, or of the whole server."""
    expires_seconds: int | None = None
    """After so long it can't be used any more: from a minute to ten years; null: never."""


class CreatedKey(Output, frozen=True):
    """A new key, with its text."""

    key: str
    """Shown this once: only a hash of it is stored."""
    record: KeyRecord


@operation("keys.create", role="admin", changes=True)
async def create_key(application: Application, given: CreateKey) -> CreatedKey:
    """Make an API key; its text is in this answer and nowhere else."""
    caller, home = application.caller, application.home
    workspace_id = None if given.scope == "server" else home.workspace_id
    project_id = home.project_id if given.scope == "project" else None
    if caller is not None and not caller.has_role(given.role):
        raise KeyNotAllowed(f"a caller with the role {caller.role} can't make a key with the role {given.role}")
    if caller is not None and not caller.covers(workspace_id, project_id):
        raise KeyNotAllowed(f"a caller of one {caller.reach} can't make a key for the {_WIDER[given.scope]}")
    new = kept.NewKey(
        name=None if given.name is None else check_name("key", given.name),
        role=given.role,
        workspace_id=workspace_id,
        project_id=project_id,
        created_by=caller.name if caller else local_user(),
        created_by_key=caller.key_id if caller else None,
        expires_at=_expiry(application, given.expires_seconds),
    )
    stored, token = await kept.create_key(application.store, new, clock=application.clock)
    return CreatedKey(key=token, record=_record(application, stored))


_WIDER = {"project": "project", "workspace": "whole workspace", "server": "whole server"}


class ListKeys(Input, frozen=True):
    """Which keys, and which page of them."""

    revoked: bool = False
    """Revoked ones too."""
    limit: int = LIMIT
    cursor: str | None = None


class KeyPage(Output, frozen=True):
    """Some keys, oldest first; `cursor` gets the next page, or is null at the end."""

    keys: list[KeyRecord]
    cursor: str | None


@operation("keys.list", role="admin")
async def list_keys(application: Application, given: ListKeys) -> KeyPage:
    """List the API keys within the caller's scope, never their secrets."""
    caller = application.caller
    scope = (caller.workspace_id, caller.project_id) if caller else (None, None)
    page = await kept.list_keys(
        application.store.unsettled, *scope, revoked=given.revoked, limit=given.limit, cursor=given.cursor
    )
    return KeyPage(keys=[_record(application, one) for one in page.items], cursor=page.cursor)


class RevokeKey(Input, frozen=True):
    """A key that must not be used any more."""

    key: str
    """Its id or its prefix."""
    with_made: bool = False
    """Also the keys that were made with it, and with these."""


class RevokedKeys(Output, frozen=True):
    """The keys that can't be used from now on."""

    keys: list[KeyRecord]


@operation("keys.revoke", role="admin", changes=True)
async def revoke_key(application: Application, given: RevokeKey) -> RevokedKeys:
    """Revoke an API key for good; no process accepts it from then on."""
    caller, reader = application.caller, application.store.unsettled
    stored = await kept.load_key(reader, kept.id_in(given.key))
    if caller is not None and not caller.covers(stored.workspace_id, stored.project_id):
        raise NotFound("API key", stored.id)
    # What a key has made lies within its own scope, and so within the caller's.
    ids = [stored.id, *(await kept.keys_made_with(reader, stored.id) if given.with_made else [])]
    await kept.revoke_keys(application.store, ids, by=caller.name if caller else local_user(), clock=application.clock)
    return RevokedKeys(keys=[_record(application, await kept.load_key(reader, id)) for id in ids])


def _expiry(application: Application, seconds: int | None) -> str | None:
    if seconds is None:
        return None
    if not EXPIRES_SECONDS_MIN <= seconds <= EXPIRES_SECONDS_MAX:
        raise KeyNotAllowed(f"a key can't expire after {seconds} seconds; write a time from a minute to 3,650 days")
    moment = datetime.fromisoformat(application.clock()).astimezone(UTC) + timedelta(seconds=seconds)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _record(application: Application, stored: kept.StoredKey) -> KeyRecord:
    role = stored.role
    assert role in ROLES
    scope: Reach = "project" if stored.project_id else "workspace" if stored.workspace_id else "server"
    expired = stored.expires_at is not None and stored.expires_at <= application.clock()
    shown: dict[str, Any] = stored._asdict()
    state = "revoked" if stored.revoked_at else "expired" if expired else "active"
    return KeyRecord(**shown, prefix=f"{kept.PREFIX}{stored.id}", scope=scope, state=state)
