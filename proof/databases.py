"""Databases for the proof: an SQLite file on a real disk, or one of a PostgreSQL server of our own, both durable."""

import importlib
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from proof.nursery import ROOT, Nursery

DURABLE: Final = {
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "track_commit_timestamp": "on",
    # One call for the whole disk when it starts after a crash, instead of one for each of a thousand files.
    "recovery_init_sync_method": "syncfs",
}
KINDS: Final = ("sqlite", "postgresql")
Server = Any


@contextmanager
def folder_of_proof() -> Iterator[Path]:
    """Give a folder for files; it stays when something goes wrong, or if there is a file `keep` in it."""
    folder = Path(tempfile.mkdtemp(prefix="wonder-proof-"))
    yield folder
    if not (folder / "keep").exists():
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def postgres_server(**settings: str) -> Iterator[Server]:
    """Start a server that keeps its promises, and knows when each transaction was committed."""
    if str(ROOT / "tests") not in sys.path:
        sys.path.append(str(ROOT / "tests"))
    server = importlib.import_module("support.postgres").start_postgres(**DURABLE | settings)
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def nursery() -> Iterator[Nursery]:
    """Give a nursery, closed at the end."""
    made = Nursery()
    try:
        yield made
    finally:
        made.close()


def url_of(kind: str, folder: Path, server: Server | None) -> str:
    """Make a database, empty so far, and give its address."""
    if kind == "sqlite":
        return f"sqlite:///{folder / 'proof.db'}"
    assert server is not None
    url: str = server.url(server.create_database())
    return url
