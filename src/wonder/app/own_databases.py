"""Own databases: whether the SQLite database that a command found is one that this user made, or trusts (CMD-1)."""

from pathlib import Path

from wonder.errors import WonderError
from wonder.storage.own_databases import check_readable as check_readable
from wonder.storage.own_databases import database_id_of, is_remembered, list_of_databases, remember
from wonder.storage.url import SqliteAddress, parse_url


class NotTrusted(WonderError):
    """A database can't be trusted, or that can't be remembered."""

    code = "NOT_TRUSTED"


def file_of(url: str) -> Path | None:
    """Give the file of an SQLite database; None for one on a server."""
    address = parse_url(url)
    return address.path if isinstance(address, SqliteAddress) else None


def is_own(path: Path) -> bool:
    """Say whether this user made a database, or has said that they trust it."""
    database_id = database_id_of(path)
    return database_id is not None and is_remembered(database_id)


def can_be_trusted(path: Path) -> bool:
    """Say whether a file is a database that could be remembered."""
    return database_id_of(path) is not None


def trust_database(url: str) -> Path:
    """Remember a database as one that this user trusts, and give its file; raises NotTrusted."""
    path = file_of(url)
    if path is None:
        raise NotTrusted("a database on a server is trusted by giving its URL; there is nothing to do")
    database_id = database_id_of(path)
    if database_id is None:
        raise NotTrusted(f"{path} is not a database that Wonder has used; name it with --db sqlite:///{path}")
    if not remember(database_id):
        raise NotTrusted(
            f"{list_of_databases() or 'the list of your databases'} can't be written, so nothing is remembered; "
            f"name the database instead: --db sqlite:///{path}, or WONDER_DATABASE_URL"
        )
    return path
