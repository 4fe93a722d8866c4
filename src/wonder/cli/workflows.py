"""List and show what is stored, with versions and the differences between two of them."""

import asyncio
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import Any

from wonder.app import App, open_app
from wonder.cli.drawing import draw_graph
from wonder.cli.output import color, print_json, print_table, visible
from wonder.cli.settings import add_database_option, database_setting
from wonder.definitions.differences import Difference, differences
from wonder.definitions.drafts import PhaseDraft
from wonder.definitions.records.graph import WorkflowDef
from wonder.definitions.records.workflows import Workflow
from wonder.definitions.references import parse_reference
from wonder.definitions.source import read_source
from wonder.definitions.written import comparable_forms
from wonder.language.values import encode_json, show_path
from wonder.storage.listing import DefinitionSummary, list_versions
from wonder.storage.named_resources import list_resources
from wonder.storage.written import load_written


def configure(parser: ArgumentParser) -> None:
    """Take list, show or diff."""
    commands = parser.add_subparsers(dest="command", required=True, metavar="list | show | diff")
    listing = commands.add_parser("list", help="list the workflows of the project")
    listing.add_argument("--limit", type=int, default=50, help="at most so many (default 50)")
    listing.add_argument("--cursor", help="go on behind an earlier page")
    show = commands.add_parser("show", help="show a workflow: as it was written or its graph, and its versions")
    show.add_argument(
        "workflow", metavar="NAME[@VERSION]", type=_name_and_version, help="by default the newest version"
    )
    show.add_argument(
        "--graph", action="store_true", help="of a workflow in the phase form, show the graph that it was compiled to"
    )
    diff = commands.add_parser("diff", help="show what differs between two versions")
    diff.add_argument("name", metavar="NAME")
    diff.add_argument(
        "before", metavar="BEFORE", type=_version_number, nargs="?", help="a version (default: the one before AFTER)"
    )
    diff.add_argument("after", metavar="AFTER", type=_version_number, nargs="?", help="a version (default: the newest)")
    for command in (listing, show, diff):
        command.add_argument("--json", action="store_true", help="print the result for a program")
        add_database_option(command)


def run(given: Namespace) -> int:
    """Run one of the commands."""
    return asyncio.run(_run(given))


async def _run(given: Namespace) -> int:
    async with open_app(database_setting(given.db).value, create=False) as app:
        await {"list": _list, "show": _show, "diff": _diff}[given.command](app, given)
    return 0


async def _list(app: App, given: Namespace) -> None:
    page = await list_resources(app.store, Workflow, app.home.project_id, limit=given.limit, cursor=given.cursor)
    rows = [
        (workflow, await list_versions(app.store, WorkflowDef, workflow.workflow_def_id)) for workflow in page.items
    ]
    if given.json:
        shown = [_summary(workflow, versions) for workflow, versions in rows]
        print_json({"workflows": shown, "cursor": page.cursor})
    elif not rows:
        print("no workflows yet; `wonder deploy FILE` stores one")
    else:
        print_table(
            ["NAME", "VERSION", "VERSIONS", "ENABLED", "CHANGED"],
            [
                [
                    workflow.name,
                    str(workflow.pinned_version or versions[0].version)
                    + (" (pinned)" if workflow.pinned_version else ""),
                    str(len(versions)),
                    "yes" if workflow.enabled else "no",
                    versions[0].created_at[:19].replace("T", " "),
                ]
                for workflow, versions in rows
            ],
        )
        if page.cursor:
            print(f"more: wonder workflows list --cursor {page.cursor}")


async def _show(app: App, given: Namespace) -> None:
    written = await load_written(app.store, app.home.project_id, *given.workflow)
    versions = await list_versions(app.store, WorkflowDef, written.definition.id)
    phases = None if given.graph else written.phases
    if given.json:
        definition = _phase_form(phases) if phases else {"definition": written.form}
        shown = {"id": written.definition.id, "version": written.definition.version, **definition}
        print_json(shown | {"versions": [_version(one) for one in versions]})
        return
    print(f"{color('bold', written.definition.name)} version {written.definition.version}, {written.definition.id}")
    if written.definition.description and not phases:
        print("\n".join(map(visible, written.definition.description.splitlines())))
    print()
    print("\n".join(map(visible, _text(phases).splitlines())) if phases else draw_graph(written))
    print()
    print_table(
        ["VERSION", "STORED", "CONTENT"],
        [[str(one.version), one.created_at[:19].replace("T", " "), one.content_hash[:12]] for one in versions],
    )


async def _diff(app: App, given: Namespace) -> None:
    newest = await load_written(app.store, app.home.project_id, given.name, given.after)
    before = given.before if given.before is not None else max(newest.definition.version - 1, 1)
    older = await load_written(app.store, app.home.project_id, given.name, before)
    found = list(differences(*comparable_forms(older.form, newest.form)))
    if given.json:
        print_json(
            {
                "before": older.definition.version,
                "after": newest.definition.version,
                "differences": [_difference(one) for one in found],
            }
        )
        return
    if older.definition.version == newest.definition.version == 1 and given.before is None:
        print(f"{color('bold', given.name)}: version 1 is the first, so there is nothing to compare it with")
        return
    print(f"{color('bold', given.name)}: version {older.definition.version} to {newest.definition.version}")
    for one in found:
        print(visible(show_path(one.path)))
        if not one.added:
            print(color("error", f"  - {visible(encode_json(one.before))}"))
        if not one.removed:
            print(color("good", f"  + {visible(encode_json(one.after))}"))
    if not found:
        print("no differences")


def _name_and_version(text: str) -> tuple[str, int | None]:
    reference = parse_reference("workflow", text, ())
    if reference is None or reference.library:
        raise ArgumentTypeError(f"'{text}' is no workflow's name; write NAME or NAME@VERSION, as in greet@2")
    return reference.name, reference.version


def _version_number(text: str) -> int:
    reference = parse_reference("workflow", f"any@{text}", ())
    if reference is None or reference.version is None:
        raise ArgumentTypeError(f"'{text}' is no version; write a whole number from 1 on")
    return reference.version


def _summary(workflow: Workflow, versions: list[DefinitionSummary]) -> dict[str, Any]:
    return {
        "id": workflow.id,
        "name": workflow.name,
        "workflow_def_id": workflow.workflow_def_id,
        "pinned_version": workflow.pinned_version,
        "enabled": workflow.enabled,
        "versions": [_version(one) for one in versions],
    }


def _version(version: DefinitionSummary) -> dict[str, Any]:
    return {
        "version": version.version,
        "created_at": version.created_at,
        "content_hash": version.content_hash,
        "archived_at": version.archived_at,
    }


def _text(phases: PhaseDraft) -> str:
    return phases.written.decode("utf-8")


def _phase_form(phases: PhaseDraft) -> dict[str, Any]:
    """Give a phase form as its author wrote it, to the byte, and as a value with its schemas (PHS-4)."""
    value: Any = read_source(phases.written, "stored").value
    return {"written": _text(phases), "definition": {**value, "_schemas": phases.schemas}}


def _difference(one: Difference) -> dict[str, Any]:
    shown: dict[str, Any] = {"path": show_path(one.path)}
    if not one.added:
        shown["before"] = one.before
    if not one.removed:
        shown["after"] = one.after
    return shown
