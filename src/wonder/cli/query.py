"""Run one read-only SQL query over runs, events and contexts.

  wonder query "SELECT status, count(*) FROM run_log GROUP BY status"

The view context_NAME has the contexts of the runs of the workflow NAME. run_log, token_log and event_log have the runs,
tokens and events with readable times. --tables lists all tables and views, --functions all functions that can be used.
A query is stopped after 30 seconds (see --seconds).

On PostgreSQL, set WONDER_READER_URL (or reader_url in wonder.toml) to the URL that `wonder db grant-reader` prints:
queries then run with a role that can read these tables and nothing else. The URL of a superuser is rejected.
"""

import asyncio
import time
from argparse import ArgumentParser, Namespace

from wonder.cli.output import print_output, print_table
from wonder.cli.settings import add_database_option, reader_setting
from wonder.cli.subcommands import add_json_option
from wonder.operations.declaring import NoInput, Place
from wonder.operations.queries import (
    RESULT_BYTES_MAX,
    ROWS_MAX,
    SECONDS,
    Limits,
    Query,
    QueryRefused,
    answer_record,
    list_functions,
    list_tables,
    read_query,
    too_slow,
)


def configure(parser: ArgumentParser) -> None:
    """Take the query."""
    parser.add_argument("sql", metavar="SQL", nargs="?", help="one SELECT statement")
    parser.add_argument("--tables", action="store_true", help="list the tables and views that can be read")
    parser.add_argument("--functions", action="store_true", help="list the functions that can be used")
    parser.add_argument(
        "--seconds",
        metavar="N",
        type=float,
        default=SECONDS,
        help=f"stop the query after N seconds (default {SECONDS:g})",
    )
    parser.add_argument(
        "--limit", metavar="N", type=int, default=ROWS_MAX, help=f"print at most N rows (default {ROWS_MAX:,})"
    )
    add_json_option(parser)
    add_database_option(parser)


def run(given: Namespace) -> int:
    """Print what the query returns, or what a query can use."""
    place = Place(reader_setting(given.db).value)
    if given.tables:
        tables = asyncio.run(list_tables(place, NoInput()))
        if given.json:
            print_output(tables)
        else:
            print_table(["NAME", "COLUMNS"], [[one.name, ", ".join(one.columns)] for one in tables])
        return 0
    if given.functions:
        names = asyncio.run(list_functions(place, NoInput()))
        print_output(names) if given.json else print("\n".join(names))
        return 0
    if given.sql is None:
        raise QueryRefused("no query was given; write one SELECT, such as: wonder query 'SELECT * FROM run_log'")
    _query(place, given)
    return 0


def _query(place: Place, given: Namespace) -> None:
    begun = time.monotonic()
    answer = asyncio.run(read_query(place, Query(sql=given.sql, seconds=given.seconds, limit=given.limit)))
    if given.json:
        print_output(answer_record(answer))
        return
    cells = []
    for row in answer.rows:
        # Making the text readable takes time too; what a pager takes to show it does not count.
        if time.monotonic() - begun > given.seconds:
            raise too_slow(Limits(seconds=given.seconds))
        cells.append(["" if cell is None else str(cell) for cell in row])
    print_table(answer.columns, cells)
    if answer.cut == "rows":
        print(f"… more than {given.limit:,} rows; select fewer, or raise --limit")
    elif answer.cut == "bytes":
        print(f"… more than {RESULT_BYTES_MAX >> 20} MiB; select fewer rows or columns")
