"""Run one SQL query that reads, over runs, events and contexts.

Each workflow has a view of the contexts of its runs, called context_NAME. run_log, token_log and event_log have the
runs, tokens and events with readable times. Nothing can be changed, and a query ends after 30 seconds.
"""

import asyncio
from argparse import ArgumentParser, Namespace

from wonder.cli.output import print_json, print_table
from wonder.cli.settings import add_database_option, database_setting
from wonder.storage.reading import ROWS_MAX, SECONDS, read_only_query


def configure(parser: ArgumentParser) -> None:
    """Take the query."""
    parser.add_argument("sql", metavar="SQL")
    parser.add_argument("--seconds", type=float, default=SECONDS, help=f"the time limit (default {SECONDS:g})")
    parser.add_argument("--limit", type=int, default=ROWS_MAX, help=f"at most so many rows (default {ROWS_MAX:,})")
    parser.add_argument("--json", action="store_true", help="print the result for a program")
    add_database_option(parser)


def run(given: Namespace) -> int:
    """Print what the query gives."""
    url = database_setting(given.db).value
    answer = asyncio.run(read_only_query(url, given.sql, seconds=given.seconds, rows_max=given.limit))
    if given.json:
        rows = [dict(zip(answer.columns, map(_shown, row), strict=True)) for row in answer.rows]
        print_json({"columns": answer.columns, "rows": rows, "cut": answer.is_cut})
        return 0
    print_table(answer.columns, [["" if cell is None else str(cell) for cell in row] for row in answer.rows])
    if answer.is_cut:
        print(f"… more than {given.limit:,} rows; ask for fewer, or raise --limit")
    return 0


def _shown(cell: object) -> object:
    return cell if cell is None or isinstance(cell, bool | int | float | str) else str(cell)
