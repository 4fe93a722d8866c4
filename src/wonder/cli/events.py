"""Send an event to the runs that wait for it with the action `wait_for_event`.

All nodes that wait for an event with this name and key continue with its payload. If none does, the event is kept for
the first node that waits for it later, for a day unless --ttl is given.

  wonder events send payment-received --key order-7 --payload '{"cents": 1200}'
"""

from argparse import ArgumentParser, Namespace

from wonder.app.callers import local_caller
from wonder.cli.engine_note import CONTINUE
from wonder.cli.opening import open_wonder
from wonder.cli.output import color, print_output
from wonder.cli.settings import add_project_options, database_setting, tenant_setting
from wonder.cli.stopping import run_until_stopped
from wonder.cli.subcommands import add_command, add_json_option
from wonder.language.values import JsonValue, parse_json
from wonder.operations.run_orders import EVENT_TTL_SECONDS, OutsideEvent, send_event

_EXAMPLE = """  wonder events send payment-received --key order-7 --payload '{"cents": 1200}'"""


def configure(parser: ArgumentParser) -> None:
    """Take the event."""
    commands = parser.add_subparsers(dest="command", required=True, metavar="send")
    send = add_command(commands, "send", "send an event to the nodes that wait for it, now or later", _EXAMPLE)
    send.add_argument("event", metavar="NAME", help="the name of the event")
    send.add_argument("--key", help="the key that the node waits for, if it has one")
    send.add_argument(
        "--payload",
        metavar="JSON",
        default="null",
        help="the data of the event, the output of the node (default: null)",
    )
    send.add_argument("--id", help="an id chosen by the sender; a second event with the same id is ignored")
    send.add_argument(
        "--ttl",
        metavar="SECONDS",
        type=int,
        default=EVENT_TTL_SECONDS,
        help="keep the event for this long if nothing waits for it (default: a day)",
    )
    add_json_option(send)
    add_project_options(send)


def run(given: Namespace) -> int:
    """Send the event."""
    return run_until_stopped(_run(given, parse_json(given.payload)))


async def _run(given: Namespace, payload: JsonValue) -> int:
    event = OutsideEvent(event=given.event, key=given.key, payload=payload, id=given.id, ttl_seconds=given.ttl)
    url, tenant = database_setting(given.db).value, tenant_setting(given)
    async with open_wonder(url, runs="none", caller=local_caller(), **tenant) as wonder:
        sent = await send_event(wonder, event)
    if given.json:
        print_output(sent)
    else:
        print(f"{color('good', '✓')} sent")
        if sent.needs_engine:
            # This command records the event only: tasks are run by an engine that has their functions.
            print(f"  no process runs the engine now; continue with {CONTINUE}")
    return 0
