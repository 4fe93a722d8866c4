"""Make a verified backup of the database and of the content of artifacts, while runs continue.

FOLDER must not exist; it appears when the backup is complete. Content in S3 is listed, but not copied. The encryption
key of the secrets is not included: keep a copy of it in another place, or the secrets can't be decrypted.

  wonder backup backups/monday

Exit status: 0 if the backup is complete, 1 if the content of an artifact is missing or damaged (the rest is copied).
"""

import asyncio
from argparse import ArgumentParser, Namespace
from pathlib import Path

from wonder.cli.copying import shown_progress
from wonder.cli.output import color, count, print_output
from wonder.cli.settings import add_database_option, add_objects_option, database_setting, objects_setting
from wonder.operations.backups import BackupFolder, BackupSummary, make_with_progress
from wonder.operations.declaring import Place

_SHOWN_MAX = 10


def configure(parser: ArgumentParser) -> None:
    """Take the folder."""
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="the folder to create")
    parser.add_argument("--json", action="store_true", help="print the manifest as JSON")
    add_database_option(parser)
    add_objects_option(parser)


def run(given: Namespace) -> int:
    """Make the backup."""
    place = Place(database_setting(given.db).value, objects_setting(given.objects))
    with shown_progress() as on_progress:
        made = asyncio.run(make_with_progress(place, BackupFolder(folder=str(given.folder)), on_progress))
    if given.json:
        print_output(made)
    else:
        _print(given.folder, made)
    return 1 if made.missing else 0


def _print(folder: Path, made: BackupSummary) -> None:
    objects = made.objects
    contents = f"{count(objects.count, 'content')} of artifacts ({objects.bytes:,} bytes)"
    where = "" if objects.copied else f", which stay in {objects.address}"
    sign = color("error", "✗") if made.missing else color("good", "✓")
    print(f"{sign} {folder}: {made.database} ({made.bytes:,} bytes), {contents}{where}; verified")
    for key, code in list(made.missing.items())[:_SHOWN_MAX]:
        print(f"  {color('error', code)}: {key} in {objects.address}")
    if len(made.missing) > _SHOWN_MAX:
        print(f"  and {len(made.missing) - _SHOWN_MAX:,} more; --json lists all")
    print("  the key of the secrets is not included (see `wonder doctor`): keep a copy of it in another place")
    print(f"  restore it with: wonder restore {folder} --db URL")
