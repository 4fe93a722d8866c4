"""Wonder's own files are for the user that runs it alone, whatever the umask says."""

import asyncio
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from wonder.app.objects import objects_of
from wonder.app.opening import open_wonder
from wonder.storage import file_modes
from wonder.storage.file_modes import narrow, open_mode
from wonder.storage.opening import open_store
from wonder.storage.secret_keys import key_source


@pytest.fixture(params=[0o000, 0o022, 0o077])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def open_and_close(url: str) -> None:
    async def do() -> None:
        await (await open_store(url, migrations="leave")).close()

    asyncio.run(do())


def modes(folder: Path) -> tuple[dict[Path, int], dict[Path, int]]:
    """The modes of all that is in a folder, and those that they should have."""
    found = {path: mode(path) for path in folder.rglob("*")}
    return found, {path: 0o700 if path.is_dir() else 0o600 for path in found}


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("umask")
async def test_what_wonder_makes_is_for_its_user_alone(tmp_path: Path) -> None:
    """The database, what SQLite and the engine keep beside it, the key, the objects."""
    url = f"sqlite:///{tmp_path}/.wonder/wonder.db"
    async with open_wonder(url):
        await objects_of(url, None).put(b"content")
        key_source(url).make()
        found, wanted = modes(tmp_path)
    names = {path.name for path in found}
    assert {".wonder", "wonder.db", "wonder.db-wal", "wonder.db-shm", "wonder.db.lock", "objects", "key"} <= names
    assert found == wanted


def test_files_that_are_open_to_others_are_narrowed_when_the_database_is_opened(tmp_path: Path) -> None:
    """Also behind a link; the folder only if it is `.wonder`."""
    home = tmp_path / ".wonder"
    open_and_close(f"sqlite:///{home}/wonder.db")
    for name in ("wonder.db-facts-1", "other.db"):
        (home / name).touch()
    for path in (tmp_path, home, *home.iterdir()):
        path.chmod(0o755)
    (tmp_path / "link.db").symlink_to(home / "wonder.db")
    open_and_close(f"sqlite:///{tmp_path}/link.db")
    assert [mode(home / name) for name in ("wonder.db", "wonder.db-facts-1", "other.db")] == [0o700, 0o700, 0o755]
    assert mode(home) == 0o755
    open_and_close(f"sqlite:///{home}/wonder.db")
    assert (mode(home), mode(tmp_path)) == (0o700, 0o755)


def test_a_database_that_a_link_leads_to_is_for_its_user_alone(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "real.db")
    open_and_close(f"sqlite:///{tmp_path}/link.db")
    assert mode(tmp_path / "real.db") == 0o600


def test_what_belongs_to_another_user_stays_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And is open to others only where they get to it."""
    folder, path = tmp_path / "folder", tmp_path / "folder" / "file"
    folder.mkdir()
    path.touch()
    path.chmod(0o644)
    folder.chmod(0o755)
    monkeypatch.setattr(file_modes.os, "geteuid", lambda: path.stat().st_uid + 1)
    narrow(path)
    assert open_mode(path) == 0o644
    folder.chmod(0o700)
    assert open_mode(path) is None
    monkeypatch.undo()
    narrow(path)
    assert mode(path) == 0o600
