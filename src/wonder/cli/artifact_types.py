"""List and show the types of artifacts of the project, with their schemas."""

from wonder.cli.stored import StoredCommands
from wonder.operations.stored import ARTIFACT_TYPES

_COMMANDS = StoredCommands(ARTIFACT_TYPES)
configure = _COMMANDS.configure
run = _COMMANDS.run
