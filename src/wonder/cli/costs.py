"""Show what calls of models have cost, and how they ended, by model, profile, node or day.

Each attempt counts as a call. The percentiles are of the time until the answer was there.

  wonder costs --by profile --since 7d
  wonder costs --by day,model --workflow review
"""

import asyncio
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import Final, get_args

from wonder.cli.moments import moment
from wonder.cli.opening import open_app
from wonder.cli.output import color, count, print_output, print_table
from wonder.cli.settings import add_project_options, database_setting, tenant_setting
from wonder.operations.costs import By, Costs, WhichCosts, show_costs

_BAR: Final = 20


def configure(parser: ArgumentParser) -> None:
    """Take what is added up."""
    parser.add_argument(
        "--by",
        type=_by,
        default=["model"],
        metavar="NAME",
        help="add up by model, profile, node, day, or several of them: profile,node (default: model)",
    )
    parser.add_argument(
        "--since", type=moment, metavar="TIME", help="count only calls since this time: 30m or 7d ago, or a date"
    )
    parser.add_argument(
        "--until", type=moment, metavar="TIME", help="count only calls before this time, written like --since"
    )
    parser.add_argument("--workflow", metavar="NAME", help="count only calls of runs of this workflow")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    add_project_options(parser)


def run(given: Namespace) -> int:
    """Show costs."""
    return asyncio.run(_run(given))


async def _run(given: Namespace) -> int:
    asked = WhichCosts(by=given.by, since_ms=given.since, until_ms=given.until, workflow=given.workflow)
    async with open_app(database_setting(given.db).value, create=False, **tenant_setting(given)) as app:
        found = await show_costs(app, asked)
    if given.json:
        print_output(found)
    elif found.rows:
        _print(found, given.by)
    else:
        print("no model was called in this time")
    return 0


def _print(found: Costs, by: list[By]) -> None:
    most = max(row.cost_usd for row in found.rows)
    rows = [
        [
            *(str(getattr(row, part)) for part in by),
            f"{row.calls:,}",
            f"{row.failures:,}",
            f"{row.latency_p50_ms:,} ms",
            f"{row.latency_p95_ms:,} ms",
            f"{row.input_tokens:,}",
            f"{row.output_tokens:,}",
            f"{row.cost_usd:.6f}",
            "█" * round(_BAR * row.cost_usd / most) if most else "",
        ]
        for row in found.rows
    ]
    titles = ["CALLS", "FAILED", "P50", "P95", "TOKENS IN", "OUT", "COST USD", ""]
    print_table([*(part.upper() for part in by), *titles], rows)
    print(color("dim", f"{count(found.calls, 'call')}, {found.cost_usd:.6f} USD"))


def _by(text: str) -> list[By]:
    words = [word.strip() for word in text.split(",")]
    for word in words:
        if word not in get_args(By):
            raise ArgumentTypeError(f"{word!r} is not one of model, profile, node and day; write one, or several: a,b")
    return words  # type: ignore[return-value]  # each was just looked at
