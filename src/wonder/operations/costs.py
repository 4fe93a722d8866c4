"""Costs: what calls of models have used and how they ended, by model, profile, node and day (EVT-3)."""

from datetime import UTC, datetime
from typing import Final, Literal

from msgspec import field

from wonder.app.application import Application
from wonder.operations.declaring import Input, operation
from wonder.operations.outputs import Output
from wonder.storage.runs.events_across_runs import FoundEvent, find_events
from wonder.storage.runs.finding_events import WantedEvents

By = Literal["model", "profile", "node", "day"]
_CALLS: Final = frozenset({"llm_call_completed"})


class WhichCosts(Input, frozen=True):
    """Which calls of models, and by what they are added up."""

    by: list[By] = field(default_factory=lambda: ["model"])
    since_ms: int | None = None
    """Only calls of this time or later, in milliseconds since 1970."""
    until_ms: int | None = None
    """Only calls before this time."""
    workflow: str | None = None
    """Only calls of runs whose definition has this name."""


class CostRow(Output, frozen=True):
    """All calls with the same model, profile, node and day, as far as these were asked for; the others are null."""

    model: str | None
    profile: str | None
    node: str | None
    day: str | None
    """As in `2026-11-18`, in UTC."""
    calls: int
    failures: int
    latency_p50_ms: int
    latency_p95_ms: int
    input_tokens: int
    output_tokens: int
    cost_usd: float


class Costs(Output, frozen=True):
    """What was spent, the dearest first; by day, in the order of the days."""

    rows: list[CostRow]
    calls: int
    cost_usd: float


class _Sum:
    """What is added up for one row."""

    def __init__(self) -> None:
        self.failures = self.input_tokens = self.output_tokens = 0
        self.cost_usd = 0.0
        self.latencies: list[int] = []

    def add(self, one: FoundEvent) -> None:
        told = one.event.metadata
        self.failures += "error" in told
        self.input_tokens += told["input_tokens"]
        self.output_tokens += told["output_tokens"]
        self.cost_usd += told["cost_usd"]
        self.latencies.append(told["duration_ms"])

    def row(self, key: dict[By, str]) -> CostRow:
        self.latencies.sort()
        return CostRow(
            model=key.get("model"),
            profile=key.get("profile"),
            node=key.get("node"),
            day=key.get("day"),
            calls=len(self.latencies),
            failures=self.failures,
            latency_p50_ms=_percentile(self.latencies, 50),
            latency_p95_ms=_percentile(self.latencies, 95),
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cost_usd=self.cost_usd,
        )


@operation("costs.show", role="viewer")
async def show_costs(application: Application, given: WhichCosts) -> Costs:
    """Add up calls of models: how many, how many failed, how long they took, what they used and cost."""
    by = list(dict.fromkeys(given.by))
    wanted = WantedEvents(types=_CALLS, since_ms=given.since_ms, until_ms=given.until_ms)
    sums: dict[tuple[str, ...], _Sum] = {}
    async for one in find_events(application.store, application.home.project_id, wanted):
        definition = await application.definition(one.run.workflow_def_id, one.run.workflow_version)
        if given.workflow not in (None, definition.name):
            continue
        node = next((node.ref for node in definition.nodes if node.id == one.event.node_id), "")
        told, day = one.event.metadata, datetime.fromtimestamp(one.event.at_ms / 1000, UTC)
        parts = {"model": told["model"], "profile": told["profile"], "node": node, "day": f"{day:%Y-%m-%d}"}
        sums.setdefault(tuple(parts[part] for part in by), _Sum()).add(one)
    rows = [found.row(dict(zip(by, key, strict=True))) for key, found in sums.items()]
    rows.sort(key=lambda row: (row.day or "", -row.cost_usd, -row.calls, row.profile or "", row.node or ""))
    return Costs(rows=rows, calls=sum(row.calls for row in rows), cost_usd=sum(row.cost_usd for row in rows))


def _percentile(in_order: list[int], percent: int) -> int:
    """Give the value that at least so many of a hundred are not above."""
    return in_order[max(0, -(-len(in_order) * percent // 100) - 1)]
