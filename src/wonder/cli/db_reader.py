"""`wonder db grant-reader`: creates the PostgreSQL role that queries run with."""

from argparse import ArgumentParser, Namespace

from wonder.cli.output import color, count, print_output, visible
from wonder.cli.settings import FILE, READER_VARIABLE, database_setting
from wonder.operations.databases import GrantReader, grant_reader
from wonder.operations.declaring import local_place


def configure_reader(parser: ArgumentParser) -> None:
    """Take the role."""
    parser.add_argument(
        "--role", metavar="NAME", help="the name of the role (default: wonder_reader_ and the name of the database)"
    )
    parser.add_argument("--new-password", action="store_true", help="give an existing role a new password")


async def run_grant_reader(given: Namespace) -> int:
    """Make the role or bring it up to date, and print its URL if it has a new password."""
    asked = GrantReader(role=given.role, new_password=given.new_password)
    reader = await grant_reader(local_place(database_setting(given.db).value), asked)
    if given.json:
        print_output(reader)
        return 0
    done = "created" if reader.created else "updated"
    tables = count(len(reader.tables), "table")
    print(f"{color('good', '✓')} {reader.database}: role {visible(reader.role)} {done}; it can read {tables} and views")
    if reader.url:
        print(f"Set this as {READER_VARIABLE}, or as reader_url in {FILE}; the password is not shown again:")
        print(reader.url)
    else:
        print("Its password is unchanged; use --new-password to get a new one.")
    return 0
