"""Definitions and their versions: creating the next one, loading one with all its parts (RES-2)."""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, TypeVar

from msgspec import Struct

from wonder.definitions.records.actions import ActionDef
from wonder.definitions.records.graph import WorkflowDef
from wonder.definitions.records.resources import ArtifactType, PromptSpec
from wonder.definitions.records.tasks import TaskDef
from wonder.definitions.records.workflows import Trigger
from wonder.language.values import JsonValue, encode_json
from wonder.storage.resource_errors import NotFound
from wonder.storage.store import Reader, Row, Store, Transaction, Value
from wonder.storage.tables import NODES, STEPS, TRANSITIONS, TRIGGERS, Table, table_of

Definition: TypeAlias = WorkflowDef | TaskDef | ActionDef | PromptSpec | ArtifactType
D = TypeVar("D", bound=Definition)

_NEWEST = "newest_live_version(workflow_defs)"


class Owner(Struct, frozen=True, order=True):
    """What definitions belong to: a project or a library."""

    kind: Literal["project", "library"]
    id: str

    @property
    def table(self) -> str:
        """The table that the owner's own row is in."""
        return "projects" if self.kind == "project" else "libraries"

    @property
    def keys(self) -> tuple[str | None, str | None]:
        """The owner as the two columns project_id and library_id."""
        return (self.id, None) if self.kind == "project" else (None, self.id)


class StoredVersion(Struct, frozen=True):
    """What a name has become: the version that holds its content, and whether that was made just now."""

    name: str
    id: str
    version: int
    is_new: bool


def owner_of(record: Definition) -> Owner:
    """Tell what a definition belongs to."""
    if record.project_id is not None:
        return Owner("project", record.project_id)
    assert record.library_id is not None
    return Owner("library", record.library_id)


async def lock_owners(transaction: Transaction, owners: Sequence[Owner]) -> None:
    """Keep others from numbering versions of these owners until the transaction ends; raises NotFound."""
    # Sorted, because two deploys locking the same owners in different order would deadlock.
    for owner in sorted(set(owners)):
        if not await transaction.fetch(f"lock_owner({owner.table})", owner.id):
            raise NotFound(owner.kind, owner.id)


async def create_versions(transaction: Transaction, records: Sequence[D]) -> list[StoredVersion]:
    """Store definitions of one kind and one owner, each under its name; returns them in the same order.

    A record's id counts if its name is new, its version never: the name's newest version decides. Where that one has
    the same content hash and is not archived, it is kept and nothing is written. Names must differ.
    """
    if not records:
        return []
    table, owner = table_of(type(records[0])), owner_of(records[0])
    assert all(type(record) is table.record and owner_of(record) == owner for record in records)
    assert len({record.name for record in records}) == len(records), "one name twice in one call"
    await lock_owners(transaction, [owner])
    names: list[JsonValue] = [record.name for record in records]
    rows = await transaction.fetch(f"newest_versions_in_{owner.kind}({table.name})", owner.id, encode_json(names))
    newest = {str(name): rest for name, *rest in rows}
    stored = [_next_version(record, newest.get(record.name)) for record in records]
    fresh = [(record, version) for record, version in zip(records, stored, strict=True) if version.is_new]
    await _insert(transaction, table, fresh)
    return stored


async def create_version(transaction: Transaction, record: Definition) -> StoredVersion:
    """Store one definition under its name; see create_versions."""
    return (await create_versions(transaction, [record]))[0]


async def add_triggers(transaction: Transaction, triggers: Sequence[Trigger]) -> None:
    """Store the triggers of definition versions that were made in this transaction."""
    rows = [TRIGGERS.row(trigger.model_dump(by_alias=True)) for trigger in triggers]
    await transaction.execute_many("insert_triggers", rows)


