"""Artifacts as they are known: what lies in the object store, of which type, and which step of which run stored it."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Final

from msgspec import Struct

from wonder.definitions.records.actions import ActionDef
from wonder.definitions.records.graph import WorkflowDef
from wonder.definitions.records.tasks import TaskDef
from wonder.language.values import JsonValue, encode_json
from wonder.storage.definitions import load_definition
from wonder.storage.pages import LAST, LIMIT, Page, check_limit, cut, read_cursor, write_cursor
from wonder.storage.resource_errors import NotFound
from wonder.storage.runs.cells import from_json, number, number_or_none, text, to_json
from wonder.storage.runs.headers import RunHeader, load_header
from wonder.storage.runs.leases import Lease
from wonder.storage.store import Reader, Store, Value

_DIGITS: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_TIME_LENGTH: Final = 10
_ID_LENGTH: Final = 26


class Artifact(Struct, frozen=True, kw_only=True):
    """One artifact without its content; `artifact_type_version` is None for the built-in type `blob`."""

    id: str
    project_id: str
    run_id: str
    token_id: str
    node: str
    path_id: str
    step: str
    part: str
    artifact_type_id: str
    artifact_type_version: int | None
    storage_key: str
    content_type: str
    size_bytes: int
    schema_data: JsonValue
    created_ms: int


def artifact_id(run_id: str, token_id: str, step: str, part: str) -> str:
    """Give the id of what a step stores as a part, the same each time it does so (INV-4).

    It is a ULID with the time of its token's making, so that artifacts sort by the order of a run.
    """
    place = encode_json([run_id, token_id, step, part])
    number = int.from_bytes(sha256(place.encode("utf-8", "surrogatepass")).digest()[:10])
    chance = "".join(_DIGITS[number >> shift & 31] for shift in range(75, -1, -5))
    is_ulid = len(token_id) == _ID_LENGTH and all(sign in _DIGITS for sign in token_id)
    return (token_id[:_TIME_LENGTH] if is_ulid else "0" * _TIME_LENGTH) + chance


async def put_artifact(store: Store, lease: Lease, artifact: Artifact) -> None:
    """Write an artifact down, whose content is durable by now; durable when this returns. Raises LeaseLost."""
    row = (
        artifact.id,
        artifact.project_id,
        artifact.run_id,
        artifact.token_id,
        artifact.node,
        artifact.path_id,
        artifact.step,
        artifact.part,
        artifact.artifact_type_id,
        artifact.artifact_type_version,
        artifact.storage_key,
        artifact.content_type,
        artifact.size_bytes,
        to_json(artifact.schema_data),
        artifact.created_ms,
    )
    await store.commit([("put_artifact", [row])], fence=lease.fence, independent=True)


async def load_artifact(reader: Reader, project_id: str, id: str) -> Artifact:
    """Load one artifact of a project; raises NotFound, also for one of another project (INV-7)."""
    rows = await reader.fetch_named("artifact", id)
    if not rows or rows[0]["project_id"] != project_id:
        raise NotFound("artifact", id)
    return _artifact(rows[0])


async def artifacts_of_project(
    reader: Reader, project_id: str, *, limit: int = LIMIT, cursor: str | None = None
) -> Page[Artifact]:
    """List a project's artifacts, newest first, page by page; raises BadLimit or BadCursor."""
    check_limit(limit)
    (before,) = read_cursor(cursor, "artifacts", LAST)
    return _page(await reader.fetch_named("artifacts_of_project", project_id, before, limit + 1), limit)


async def artifacts_of_run(
    reader: Reader, run_id: str, *, limit: int = LIMIT, cursor: str | None = None
) -> Page[Artifact]:
    """List a run's artifacts, newest first, with those of its caller where the call inherits them (ACT-5).

    Raises NotFound, BadLimit or BadCursor.
    """
    check_limit(limit)
    (before,) = read_cursor(cursor, "artifacts", LAST)
    runs = encode_json(list(await _with_inherited(reader, run_id)))
    return _page(await reader.fetch_named("artifacts_of_runs", runs, before, limit + 1), limit)


async def newest_artifact_of_node(reader: Reader, run_id: str, node: str) -> Artifact | None:
    """Find what a node has stored last: in the run itself, or else in the nearest run that it inherits from (ACT-5)."""
    for id in await _with_inherited(reader, run_id):
        if rows := await reader.fetch_named("newest_artifact_of_node", id, node):
            return _artifact(rows[0])
    return None


async def _with_inherited(reader: Reader, run_id: str) -> list[str]:
    """Give the run, its caller if its artifacts are inherited, the caller's caller likewise, and so on."""
    header = await load_header(reader, run_id)
    found = [header.id]
    while header.parent_run_id is not None:
        parent = await load_header(reader, header.parent_run_id)
        if not await _inherits(reader, header, parent):
            break
        found.append(parent.id)
        header = parent
    return found


async def _inherits(reader: Reader, child: RunHeader, parent: RunHeader) -> bool:
    definition = await load_definition(reader, WorkflowDef, parent.workflow_def_id, parent.workflow_version)
    node = next((node for node in definition.nodes if node.id == child.parent_node_id), None)
    if node is None:
        return False
    task = await load_definition(reader, TaskDef, node.task_id, node.task_version)
    # Only a call can have made the child, and it is the sole step of its task (LAY-3).
    call = task.steps[0]
    action = await load_definition(reader, ActionDef, call.action_id, call.action_version)
    return bool(action.implementation.get("inherit_artifacts"))


def _page(rows: list[dict[str, Value]], limit: int) -> Page[Artifact]:
    page, more = cut([_artifact(row) for row in rows], limit)
    return Page(page, write_cursor("artifacts", page[-1].id) if more else None)


def _artifact(row: Mapping[str, Value]) -> Artifact:
    return Artifact(
        id=text(row["id"]),
        project_id=text(row["project_id"]),
        run_id=text(row["run_id"]),
        token_id=text(row["token_id"]),
        node=text(row["node"]),
        path_id=text(row["path_id"]),
        step=text(row["step"]),
        part=text(row["part"]),
        artifact_type_id=text(row["artifact_type_id"]),
        artifact_type_version=number_or_none(row["artifact_type_version"]),
        storage_key=text(row["storage_key"]),
        content_type=text(row["content_type"]),
        size_bytes=number(row["size_bytes"]),
        schema_data=from_json(row["schema_data"]),
        created_ms=number(row["created_ms"]),
    )
