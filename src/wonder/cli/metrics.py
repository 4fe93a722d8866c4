"""Show the metrics that actions of the kind `emit_metric` have recorded, by name and dimensions, with a plot.

Values are aggregated by minute.

  wonder metrics orders.total --since 7d
"""

import asyncio
import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections import defaultdict

from wonder.cli.opening import open_app
from wonder.cli.output import color, print_output, print_table
from wonder.cli.settings import add_project_options, database_setting, tenant_setting
from wonder.observe.metrics import sparkline
from wonder.operations.declaring import NoInput
from wonder.operations.metrics import MetricSeries, MetricsQuestion, MetricStep, show_metrics, show_prometheus

_UNITS = {"m": 60_000, "h": 3_600_000, "d": 86_400_000}


def configure(parser: ArgumentParser) -> None:
    """Take a name and a time."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="show only this metric (default: all)")
    parser.add_argument(
        "--since",
        type=_length,
        default="1h",
        metavar="DURATION",
        help="show the time from this long ago until now: 30m, 1h, 7d (default 1h)",
    )
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument(
        "--prometheus", action="store_true", help="print the totals of all metrics in the text format of Prometheus"
    )
    shape.add_argument("--json", action="store_true", help="print the result as JSON")
    add_project_options(parser)


def run(given: Namespace) -> int:
    """Show metrics."""
    return asyncio.run(_run(given))


async def _run(given: Namespace) -> int:
    async with open_app(database_setting(given.db).value, create=False, **tenant_setting(given)) as app:
        if given.prometheus:
            print((await show_prometheus(app, NoInput())).text, end="")
            return 0
        found = await show_metrics(app, MetricsQuestion(name=given.name, since_ms=given.since))
    if given.json:
        print_output(found)
    elif found.metrics:
        _print(found)
    else:
        print("no metrics were recorded in this time; actions of the kind emit_metric record them")
    return 0


def _print(found: MetricSeries) -> None:
    steps = range(found.first_ms, found.until_ms, found.step_ms)
    by_series: dict[tuple[str, str], dict[int, MetricStep]] = defaultdict(dict)
    for step in found.metrics:
        shown = " ".join(f"{name}={value}" for name, value in step.dimensions.items())
        by_series[step.name, shown][step.at_ms] = step
    rows = []
    for (name, shown), parts in by_series.items():
        count, total = sum(part.times for part in parts.values()), sum(part.sum for part in parts.values())
        least, most = min(part.min for part in parts.values()), max(part.max for part in parts.values())
        plot = sparkline([parts[at].sum if at in parts else None for at in steps])
        rows.append([name, shown, str(count), *(f"{value:g}" for value in (total, total / count, least, most)), plot])
    print_table(["METRIC", "DIMENSIONS", "COUNT", "SUM", "MEAN", "MIN", "MAX", "SUM OVER TIME"], rows)
    print(color("dim", f"each block is {(steps.step) // 60_000} min"))


def _length(text: str) -> int:
    found = re.fullmatch(r"([1-9][0-9]{0,4})([mhd])", text)
    if not found:
        raise ArgumentTypeError(f"{text!r} is not a length of time; write a number with m, h or d, as in 30m, 1h or 7d")
    return int(found[1]) * _UNITS[found[2]]
