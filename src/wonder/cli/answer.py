"""Answer what a run asks a person; `wonder inbox` lists the items.

An answer that does not fit the item's schema is refused and changes nothing, and so is a second one. A run at its
time-out takes {"decision": "extend", "extend_ms": 60000}, {"decision": "abort"} or {"decision": "fail"}; a node that
would overspend a budget takes {"decision": "extend", "extend_cents": 500} or {"decision": "fail"}.
"""

import asyncio
import getpass
from argparse import ArgumentParser, Namespace

from wonder.app.opening import open_wonder
from wonder.cli.output import color, print_json
from wonder.cli.settings import add_database_option, database_setting
from wonder.language.values import JsonValue, parse_json
from wonder.storage.runs.headers import load_header
from wonder.storage.runs.looking import load_inbox_item


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
        item = await load_inbox_item(wonder.app.store, given.item)
        is_left = wonder.engine is not None and not (await load_header(wonder.app.store, item.run_id)).has_ended
    if given.json:
        print_json({"item_id": given.item, "answered": True})
    else:
        print(f"{color('good', '✓')} answered")
        if is_left:
            # This command decides, and leaves tasks to an engine that knows their functions.
            print("  its run goes on with the next engine: `wonder run` with the same --key and input, or a program")
    return 0
