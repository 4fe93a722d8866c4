"""List and show runs, check them, and cancel, pause, resume, retry or fork them."""

import asyncio
from argparse import ArgumentParser, Namespace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from wonder.app import App, open_app
from wonder.app.api import Wonder, open_wonder
from wonder.cli.live_view import watch
from wonder.cli.output import color, print_json, print_table
from wonder.cli.questions import answer_lines
from wonder.cli.report import report_run
from wonder.cli.settings import add_database_option, add_objects_option, database_setting, objects_setting
from wonder.context.plan import plan_context, table_prefix
from wonder.definitions.records.graph import WorkflowDef
from wonder.language.values import JsonValue, encode_json, parse_json
from wonder.observe.verify import verify_run
from wonder.storage.definitions import load_definition
from wonder.storage.runs.headers import RunHeader, list_runs, load_header
from wonder.storage.runs.loading import load_context
from wonder.storage.runs.looking import events_of_run, tokens_of_run
from wonder.storage.runs.records import Origin
from wonder.storage.runs.standing import open_questions
from wonder.storage.runs.triggering import StoredFiring, firings_of_run, runs_triggered_by, trigger_status
from wonder.storage.store import Store

_TRIGGERED_SHOWN = 10
_MARKS = {"completed": ("good", "✓"), "failed": ("error", "✗"), "cancelled": ("error", "✗")}


def configure(parser: ArgumentParser) -> None:
    """Take one of the commands."""
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    listing = commands.add_parser("list", help="list the runs of the project, newest first")
    listing.add_argument("--status", help="only runs with this status")
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
    header = await watch(wonder, started.id, quiet=given.json)
    return await report_run(wonder, started, header, as_json=given.json)


async def _list(app: App, given: Namespace) -> None:
    page = await list_runs(app.store, app.home.project_id, status=given.status, limit=given.limit, cursor=given.cursor)
    names: dict[tuple[str, int], str] = {}
    for header in page.items:
        key = (header.workflow_def_id, header.workflow_version)
        if key not in names:
            names[key] = (await load_definition(app.store, WorkflowDef, *key)).name
    if given.json:
        print_json({"runs": [_header(header) for header in page.items], "cursor": page.cursor})
    elif not page.items:
        print("no runs yet; `wonder run FILE` starts one")
    else:
        print_table(
            ["RUN", "WORKFLOW", "STATUS", "STARTED", "TOOK"],
            [
                [
                    header.id,
                    f"{names[header.workflow_def_id, header.workflow_version]}@{header.workflow_version}",
                    header.status,
                    _time(header.created_ms),
                    _took(header),
                ]
                for header in page.items
            ],
        )
        if page.cursor:
            print(f"more: wonder runs list --cursor {page.cursor}")


async def _show(app: App, given: Namespace) -> None:
    store = app.store
    header = await load_header(store, given.run_id)
    definition = await load_definition(store, WorkflowDef, header.workflow_def_id, header.workflow_version)
    tokens = await tokens_of_run(store, header.id)
    items = await open_questions(store, header.id)
    firings = await firings_of_run(store, header.id)
    refs = {node.id: node.ref for node in definition.nodes}
    if given.json:
        shown = [{"id": t.id, "node": refs[t.node_id], "status": t.status, "path_id": t.path_id} for t in tokens]
        inbox = [{"id": item.id, "prompt": item.prompt, "schema": item.schema} for item in items]
        told: dict[str, Any] = {
            "triggerStatus": trigger_status(firings),
            "triggers": [firing.as_json() for firing in firings],
        }
        told["triggeredExecutionIds"] = [id async for id in runs_triggered_by(store, header.id)] if firings else []
        print_json({**_header(header), "workflow": definition.name, "tokens": shown, "inbox": inbox, **told})
        return
    style, mark = _MARKS.get(header.status, ("warning", "…"))
    print(
        f"{color(style, mark)} {definition.name}@{header.workflow_version} {header.status}  {color('dim', header.id)}"
    )
    print(f"  started {_time(header.created_ms)}, {_took(header)}")
    if header.origin:
        print(f"  triggered by {header.origin.triggered_by_run_id}")
    if header.error:
        where = f" at node {header.error.node!r}" if header.error.node else ""
        print(f"  {color('error', header.error.code)}{where}: {header.error.message}")
    if header.status == "completed":
        print(f"  output {encode_json(header.output)}")
    print()
    print_table(
        ["NODE", "PATH", "STATUS", "TOOK"],
        [[refs[t.node_id], t.path_id, t.status, _milliseconds(t.created_ms, t.ended_ms)] for t in tokens],
    )
    if firings:
        print()
        print_table(["TRIGGER", "STATUS", "RUNS", "REASON"], [_firing(firing) for firing in firings])
        await _show_triggered(store, header.id, sum(firing.started for firing in firings))
    for item in items:
        print("\n".join([f"\n{item.prompt}", *(f"  {line}" for line in answer_lines(item))]))


async def _show_triggered(store: Store, run_id: str, started: int) -> None:
    async for triggered_id in runs_triggered_by(store, run_id, limit=_TRIGGERED_SHOWN):
        print(f"  ↳ {triggered_id}")
    if started > _TRIGGERED_SHOWN:
        print(f"  … and {started - _TRIGGERED_SHOWN} more; --json shows all")


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
                told = encode_json(event.metadata) if event.metadata else ""
                shown = told if len(told) <= 100 else told[:97] + "…"
                place = f"{event.sequence:>6}  {_time(event.at_ms)}  {event.type:<24} {node or '':<20}"
                print(f"{place} {color('dim', shown)}")
    if given.json:
        print_json(collected)


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
        print_json(_header(header))
    else:
        print(f"{color('good', '✓')} {given.run_id}: {header.status}")


_LOOKS = {"list": _list, "show": _show, "events": _events, "context": _context}


def _header(header: RunHeader) -> dict[str, Any]:
    return {
        "run_id": header.id,
        "status": header.status,
        "workflow_def_id": header.workflow_def_id,
        "workflow_version": header.workflow_version,
        "parent_run_id": header.parent_run_id,
        "triggered_by": _origin(header.origin),
        "output": header.output,
        "error": header.error.as_json() if header.error else None,
        "created_ms": header.created_ms,
        "completed_ms": header.completed_ms,
    }


def _origin(origin: Origin | None) -> dict[str, Any] | None:
    if origin is None:
        return None
    place = {"run_id": origin.triggered_by_run_id, "trigger": origin.ordinal, "item": origin.item_index}
    return {**place, "depth": origin.depth, "attempt": origin.attempt}


def _firing(firing: StoredFiring) -> list[str]:
    reason = "" if firing.failure is None else f"{firing.failure.code}: {firing.failure.message}"
    return [firing.workflow_id, firing.status, str(firing.started), reason]


def _time(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _took(header: RunHeader) -> str:
    return _milliseconds(header.created_ms, header.completed_ms)


def _milliseconds(begin: int, end: int | None) -> str:
    return "under way" if end is None else f"{(end - begin) / 1000:.3f} s"
