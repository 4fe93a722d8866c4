"""The commands of `wonder workflows` that change how a workflow is started."""

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from wonder.app.application import Application
from wonder.cli.output import color, print_output, visible
from wonder.cli.subcommands import add_command
from wonder.operations.workflow_states import (
    BindWorkflow,
    OneWorkflow,
    PinWorkflow,
    RenameWorkflow,
    WorkflowState,
    archive_workflow,
    bind_workflow,
    disable_workflow,
    enable_workflow,
    pin_workflow,
    rename_workflow,
    restore_workflow,
    unpin_workflow,
)

if TYPE_CHECKING:
    from argparse import _SubParsersAction

_DOES = {
    "enable": enable_workflow,
    "disable": disable_workflow,
    "unpin": unpin_workflow,
    "archive": archive_workflow,
    "restore": restore_workflow,
}
STATES = {
    "bind": "let a workflow of the project run a workflow of a library",
    "enable": "allow runs of a workflow to be started again",
    "disable": "prevent runs of a workflow from being started; active runs continue",
    "pin": "start all runs of a workflow with one version, also after newer ones are deployed",
    "unpin": "start runs of a workflow with its newest version again",
    "rename": "give a workflow another name",
    "archive": "archive a workflow and its versions, if nothing needs it",
    "restore": "restore an archived workflow",
}


def add_state_commands(commands: "_SubParsersAction[ArgumentParser]") -> list[ArgumentParser]:
    """Add the commands, and return them."""
    added = {name: add_command(commands, name, summary) for name, summary in STATES.items()}
    for command in added.values():
        command.add_argument("name", metavar="NAME", help="the name or id of the workflow")
    added["pin"].add_argument("version", metavar="VERSION", type=int, help="the number of the version")
    added["bind"].add_argument(
        "definition",
        metavar="LIBRARY/NAME[@VERSION]",
        help="what it runs: always the newest version, or the one that is named",
    )
    added["bind"].add_argument("--description", metavar="TEXT", help="say what the workflow is for")
    added["rename"].add_argument("to", metavar="NEW-NAME", help="its new name")
    return list(added.values())


async def change_state(app: Application, given: Namespace) -> None:
    """Run one of the commands."""
    if given.command == "pin":
        state = await pin_workflow(app, PinWorkflow(name=given.name, version=given.version))
    elif given.command == "bind":
        asked = BindWorkflow(name=given.name, definition=given.definition, description=given.description)
        state = await bind_workflow(app, asked)
    elif given.command == "rename":
        state = await rename_workflow(app, RenameWorkflow(name=given.name, to=given.to))
    else:
        state = await _DOES[given.command](app, OneWorkflow(name=given.name))
    if given.json:
        print_output(state)
    else:
        print(f"{color('good', '✓')} workflow {color('bold', visible(state.name))} {_told(given.command, state)}")


def _told(command: str, state: WorkflowState) -> str:
    match command:
        case "bind":
            version = f"version {state.pinned_version}" if state.pinned_version else "the newest version"
            return f"runs {version} of {visible(state.binds or state.name)}"
        case "pin":
            return f"starts with version {state.pinned_version}"
        case "unpin":
            return "starts with its newest version"
        case "enable" | "disable":
            return "is enabled" if state.enabled else "is disabled; active runs continue"
        case "rename":
            return "has this name now"
    return f"{command}d"
