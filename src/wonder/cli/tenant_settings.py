"""`wonder project` and `wonder workspace`: settings as a person sees and changes them."""

import asyncio
import os.path
from argparse import ArgumentParser, Namespace
from pathlib import Path

from wonder.app.application import Application
from wonder.app.given_files import expanded
from wonder.cli.opening import open_app
from wonder.cli.output import color, print_output, print_table
from wonder.cli.settings import add_project_options, database_setting, objects_setting, tenant_setting
from wonder.cli.subcommands import add_command, add_json_option
from wonder.language.values import BadValue, JsonValue, encode_json, parse_json
from wonder.operations.settings import ChangeSetting, Of, SettingsQuestion, change_setting, show_settings

_FILES_ROOT = "files_root"


def add_commands(parser: ArgumentParser) -> None:
    """Take show or set."""
    commands = parser.add_subparsers(dest="command", required=True, metavar="show | set")
    show = add_command(commands, "show", "show all settings, and the spending of this month")
    change = add_command(commands, "set", "change one setting")
    change.add_argument("key", metavar="KEY", help="the setting, such as budget.max_monthly_spend_cents")
    change.add_argument(
        "value", metavar="JSON", help="the value as JSON: 500, true, null, '[\"openai\"]'; anything else is a string"
    )
    for command in (show, change):
        add_json_option(command)
        add_project_options(command)


def run_command(given: Namespace, of: Of) -> int:
    """Run one of the commands."""
    return asyncio.run(_run(given, of))


async def _run(given: Namespace, of: Of) -> int:
    url, is_change = database_setting(given.db).value, given.command == "set"
    async with open_app(url, create=is_change, objects=objects_setting(None), **tenant_setting(given)) as app:
        if is_change:
            await _set(app, of, given)
        else:
            await _show(app, of, as_json=given.json)
    return 0


async def _show(app: Application, of: Of, *, as_json: bool) -> None:
    shown = await show_settings(app, SettingsQuestion(of=of))
    if as_json:
        print_output(shown)
        return
    print_table(
        ["SETTING", "VALUE", "ALLOWED VALUES"], [[one.key, encode_json(one.value), one.may_be] for one in shown.choices]
    )
    spent = shown.spending
    held = f", and {_amount(spent.reserved_usd)} USD reserved for active calls" if spent.reserved_usd else ""
    more = f"; the budget was extended by {_amount(spent.extended_usd)} USD" if spent.extended_usd else ""
    print(f"\nspent in {spent.month}: {_amount(spent.spent_usd)} USD{held}{more}")


async def _set(app: Application, of: Of, given: Namespace) -> None:
    value = _value(given.value)
    if of == "project" and given.key == _FILES_ROOT and isinstance(value, str) and value:
        value = _absolute(value)
    changed = await change_setting(app, ChangeSetting(of=of, key=given.key, value=value))
    if given.json:
        print_output(changed)
        return
    now = f"{changed.setting} of the {of} is {encode_json(changed.value)}"
    print(f"{color('good', '✓')} {now}; it applies to active runs within a second")


def _absolute(path: str) -> str:
    """Return an absolute path, relative to the working directory and with ~ expanded."""
    return str(Path(os.path.abspath(expanded(path))))  # noqa: PTH100  # a link stays what it is


def _amount(usd: float) -> str:
    return f"{usd:.6f}".rstrip("0").rstrip(".")


def _value(text: str) -> JsonValue:
    """Read a value: JSON, or else a string."""
    try:
        return parse_json(text)
    except BadValue:
        return text
