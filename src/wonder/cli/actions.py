"""List and show the kinds of action that definitions may use: what each takes, what it gives, and an example.

Packages that are installed beside Wonder can add kinds: their entry points in the group wonder.actions name a class.
"""

from argparse import ArgumentParser, Namespace
from dataclasses import asdict

from wonder.actions.errors import UnknownKind
from wonder.actions.guide import Field, KindGuide, all_guides
from wonder.cli.output import color, print_json, print_table
from wonder.language.values import encode_json


def configure(parser: ArgumentParser) -> None:
    """Take list or show."""
    parser.set_defaults(json=False)
    commands = parser.add_subparsers(dest="command", metavar="list | show")
    listing = commands.add_parser("list", help="list every kind of action; this is also done if nothing is said")
    show = commands.add_parser("show", help="show a kind: its configuration, what it gives, and an example")
    show.add_argument("kind", metavar="KIND")
    for command in (listing, show):
        command.add_argument("--json", action="store_true", help="print the result for a program")


def run(given: Namespace) -> int:
    """Run one of the commands."""
    guides = all_guides()
    if given.command in (None, "list"):
        _list(guides, given)
        return 0
    found = next((guide for guide in guides if guide.kind == given.kind), None)
    if found is None:
        raise UnknownKind(given.kind, [guide.kind for guide in guides])
    if given.json:
        print_json(asdict(found))
    else:
        _show(found)
    return 0


def _list(guides: list[KindGuide], given: Namespace) -> None:
    if given.json:
        print_json({"kinds": [asdict(guide) for guide in guides]})
        return
    rows = [[guide.kind, f"{guide.summary}" + (f" ({guide.package})" if guide.package else "")] for guide in guides]
    print_table(["KIND", "WHAT IT DOES"], rows)
    print(f"\n{color('hint', 'wonder actions show KIND')} shows what it takes and gives, and an example")


def _show(guide: KindGuide) -> None:
    print(f"{color('bold', guide.kind)}: {guide.summary}")
    if guide.package:
        print(f"added by {guide.package}")
    if guide.fields:
        print()
        print_table(["FIELD", "TYPE", "DEFAULT", ""], [_row(field) for field in guide.fields])
    print(f"\n{color('bold', 'gives')} {guide.gives}")
    if guide.example:
        print(f"\n{color('bold', 'example')}\n\n{guide.example.rstrip()}")


def _row(field: Field) -> list[str]:
    default = "required" if field.required else "" if field.default is None else encode_json(field.default)
    return [field.name, field.type, default, "may hold {{secrets.NAME}}" if field.may_hold_secrets else field.note]
