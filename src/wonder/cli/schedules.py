"""Create, list, pause and delete schedules, which start workflows at planned times.

A schedule has a cron expression (five fields, or @daily and similar) or an interval, and a time zone. Each planned time
starts one run. Schedules can also be defined in definition files, under `schedules`. They start runs only while a
process runs the engine for all runs: `wonder serve --no-http`, or a program that has the database open. --catch-up
decides what happens to the times that were missed meanwhile.

  wonder schedules create nightly --workflow report --cron '30 2 * * mon-fri' --time-zone Europe/Berlin
  wonder schedules next nightly --count 3
"""

from argparse import ArgumentParser, Namespace
from typing import Any, get_args

from wonder.app.application import Application
from wonder.app.callers import local_caller
from wonder.cli.engine_note import print_if_nobody_runs
from wonder.cli.opening import open_app, open_wonder
from wonder.cli.output import color, print_output, print_table, visible
from wonder.cli.run import read_input
from wonder.cli.settings import add_project_options, database_setting, tenant_setting
from wonder.cli.stopping import run_until_stopped
from wonder.cli.subcommands import add_command, add_json_option, add_page_options
from wonder.language.values import encode_json
from wonder.operations.schedules import (
    CatchUp,
    CreateSchedule,
    ListSchedules,
    NextTimes,
    OneSchedule,
    Overlap,
    PauseSchedule,
    ScheduleRecord,
    create_schedule,
    delete_schedule,
    fire_schedule,
    list_project_schedules,
    next_times,
    pause_schedule,
    resume_schedule,
    show_schedule,
)

_CREATE_EXAMPLE = (
    "  wonder schedules create nightly --workflow report --cron '30 2 * * mon-fri' --time-zone Europe/Berlin"
)


def configure(parser: ArgumentParser) -> None:
    """Take one of the commands."""
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    listing = add_command(commands, "list", "list the schedules of the project")
    add_page_options(listing)
    for name, text in (
        ("show", "show a schedule: its next time, and the runs that it has started"),
        ("create", "create a schedule, or change one with --replace"),
        ("pause", "pause a schedule: it starts no runs until it is resumed"),
        ("resume", "resume a paused schedule; times that have passed meanwhile are not caught up"),
        ("delete", "delete a schedule; runs that it has started continue"),
        ("fire", "start a run of a schedule now, even if it is paused"),
        ("next", "show the next planned times of a schedule"),
    ):
        details = _CREATE_EXAMPLE if name == "create" else ""
        add_command(commands, name, text, details).add_argument("name", metavar="NAME", help="the name of the schedule")
    _configure_create(commands.choices["create"])
    commands.choices["pause"].add_argument(
        "--note", metavar="TEXT", help="store the reason, which `wonder schedules show` displays"
    )
    commands.choices["next"].add_argument("--count", metavar="N", type=int, default=5, help="show N times (default 5)")
    for command in commands.choices.values():
        add_json_option(command)
        add_project_options(command)


def _configure_create(parser: ArgumentParser) -> None:
    parser.add_argument("--workflow", metavar="NAME", required=True, help="the workflow to start")
    times = parser.add_mutually_exclusive_group(required=True)
    times.add_argument(
        "--cron", metavar="EXPRESSION", help="minute, hour, day, month and weekday, as in '30 2 * * mon-fri'; or @daily"
    )
    times.add_argument("--every-ms", metavar="MS", type=int, help="an interval in milliseconds, instead of --cron")
    parser.add_argument("--time-zone", metavar="ZONE", help="the time zone, such as Europe/Berlin (default: UTC)")
    parser.add_argument(
        "--input",
        metavar="JSON",
        help="the input as JSON, or @FILE; @time, @date and similar stand for the planned time (default: {})",
    )
    parser.add_argument(
        "--overlap", choices=get_args(Overlap), help="what to do if the previous run has not ended (default: skip)"
    )
    parser.add_argument(
        "--catch-up",
        choices=get_args(CatchUp),
        help="which planned times to start later if no engine ran then (default: last)",
    )
    parser.add_argument(
        "--catch-up-ms", metavar="MS", type=int, help="catch up only with times of the last MS milliseconds"
    )
    parser.add_argument("--catch-up-max", metavar="N", type=int, help="catch up with at most N times (default: 100)")
    parser.add_argument(
        "--jitter-ms",
        metavar="MS",
        type=int,
        help="delay each start by up to MS milliseconds, always the same for one planned time (default: 0)",
    )
    parser.add_argument("--starts-at", metavar="TIME", help="start no runs before this time")
    parser.add_argument("--ends-at", metavar="TIME", help="start no runs after this time")
    parser.add_argument("--description", metavar="TEXT", help="a description of the schedule")
    parser.add_argument("--paused", action="store_true", default=None, help="create the schedule paused")
    parser.add_argument("--replace", action="store_true", help="change the schedule if one with this name exists")


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
    return run_until_stopped(_run(given))


