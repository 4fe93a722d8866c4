"""List, show and compare stored workflows and their versions, and change how they are started.

A workflow that is disabled can't be started. One that is pinned starts with that version, whatever is deployed later;
`wonder run FILE` runs the file's own version, and `wonder run NAME@VERSION` the one that it names. A workflow that is
bound runs a definition of a library, the newest or one version of it.

  wonder workflows show orders
  wonder workflows diff orders 1 2
  wonder workflows pin orders 2
  wonder workflows bind nightly common/orders
"""

import asyncio
from argparse import ArgumentParser, ArgumentTypeError, Namespace

from msgspec import UNSET

from wonder.app.application import Application
from wonder.cli.drawing import draw_graph
from wonder.cli.opening import open_app
from wonder.cli.output import color, print_output, print_table, visible
from wonder.cli.settings import add_project_options, database_setting, tenant_setting
from wonder.cli.stored import add_filter_options, is_filtered, print_more, shortened
from wonder.cli.subcommands import add_command, add_json_option
from wonder.cli.workflow_states import STATES, add_state_commands, change_state
from wonder.definitions.references import parse_reference
from wonder.language.values import encode_json
from wonder.operations.workflows import (
    CompareVersions,
    ListWorkflows,
    ShowWorkflow,
    compare_versions,
    list_workflows,
    show_workflow,
)

_TITLES = ["VERSION", "VERSIONS", "ENABLED", "CHANGED", "TAGS", "DESCRIPTION"]


def configure(parser: ArgumentParser) -> None:
    """Take one of the commands."""
    commands = parser.add_subparsers(dest="command", required=True, metavar="list | show | diff | …")
    listing = add_command(commands, "list", "list the workflows of the project")
    add_filter_options(listing, has_tags=True)
    show = add_command(commands, "show", "show a workflow: its graph or its source, and its versions")
    show.add_argument(
        "workflow",
        metavar="[LIBRARY/]NAME[@VERSION]",
        type=_name_and_version,
        help="a workflow, and optionally a version, as in orders@2 (default: the newest)",
    )
    show.add_argument(
        "--graph",
        action="store_true",
        help="show the compiled graph of a workflow in the phase form, instead of its source",
    )
    diff = add_command(commands, "diff", "show the differences between two versions of a workflow")
    diff.add_argument("name", metavar="NAME", help="the name of the workflow")
    diff.add_argument(
        "before",
        metavar="BEFORE",
        type=_version_number,
        nargs="?",
        help="the first version (default: the one before AFTER)",
    )
    diff.add_argument(
        "after", metavar="AFTER", type=_version_number, nargs="?", help="the second version (default: the newest)"
    )
    changes = add_state_commands(commands)
    for command in (show, diff, *changes):
        add_json_option(command)
        add_project_options(command)


def run(given: Namespace) -> int:
    """Run one of the commands."""
    return asyncio.run(_run(given))


async def _run(given: Namespace) -> int:
    async with open_app(database_setting(given.db).value, create=False, **tenant_setting(given)) as app:
        if given.command in STATES:
            await change_state(app, given)
        else:
            await {"list": _list, "show": _show, "diff": _diff}[given.command](app, given)
    return 0


async def _list(app: Application, given: Namespace) -> None:
    asked = ListWorkflows(
        name=given.name, tag=given.tag, archived=given.archived, limit=given.limit, cursor=given.cursor
    )
    page = await list_workflows(app, asked)
    if given.json:
        print_output(page)
    elif not page.workflows:
        print("no workflows match" if is_filtered(given) else "no workflows yet; `wonder deploy FILE` stores one")
    else:
        any_bound = any(one.binds for one in page.workflows)
        print_table(
            ["NAME", *(["RUNS"] if any_bound else []), *_TITLES],
            [
                [
                    one.name,
                    *([one.binds or ""] if any_bound else []),
                    str(one.pinned_version or one.versions[0].version) + (" (pinned)" if one.pinned_version else ""),
                    str(len(one.versions)),
                    "yes" if one.enabled else "no",
                    _time(one.versions[0].created_at),
                    ", ".join(one.tags),
                    shortened(one.description),
                ]
                for one in page.workflows
            ],
        )
        print_more("wonder workflows list", page.cursor, given)


async def _show(app: Application, given: Namespace) -> None:
    name, version = given.workflow
    workflow = await show_workflow(app, ShowWorkflow(name=name, version=version, graph=given.graph))
    if given.json:
        print_output(workflow)
        return
    is_phase_form = isinstance(workflow.written, str)
    runs = f" runs {visible(workflow.binds)}" if workflow.binds else ""
    print(f"{color('bold', workflow.name)}{runs} version {workflow.version}, {workflow.id}")
    if workflow.description and not is_phase_form:
        print("\n".join(map(visible, workflow.description.splitlines())))
    if workflow.tags:
        print(f"tags: {visible(', '.join(workflow.tags))}")
    print()
    if isinstance(workflow.written, str):
        print("\n".join(map(visible, workflow.written.splitlines())))
    else:
        print(draw_graph(workflow))
    print()
    print_table(
        ["VERSION", "STORED", "CONTENT"],
        [[str(one.version), _time(one.created_at), one.content_hash[:12]] for one in workflow.versions],
    )


async def _diff(app: Application, given: Namespace) -> None:
    asked = CompareVersions(name=given.name, before=given.before, after=given.after)
    compared = await compare_versions(app, asked)
    if given.json:
        print_output(compared)
        return
    if compared.before == compared.after == 1 and given.before is None:
        print(f"{color('bold', given.name)}: version 1 is the first, so there is nothing to compare it with")
        return
    print(f"{color('bold', given.name)}: version {compared.before} to {compared.after}")
    for one in compared.differences:
        print(visible(one.path))
        if one.before is not UNSET:
            print(color("error", f"  - {visible(encode_json(one.before))}"))
        if one.after is not UNSET:
            print(color("good", f"  + {visible(encode_json(one.after))}"))
    if not compared.differences:
        print("no differences")


def _time(at: str) -> str:
    return at[:19].replace("T", " ")


def _name_and_version(text: str) -> tuple[str, int | None]:
    reference = parse_reference("workflow", text, ())
    if reference is None:
        raise ArgumentTypeError(
            f"'{text}' is not a valid workflow name; write NAME, NAME@VERSION or LIBRARY/NAME, as in greet@2"
        )
    library = f"{reference.library}/" if reference.library else ""
    return f"{library}{reference.name}", reference.version


def _version_number(text: str) -> int:
    reference = parse_reference("workflow", f"any@{text}", ())
    if reference is None or reference.version is None:
        raise ArgumentTypeError(f"'{text}' is not a version; write a whole number of at least 1")
    return reference.version
