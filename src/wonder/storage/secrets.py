"""Secrets as they are stored: by name, of a project or of its whole workspace, sealed (INV-8)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import msgspec

from wonder.definitions.secret_scopes import SecretScope
from wonder.errors import WonderError
from wonder.language.foreign_json import read_as
from wonder.language.values import BadValue
from wonder.storage.resource_errors import NotFound
from wonder.storage.sealing import KeyRing, SecretKeyMissing, new_key
from wonder.storage.secret_keys import KeySource
from wonder.storage.store import NewId, Reader, Row, Store, Transaction, UtcNow, Value

LENGTH_MIN: Final = 8
LENGTH_MAX: Final = 65_536
LINES_MAX: Final = 1_000
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")


class SecretRefused(WonderError):
    """A secret can't be stored as it was given."""

    code = "SECRET_REFUSED"


class Owner(NamedTuple):
    """Whose a secret is."""

    scope: Literal["project", "workspace"]
    id: str


@dataclass(frozen=True, slots=True)
class SecretSummary:
    """What may be known of a secret: anything but its value."""

    name: str
    owner: Owner
    created_at: str
    updated_at: str
    key_id: str
    scope: SecretScope | None = None
    """None for one that was stored without a scope."""


class Sealed(NamedTuple):
    """A secret as it is stored."""

    id: str
    owner: Owner
    name: str
    key_id: str
    sealed: bytes
    scope_text: str | None = None
    """Where it may go, as it is stored; None for one without a scope."""

    @property
    def belongs_to(self) -> str:
        """What it can be opened as: under no other name, in no other project, and with no other scope."""
        of = f"{self.id}|{self.owner.scope}:{self.owner.id}|{self.name}"
        return of if self.scope_text is None else f"{of}|{self.scope_text}"

    @property
    def scope(self) -> SecretScope | None:
        """Where it may go; to be believed only once the secret was opened."""
        return _scope(self.scope_text)

    def open(self, keys: KeyRing) -> str:
        """Give its value; raises SecretKeyMissing or SecretBroken."""
        return keys.key(self.key_id).open(self.sealed, self.belongs_to, self.name)


async def set_secret(
    store: Store,
    keys: KeySource,
    owner: Owner,
    name: str,
    value: str,
    scope: SecretScope | None = None,
    *,
    clock: UtcNow,
    new_id: NewId,
) -> bool:
    """Store a secret, over one that has the name; say whether it is new. Without a scope it keeps the one it has.

    Raises SecretRefused, SecretKeyBad, or SecretKeyMissing where a key is missing for what is stored already.
    """
    check_name(name)
    check_length(value)
    async with store.transaction() as transaction:
        await transaction.fetch("lock_secrets")
        # Read under the lock, so that nothing is sealed with a key that is just being given up.
        ring = await _keys(transaction, keys)
        rows = await transaction.fetch(f"secret_of_{owner.scope}", owner.id, name)
        id = str(rows[0][0]) if rows else new_id()
        text = _scope_text(scope) if scope or not rows else _sealed(rows[0]).scope_text
        sealed = ring.first.seal(value, Sealed(id, owner, name, "", b"", text).belongs_to)
        if rows:
            await transaction.execute("seal_secret", id, ring.first.id, sealed, text, clock())
        else:
            columns: Mapping[str, Value] = {owner.scope: owner.id}
            owners = (columns.get("workspace"), columns.get("project"))
            await transaction.execute("insert_secret", id, *owners, name, ring.first.id, sealed, text, clock())
        return not rows


async def set_scope(
    store: Store, keys: KeySource, owner: Owner, name: str, scope: SecretScope, *, clock: UtcNow
) -> None:
    """Give a secret another scope, its value unchanged; raises NotFound, SecretKeyMissing or SecretBroken."""
    async with store.transaction() as transaction:
        await transaction.fetch("lock_secrets")
        rows = await transaction.fetch(f"secret_of_{owner.scope}", owner.id, name)
        if not rows:
            raise NotFound(f"secret of this {owner.scope}", name)
        ring, before = await _keys(transaction, keys), _sealed(rows[0])
        after = before._replace(scope_text=_scope_text(scope))
        sealed = ring.first.seal(before.open(ring), after.belongs_to)
        await transaction.execute("seal_secret", before.id, ring.first.id, sealed, after.scope_text, clock())


async def delete_secret(store: Store, owner: Owner, name: str) -> None:
    """Delete a secret for good, which takes no key; raises NotFound."""
    async with store.transaction() as transaction:
        await transaction.fetch("lock_secrets")
        rows = await transaction.fetch(f"secret_of_{owner.scope}", owner.id, name)
        if not rows:
            raise NotFound(f"secret of this {owner.scope}", name)
        await transaction.execute("delete_secret", rows[0][0])


