"""What an engine has on disk for itself alone."""

from pathlib import Path

from wonder.objects.opening import HOME
from wonder.objects.store import Objects
from wonder.storage.url import SqliteAddress, parse_url

_KEY = "key"


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
