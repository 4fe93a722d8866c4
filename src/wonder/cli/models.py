"""List and show the models of the project: provider, parameters and prices.

Actions of the kind `llm_call` use models.

  wonder models show fast
"""

from wonder.cli.stored import StoredCommands
from wonder.operations.stored import MODELS

_COMMANDS = StoredCommands(MODELS)
configure = _COMMANDS.configure
run = _COMMANDS.run
