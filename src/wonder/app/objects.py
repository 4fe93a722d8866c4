"""Which object store goes with a database."""

from wonder.objects.opening import objects_beside, open_objects
from wonder.objects.store import Objects
from wonder.storage.url import SqliteAddress, parse_url


def objects_of(database_url: str, objects_url: str | None) -> Objects:
    """Open the object store at an address, or the one that belongs to a database; raises BadObjectsUrl."""
    if objects_url is not None:
        return open_objects(objects_url)
    address = parse_url(database_url)
    return objects_beside(address.path if isinstance(address, SqliteAddress) else None)
