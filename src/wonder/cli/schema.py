"""Print the JSON Schema of definition files.

Editors use it to complete and check what you write. For Visual Studio Code with the YAML extension:
  wonder schema > wonder.schema.json
and on the first line of a definition file:
  # yaml-language-server: $schema=wonder.schema.json
"""

from argparse import ArgumentParser, Namespace

from wonder.actions.announcing import announce_kinds
from wonder.cli.output import print_json
from wonder.definitions.file_form.json_schema import file_form_schema
from wonder.phases.records import PhaseWorkflow


def configure(parser: ArgumentParser) -> None:
    """Take `--json` as all commands do, though a schema is JSON anyway."""
    parser.add_argument("--json", action="store_true", help="print the result for a program (it always is)")


def run(given: Namespace) -> int:
    """Print the schema."""
    announce_kinds()
    print_json(file_form_schema(PhaseWorkflow))
    return 0
