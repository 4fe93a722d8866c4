"""List and show the artifact types of the project, with their schemas.

`wonder artifacts` lists the artifacts themselves.

  wonder artifact-types show report
"""

from wonder.cli.stored import StoredCommands
from wonder.operations.stored import ARTIFACT_TYPES

_COMMANDS = StoredCommands(ARTIFACT_TYPES)
configure = _COMMANDS.configure
run = _COMMANDS.run
