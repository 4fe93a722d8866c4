"""Start workflows at planned times, with given inputs, each time once.

A schedule has a cron expression (five fields, or @daily and the like) or an interval, and a time zone. Schedules can
also be written in definition files, under `schedules`. They start runs while some process runs the engine for all runs
of the database: `wonder schedules run`, or a program that has it open. What was planned while none did is caught up
with as `--catch-up` says.

  wonder schedules create nightly --workflow report --cron '30 2 * * mon-fri' --time-zone Europe/Berlin
  wonder schedules next nightly --count 3
"""

import asyncio
import time
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any, get_args

from wonder.app import App, open_app
from wonder.app.opening import open_wonder
from wonder.app.schedules import create_schedule, delete, next_times, pause, resume, show_schedule, zone_of
from wonder.cli.engine_note import print_if_nobody_runs
from wonder.cli.output import color, print_json, print_table, visible
from wonder.cli.run import read_input
from wonder.cli.settings import add_database_option, add_objects_option, database_setting, objects_setting
from wonder.definitions.records.schedules import CatchUp, Overlap
from wonder.errors import WonderError
from wonder.language.schedules import show_time
from wonder.language.values import encode_json
from wonder.storage.resource_errors import NameTaken
from wonder.storage.schedules import StoredSchedule, find_schedule, list_schedules

_FIRINGS_SHOWN = 10


def configure(parser: ArgumentParser) -> None:
    """Take one of the commands."""
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    listing = commands.add_parser("list", help="list the schedules of the project")
    listing.add_argument("--limit", type=int, default=50, help="at most so many (default 50)")
    listing.add_argument("--cursor", help="go on behind an earlier page")
    for name, text in (
        ("show", "show a schedule: what it has planned, and what it has started"),
        ("create", "check and store a schedule"),
        ("pause", "let a schedule start nothing until it is resumed"),
        ("resume", "let a paused schedule go on with what is planned from now on"),
        ("delete", "let a schedule start nothing any more"),
        ("fire", "start a run of a schedule now, paused or not"),
        ("next", "show the times that are planned next"),
    ):
        commands.add_parser(name, help=text).add_argument("name", metavar="NAME")
    add_objects_option(commands.add_parser("run", help="start and run what is planned, until interrupted"))
    _configure_create(commands.choices["create"])
    commands.choices["pause"].add_argument("--note", help="why, for who looks at it")
    commands.choices["next"].add_argument("--count", type=int, default=5, help="so many (default 5)")
    for command in commands.choices.values():
        command.add_argument("--json", action="store_true", help="print the result for a program")
        add_database_option(command)


def _configure_create(parser: ArgumentParser) -> None:
    parser.add_argument("--workflow", metavar="NAME", required=True, help="the workflow to start")
    times = parser.add_mutually_exclusive_group(required=True)
    times.add_argument("--cron", metavar="EXPRESSION", help="minute hour day month weekday, or @daily")
    times.add_argument("--every-ms", metavar="MS", type=int, help="an interval instead, in milliseconds")
    parser.add_argument("--time-zone", metavar="ZONE", help="such as Europe/Berlin (default: UTC)")
    parser.add_argument("--input", metavar="JSON", help="JSON or @FILE, with @time, @date and the like (default: {})")
    parser.add_argument("--overlap", choices=get_args(Overlap), help="while a run of it goes (default: skip)")
    parser.add_argument("--catch-up", choices=get_args(CatchUp), help="which of the missed times (default: last)")
    parser.add_argument("--catch-up-ms", metavar="MS", type=int, help="catch up with nothing older than this")
    parser.add_argument("--catch-up-max", metavar="N", type=int, help="with at most so many (default: 100)")
    parser.add_argument("--jitter-ms", metavar="MS", type=int, help="start up to this much later (default: 0)")
    parser.add_argument("--starts-at", metavar="TIME", help="plan nothing before this")
    parser.add_argument("--ends-at", metavar="TIME", help="plan nothing behind this")
    parser.add_argument("--description", help="what it is for")
    parser.add_argument("--paused", action="store_true", default=None, help="begin paused")
    parser.add_argument("--replace", action="store_true", help="change the schedule of this name if there is one")


_FIELDS = (
    "workflow",
    "cron",
    "every_ms",
    "time_zone",
    "overlap",
    "catch_up",
    "catch_up_ms",
    "catch_up_max",
    "jitter_ms",
    "starts_at",
    "ends_at",
    "description",
    "paused",
)


def run(given: Namespace) -> int:
    """Run one of the commands."""
    return asyncio.run(_run(given))


async def _run(given: Namespace) -> int:
    url = database_setting(given.db).value
    if given.command == "fire":
        async with open_wonder(url, runs="none") as wonder:
            started = await wonder.fire_schedule(given.name)
        if given.json:
            print_json({"run_id": started.id})
            return 0
        print(f"{color('good', '✓')} started {started.id}")
        async with open_app(url) as app:  # behind the command's own engine, which runs nothing
            await print_if_nobody_runs(app.store, "the run goes on")
        return 0
    if given.command == "run":
        # All runs: functions are found in the working directory, as `wonder run` finds them.
        objects = objects_setting(given.objects)
        async with open_wonder(url, import_roots=[Path.cwd()], objects=objects) as wonder:
            print("schedules run here now" if wonder.engine else "another process has the engine; waiting", flush=True)
            await asyncio.Event().wait()
    async with open_app(url, create=given.command == "create") as app:
        await _DOES[given.command](app, given)
    return 0