async def load_definition(reader: Reader, kind: type[D], id: str, version: int | None = None) -> D:
    """Load one version with all its parts, archived or not; without a number the newest that is not archived."""
    table = table_of(kind)
    if version is None:
        rows = await reader.fetch_named(f"newest_live_definition({table.name})", id)
    else:
        rows = await reader.fetch_named(f"definition({table.name})", id, version)
    if not rows:
        raise NotFound(table.noun, id if version is None else f"{id}@{version}")
    fields = table.fields(rows[0]) | await _load_parts(reader, table, id, rows[0]["version"])
    return table.build(fields)


async def require_version(reader: Reader, workflow_def_id: str, version: int, *, name: str) -> None:
    """Raise NotFound unless a definition has this version, and it is not archived; `name` is what a person calls it."""
    rows = await reader.fetch_named("versions(workflow_defs)", workflow_def_id)
    if not any(row["version"] == version and row["archived_at"] is None for row in rows):
        raise NotFound("workflow", f"{name}@{version}")


async def newest_version(reader: Reader, workflow_def_id: str) -> int:
    """Tell the newest version of a workflow that is not archived; raises NotFound."""
    return _version(await reader.fetch(_NEWEST, workflow_def_id), workflow_def_id)


def newest_version_at_once(store: Store, workflow_def_id: str) -> int | None:
    """Tell the newest version of a workflow; None if it can't be told at once."""
    rows = None if store.in_place is None else store.in_place.look_up(_NEWEST, workflow_def_id)
    return None if rows is None else _version(rows, workflow_def_id)


def _version(rows: list[Row], workflow_def_id: str) -> int:
    if not rows:
        raise NotFound("workflow", workflow_def_id)
    version = rows[0][0]
    assert isinstance(version, int)
    return version


async def load_triggers(reader: Reader, workflow_def_id: str, version: int) -> list[Trigger]:
    """Load what a run of this definition version starts when it has completed."""
    rows = await reader.fetch_named("children(triggers)", workflow_def_id, version)
    return [TRIGGERS.load(row) for row in rows]


def _next_version(record: Definition, newest: Sequence[Value] | None) -> StoredVersion:
    if newest is None:
        return StoredVersion(record.name, record.id, 1, True)
    id, version, content_hash, archived_at = newest
    assert isinstance(id, str)
    assert isinstance(version, int)
    if content_hash == record.content_hash and archived_at is None:
        return StoredVersion(record.name, id, version, False)
    return StoredVersion(record.name, id, version + 1, True)


async def _insert(
    transaction: Transaction, table: Table[Any], fresh: Sequence[tuple[Definition, StoredVersion]]
) -> None:
    rows: dict[str, list[tuple[Value, ...]]] = {table.name: [], "steps": [], "nodes": [], "transitions": []}
    for record, stored in fresh:
        fields = record.model_dump(by_alias=True) | {"id": stored.id, "version": stored.version}
        rows[table.name].append(table.row(fields))
        task = {"task_def_id": stored.id, "task_def_version": stored.version}
        rows["steps"] += [STEPS.row(step | task) for step in fields.get("steps", ())]
        for part in (NODES, TRANSITIONS):
            workflow = {"workflow_def_id": stored.id, "workflow_def_version": stored.version}
            written = enumerate(fields.get(part.name, ()))
            rows[part.name] += [part.row(one | workflow | {"ordinal": ordinal}) for ordinal, one in written]
    for name, parameters in rows.items():
        if parameters:
            await transaction.execute_many(f"insert_{name}", parameters)


async def _load_parts(reader: Reader, table: Table[Any], id: str, version: Value) -> dict[str, Any]:
    """Load the records inside a definition, as the fields that hold them."""
    parts: dict[str, Any] = {}
    for part in {"task_defs": (STEPS,), "workflow_defs": (NODES, TRANSITIONS)}.get(table.name, ()):
        rows = await reader.fetch_named(f"children({part.name})", id, version)
        own = part.record.model_fields
        fields = [part.fields(row) for row in rows]
        parts[part.name] = [{key: value for key, value in one.items() if key in own} for one in fields]
    return parts
