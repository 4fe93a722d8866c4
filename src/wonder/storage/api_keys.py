"""API keys as they are stored: found by their id, proved by a hash of the secret that was shown once (KEY-1)."""

import hmac
import re
import secrets
from hashlib import sha256
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

from wonder.errors import WonderError
from wonder.storage.pages import Page, check_limit, cut, read_cursor, write_cursor
from wonder.storage.resource_errors import NotFound
from wonder.storage.store import Reader, Store, UtcNow, Value

PREFIX: Final = "wonder_"
_ID_SIGNS: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_ID_LENGTH: Final = 8
_SECRET_BYTES: Final = 32
_TOKEN: Final = re.compile(r"wonder_([0-9a-hjkmnp-tv-z]{8})_[0-9a-f]{64}")
_NAMED: Final = re.compile(r"(?:wonder_)?([0-9a-hjkmnp-tv-z]{8})(?:_[0-9a-f]{64})?")
# A use is written down so much later than the one before at the earliest: the length of "2026-01-01T00:0".
_USE_SIGNS: Final = 15


class StoredKey(NamedTuple):
    """What may be known of a key: anything but its secret."""

    id: str
    name: str
    role: str
    workspace_id: str | None
    project_id: str | None
    workspace: str | None
    project: str | None
    created_at: str
    created_by: str
    created_by_key: str | None
    expires_at: str | None
    last_used_at: str | None
    revoked_at: str | None
    revoked_by: str | None


class NewKey(NamedTuple):
    """A key that is to be stored."""

    name: str | None
    """Without a name it is called after its id."""
    role: str
    workspace_id: str | None
    project_id: str | None
    created_by: str
    created_by_key: str | None
    expires_at: str | None


class ProvedKey(NamedTuple):
    """A key that is valid, whose secret was shown."""

    id: str
    name: str
    role: str
    workspace_id: str | None
    project_id: str | None


async def create_key(store: Store, new: NewKey, *, clock: UtcNow) -> tuple[StoredKey, str]:
    """Store a new key; give it with its text, which nobody can get again."""
    id = "".join(secrets.choice(_ID_SIGNS) for _ in range(_ID_LENGTH))
    token = f"{PREFIX}{id}_{secrets.token_hex(_SECRET_BYTES)}"
    row = (id, _hash(token), new.name or f"key-{id}", new.role, new.workspace_id, new.project_id, clock())
    await store.commit([("insert_api_key", [(*row, new.created_by, new.created_by_key, new.expires_at)])])
    return await load_key(store.unsettled, id), token


async def prove_key(store: Store, token: str, *, clock: UtcNow) -> ProvedKey | None:
    """Find the key whose text this is; None if there is none, or it is revoked, expired, or of what is archived."""
    found = _TOKEN.fullmatch(token)
    if found is None:
        return None
    id = found[1]
    rows = None if store.in_place is None else store.in_place.look_up("usable_api_key", id)
    if rows is None:
        rows = await store.unsettled.fetch("usable_api_key", id)
    if not rows:
        return None
    stored_hash, name, role, workspace_id, project_id, expires_at, last_used_at = rows[0]
    assert isinstance(stored_hash, bytes)
    now = clock()
    if not hmac.compare_digest(stored_hash, _hash(token)) or (expires_at is not None and str(expires_at) <= now):
        return None
    await _note_use(store, id, _text(last_used_at), now)
    return ProvedKey(id, str(name), str(role), _text(workspace_id), _text(project_id))


# By store and key, the use that this process has written down last: of many requests at once, one writes.
_NOTED: WeakKeyDictionary[Store, dict[str, str]] = WeakKeyDictionary()


async def _note_use(store: Store, id: str, last_used_at: str | None, now: str) -> None:
    """Write down that a key was used, at most once in ten minutes: each request would be a commit otherwise."""
    noted = _NOTED.setdefault(store, {})
    last = max(noted.get(id, ""), last_used_at or "")
    if now[:_USE_SIGNS] <= last[:_USE_SIGNS]:
        return
    noted[id] = now
    try:
        await store.commit([("note_use_of_api_key", [(id, now)])])
    except WonderError:
        # It is for people to look at; a database that can only be read must not refuse them all.
        return


async def load_key(reader: Reader, id: str) -> StoredKey:
    """Load a key; raises NotFound."""
    rows = await reader.fetch("one_api_key", id)
    if not rows:
        raise NotFound("API key", id)
    return _stored(rows[0])


async def list_keys(
    reader: Reader,
    workspace_id: str | None,
    project_id: str | None,
    *,
    revoked: bool,
    limit: int,
    cursor: str | None,
) -> Page[StoredKey]:
    """List the keys within a scope, oldest first; revoked ones too if they are asked for."""
    after = read_cursor(cursor, "api_keys", "", "")
    asked = (workspace_id, project_id, *after, check_limit(limit) + 1, int(revoked))
    page, more = cut([_stored(row) for row in await reader.fetch("api_keys_after", *asked)], limit)
    return Page(page, write_cursor("api_keys", page[-1].created_at, page[-1].id) if more else None)


async def revoke_keys(store: Store, ids: list[str], *, by: str, clock: UtcNow) -> None:
    """Revoke keys at once, in every process; one that is revoked already stays as it is."""
    now = clock()
    await store.commit([("revoke_api_key", [(id, now, by) for id in ids])])


async def keys_made_with(reader: Reader, id: str) -> list[str]:
    """Give the ids of the keys that a key has made, and of those that these have made."""
    return [str(made) for (made,) in await reader.fetch("made_with_api_key", id)]


async def has_usable_key(reader: Reader, *, clock: UtcNow) -> bool:
    """Say whether anybody could show a key."""
    return bool(await reader.fetch("has_usable_api_key", clock()))


def id_in(text: str) -> str:
    """Give the id that is meant by an id, a prefix or the whole text of a key; raises NotFound."""
    found = _NAMED.fullmatch(text)
    if found is None:
        # Not with the text itself: it may be most of a key.
        raise NotFound("API key", text[: len(PREFIX) + _ID_LENGTH])
    return found[1]


def _hash(token: str) -> bytes:
    # Of 256 random bits a plain hash can't be searched for; slow ones are for what people choose.
    return sha256(token.encode()).digest()


def _stored(row: tuple[Value, ...]) -> StoredKey:
    return StoredKey(*(_text(cell) for cell in row))  # type: ignore[arg-type]  # some columns are never NULL


def _text(cell: Value) -> str | None:
    return None if cell is None else str(cell)
