"""How long expressions take: compiling one, and evaluating typical ones."""

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from wonder.language.expressions import Names, compile_expression, compile_structured

SCOPE: dict[str, Any] = {
    "input": {"user": {"id": 7, "name": "Ada"}, "names": ["Ada", "Bob"]},
    "state": {"approved": True, "count": 7, "rows": [{"price": 12.5}] * 1_000, "name": "Ada Lovelace"},
    "output": {},
}
CONDITION = "state.approved = true and state.count > 5"
STRUCTURED: Any = {
    "type": "comparison",
    "left": {"type": "field", "path": "state.count"},
    "operator": ">",
    "right": {"type": "literal", "value": 5},
}


def microseconds(work: Callable[[], object], times: int) -> float:
    """Median over seven rounds of the mean time of one call."""
    rounds = []
    for _ in range(7):
        started = time.perf_counter()
        for _ in range(times):
            work()
        rounds.append((time.perf_counter() - started) / times * 1e6)
    return statistics.median(rounds)


def measure() -> list[tuple[str, float]]:
    """Return (label, microseconds) for each measurement."""
    names = Names()

    def evaluating(text: str) -> float:
        return microseconds(partial(compile_expression(text, names).evaluate, SCOPE), 10_000)

    return [
        ("evaluating a condition", microseconds(partial(compile_expression(CONDITION, names).matches, SCOPE), 50_000)),
        (
            "evaluating a structured condition",
            microseconds(partial(compile_structured(STRUCTURED, names).matches, SCOPE), 50_000),
        ),
        ("evaluating a bare path", evaluating("input.user.name")),
        ("evaluating state.count + 1", evaluating("state.count + 1")),
        ("evaluating a LIKE", evaluating("state.name like 'ada%'")),
        ("evaluating the length of a list of 1,000", evaluating("json_array_length(state.rows)")),
        ("evaluating a value in a list of 1,000", evaluating("json_extract(state.rows, '$[500].price')")),
        ("evaluating a JSON object of 2 members", evaluating("json_object('id', input.user.id, 'n', state.count)")),
        ("compiling a condition", microseconds(partial(compile_expression, CONDITION, names), 500)),
    ]
