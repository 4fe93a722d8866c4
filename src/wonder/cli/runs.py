"""List and show runs, and cancel, pause, resume, retry, fork or verify them.

`wonder run` starts a run; `list` shows the ids that the other commands take.

  wonder runs list --status failed
  wonder runs show 01M7P9D2J8Q0T4X6Z7B1C3E5G9
"""

from argparse import ArgumentParser, Namespace
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from wonder.app.application import Application
from wonder.app.callers import local_caller
from wonder.cli import retrying, run_counts, run_events, run_history
from wonder.cli.engine_note import print_if_nobody_runs
from wonder.cli.opening import open_app, open_wonder
from wonder.cli.output import color, print_output
from wonder.cli.own_output import functions_print_to_stderr
from wonder.cli.report import follow_run
from wonder.cli.run_details import print_details
from wonder.cli.run_lists import add_filter_options, list_runs
from wonder.cli.settings import (
    add_modules_option,
    add_objects_option,
    add_project_options,
    database_setting,
    modules_setting,
    objects_setting,
    tenant_setting,
)
from wonder.cli.stopping import run_until_stopped
from wonder.cli.subcommands import add_command, add_json_option, add_page_options, add_wait_option
from wonder.language.values import parse_json
from wonder.operations.run_orders import (
    CancelRun,
    ForkRun,
    PauseRun,
    ResumeRun,
    cancel_run,
    fork_run,
    pause_run,
    resume_run,
)
from wonder.operations.runs import (
    ContextOfRun,
    OneRun,
    show_context,
    show_run,
    verify_run,
)

if TYPE_CHECKING:
    from argparse import _SubParsersAction


def configure(parser: ArgumentParser) -> None:
    """Take one of the commands."""
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _configure_many(commands)
    for name, text, details in (
        ("show", "show a run: its nodes, its result, and what it waits for", ""),
        ("history", "show each execution of a node: its input, its output, and every attempt with its error", ""),
        ("context", "show the input, state and output of a run", ""),
        ("cancel", "cancel a run and everything that is active in it", ""),
        (
            "pause",
            "pause a run: it starts no more tasks until it is resumed",
            "Tasks that are running finish, and their results are kept.",
        ),
        ("resume", "resume a run that is paused or quarantined", ""),
        (
            "fork",
            "start a new run from a moment in the history of another",
            "`wonder runs events RUN` shows the numbers of the events. This command runs the new run to its end.\n\n"
            "  wonder runs fork RUN --at 12",
        ),
        (
            "verify",
            "check that the stored state of a run agrees with its events",
            "The events are replayed, and the result is compared with the tokens and the context that are stored.\n"
            "Exit status: 0 if they agree, 1 if not.",
        ),
    ):
        command = add_command(commands, name, text, details)
        command.add_argument("run_id", metavar="RUN", help="the id of the run")
    retrying.configure(
        add_command(
            commands,
            "retry",
            "start new runs that continue failed ones from just before their failure",
            retrying.DETAILS,
        )
    )
    run_history.configure(commands.choices["history"])
    run_events.configure(
        add_command(commands, "events", "show the events of a run, or find events of all runs", run_events.DETAILS)
    )
    commands.choices["context"].add_argument(
        "--at", metavar="EVENT", type=int, help="show it as it was after the event with this number"
    )
    fork = commands.choices["fork"]
    fork.add_argument("--at", metavar="EVENT", type=int, required=True, help="the number of the last event to keep")
    fork.add_argument("--state", metavar="JSON", help="start with this state instead of the one of that moment")
    for name in ("retry", "fork"):
        add_objects_option(commands.choices[name])
        add_modules_option(commands.choices[name])
        add_wait_option(commands.choices[name])
    for command in commands.choices.values():
        add_json_option(command)
        add_project_options(command)


def _configure_many(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Take the commands that are about many runs."""
    listing = add_command(commands, "list", "list the runs of the project, newest first")
    add_filter_options(listing)
    add_page_options(listing)
    run_counts.configure(add_command(commands, "count", "say how many runs have which status, by workflow"))


def run(given: Namespace) -> int:
    """Run one of the commands."""
    with functions_print_to_stderr() if given.command in ("retry", "fork") else nullcontext():
        return run_until_stopped(_run(given))


async def _run(given: Namespace) -> int:
    url, tenant = database_setting(given.db).value, tenant_setting(given)
    if given.command in _LOOKS:
        async with open_app(url, create=False, **tenant) as app:
            return await _LOOKS[given.command](app, given)
    if given.command in ("retry", "fork"):
        # Run to its end here, as `wonder run NAME` does.
        objects, modules = objects_setting(given.objects), modules_setting(given.module)
        opened = open_wonder(
            url,
            modules=modules,
            module_folders=[Path.cwd()],
            runs="own",
            objects=objects,
            caller=local_caller(),
            **tenant,
        )
        if given.command == "retry":
            return await retrying.retry(opened, url, given)
        async with opened as wonder:
            return await _fork(wonder, given)
    async with open_wonder(url, runs="none", caller=local_caller(), **tenant) as wonder:
        await _order(wonder, given)
    return 0


async def _verify(app: Application, given: Namespace) -> int:
    found = await verify_run(app, OneRun(run_id=given.run_id))
    if given.json:
        print_output(found)
    elif found.faults:
        print("\n".join(found.faults))
        print(f"{color('error', '✗')} {given.run_id}: the stored state does not agree with the events")
    else:
        print(f"{color('good', '✓')} {given.run_id}: the stored state agrees with the events")
    return 1 if found.faults else 0


async def _fork(wonder: Application, given: Namespace) -> int:
    state = parse_json(given.state) if given.state is not None else None
    started = await fork_run(wonder, ForkRun(run_id=given.run_id, after=given.at, state=state))
    return await follow_run(wonder, started.run_id, as_json=given.json)


async def _show(app: Application, given: Namespace) -> int:
    details = await show_run(app, OneRun(run_id=given.run_id))
    if given.json:
        print_output(details)
        return 0
    print_details(details)
    await print_if_nobody_runs(app, "it continues", [details.run_id])
    return 0


async def _context(app: Application, given: Namespace) -> int:
    print_output(await show_context(app, ContextOfRun(run_id=given.run_id, at=given.at)))
    return 0


async def _order(wonder: Application, given: Namespace) -> None:
    run_id = given.run_id
    match given.command:
        case "cancel":
            ordered = await cancel_run(wonder, CancelRun(run_id=run_id))
        case "pause":
            ordered = await pause_run(wonder, PauseRun(run_id=run_id))
        case _:
            ordered = await resume_run(wonder, ResumeRun(run_id=run_id))
    if given.json:
        print_output(ordered)
    else:
        print(f"{color('good', '✓')} {run_id}: {ordered.status}")


_LOOKS = {
    "list": list_runs,
    "count": run_counts.show,
    "show": _show,
    "events": run_events.show,
    "history": run_history.show,
    "context": _context,
    "verify": _verify,
}
