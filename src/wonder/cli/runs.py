"""List and show runs, check them, and cancel, pause, resume, retry or fork them."""

import asyncio
import shlex
from argparse import ArgumentParser, Namespace
from pathlib import Path

from wonder.app import App, open_app
from wonder.app.api import Wonder
from wonder.app.opening import open_wonder
from wonder.cli.engine_note import moves_by_itself, print_if_nobody_runs
from wonder.cli.output import color, print_json, print_table
from wonder.cli.report import follow_run
from wonder.cli.run_details import attempts_in, load_details, print_details, print_details_json
from wonder.cli.run_headers import header_json, shown_time, shown_took
from wonder.cli.settings import add_database_option, add_objects_option, database_setting, objects_setting
from wonder.context.plan import plan_context, table_prefix
from wonder.definitions.records.graph import WorkflowDef
from wonder.definitions.records.workflows import Workflow
from wonder.engine.decisions import RecordEvent
from wonder.language.values import JsonValue, encode_json, parse_json
from wonder.observe.verify import verify_run
from wonder.storage.definitions import load_definition
from wonder.storage.named_resources import find_resource
from wonder.storage.resource_errors import NotFound
from wonder.storage.runs.headers import list_runs, load_header
from wonder.storage.runs.loading import load_context
from wonder.storage.runs.looking import events_of_run

_STATUSES = ("queued", "running", "waiting", "paused", "completed", "failed", "cancelled")


def configure(parser: ArgumentParser) -> None:
    """Take one of the commands."""
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    listing = commands.add_parser("list", help="list the runs of the project, newest first")
    listing.add_argument("--status", choices=_STATUSES, help="only runs with this status")
    listing.add_argument("--workflow", metavar="NAME", help="only runs of this workflow, of any version")
    listing.add_argument("--limit", type=int, default=50, help="at most so many (default 50)")
    listing.add_argument("--cursor", help="go on behind an earlier page")
    for name, text in (
        ("show", "show a run: its nodes, its result and what it waits for"),
        ("events", "show all that happened in a run, in order"),
        ("context", "show a run's input, state and output"),
        ("cancel", "end a run with all that is live in it"),
        ("pause", "let a run dispatch nothing more"),
        ("resume", "let a paused run go on"),
        ("retry", "begin a failed run again, as a new one, just before its failure"),
        ("fork", "begin a new run as another was after an event"),
        ("verify", "check that the events of a run add up to its tokens and context"),
    ):
        command = commands.add_parser(name, help=text)
        command.add_argument("run_id", metavar="RUN")
    fork = commands.choices["fork"]
    fork.add_argument("--at", metavar="EVENT", type=int, required=True, help="the number of the event")
    fork.add_argument("--state", metavar="JSON", help="another state than it had then")
    for name in ("retry", "fork"):
        add_objects_option(commands.choices[name])
    for command in commands.choices.values():
        command.add_argument("--json", action="store_true", help="print the result for a program")
        add_database_option(command)


def run(given: Namespace) -> int:
    """Run one of the commands."""
    return asyncio.run(_run(given))


async def _run(given: Namespace) -> int:
    url = database_setting(given.db).value
    if given.command in _LOOKS:
        async with open_app(url, create=False) as app:
            await _LOOKS[given.command](app, given)
        return 0
    if given.command == "verify":
        return await _verify(url, given)
    if given.command in ("retry", "fork"):
        # Run to its end here, as `wonder run` does, with the functions of the working directory.
        objects = objects_setting(given.objects)
        async with open_wonder(url, import_roots=[Path.cwd()], runs="own", objects=objects) as wonder:
            return await _begin_again(wonder, given)
    async with open_wonder(url, runs="none") as wonder:
        await _order(wonder, given)
    return 0


async def _verify(url: str, given: Namespace) -> int:
    async with open_app(url, create=False) as app:
        faults = await verify_run(app.store, given.run_id)
    if given.json:
        print_json({"run_id": given.run_id, "verified": not faults, "faults": faults})
    elif faults:
        print("\n".join(faults))
        print(f"{color('error', '✗')} {given.run_id}: the events don't add up to what is stored")
    else:
        print(f"{color('good', '✓')} {given.run_id}: the events add up to its tokens and context")
    return 1 if faults else 0


async def _begin_again(wonder: Wonder, given: Namespace) -> int:
    if given.command == "retry":
        started = await wonder.retry(given.run_id)
    else:
        state = parse_json(given.state) if given.state is not None else None
        started = await wonder.fork(given.run_id, given.at, state)
    return await follow_run(wonder, started, as_json=given.json)