async def _run(given: Namespace) -> int:
    url, tenant = database_setting(given.db).value, tenant_setting(given)
    if given.command == "fire":
        async with open_wonder(url, runs="none", caller=local_caller(), **tenant) as wonder:
            started = await fire_schedule(wonder, OneSchedule(name=given.name))
        if given.json:
            print_output(started)
            return 0
        print(f"{color('good', '✓')} started {started.run_id}")
        async with open_app(url, **tenant) as app:  # after this command has closed its own engine, which runs no tasks
            await print_if_nobody_runs(app, "the run continues")
        return 0
    async with open_app(url, create=given.command == "create", **tenant) as app:
        await _DOES[given.command](app, given)
    return 0


async def _list(app: Application, given: Namespace) -> None:
    page = await list_project_schedules(app, ListSchedules(limit=given.limit, cursor=given.cursor))
    if given.json:
        print_output(page)
    elif not page.schedules:
        print("no schedules yet; `wonder schedules create NAME` stores one")
    else:
        print_table(
            ["NAME", "WORKFLOW", "WHEN", "ZONE", "NEXT", "STARTED", "FAILED"],
            [
                [
                    one.name,
                    one.workflow,
                    one.cron or f"every {one.every_ms} ms",
                    one.time_zone,
                    "paused" if one.paused else one.next_at or "never",
                    str(one.started),
                    str(one.failed),
                ]
                for one in page.schedules
            ],
        )
        if page.cursor:
            print(f"more: wonder schedules list --cursor {page.cursor}")
        if any(one.next_at for one in page.schedules):
            await print_if_nobody_runs(app, "schedules start runs")


async def _show(app: Application, given: Namespace) -> None:
    await _print_schedule(app, await show_schedule(app, OneSchedule(name=given.name)), as_json=given.json)


async def _print_schedule(app: Application, shown: ScheduleRecord, *, as_json: bool) -> None:
    if as_json:
        print_output(shown)
        return
    when = shown.cron or f"every {shown.every_ms} ms"
    print(f"{color('bold', visible(shown.name))} starts {visible(shown.workflow)}: {when}, {shown.time_zone}")
    if shown.description:
        print(f"  {visible(shown.description)}")
    note = f" ({visible(shown.note)})" if shown.note else ""
    print(f"  next: {'paused' + note if shown.paused else shown.next_at or 'never'}")
    print(f"  input: {visible(encode_json(shown.input))}")
    policy = f"overlap {shown.overlap}, catch_up {shown.catch_up}"
    print(f"  {policy}; {shown.started} started, {shown.skipped} skipped, {shown.failed} failed")
    for label, what in (
        ("queued", ", ".join(shown.queued)),
        ("last skipped", shown.last_skipped_at),
        ("last missed", shown.last_missed_at),
    ):
        if what:
            print(f"  {label}: {what}")
    if shown.last_error:
        print(color("error", f"  last error, {shown.last_error_at}: {visible(shown.last_error)}"))
    if shown.firings:
        print()
        rows = [[one.planned_at, one.run_id, one.status or "gone"] for one in shown.firings]
        print_table(["PLANNED", "RUN", "STATUS"], rows)
    if shown.next_at:
        await print_if_nobody_runs(app, "it starts runs")


async def _create(app: Application, given: Namespace) -> None:
    fields: dict[str, Any] = {name: getattr(given, name) for name in _FIELDS if getattr(given, name) is not None}
    if given.input is not None:
        fields["input"] = read_input(given.input)
    asked = CreateSchedule(name=given.name, replace=given.replace, **fields)
    await _print_schedule(app, await create_schedule(app, asked), as_json=given.json)


async def _pause(app: Application, given: Namespace) -> None:
    asked = PauseSchedule(name=given.name, note=given.note)
    await _print_schedule(app, await pause_schedule(app, asked), as_json=given.json)


async def _resume(app: Application, given: Namespace) -> None:
    await _print_schedule(app, await resume_schedule(app, OneSchedule(name=given.name)), as_json=given.json)


async def _delete(app: Application, given: Namespace) -> None:
    deleted = await delete_schedule(app, OneSchedule(name=given.name))
    if given.json:
        print_output(deleted)
    else:
        print(f"{color('good', '✓')} {visible(given.name)}: deleted")


async def _next(app: Application, given: Namespace) -> None:
    planned = await next_times(app, NextTimes(name=given.name, count=given.count))
    if given.json:
        print_output(planned)
    elif not planned.planned_at:
        print("no more times are planned")
    else:
        for in_zone, in_utc in zip(planned.in_zone, planned.planned_at, strict=True):
            print(f"{in_zone}  {color('dim', in_utc)}")


_DOES = {
    "list": _list,
    "show": _show,
    "create": _create,
    "pause": _pause,
    "resume": _resume,
    "delete": _delete,
    "next": _next,
}
