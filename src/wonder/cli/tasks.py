"""List and show the tasks of the project, with their versions and what uses them.

An action that is written in a node is stored as a task called WORKFLOW.NODE.

  wonder tasks list --tag billing
  wonder tasks show charge-card@2
"""

from wonder.cli.stored import StoredCommands
from wonder.operations.stored import TASKS

_COMMANDS = StoredCommands(TASKS)
configure = _COMMANDS.configure
run = _COMMANDS.run
