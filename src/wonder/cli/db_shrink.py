"""`wonder db shrink`: removes what is older than the settings say, or shows what that would be."""

from argparse import ArgumentParser, Namespace

from wonder.app.callers import local_caller
from wonder.app.opening import open_app, open_wonder
from wonder.cli.output import color, count, print_output, print_table, visible
from wonder.cli.settings import add_objects_option, database_setting, objects_setting
from wonder.operations.declaring import NoInput
from wonder.operations.retention import apply_retention, preview_retention

DETAILS = (
    "A run is removed, with everything that belongs to it, retention.events_days after it has ended; by default runs\n"
    "are kept forever. Log messages are moved to the object store after retention.logs_days. `wonder project set`\n"
    "changes both settings. A process that runs the engine does the same by itself. Nothing that an active run needs\n"
    "is removed. The file of an SQLite database keeps its size, and its free space is used again.\n\n"
    "  wonder db shrink --dry-run"
)


def configure_shrink(command: ArgumentParser) -> None:
    """Take whether to look only."""
    command.add_argument(
        "--dry-run", action="store_true", help="show how much would be removed and archived, and change nothing"
    )
    add_objects_option(command)


async def run_shrink(given: Namespace) -> int:
    """Remove what is old, or show it."""
    url, objects = database_setting(given.db).value, objects_setting(given.objects)
    if given.dry_run:
        async with open_app(url, create=False, objects=objects) as app:
            preview = await preview_retention(app, NoInput())
        if given.json:
            print_output(preview)
            return 0
        rows = [
            [
                visible(one.project),
                f"{one.runs:,}",
                _days(one.events_days),
                f"{one.log_records:,}",
                _days(one.logs_days),
                f"{one.audit_records:,}",
                _days(one.audit_days),
            ]
            for one in preview.projects
        ]
        print_table(["project", "old runs", "kept", "old log records", "kept", "old audit records", "kept"], rows)
        return 0
    async with open_wonder(url, runs="none", objects=objects, caller=local_caller()) as wonder:
        removed = await apply_retention(wonder, NoInput())
    if given.json:
        print_output(removed)
    else:
        done = f"{count(removed.runs, 'run')} removed, {count(removed.log_records, 'log record')} archived"
        deleted = f"{count(removed.contents, 'content')} and {count(removed.audit_records, 'audit record')} deleted"
        print(f"{color('good', '✓')} {done}, {deleted}")
    return 0


def _days(days: int | None) -> str:
    return "for ever" if days is None else count(days, "day")
