"""Show and change the settings of the workspace, which hold for all of its projects.

`wonder workspace show` lists them with what each may be: which providers of models and which MCP servers are allowed
(null allows all, [] none), whether actions may run programs or reach private addresses, and a budget in cents of USD
for a calendar month in UTC. Changes are heeded by runs under way within a second.
"""

from argparse import ArgumentParser, Namespace

from wonder.cli.tenant_settings import add_commands, run_command


def configure(parser: ArgumentParser) -> None:
    """Take show or set."""
    add_commands(parser)


def run(given: Namespace) -> int:
    """Run one of the commands."""
    return run_command(given, "workspace")
