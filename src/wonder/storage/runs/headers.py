"""Headers: a run without its tokens and context, as lists show it and loading begins with it."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from wonder.engine.failure import Failure
from wonder.language.values import JsonValue, encode_json
from wonder.storage.resource_errors import NotFound
from wonder.storage.runs.cells import failure_from, from_json, number, number_or_none, text, text_or_none
from wonder.storage.runs.records import QUARANTINED, TriggerOrigin
from wonder.storage.store import Reader, Value


class RunHeader(Struct, frozen=True, kw_only=True):
    """What is known of a run as a whole; times are milliseconds since 1970."""

    id: str
    project_id: str
    workflow_id: str | None
    workflow_def_id: str
    workflow_version: int
    status: str
    paused_reason: str | None
    gate_item_id: str | None
    timeout_left_ms: int | None
    depth: int
    parent_run_id: str | None
    parent_token_id: str | None
    parent_node_id: str | None
    retry_of_run_id: str | None
    forked_from_run_id: str | None
    forked_from_sequence: int | None
    idempotency_key: str | None
    owner_id: str | None
    queued_input: JsonValue
    """The input of a run that has not started; afterwards it is in the context."""
    output: JsonValue
    error: Failure | None
    created_ms: int
    started_ms: int | None
    completed_ms: int | None
    sequence: int
    """The number of its last event; 0 in lists, where nobody asks for it."""
    tokens_made: int = 0
    """How many tokens it has made in all; 0 in lists."""
    bytes_written: int = 0
    """About how many bytes it has written to the database; 0 in lists."""
    origin: TriggerOrigin | None = None
    """By what it was triggered."""
    retry_due: bool = False
    """Whether it has failed, and is about to be retried because its trigger says so."""
    retried_as: str | None = None
    """The run that it was last retried as; only in lists."""

    @property
    def has_ended(self) -> bool:
        """Whether it has its final status."""
        return self.completed_ms is not None

    @property
    def is_quarantined(self) -> bool:
        """Whether it was set aside because its process died again and again while it was under way."""
        return self.paused_reason == QUARANTINED


async def load_header(reader: Reader, run_id: str) -> RunHeader:
    """Load one run's header; raises NotFound."""
    rows = await reader.fetch_named("run_headers", run_id)
    if not rows:
        raise NotFound("run", run_id)
    return header_of(rows[0])


async def load_headers(reader: Reader, run_ids: Sequence[str]) -> list[RunHeader]:
    """Load the headers of many runs at once, in the order of their ids; those that are not there are left out."""
    rows = await reader.fetch_named("headers_of_runs", encode_json(list(run_ids)))
    return [header_of(row) for row in rows]


async def newest_retry(reader: Reader, run_id: str) -> str | None:
    """Give the run that a failed one was last retried as."""
    return text_or_none((await reader.fetch("newest_retry", run_id))[0][0])


async def children_of_run(reader: Reader, run_id: str) -> list[RunHeader]:
    """List the sub-workflows that a run has called, oldest first."""
    return [header_of(row) for row in await reader.fetch_named("children_of_run", run_id)]


async def count_children(reader: Reader, run_id: str) -> int:
    """Count the sub-workflows that a run has called."""
    return number((await reader.fetch("count_children_of_run", run_id))[0][0])


async def child_statuses(reader: Reader, run_id: str, *, after: str = "", limit: int = 1_000) -> list[tuple[str, str]]:
    """List ids and statuses of the sub-workflows that a run has called, oldest first, behind an id."""
    return [
        (text(id), text(status)) for id, status in await reader.fetch("child_statuses_of_run", run_id, after, limit)
    ]


def header_of(row: Mapping[str, Value]) -> RunHeader:
    """Read a row of `runs`, joined with what is known of its trigger."""
    return RunHeader(
        id=text(row["id"]),
        project_id=text(row["project_id"]),
        workflow_id=text_or_none(row["workflow_id"]),
        workflow_def_id=text(row["workflow_def_id"]),
        workflow_version=number(row["workflow_version"]),
        status=text(row["status"]),
        paused_reason=text_or_none(row["paused_reason"]),
        gate_item_id=text_or_none(row["gate_item_id"]),
        timeout_left_ms=number_or_none(row["timeout_left_ms"]),
        depth=number(row["depth"]),
        parent_run_id=text_or_none(row["parent_run_id"]),
        parent_token_id=text_or_none(row["parent_token_id"]),
        parent_node_id=text_or_none(row["parent_node_id"]),
        retry_of_run_id=text_or_none(row["retry_of_run_id"]),
        forked_from_run_id=text_or_none(row["forked_from_run_id"]),
        forked_from_sequence=number_or_none(row["forked_from_sequence"]),
        idempotency_key=text_or_none(row["idempotency_key"]),
        owner_id=text_or_none(row["owner_id"]),
        queued_input=from_json(row["input"]),
        output=from_json(row["output"]),
        error=failure_from(row["error"]),
        created_ms=number(row["created_ms"]),
        started_ms=number_or_none(row["started_ms"]),
        completed_ms=number_or_none(row["completed_ms"]),
        sequence=number(row["sequence"]),
        tokens_made=number(row["tokens_made"]),
        bytes_written=number(row["bytes_written"]),
        origin=_origin(row),
        retry_due=bool(row["retry_due"]),
        retried_as=text_or_none(row.get("retried_as")),
    )


def _origin(row: Mapping[str, Value]) -> TriggerOrigin | None:
    if row["triggered_by_run_id"] is None:
        return None
    return TriggerOrigin(
        triggered_by_run_id=text(row["triggered_by_run_id"]),
        ordinal=number(row["trigger_ordinal"]),
        item_index=number(row["item_index"]),
        depth=number(row["trigger_depth"]),
        attempt=number(row["attempt"]),
        max_retries=number(row["max_retries"]),
        timeout_ms=number_or_none(row["trigger_timeout_ms"]),
        on_timeout="human_gate" if row["trigger_on_timeout"] == "human_gate" else "fail",
        root_run_id=text_or_none(row["root_run_id"]),
    )
