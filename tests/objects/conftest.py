"""Object stores for tests: a directory, and a bucket of a real S3 server."""

from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex

import pytest

from support.s3 import S3Server, start_s3
from wonder.objects.opening import open_objects
from wonder.objects.store import Objects


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """A real S3 server, started once for the whole session."""
    server = start_s3()
    yield server
    server.stop()


@pytest.fixture(params=["directory", "s3"])
def objects_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty object store, on each kind."""
    if request.param == "directory":
        return f"file://{tmp_path}/objects"
    server: S3Server = request.getfixturevalue("s3_server")
    return server.url(token_hex(4))


@pytest.fixture
def objects(objects_url: str) -> Objects:
    """An empty object store, on each kind."""
    return open_objects(objects_url)
