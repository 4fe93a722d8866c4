"""List and show the kinds of action that definitions can use, with their fields, output and an example.

Installed packages can add kinds, with entry points in the group wonder.actions.
"""

from argparse import ArgumentParser, Namespace
from textwrap import fill

from wonder.cli.output import color, print_output, print_table
from wonder.cli.subcommands import add_command, add_json_option
from wonder.language.values import encode_json
from wonder.operations.kinds import KindField, KindRecord, all_kinds, find_kind


def configure(parser: ArgumentParser) -> None:
    """Take list or show."""
    parser.set_defaults(json=False)
    commands = parser.add_subparsers(dest="command", metavar="list | show")
    listing = add_command(commands, "list", "list all kinds of action (the default)")
    show = add_command(commands, "show", "show a kind of action: its fields, its output, its errors and an example")
    show.add_argument("kind", metavar="KIND", help="the kind, such as http_request")
    for command in (listing, show):
        add_json_option(command)


def run(given: Namespace) -> int:
    """Run one of the commands."""
    if given.command in (None, "list"):
        _list(given)
        return 0
    found = find_kind(given.kind)
    if given.json:
        print_output(found)
    else:
        _show(found)
    return 0


def _list(given: Namespace) -> None:
    found = all_kinds()
    if given.json:
        print_output(found)
        return
    rows = [[one.kind, one.summary + (f" ({one.package})" if one.package else "")] for one in found.kinds]
    print_table(["KIND", "WHAT IT DOES"], rows)
    print(f"\n{color('hint', 'wonder actions show KIND')} shows what it takes and gives, and an example")


def _show(guide: KindRecord) -> None:
    print(f"{color('bold', guide.kind)}: {guide.summary}")
    if guide.package:
        print(f"added by {guide.package}")
    if guide.fields:
        print()
        print_table(["FIELD", "TYPE", "DEFAULT", ""], [_row(field) for field in guide.fields])
    print(f"\n{color('bold', 'gives')} {guide.gives}")
    if guide.errors:
        print(fill(f"{color('bold', 'errors')} {', '.join(guide.errors)}", 100, subsequent_indent="  "))
    if guide.example:
        print(f"\n{color('bold', 'example')}\n\n{guide.example.rstrip()}")


def _row(field: KindField) -> list[str]:
    default = "required" if field.required else "" if field.default is None else encode_json(field.default)
    return [field.name, field.type, default, "may hold {{secrets.NAME}}" if field.may_hold_secrets else field.note]
