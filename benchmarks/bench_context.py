"""How long the context tables take: writes of one change, the start of a run, reading back."""

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import apsw

from wonder.context.plan import ContextPlan, changed_paths, plan_context
from wonder.context.writes import gather

SCHEMA: Any = {
    "type": "object",
    "properties": {
        "user_id": {"type": "integer"},
        "approved": {"type": "boolean"},
        "score": {"type": "number"},
        "name": {"type": "string"},
        "note": {"type": ["string", "null"]},
        "meta": {"type": "object", "properties": {"source": {"type": "string"}, "timestamp": {"type": "integer"}}},
        "lines": {"type": "array", "items": {"type": "string"}},
        "rows": {
            "type": "array",
            "items": {"type": "object", "properties": {"sku": {"type": "string"}, "price": {"type": "number"}}},
        },
    },
}
INPUT: Any = {"type": "object", "properties": {"names": {"type": "array"}, "limit": {"type": "integer"}}}
OUTPUT: Any = {"type": "object", "properties": {"count": {"type": "integer"}, "total": {"type": "number"}}}


def microseconds(work: Callable[[], object], times: int) -> float:
    """Median over five rounds of the mean time of one call."""
    rounds = []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(times):
            work()
        rounds.append((time.perf_counter() - start) / times * 1e6)
    return statistics.median(rounds)


def show(title: str, taken: float, rows: int | None = None) -> None:
    """Print one line of the table."""
    print(f"{title:58} {taken:10.2f}  {'' if rows is None else rows}")


def measure() -> list[tuple[str, float]]:
    """Give each label, with the rows that it writes, and its microseconds."""
    plan = plan_context("bench", input_schema=INPUT, context_schema=SCHEMA, output_schema=OUTPUT)
    state: Any = {
        "user_id": 1,
        "approved": False,
        "score": 0.5,
        "name": "Ada",
        "meta": {"source": "web"},
        "lines": ["x"],
    }
    old: Any = {"input": {"limit": 3}, "state": state, "output": {}}
    ten_thousand = [f"line {number}" for number in range(10_000)]
    long: Any = {**old, "state": {**state, "lines": ten_thousand}}
    changes: dict[str, tuple[Any, str, Any, list[tuple[str | int, ...]] | None]] = {
        "one scalar, its path known": (old, "name", "Grace", [("state", "name")]),
        "one scalar, everything compared": (old, "name", "Grace", None),
        "a nested scalar": (old, "meta", {"source": "api"}, [("state", "meta", "source")]),
        "one element appended to 10,000": (long, "lines", [*ten_thousand, "y"], [("state", "lines", 10_000)]),
    }
    found = []
    for title, (before, name, value, paths) in changes.items():
        after = {**before, "state": {**before["state"], name: value}}
        changed = None if paths is None else changed_paths(paths)
        rows = sum(len(rows) for _, rows in plan.changes("run", before, after, changed))
        times = 500 if before is long else 5_000
        work = partial(plan.changes, "run", before, after, changed)
        found.append((f"context: {title} ({rows} row)", microseconds(work, times)))
    found.append(("context: start of a run (2 rows)", microseconds(lambda: plan.insert("run", old), 5_000)))
    found.append(("context: reading one of 1,000 runs back", _reading(plan)))
    return found


def _reading(plan: ContextPlan) -> float:
    """Read 1,000 runs at once, as after a crash, in SQLite."""
    database = apsw.Connection(":memory:")
    for statement in plan.ddl("sqlite"):
        database.execute(statement)
    ids = [f"01J{number:023}" for number in range(1000)]
    state: Any = {"user_id": 2**40, "score": 0.5, "name": "Ada", "meta": {"source": "web"}, "lines": ["a", "b", "c"]}
    contexts: list[Any] = [{"input": {"limit": 3}, "state": state, "output": {}} for _ in ids]
    batch = gather(plan.insert(run_id, context) for run_id, context in zip(ids, contexts, strict=True))
    with database:
        for statement, rows in batch:
            database.executemany(statement.replace("$", "?"), rows)
    wanted = "[" + ",".join(f'"{run_id}"' for run_id in ids) + "]"

    def read() -> object:
        queries = [text.replace("$", "?") for text in plan.select_many("sqlite")]
        return plan.read([database.execute(query, (wanted,)).fetchall() for query in queries])

    return microseconds(read, 3) / 1000