async def list_secrets(reader: Reader, project_id: str) -> list[SecretSummary]:
    """List what a project sees: its own, and its workspace's."""
    rows = await reader.fetch("secrets_of", project_id)
    return [
        SecretSummary(str(name), _owner(workspace, project), str(created), str(updated), str(key_id), _scope(scope))
        for _, workspace, project, name, key_id, created, updated, scope in rows
    ]


async def find_secret(reader: Reader, project_id: str, name: str) -> Sealed | None:
    """Find the secret that a name means in a project."""
    rows = await reader.fetch("secret_in_project", project_id, name)
    return _sealed(rows[0]) if rows else None


def sealed_in(rows: Sequence[Row]) -> list[Sealed]:
    """Give secrets as they are stored."""
    return [_sealed(row) for row in rows]


async def rotate(store: Store, keys: KeySource) -> int:
    """Seal all secrets with a new key, or with the first of the environment's; say how many were.

    After a crash at any point every secret can still be opened, and rotating again finishes it.
    """
    async with store.transaction() as transaction:
        await transaction.fetch("lock_secrets")
        ring = await _keys(transaction, keys)
        if keys.is_file:
            # The old ones stay beside it until nothing is sealed with them any more.
            ring = keys.replace([new_key(), *ring.keys])
        count = await _seal_anew(transaction, ring)
    if keys.is_file:
        await _forget_old(store, keys)
    return count


def check_name(name: str) -> None:
    """Refuse what could not be written as `{{secrets.NAME}}`."""
    if not _NAME.fullmatch(name):
        raise SecretRefused(
            f"{name[:80]!r} can't be the name of a secret; use letters, digits and '_', as in API_TOKEN, 200 at most"
        )


def check_length(value: str) -> None:
    """Refuse what could not be redacted, or not be used."""
    if len(value) < LENGTH_MIN:
        raise SecretRefused(
            f"a secret of {len(value)} characters can't be kept out of logs and outputs, where it stands by chance; "
            f"use one of at least {LENGTH_MIN}"
        )
    if len(value) > LENGTH_MAX:
        raise SecretRefused(f"a secret of {len(value):,} characters is too long; {LENGTH_MAX:,} is the limit")
    if (lines := len(value.splitlines())) > LINES_MAX:
        raise SecretRefused(
            f"a secret of {lines:,} lines is too long, because each is kept out of logs and outputs by itself; "
            f"{LINES_MAX:,} is the limit: encode it, with base64 for instance, or store its parts"
        )
    if "\0" in value or any("\ud800" <= sign <= "\udfff" for sign in value):
        raise SecretRefused(
            "a secret is a text of Unicode without U+0000; encode other bytes, with base64 for instance"
        )


async def _keys(transaction: Transaction, keys: KeySource) -> KeyRing:
    """Load the keys, or make the first one; raises SecretKeyMissing rather than add another key to lost ones."""
    stored = [str(key_id) for (key_id,) in await transaction.fetch("secret_key_ids")]
    ring = keys.load()
    for key_id in stored:
        if ring is None or key_id not in ring:
            raise SecretKeyMissing(keys.where, key_id)
    return ring if ring is not None else keys.make()


async def _seal_anew(transaction: Transaction, ring: KeyRing) -> int:
    count = 0
    for row in await transaction.fetch("all_secrets"):
        secret = _sealed(row)
        if secret.key_id != ring.first.id:
            sealed = ring.first.seal(secret.open(ring), secret.belongs_to)
            await transaction.execute("seal_secret_anew", secret.id, ring.first.id, sealed)
            count += 1
    return count


async def _forget_old(store: Store, keys: KeySource) -> None:
    """Drop the keys from the file that nothing is sealed with."""
    async with store.transaction() as transaction:
        await transaction.fetch("lock_secrets")
        ring = keys.load()
        assert ring is not None
        used = {key_id for (key_id,) in await transaction.fetch("secret_key_ids")}
        keys.replace([key for key in ring.keys if key.id in used or key == ring.first])


def _sealed(row: Row) -> Sealed:
    id, workspace, project, name, key_id, sealed, scope = row
    assert isinstance(sealed, bytes)
    assert scope is None or isinstance(scope, str)
    return Sealed(str(id), _owner(workspace, project), str(name), str(key_id), sealed, scope)


def _owner(workspace_id: Value, project_id: Value) -> Owner:
    return Owner("workspace", str(workspace_id)) if project_id is None else Owner("project", str(project_id))


def _scope_text(scope: SecretScope | None) -> str | None:
    return None if scope is None else msgspec.json.encode(scope).decode()


def _scope(text: Value) -> SecretScope | None:
    """Read a stored scope; one that somebody has spoiled allows nothing, and its secret is not opened."""
    if text is None:
        return None
    try:
        return read_as(str(text), SecretScope)
    except BadValue:
        return SecretScope()
