"""List and show the tasks of the project, with their versions and what uses them."""

from wonder.cli.stored import StoredCommands
from wonder.operations.stored import TASKS

_COMMANDS = StoredCommands(TASKS)
configure = _COMMANDS.configure
run = _COMMANDS.run
