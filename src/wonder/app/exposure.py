"""What an installation is exposed to: files that others may use, network file systems, a mighty database role."""

from pathlib import Path

from wonder.app.objects import objects_of
from wonder.app.private import private_places
from wonder.app.project import OpenProject
from wonder.storage.check import Finding
from wonder.storage.exposure import check_file_system, check_files, check_role
from wonder.storage.file_modes import files_of_database
from wonder.storage.url import SqliteAddress, parse_url


async def report_exposure(app: OpenProject, database_url: str, objects: str | None) -> list[Finding]:
    """Report what others could do with the database, its files, key and objects."""
    places = private_places(database_url, objects_of(database_url, objects))
    address = parse_url(database_url)
    found: list[Finding] = []
    if isinstance(address, SqliteAddress):
        path: Path = address.path
        places += [place for place in files_of_database(path) if place not in places]
        found += check_file_system(path)
    return [*check_files(places), *found, *await check_role(app.store)]
