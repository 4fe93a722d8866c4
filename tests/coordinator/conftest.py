"""Runs are tried on each database, and on SQLite in both ways to commit: by the writer's thread, and at once."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.stores import CopiedDatabases, remove_sqlite_files
from wonder.storage.sqlite import commits as sqlite_commits


@pytest.fixture(params=["sqlite", "sqlite at once", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of an empty database with all tables."""
    if request.param == "postgresql":
        databases: CopiedDatabases = request.getfixturevalue("copied_databases")
        with databases.one() as url:
            yield url
        return
    # Whatever the disk is like just now.
    monkeypatch.setattr(sqlite_commits, "FAST_SECONDS", 60.0 if request.param == "sqlite at once" else 0.0)
    shutil.copy(request.getfixturevalue("sqlite_template"), tmp_path / "wonder.db")
    yield f"sqlite:///{tmp_path / 'wonder.db'}"
    remove_sqlite_files(tmp_path / "wonder.db")
