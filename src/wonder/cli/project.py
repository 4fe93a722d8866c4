"""Show and change the settings of the project: its budget, limits and defaults.

`wonder project show` lists them with their allowed values. Budgets are in US cents per calendar month (UTC). A model
call that could exceed the budget is not made: its node fails or, with budget.on_exceeded human_gate, a person is asked
(see `wonder inbox`). Changes apply to active runs within a second.

  wonder project set budget.max_monthly_spend_cents 5000
"""

from argparse import ArgumentParser, Namespace

from wonder.cli.tenant_settings import add_commands, run_command


def configure(parser: ArgumentParser) -> None:
    """Take show or set."""
    add_commands(parser)


def run(given: Namespace) -> int:
    """Run one of the commands."""
    return run_command(given, "project")
