"""Finding definitions by name: the owner's own, then those of libraries (RES-4)."""

from collections.abc import Sequence

from msgspec import Struct

from wonder.language.values import JsonValue, encode_json
from wonder.storage.definitions import D, Owner
from wonder.storage.resource_errors import AmbiguousName, NotFound
from wonder.storage.store import Reader, Value
from wonder.storage.tables import table_of


class Found(Struct, frozen=True):
    """Which definition a name means."""

    id: str
    version: int
    name: str
    owner: Owner
    content_hash: str


async def find_definition(
    reader: Reader, kind: type[D], owner: Owner, name: str, version: int | None = None, library: str | None = None
) -> Found | None:
    """Find what a name means when it is written in the owner's file; None if it means nothing live.

    Without a library: the owner's own, then all libraries that its workspace sees, where two of that name raise
    AmbiguousName. With a library only that one is looked at. Without a version the newest is found.
    """
    table = table_of(kind)
    workspace = await _workspace_of(reader, owner)
    if library is not None:
        libraries = await reader.fetch_named("library_by_name", workspace, library)
        if not libraries:
            return None
        owner = Owner("library", str(libraries[0]["id"]))
    own = await reader.fetch_named(f"find_in_{owner.kind}({table.name})", owner.id, name, version)
    if own:
        return _found(own[0])
    if library is not None:
        return None
    others = await reader.fetch_named(f"find_in_libraries({table.name})", workspace, name, version)
    if len(others) > 1:
        raise AmbiguousName(table.noun, name, [f"{row['library']!s}/{name}@{row['version']!s}" for row in others])
    return _found(others[0]) if others else None


async def find_owned(reader: Reader, kind: type[D], owner: Owner, name: str) -> Found | None:
    """Find what an owner itself has under a name, live and at its newest version."""
    rows = await reader.fetch_named(f"find_in_{owner.kind}({table_of(kind).name})", owner.id, name, None)
    return _found(rows[0]) if rows else None


async def ids_of_names(reader: Reader, kind: type[D], owner: Owner, names: Sequence[str]) -> dict[str, str]:
    """Give the ids that names of an owner have, archived ones too: a name keeps its id for ever."""
    wanted: list[JsonValue] = [*names]
    query = f"newest_versions_in_{owner.kind}({table_of(kind).name})"
    return {str(name): str(id) for name, id, *_ in await reader.fetch(query, owner.id, encode_json(wanted))}


async def _workspace_of(reader: Reader, owner: Owner) -> str | None:
    rows = await reader.fetch(f"owner_workspace({owner.table})", owner.id)
    if not rows:
        raise NotFound(owner.kind, owner.id)
    workspace = rows[0][0]
    assert workspace is None or isinstance(workspace, str)
    return workspace


def _found(row: dict[str, Value]) -> Found:
    version, project_id = row["version"], row["project_id"]
    assert isinstance(version, int)
    owner = Owner("library", str(row["library_id"])) if project_id is None else Owner("project", str(project_id))
    return Found(str(row["id"]), version, str(row["name"]), owner, str(row["content_hash"]))