async def _list(app: App, given: Namespace) -> None:
    page = await list_runs(
        app.store,
        app.home.project_id,
        status=given.status,
        workflow_def_id=None if given.workflow is None else await _definition_id(app, given.workflow),
        limit=given.limit,
        cursor=given.cursor,
    )
    names: dict[tuple[str, int], str] = {}
    for header in page.items:
        key = (header.workflow_def_id, header.workflow_version)
        if key not in names:
            names[key] = (await load_definition(app.store, WorkflowDef, *key)).name
    if given.json:
        print_json({"runs": [header_json(header) for header in page.items], "cursor": page.cursor})
    elif not page.items:
        print("no such runs" if given.status or given.workflow else "no runs yet; `wonder run FILE` starts one")
    else:
        print_table(
            ["RUN", "WORKFLOW", "STATUS", "STARTED", "TOOK"],
            [
                [
                    header.id,
                    f"{names[header.workflow_def_id, header.workflow_version]}@{header.workflow_version}",
                    header.status,
                    shown_time(header.created_ms),
                    shown_took(header),
                ]
                for header in page.items
            ],
        )
        if page.cursor:
            narrowed = "".join(
                f" --{name} {shlex.quote(value)}"
                for name, value in (("status", given.status), ("workflow", given.workflow))
                if value is not None
            )
            print(f"more: wonder runs list{narrowed} --cursor {page.cursor}")
        if await moves_by_itself(app.store, page.items):
            await print_if_nobody_runs(app.store, "runs go on")


async def _definition_id(app: App, name: str) -> str:
    workflow = await find_resource(app.store, Workflow, app.home.project_id, name)
    if workflow is None:
        raise NotFound("workflow", name)
    return workflow.workflow_def_id


async def _show(app: App, given: Namespace) -> None:
    details = await load_details(app, given.run_id)
    if given.json:
        print_details_json(details)
        return
    print_details(details)
    if await moves_by_itself(app.store, [details.header]):
        await print_if_nobody_runs(app.store, "it goes on")


async def _events(app: App, given: Namespace) -> None:
    store = app.store
    header = await load_header(store, given.run_id)
    definition = await load_definition(store, WorkflowDef, header.workflow_def_id, header.workflow_version)
    refs = {node.id: node.ref for node in definition.nodes}
    after = 0
    collected: list[JsonValue] = []
    while events := await events_of_run(store, header.id, after=after):
        after = events[-1].sequence
        for event in events:
            node = refs.get(event.node_id) if event.node_id else None
            if given.json:
                collected.append(
                    {
                        "sequence_number": event.sequence,
                        "event_type": event.type,
                        "timestamp": event.at_ms,
                        "node": node,
                        "token_id": event.token_id,
                        "path_id": event.path_id,
                        "metadata": event.metadata,
                    }
                )
            else:
                place = f"{event.sequence:>6}  {shown_time(event.at_ms)}  {event.type:<24} {node or '':<20}"
                print(f"{place} {color('dim', _told(event))}")
    if given.json:
        print_json(collected)


def _told(event: RecordEvent) -> str:
    """Say in a line what an event tells; what people ask for first comes before what is cut."""
    attempts = attempts_in(event.metadata) if event.type in ("node_completed", "node_failed") else 0
    spent = (
        f"{event.cost_usd or 0.0:.6f} USD for {event.tokens or 0:,} tokens" if event.cost_usd or event.tokens else ""
    )
    first = [f"{attempts} attempts" if attempts > 1 else "", spent]
    told = encode_json(event.metadata) if event.metadata else ""
    shown = told if len(told) <= 100 else told[:97] + "…"
    return "  ".join(part for part in (*first, shown) if part)


async def _context(app: App, given: Namespace) -> None:
    store = app.store
    header = await load_header(store, given.run_id)
    definition = await load_definition(store, WorkflowDef, header.workflow_def_id, header.workflow_version)
    plan = plan_context(
        table_prefix(definition.id, definition.version),
        input_schema=definition.input_schema,
        context_schema=definition.context_schema,
        output_schema=definition.output_schema,
    )
    print_json(await load_context(store, plan, header))


async def _order(wonder: Wonder, given: Namespace) -> None:
    await {"cancel": wonder.cancel, "pause": wonder.pause, "resume": wonder.resume}[given.command](given.run_id)
    header = await load_header(wonder.app.store, given.run_id)
    if given.json:
        print_json(header_json(header))
    else:
        print(f"{color('good', '✓')} {given.run_id}: {header.status}")


_LOOKS = {"list": _list, "show": _show, "events": _events, "context": _context}
