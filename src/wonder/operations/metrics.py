"""Metrics: what emit_metric has counted, over time and for Prometheus."""

from difflib import get_close_matches

from wonder.app.application import Application
from wonder.clock import SYSTEM_CLOCK
from wonder.errors import WonderError
from wonder.observe.metrics import prometheus_text
from wonder.operations.declaring import Input, NoInput, operation
from wonder.operations.outputs import Output
from wonder.storage.metrics import metrics_in_all, metrics_in_steps

_STEPS = 40
_MINUTE_MS = 60_000
_HOUR_MS = 3_600_000


class UnknownMetric(WonderError):
    """No metric has this name."""

    code = "UNKNOWN_METRIC"


class MetricsQuestion(Input, frozen=True):
    """Which metric, and of how much of the time until now."""

    name: str | None = None
    since_ms: int = _HOUR_MS


class MetricStep(Output, frozen=True):
    """What a metric with some dimensions has counted in one step of time."""

    name: str
    dimensions: dict[str, str]
    at_ms: int
    times: int
    sum: float
    min: float
    max: float


class MetricSeries(Output, frozen=True):
    """What was counted, in steps of whole minutes, which is as fine as it is kept."""

    step_ms: int
    first_ms: int
    until_ms: int
    metrics: list[MetricStep]


@operation("metrics.show", role="viewer")
async def show_metrics(application: Application, given: MetricsQuestion) -> MetricSeries:
    """Show what emit_metric has counted, by name and dimensions, over time."""
    now_ms = SYSTEM_CLOCK.now_ms()
    step_ms = max(_MINUTE_MS, given.since_ms // _STEPS // _MINUTE_MS * _MINUTE_MS)
    first_ms = (now_ms - given.since_ms) // step_ms * step_ms
    project_id = application.home.project_id
    found = await metrics_in_steps(application.store, project_id, first_ms, now_ms + 1, step_ms, given.name)
    if given.name is not None and not found:
        await _check_name(application, given.name)
    steps = [MetricStep(**series._asdict()) for series in found]
    return MetricSeries(step_ms=step_ms, first_ms=first_ms, until_ms=now_ms + 1, metrics=steps)


class PrometheusText(Output, frozen=True):
    """All that was ever counted, as Prometheus reads it."""

    text: str


@operation("metrics.prometheus", role="viewer")
async def show_prometheus(application: Application, given: NoInput) -> PrometheusText:
    """Give all that was ever counted as Prometheus reads it."""
    return PrometheusText(text=prometheus_text(await metrics_in_all(application.store, application.home.project_id)))


async def _check_name(application: Application, name: str) -> None:
    """Refuse a name that no metric of the project ever had."""
    ever = await metrics_in_steps(application.store, application.home.project_id, 0, 2**53, 2**53)
    known = list(dict.fromkeys(series.name for series in ever))
    if name not in known:
        near = get_close_matches(name, known, n=1)
        meant = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known) or 'none yet'}"
        raise UnknownMetric(f"there is no metric {name!r}; {meant}")
