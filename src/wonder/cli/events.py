"""Send an event to what waits for it (`wait_for_event`).

All that wait for an event of this name and key go on with its payload. If nothing waits, it is kept for the first that
comes to wait, within a day unless --ttl says otherwise. Of those with the same --id, one counts.
"""

import asyncio
from argparse import ArgumentParser, Namespace

from wonder.app.opening import open_wonder
from wonder.cli.output import color, print_json
from wonder.cli.settings import add_database_option, database_setting
from wonder.coordinator.outside import EVENT_TTL_SECONDS
from wonder.language.values import JsonValue, parse_json


def configure(parser: ArgumentParser) -> None:
    """Take the event."""
    commands = parser.add_subparsers(dest="command", required=True, metavar="send")
    send = commands.add_parser("send", help="send an event to what waits for it, or comes to wait")
    send.add_argument("event", metavar="NAME")
    send.add_argument("--key", help="the key that is waited for, where one is")
    send.add_argument("--payload", metavar="JSON", default="null", help="what the node gives (default: null)")
    send.add_argument("--id", help="an id of the sender's: a second event with it changes nothing")
    send.add_argument(
        "--ttl", metavar="SECONDS", type=int, default=EVENT_TTL_SECONDS, help="how long it is kept (default: a day)"
    )
    send.add_argument("--json", action="store_true", help="print the result for a program")
    add_database_option(send)


def run(given: Namespace) -> int:
    """Send the event."""
    return asyncio.run(_run(given, parse_json(given.payload)))


async def _run(given: Namespace, payload: JsonValue) -> int:
    async with open_wonder(database_setting(given.db).value, runs="none") as wonder:
        await wonder.send_event(given.event, given.key, payload, id=given.id, ttl_seconds=given.ttl)
        is_left = wonder.engine is not None
    if given.json:
        print_json({"event": given.event, "key": given.key, "sent": True})
    else:
        print(f"{color('good', '✓')} sent")
        if is_left:
            # This command decides, and leaves tasks to an engine that knows their functions.
            print(
                "  what it wakes goes on with the next engine: `wonder run` with the same --key and input, or a program"
            )
    return 0
