"""Answer what a run asks a person; `wonder inbox` lists the items.

An answer that does not fit the item's schema is refused and changes nothing, and so is a second one. A run at its
time-out takes {"decision": "extend", "extend_ms": 60000}, {"decision": "abort"} or {"decision": "fail"}.
"""

import asyncio
import getpass
from argparse import ArgumentParser, Namespace

from wonder.app.api import open_wonder
from wonder.cli.output import color, print_json
from wonder.cli.settings import add_database_option, database_setting
from wonder.language.values import JsonValue, parse_json


def configure(parser: ArgumentParser) -> None:
    """Take the item and the answer."""
    parser.add_argument("item", metavar="ITEM")
    parser.add_argument("answer", metavar="JSON")
    parser.add_argument("--by", default=None, help="who answers (default: the user of this machine)")
    parser.add_argument("--json", action="store_true", help="print the result for a program")
    add_database_option(parser)


def run(given: Namespace) -> int:
    """Give the answer."""
    return asyncio.run(_run(given, parse_json(given.answer)))


async def _run(given: Namespace, value: JsonValue) -> int:
    async with open_wonder(database_setting(given.db).value, runs="none") as wonder:
        await wonder.answer(given.item, value, by=given.by or getpass.getuser())
    if given.json:
        print_json({"item_id": given.item, "answered": True})
    else:
        print(f"{color('good', '✓')} answered")
    return 0
