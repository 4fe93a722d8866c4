"""Triggers: what completes starts what its triggers say, each once, and what was started says by whom (PHS-6)."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from wonder.checker.definitions import Definition
from wonder.checker.fold import fold
from wonder.checker.state import State
from wonder.checker.stored import Fields, StoredRun
from wonder.checker.violations import Violation
from wonder.storage.store import Reader

DEPTH_MAX: Final = 10
_NOTHING: Final = object()
_PART: Final = re.compile(r'"((?:[^"]|"")*)"|\[(\d+)\]|([^\s."\[\]]+)')
_TELLS: Final = {"triggered": "trigger_fired", "skipped": "trigger_skipped", "failed": "trigger_failed"}


def check_triggers(run: StoredRun, definition: Definition) -> Iterator[Violation]:
    """Compare the rows of a run's triggers with its definition and its context, and with what was started."""
    rows = {row["ordinal"]: row for row in run.firings}
    wanted = definition.triggers if run.row["status"] == "completed" else {}
    if not rows and wanted and run.row["completed_ms"] < definition.triggers_since_ms:
        return
    if rows.keys() != wanted.keys():
        message = f"it is {run.row['status']} and should have fired the triggers {sorted(wanted)}, not {sorted(rows)}"
        yield Violation("triggers", run.id, message)
        return
    if not rows:
        return
    state = fold(run)
    for ordinal, row in rows.items():
        for message in [*_expected(wanted[ordinal], row, state), *_started(run, row), *_told(run, row)]:
            yield Violation("triggers", run.id, f"trigger {ordinal} ({row['status']}) {message}")


def _expected(trigger: Fields, row: Fields, state: State) -> Iterator[str]:
    """Look at the refs of a trigger anew."""
    root = {"input": state.input, "output": state.output, "state": state.state}
    items = _value(root, trigger["for_each"]) if trigger["for_each"] else [None]
    shared = [ref for ref in _refs(trigger["inputs"]) if not re.match(r"@(item|index)\b", ref)]
    if items is _NOTHING or any(_value(root, ref) is _NOTHING for ref in shared):
        if row["status"] != "skipped":
            yield "has a ref that is missing, and is not skipped"
    elif not isinstance(items, list):
        if row["status"] != "failed":
            yield "goes over something that is no list, and has not failed"
    elif row["items"] != len(items):
        yield f"counts {row['items']} items of {len(items)}"


def _started(run: StoredRun, row: Fields) -> Iterator[str]:
    """Compare what a trigger says that it has started with the runs that say that it started them."""
    mine = [one for one in run.triggered if one["trigger_ordinal"] == row["ordinal"]]
    tries = Counter((one["item_index"], one["attempt"]) for one in mine)
    if twice := [key for key, count in tries.items() if count > 1]:
        yield f"started item and attempt {twice[0]} more than once"
    first = [index for index, attempt in tries if attempt == 0]
    if len(first) != row["started"]:
        yield f"says that it started {row['started']} runs, and there are {len(first)}"
    if any(not 0 <= index < row["upto"] for index in first):
        yield f"is at item {row['upto']}, and has started one beyond it"
    if (row["status"] == "pending") != (row["upto"] < row["items"]):
        yield f"is at item {row['upto']} of {row['items']}"
    if row["status"] == "triggered" and row["started"] + row["skipped"] != row["items"]:
        yield f"started {row['started']} runs and skipped {row['skipped']}, of {row['items']} items"
    if any(one["status"] is None for one in mine):
        yield "has started a run that is not there"


def _told(run: StoredRun, row: Fields) -> Iterator[str]:
    told = [
        event for event in run.events if event.type in _TELLS.values() and event.metadata["trigger"] == row["ordinal"]
    ]
    wanted = [] if row["status"] == "pending" else [_TELLS[row["status"]]]
    if [event.type for event in told] != wanted:
        yield f"is told of by {[event.type for event in told]}"
    elif told and told[0].metadata["runs"] != row["started"]:
        yield f"has started {row['started']} runs, and event {told[0].sequence} says {told[0].metadata['runs']}"


async def check_origin(reader: Reader, run: StoredRun) -> list[Violation]:
    """Compare what a triggered run says of its origin with the run that triggered it, and with the one it retries."""
    origin = run.origin
    if origin is None:
        return []
    source = f"it was triggered by run {origin['triggered_by_run_id']}"
    found = []
    rows = await reader.fetch_named("checker_position", origin["triggered_by_run_id"])
    if not rows or rows[0]["status"] != "completed":
        found.append(f"{source}, which is {str(rows[0]['status']) if rows else 'not there'}")
    if not 1 <= origin["trigger_depth"] <= DEPTH_MAX:
        found.append(f"{source}, {origin['trigger_depth']} levels deep")
    if origin["attempt"] > origin["max_retries"]:
        found.append(f"it is retry {origin['attempt']} of at most {origin['max_retries']}")
    if origin["attempt"] > 0:
        retried = await reader.fetch_named("checker_origin", run.row["retry_of_run_id"])
        key = ("triggered_by_run_id", "trigger_ordinal", "item_index", "trigger_depth")
        if not retried or any(retried[0][name] != origin[name] for name in key):
            found.append(f"it is retry {origin['attempt']}, and of none that was triggered so")
        elif retried[0]["status"] != "failed" or retried[0]["attempt"] != origin["attempt"] - 1:
            found.append(f"it retries run {run.row['retry_of_run_id']}, which is {retried[0]['status']!s}")
    if origin["retry_due"] and run.row["status"] != "failed":
        found.append(f"it is due to be retried, and {run.row['status']}")
    return [Violation("triggers", run.id, message) for message in found]


def _refs(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if value.startswith("@") and not value.startswith("@@"):
            yield value
    elif isinstance(value, dict | list):
        for element in value.values() if isinstance(value, dict) else value:
            yield from _refs(element)


def _value(root: Any, ref: str) -> Any:
    """Look a ref up, by itself: names, quoted names and indexes."""
    path: list[str | int] = []
    for quoted, index, name in _PART.findall(ref[1:]):
        path.append(int(index) if index else name or quoted.replace('""', '"'))
    if path[0] not in ("input", "output"):
        path[0:2] = ["state", "steps", path[0]]
    for part in path:
        try:
            is_place = isinstance(root, list) if isinstance(part, int) else isinstance(root, dict)
            root = root[part] if is_place else _NOTHING
        except (KeyError, IndexError):
            return _NOTHING
        if root is _NOTHING:
            return _NOTHING
    return root
