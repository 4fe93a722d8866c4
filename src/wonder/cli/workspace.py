"""Show and change the settings of the workspace, which apply to all of its projects.

`wonder workspace show` lists them with their allowed values: the allowed model providers and MCP servers (null allows
all, [] none), whether actions can run programs or connect to private addresses, and a budget in US cents per calendar
month (UTC). Changes apply to active runs within a second.

  wonder workspace set allowed_mcp_servers '["files", "search"]'
"""

from argparse import ArgumentParser, Namespace

from wonder.cli.tenant_settings import add_commands, run_command


def configure(parser: ArgumentParser) -> None:
    """Take show or set."""
    add_commands(parser)


def run(given: Namespace) -> int:
    """Run one of the commands."""
    return run_command(given, "workspace")
