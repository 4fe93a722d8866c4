"""Restore a backup into a new database, or verify a backup.

The backup is verified before anything is written. An SQLite file must not exist, a PostgreSQL database must be empty.
Runs continue from the time of the backup: steps that were executed after it are executed again. Make sure that the
original database is no longer in use.

  wonder restore backups/monday --db sqlite:///new/wonder.db
"""

import asyncio
from argparse import ArgumentParser, Namespace
from pathlib import Path

from wonder.cli.copying import shown_progress
from wonder.cli.output import color, count, print_output, visible
from wonder.cli.settings import add_database_option, add_objects_option, database_setting, objects_setting
from wonder.operations.backups import BackupFolder, check_with_progress, restore_with_progress
from wonder.operations.declaring import local_place


def configure(parser: ArgumentParser) -> None:
    """Take the folder of the backup, and where to restore it."""
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="the folder of the backup")
    parser.add_argument("--check", action="store_true", help="verify the backup, without restoring it")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    add_database_option(parser)
    add_objects_option(parser)


def run(given: Namespace) -> int:
    """Restore the backup, or verify it."""
    place = local_place(database_setting(given.db).value, objects_setting(given.objects))
    folder = BackupFolder(folder=str(given.folder))
    with shown_progress() as on_progress:
        if given.check:
            backup = asyncio.run(check_with_progress(folder, on_progress))
        else:
            backup = asyncio.run(restore_with_progress(place, folder, on_progress))
    if given.json:
        print_output(backup)
        return 0
    done = "no errors" if given.check else "restored"
    print(
        f"{color('good', '✓')} {given.folder}: {done}; made at {visible(backup.made_at)}, {visible(backup.database)}, "
        f"{count(backup.objects.count, 'content')} of artifacts"
    )
    if not given.check:
        print("  runs continue from the time of the backup as soon as a process runs the engine; see `wonder doctor`")
    return 0
