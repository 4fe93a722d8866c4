"""What an engine has on disk for itself alone."""

from pathlib import Path

from wonder.actions.files.files_root import refusal_of
from wonder.actions.files.private_places import kept_private
from wonder.app.objects import objects_of
from wonder.app.project import OpenProject
from wonder.errors import WonderError
from wonder.objects.opening import HOME
from wonder.objects.store import Objects
from wonder.storage.url import SqliteAddress, parse_url

_KEY = "key"


class FilesRootRefused(WonderError):
    """A folder for a project's files overlaps code, or what the engine keeps for itself."""

    code = "FILES_ROOT_REFUSED"

    def __init__(self, root: str, reason: str) -> None:
        super().__init__(
            f"files_root can't be {root!r}: {reason}; choose a folder for files alone, which actions may write to"
        )
        self.files_root = root


def check_files_root(project: OpenProject, root: str) -> None:
    """Raise FilesRootRefused if a folder can't be for the files of a project."""
    with kept_private(private_places(project.url, objects_of(project.url, project.objects_url))):
        if reason := refusal_of(root):
            raise FilesRootRefused(root, reason)


def private_places(database_url: str, objects: Objects) -> list[Path]:
    """Give the files and folders of a database that no action may use: itself, its key, its objects, its `.wonder`."""
    address = parse_url(database_url)
    home = address.path.parent if isinstance(address, SqliteAddress) else Path(HOME)
    places = [home / _KEY]
    if isinstance(address, SqliteAddress):
        places.append(address.path)
    if home.absolute().name == HOME:
        places.append(home)
    # Objects may also be in a bucket.
    stored = Path(objects.address)
    return [*places, stored] if stored.is_absolute() else places
