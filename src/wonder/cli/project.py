"""Show and change the settings of the project: its budget, limits and defaults.

`wonder project show` lists them with what each may be. A budget is in cents of USD for a calendar month in UTC, and a
call of a model that might overspend it does not start: its node fails, or with budget.on_exceeded human_gate a person
is asked (`wonder inbox`). Changes are heeded by runs under way within a second.
"""

from argparse import ArgumentParser, Namespace

from wonder.cli.tenant_settings import add_commands, run_command


def configure(parser: ArgumentParser) -> None:
    """Take show or set."""
    add_commands(parser)


def run(given: Namespace) -> int:
    """Run one of the commands."""
    return run_command(given, "project")
