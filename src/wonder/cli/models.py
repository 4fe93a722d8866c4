"""List and show the models of the project: provider, parameters and prices."""

from wonder.cli.stored import StoredCommands
from wonder.operations.stored import MODELS

_COMMANDS = StoredCommands(MODELS)
configure = _COMMANDS.configure
run = _COMMANDS.run
