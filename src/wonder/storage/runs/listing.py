"""Lists of runs, newest first: each page looks at a bounded number of runs, by the index that leaves the fewest.

Several indexes may serve a filter. Each is asked for the same number of ids, in the order of the list: the one that
gets furthest back with them leaves the fewest runs to look at. Where these do not fill the page, it has fewer runs than
were asked for, and its cursor goes on behind the last run that was looked at.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from wonder.language.values import JsonValue, encode_json
from wonder.storage.pages import LAST, LIMIT, Page, check_limit, read_cursor, write_cursor
from wonder.storage.runs.cells import text
from wonder.storage.runs.headers import RunHeader, header_of
from wonder.storage.runs.records import FAILURE_TEXT_MAX, QUARANTINED
from wonder.storage.store import Reader, Value
from wonder.storage.ulids import ulid_of

# So many runs are looked at for a page, first some and then more: most pages are full after the first ones.
PORTIONS: Final = (200, 800)
# An id is made with its run, or a little before: a sub-workflow's with the decision to call it.
_BORN_BEFORE_MS: Final = 60_000
_AHEAD_MS: Final = 1_000
_WORKFLOWS_MAX: Final = 50
_AT_REST: Final = frozenset({"queued", "waiting", "paused"})


class RunFilter(Struct, frozen=True, kw_only=True):
    """Which runs of a project; what is None does not narrow the list."""

    status: str | None = None
    """A run that is paused because it is quarantined has the status `quarantined` here, and no other."""
    workflow_id: str | None = None
    workflow_def_id: str | None = None
    version: int | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    """Before this time, which does not belong to it."""
    error: str | None = None
    """The code of the error, or a part of its message."""
    error_code: str | None = None
    node: str | None = None
    """The ref of the node at which the run failed, or is."""
    tag: str | None = None
    """A tag of its definition."""
    retried: bool | None = None
    parent_run_id: str | None = None
    cost_min_usd: float | None = None

    @property
    def set_fields(self) -> frozenset[str]:
        """The fields that narrow the list."""
        return frozenset(name for name in self.__struct_fields__ if getattr(self, name) is not None)


EVERY_RUN = RunFilter()


class _Query(NamedTuple):
    """A named query with what it finds runs of: a project or a workflow, and a status, a code or a node."""

    name: str
    of: str | None
    key: str | None = None


class _Way(NamedTuple):
    """One way to find the runs of a filter: the queries whose ids together hold all of them, and what these cover."""

    queries: Sequence[_Query]
    covers: frozenset[str]
    """The fields of the filter that need not be looked at any more."""


class _Looked(NamedTuple):
    """Ids to look at, newest first; all of the list down to `reached`, which is empty at its end."""

    ids: list[str]
    reached: str


async def list_runs(
    reader: Reader, project_id: str, wanted: RunFilter = EVERY_RUN, *, limit: int = LIMIT, cursor: str | None = None
) -> Page[RunHeader]:
    """List a project's runs, newest first, page by page; raises BadLimit or BadCursor.

    A page that is not the last one may have fewer runs than the limit.
    """
    check_limit(limit)
    (before,) = read_cursor(cursor, "runs", LAST)
    if wanted.until_ms is not None:
        before = min(before, ulid_of(wanted.until_ms + _AHEAD_MS))
    down_to = "" if wanted.since_ms is None else ulid_of(wanted.since_ms - _BORN_BEFORE_MS)
    ways = await _ways(reader, project_id, wanted)
    exact = [way for way in ways if way.covers >= wanted.set_fields][:1]
    found: list[RunHeader] = []
    for portion in (limit + 1, *PORTIONS[1:]) if exact else PORTIONS:
        looked = await _furthest(reader, exact or ways, before, down_to, portion)
        found += await _fitting(reader, project_id, wanted, looked.ids, limit + 1 - len(found))
        if len(found) > limit:
            return Page(found[:limit], cursor_after(found[limit - 1].id))
        if not looked.reached:
            return Page(found, None)
        before = looked.reached
    return Page(found, cursor_after(before))


def cursor_after(run_id: str) -> str:
    """Give the cursor of the list of runs that goes on after a run."""
    return write_cursor("runs", run_id)


async def _ways(reader: Reader, project_id: str, wanted: RunFilter) -> list[_Way]:
    found = list(_ways_by_end(project_id, wanted))
    if wanted.workflow_def_id is not None:
        found.append(_way(_Query("find_by_workflow", wanted.workflow_def_id), "workflow_def_id"))
    if wanted.parent_run_id is not None:
        found.append(_way(_Query("find_by_parent", wanted.parent_run_id), "parent_run_id"))
    if wanted.cost_min_usd is not None:
        found.append(_way(_Query("find_with_cost", project_id)))
    if wanted.tag is not None:
        rows = await reader.fetch("workflows_with_tag", wanted.tag, _WORKFLOWS_MAX + 1)
        if len(rows) <= _WORKFLOWS_MAX:
            found.append(_way(_Query("find_by_workflows", encode_json([text(id) for (id,) in rows]))))
    # Where nothing narrows it, or nothing that has an index.
    return found or [_way(_Query("find_by_project", project_id))]


def _ways_by_end(project_id: str, wanted: RunFilter) -> Iterable[_Way]:
    """Give the ways that lead over how runs ended, or that they did not."""
    if wanted.status == "running":
        yield _way(_Query("find_live", None))
    elif wanted.status in _AT_REST:
        # Among the paused there are quarantined ones.
        covers = () if wanted.status == "paused" else ("status",)
        yield _way(_Query("find_by_live_status", project_id, wanted.status), *covers)
    elif wanted.status == QUARANTINED:
        yield _way(_Query("find_by_live_status", project_id, "paused"))
    elif wanted.status == "cancelled":
        yield _way(_Query("find_cancelled", project_id), "status")
    elif wanted.status == "failed" or wanted.error is not None or wanted.error_code is not None:
        yield _way(_Query("find_failed", project_id), "status")
        if wanted.workflow_def_id is not None:
            yield _way(_Query("find_failed_by_workflow", wanted.workflow_def_id), "status", "workflow_def_id")
    if wanted.error_code is not None and len(wanted.error_code) < FAILURE_TEXT_MAX:
        yield _way(_Query("find_failed_by_code", project_id, wanted.error_code), "status", "error_code")
    if wanted.node is not None and len(wanted.node) < FAILURE_TEXT_MAX:
        failed = _Query("find_failed_by_node", project_id, wanted.node)
        if wanted.status == "failed":
            yield _way(failed, "status", "node")
        else:
            yield _Way([failed, _Query("find_live", None)], frozenset())


def _way(query: _Query, *covers: str) -> _Way:
    return _Way([query], frozenset(covers))


async def _furthest(reader: Reader, ways: list[_Way], before: str, down_to: str, count: int) -> _Looked:
    """Give so many ids by the way that gets furthest back with them."""
    best: _Looked | None = None
    for way in ways:
        parts = [await _part(reader, query, before, down_to, count) for query in way.queries]
        looked = _merged(parts, count) if len(parts) > 1 else parts[0]
        if best is None or looked.reached < best.reached:
            best = looked
        if not best.reached:
            break
    assert best is not None, "there is always a way"
    return best


async def _part(reader: Reader, query: _Query, before: str, down_to: str, count: int) -> _Looked:
    given: tuple[Value, ...] = (query.of, before, down_to, count, query.key)
    ids = [text(id) for (id,) in await reader.fetch(query.name, *(one for one in given if one is not None))]
    return _Looked(ids, ids[-1] if len(ids) == count else "")


def _merged(parts: list[_Looked], count: int) -> _Looked:
    """Join ids of several queries, down to where the first of them has broken off, and no more than so many."""
    reached = max(part.reached for part in parts)
    ids = sorted({id for part in parts for id in part.ids if id >= reached}, reverse=True)
    return _Looked(ids[:count], ids[count - 1]) if len(ids) > count else _Looked(ids, reached)


async def _fitting(reader: Reader, project_id: str, wanted: RunFilter, ids: list[str], limit: int) -> list[RunHeader]:
    if not ids:
        return []
    rows = await reader.fetch_named(
        "list_runs",
        project_id,
        encode_json(list[JsonValue](ids)),
        limit,
        wanted.status,
        wanted.workflow_def_id,
        wanted.since_ms,
        wanted.until_ms,
        wanted.error,
        wanted.error_code,
        wanted.node,
        wanted.tag,
        None if wanted.retried is None else int(wanted.retried),
        wanted.workflow_id,
        wanted.version,
        wanted.parent_run_id,
        wanted.cost_min_usd,
    )
    return [header_of(row) for row in rows]
