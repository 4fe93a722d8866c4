"""List and show the vector indexes of the project."""

from wonder.cli.stored import StoredCommands
from wonder.operations.stored import VECTORS

_COMMANDS = StoredCommands(VECTORS)
configure = _COMMANDS.configure
run = _COMMANDS.run
