"""Print the JSON Schema of definition files.

Editors use it to complete and check what you write. For Visual Studio Code with the YAML extension:
  wonder schema > wonder.schema.json
and on the first line of a definition file:
  # yaml-language-server: $schema=wonder.schema.json
"""

from argparse import ArgumentParser, Namespace

from wonder.cli.output import print_json
from wonder.operations.kinds import file_schema


def configure(parser: ArgumentParser) -> None:
    """Take `--json` as all commands do, though a schema is JSON anyway."""
    parser.add_argument("--json", action="store_true", help="accepted as in other commands; the schema is always JSON")


def run(given: Namespace) -> int:
    """Print the schema."""
    print_json(file_schema())
    return 0
