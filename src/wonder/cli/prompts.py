"""List and show the prompts of the project, with their versions and what uses them.

Actions of the kind `llm_call` use prompts.

  wonder prompts show summarize
"""

from wonder.cli.stored import StoredCommands
from wonder.operations.stored import PROMPTS

_COMMANDS = StoredCommands(PROMPTS)
configure = _COMMANDS.configure
run = _COMMANDS.run
