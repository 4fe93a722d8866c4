"""Show what emit_metric has counted: by name and dimensions, with a plot over time."""

import asyncio
import re
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections import defaultdict
from difflib import get_close_matches

from wonder.app import App, open_app
from wonder.cli.output import color, print_json, print_table
from wonder.cli.settings import add_database_option, database_setting
from wonder.errors import WonderError
from wonder.observe.metrics import prometheus_text, sparkline
from wonder.storage.metrics import Series, metrics_in_all, metrics_in_steps

_UNITS = {"m": 60_000, "h": 3_600_000, "d": 86_400_000}
_STEPS = 40


class UnknownMetric(WonderError):
    """No metric has this name."""

    code = "UNKNOWN_METRIC"


def configure(parser: ArgumentParser) -> None:
    """Take a name and a time."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="only the metric of this name")
    parser.add_argument(
        "--since", type=_length, default="1h", metavar="LENGTH", help="of the last 30m, 1h, 7d … (default 1h)"
    )
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--prometheus", action="store_true", help="print all of all time as Prometheus reads it")
    shape.add_argument("--json", action="store_true", help="print the result for a program")
    add_database_option(parser)


def run(given: Namespace) -> int:
    """Show metrics."""
    return asyncio.run(_run(given))


async def _run(given: Namespace) -> int:
    async with open_app(database_setting(given.db).value, create=False) as app:
        if given.prometheus:
            print(prometheus_text(await metrics_in_all(app.store)), end="")
            return 0
        now_ms = time.time_ns() // 1_000_000
        # In whole minutes, which is as fine as they are kept.
        step_ms = max(60_000, given.since // _STEPS // 60_000 * 60_000)
        first_ms = (now_ms - given.since) // step_ms * step_ms
        found = await metrics_in_steps(app.store, app.home.project_id, first_ms, now_ms + 1, step_ms, given.name)
        if given.name is not None and not found:
            await _check_name(app, given.name)
    if given.json:
        print_json({"step_ms": step_ms, "metrics": [series._asdict() for series in found]})
    elif found:
        _print(found, range(first_ms, now_ms + 1, step_ms))
    else:
        print("no metric was given in this time; nodes with the action emit_metric give them")
    return 0


async def _check_name(app: App, name: str) -> None:
    """Refuse a name that no metric of the project ever had."""
    ever = await metrics_in_steps(app.store, app.home.project_id, 0, 2**53, 2**53)
    known = list(dict.fromkeys(series.name for series in ever))
    if name not in known:
        near = get_close_matches(name, known, n=1)
        meant = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known) or 'none yet'}"
        raise UnknownMetric(f"there is no metric {name!r}; {meant}")


def _print(found: list[Series], steps: range) -> None:
    by_series: dict[tuple[str, str], dict[int, Series]] = defaultdict(dict)
    for series in found:
        shown = " ".join(f"{name}={value}" for name, value in series.dimensions.items())
        by_series[series.name, shown][series.at_ms] = series
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
        raise ArgumentTypeError(f"{text!r} is no length of time; write 30m, 1h or 7d")
    return int(found[1]) * _UNITS[found[2]]
