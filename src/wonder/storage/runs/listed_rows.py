"""Listed rows: what lists find runs by that their own rows can't be found by: why they failed, and what they cost."""

from collections.abc import Iterator

from wonder.engine.decisions import EndRun
from wonder.storage.runs.records import FAILURE_TEXT_MAX, Recorded
from wonder.storage.store import Entry, Value


class ListedRows:
    """The failures and costs of a batch."""

    def __init__(self) -> None:
        self._failures: list[list[Value]] = []
        self._costs: dict[str, tuple[str, float]] = {}

    def fail(self, record: Recorded, decision: EndRun) -> None:
        """Note that a run has failed."""
        failure = decision.failure
        code = failure.code[:FAILURE_TEXT_MAX] if failure else ""
        node = failure.node[:FAILURE_TEXT_MAX] if failure and failure.node is not None else None
        self._failures.append([record.id, record.project_id, record.definition_id, code, node])

    def spend(self, record: Recorded, cost_usd: float) -> None:
        """Note what an event of a run has cost."""
        _, before = self._costs.get(record.id, ("", 0.0))
        self._costs[record.id] = (record.project_id, before + cost_usd)

    def entries(self) -> Iterator[Entry]:
        """Give the statements with their rows."""
        if self._failures:
            yield "insert_run_failure", self._failures
        if self._costs:
            yield "add_run_cost", [(run_id, *cost) for run_id, cost in self._costs.items()]
