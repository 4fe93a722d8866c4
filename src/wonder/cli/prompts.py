"""List and show the prompts of the project, with their versions and what uses them."""

from wonder.cli.stored import StoredCommands
from wonder.operations.stored import PROMPTS

_COMMANDS = StoredCommands(PROMPTS)
configure = _COMMANDS.configure
run = _COMMANDS.run
