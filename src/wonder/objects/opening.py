"""Opening the object store that an address names."""

from pathlib import Path
from typing import Final

from wonder.objects.directory import DirectoryObjects
from wonder.objects.store import Objects
from wonder.objects.url import DirectoryAddress, parse_objects_url

FOLDER: Final = "objects"
HOME: Final = ".wonder"


def open_objects(url: str) -> Objects:
    """Open the object store at file:///folder or s3://bucket/prefix; raises BadObjectsUrl, and touches nothing yet."""
    address = parse_objects_url(url)
    if isinstance(address, DirectoryAddress):
        return DirectoryObjects(address.path)
    # Imported when it is used: most have their objects in a folder.
    from wonder.objects.s3 import S3Objects

    return S3Objects(address)


def objects_beside(database: Path | None) -> Objects:
    """Open the object store that counts when none was named.

    It is the folder `objects` beside an SQLite database, and `.wonder/objects` in the working directory for others.
    """
    return DirectoryObjects((database.parent if database else Path(HOME)) / FOLDER)