async def _list(app: App, given: Namespace) -> None:
    page = await list_schedules(app.store, app.home.project_id, limit=given.limit, cursor=given.cursor)
    shown = [await show_schedule(app, stored, _now_ms()) for stored in page.items]
    if given.json:
        print_json({"schedules": shown, "cursor": page.cursor})
    elif not shown:
        print("no schedules yet; `wonder schedules create NAME` stores one")
    else:
        print_table(
            ["NAME", "WORKFLOW", "WHEN", "ZONE", "NEXT", "STARTED", "FAILED"],
            [
                [
                    one["name"],
                    one["workflow"],
                    one["cron"] or f"every {one['every_ms']} ms",
                    one["time_zone"],
                    "paused" if one["paused"] else one["next_at"] or "never",
                    str(one["started"]),
                    str(one["failed"]),
                ]
                for one in shown
            ],
        )
        if page.cursor:
            print(f"more: wonder schedules list --cursor {page.cursor}")
        if any(one["next_at"] for one in shown):
            await print_if_nobody_runs(app.store, "schedules start runs")


async def _show(app: App, given: Namespace) -> None:
    stored = await find_schedule(app.store, app.home.project_id, given.name)
    await _print_schedule(app, stored, as_json=given.json)


async def _print_schedule(app: App, stored: StoredSchedule, *, as_json: bool) -> None:
    shown = await show_schedule(app, stored, _now_ms(), _FIRINGS_SHOWN)
    if as_json:
        print_json(shown)
        return
    when = shown["cron"] or f"every {shown['every_ms']} ms"
    print(f"{color('bold', visible(shown['name']))} starts {visible(shown['workflow'])}: {when}, {shown['time_zone']}")
    note = f" ({visible(stored.note)})" if stored.note else ""
    print(f"  next: {'paused' + note if stored.paused else shown['next_at'] or 'never'}")
    print(f"  input: {visible(encode_json(shown['input']))}")
    policy = f"overlap {shown['overlap']}, catch_up {shown['catch_up']}"
    print(f"  {policy}; {shown['started']} started, {shown['skipped']} skipped, {shown['failed']} failed")
    for label, key in (("queued", "queued"), ("last skipped", "last_skipped_at"), ("last missed", "last_missed_at")):
        if shown[key]:
            print(f"  {label}: {shown[key] if isinstance(shown[key], str) else ', '.join(shown[key])}")
    if shown["last_error"]:
        print(color("error", f"  last error, {shown['last_error_at']}: {visible(shown['last_error'])}"))
    if shown["firings"]:
        print()
        columns = ("planned_at", "run_id", "status")
        rows = [[one[column] or "gone" for column in columns] for one in shown["firings"]]
        print_table(["PLANNED", "RUN", "STATUS"], rows)
    if shown["next_at"]:
        await print_if_nobody_runs(app.store, "it starts runs")


async def _create(app: App, given: Namespace) -> None:
    fields: dict[str, Any] = {name: getattr(given, name) for name in _FIELDS if getattr(given, name) is not None}
    if given.input is not None:
        fields["input"] = read_input(given.input)
    try:
        stored = await create_schedule(app, given.name, fields, replaces=given.replace)
    except NameTaken as error:
        raise ScheduleTaken(error.name) from None
    await _print_schedule(app, stored, as_json=given.json)


class ScheduleTaken(WonderError):
    """There is a schedule of that name already, and nobody said that it is to be changed."""

    code = "NAME_TAKEN"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"there is a schedule {name!r} already; choose another name, or change that one with --replace"
        )
        self.name = name


async def _pause(app: App, given: Namespace) -> None:
    await _print_schedule(app, await pause(app, given.name, given.note), as_json=given.json)


async def _resume(app: App, given: Namespace) -> None:
    await _print_schedule(app, await resume(app, given.name), as_json=given.json)


async def _delete(app: App, given: Namespace) -> None:
    await delete(app, given.name)
    if given.json:
        print_json({"name": given.name, "deleted": True})
    else:
        print(f"{color('good', '✓')} {visible(given.name)} starts nothing any more")


async def _next(app: App, given: Namespace) -> None:
    schedule = (await find_schedule(app.store, app.home.project_id, given.name)).schedule
    planned, zone = next_times(schedule, _now_ms(), given.count), zone_of(schedule)
    if given.json:
        print_json({"name": schedule.name, "planned_at": [show_time(one) for one in planned]})
    elif not planned:
        print("nothing is planned any more")
    for one in () if given.json else planned:
        print(f"{show_time(one, zone.offset(one // 1_000))}  {color('dim', show_time(one))}")


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


_DOES = {
    "list": _list,
    "show": _show,
    "create": _create,
    "pause": _pause,
    "resume": _resume,
    "delete": _delete,
    "next": _next,
}
