"""Adds a subcommand with a help page of its own: what it does, details, and an example where one helps."""

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import _SubParsersAction


def add_command(
    commands: "_SubParsersAction[ArgumentParser]", name: str, summary: str, details: str = ""
) -> ArgumentParser:
    """Add a subcommand; its `--help` begins with the summary that the list of subcommands shows."""
    sentence = f"{summary[0].upper()}{summary[1:]}."
    return commands.add_parser(
        name,
        help=summary,
        description=f"{sentence}\n\n{details.rstrip()}" if details else sentence,
        formatter_class=RawDescriptionHelpFormatter,
    )


def add_json_option(parser: ArgumentParser) -> None:
    """Let a program have the result as JSON."""
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def add_archived_option(parser: ArgumentParser) -> None:
    """Let what is archived be listed."""
    parser.add_argument(
        "--archived", action="store_true", help="list only archived ones (default: only those that are not)"
    )


def add_page_options(parser: ArgumentParser) -> None:
    """Let a long list be read page by page."""
    parser.add_argument("--limit", metavar="N", type=int, default=50, help="list at most N (default 50)")
    parser.add_argument("--cursor", help="continue after the page that printed this cursor")


def add_wait_option(parser: ArgumentParser) -> None:
    """Let a person stay with a run that waits."""
    parser.add_argument(
        "--wait", action="store_true", help="stay until the run has ended, also while it waits for a person or an event"
    )
