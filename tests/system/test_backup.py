"""Backups: everything that was acknowledged before one began is in it, while runs go on and after a crash."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from support.nursery import Nursery, last_told
from support.postgres import PostgresServer
from support.systems import assert_sound, bundle, calls, line, running, until
from wonder import open as open_wonder
from wonder.app.backup import make_backup
from wonder.app.backup_manifest import MANIFEST
from wonder.app.restoring import check_backup, restore_backup
from wonder.cli.main import main
from wonder.storage.backup_errors import BackupDamaged, BackupFailed
from wonder.storage.opening import open_store
from wonder.storage.url import SqliteAddress, parse_url

STEPS = [f"one step-{number}" for number in range(80)]


def unseen(what: str, done: int, of: int) -> None:
    """Look at no progress."""


@pytest.fixture
def empty_url(store_url: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """The address of a place of the same kind where nothing is yet."""
    if store_url.startswith("sqlite"):
        (tmp_path / "restored").mkdir()
        return f"sqlite:///{tmp_path / 'restored' / 'wonder.db'}"
    server: PostgresServer = request.getfixturevalue("postgres_server")
    return server.url(server.create_database())


@pytest.fixture(autouse=True)
def programs(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, store_url: str) -> None:
    """PostgreSQL's own programs are in the PATH, as a person has them who makes backups of it."""
    if not store_url.startswith("sqlite"):
        server: PostgresServer = request.getfixturevalue("postgres_server")
        monkeypatch.setenv("PATH", f"{server.binaries}:/usr/bin:/bin")


@pytest.fixture
def objects(store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where the content of artifacts is when nobody says where."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / "objects" if store_url.startswith("sqlite") else tmp_path / ".wonder" / "objects"


def writing() -> dict[str, Any]:
    """Make a workflow of three quick steps, of which the last one stores an artifact."""
    implementation = {"artifact_type_id": "blob", "content_mapping": {"content": "$.text"}}
    action = {"kind": "write_artifact", "implementation": implementation}
    nodes = {
        "a": calls("step"),
        "b": calls("step"),
        "keep": {"action": action, "input_mapping": {"text": "$.input.text"}},
    }
    schema = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}
    return bundle("writing", nodes, line("a", "b", "keep"), input_schema=schema)


async def test_inv_2_a_backup_has_all_that_was_acknowledged_before_it_began(
    store_url: str, empty_url: str, tmp_path: Path, objects: Path
) -> None:
    """CMD-7, INV-1, INV-2: made while runs go on; in the restored database each run ends, with its artifacts."""
    done: dict[str, str] = {}

    async def step() -> dict[str, Any]:
        await asyncio.sleep(0.002)
        return {}

    async def load() -> None:
        for number in range(10_000):
            text = f"text {number % 7}"
            run = await wonder.start("writing", {"text": text})
            await run.wait()
            done[run.id] = text

    async with running(store_url, step=step) as wonder:
        await wonder.deploy(writing())
        loading = [asyncio.create_task(load()) for _ in range(4)]
        assert await until(lambda: asyncio.sleep(0.01, len(done) >= 20))
        before = dict(done)
        manifest = await make_backup(store_url, None, tmp_path / "backup", unseen)
        after = len(done)
        for task in loading:
            task.cancel()
        await asyncio.gather(*loading, return_exceptions=True)
    assert after > len(before), "runs went on meanwhile"
    assert manifest.objects.missing == {}
    assert 1 <= len(manifest.objects.keys) <= 7

    await restore_backup(tmp_path / "backup", empty_url, f"file://{tmp_path}/objects-2", unseen)
    async with running(empty_url, step=step) as wonder:
        for run_id in before:
            assert (await wonder.wait(run_id)).status == "completed"
        rows = await wonder.store.query("SELECT id FROM runs")
        for (run_id,) in rows:
            assert (await wonder.wait(str(run_id))).status == "completed"
    kept = {path.read_text() for path in (tmp_path / "objects-2" / "sha256").rglob("*") if path.is_file()}
    assert set(before.values()) <= kept


async def test_inv_4_a_backup_of_a_database_whose_process_was_killed_has_its_last_results(
    store_url: str, empty_url: str, tmp_path: Path, nursery: Nursery
) -> None:
    """INV-2, INV-4: no step that was acknowledged is done again in the restored database."""
    printed = tmp_path / "printed"
    assert nursery.run(printed, "go_on", store_url, str(tmp_path), "after", "20") == -signal.SIGKILL
    await make_backup(store_url, None, tmp_path / "backup", unseen)
    await restore_backup(tmp_path / "backup", empty_url, f"file://{tmp_path}/objects-2", unseen)
    assert nursery.run(printed, "go_on", empty_url, str(tmp_path), "never", "0") == 0, printed.read_text()
    assert last_told(printed.read_text().splitlines())["status"] == "completed"
    assert (tmp_path / "effects").read_text().splitlines() == STEPS
    await assert_sound(empty_url)


async def a_backup(store_url: str, tmp_path: Path) -> Path:
    """Make a small backup with one artifact."""

    async def step() -> dict[str, Any]:
        return {}

    async with running(store_url, step=step) as wonder:
        await wonder.deploy(writing())
        await (await wonder.start("writing", {"text": "kept"})).wait()
        await make_backup(store_url, None, tmp_path / "backup", unseen)
    return tmp_path / "backup"


async def test_a_damaged_backup_is_noticed_and_nothing_is_restored(
    store_url: str, empty_url: str, tmp_path: Path, objects: Path
) -> None:
    folder = await a_backup(store_url, tmp_path)
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) == 3
    for path in files:
        good = path.read_bytes()
        for bad in (good[:-1], bytes([good[0] ^ 1]) + good[1:], None):
            path.unlink() if bad is None else path.write_bytes(bad)
            with pytest.raises((BackupDamaged, BackupFailed)) as caught:
                await restore_backup(folder, empty_url, f"file://{tmp_path}/objects-2", unseen)
            assert path.name in str(caught.value)
        path.write_bytes(good)
    manifest = (folder / MANIFEST).read_text()
    (folder / MANIFEST).write_text(json.dumps({**json.loads(manifest), "files": {}}))
    with pytest.raises(BackupDamaged, match=r"does not name wonder\."):
        await restore_backup(folder, empty_url, f"file://{tmp_path}/objects-2", unseen)
    (folder / MANIFEST).write_text(manifest)
    (database,) = json.loads(manifest)["files"]
    good = (folder / database).read_bytes()
    (folder / database).unlink()
    os.mkfifo(folder / database)
    with pytest.raises(BackupDamaged, match="it is not a regular file"):
        await restore_backup(folder, empty_url, f"file://{tmp_path}/objects-2", unseen)
    (folder / database).unlink()
    (folder / database).write_bytes(good)
    address = parse_url(empty_url)
    assert not isinstance(address, SqliteAddress) or not address.path.exists()
    assert not (tmp_path / "objects-2").exists()
    await check_backup(folder, unseen)


async def test_a_manifest_can_t_name_files_outside_of_its_backup(store_url: str, tmp_path: Path, objects: Path) -> None:
    folder = await a_backup(store_url, tmp_path)
    (tmp_path / "secret").write_text("x")
    text = (folder / MANIFEST).read_text()
    name = "wonder.db" if store_url.startswith("sqlite") else "wonder.pgdump"
    (folder / MANIFEST).write_text(text.replace(f'"{name}"', '"../secret"'))
    with pytest.raises(BackupDamaged, match="no name of a file"):
        await check_backup(folder, unseen)


@pytest.mark.parametrize("kind", ["a pipe", "a link to a device"])
async def test_a_manifest_that_never_ends_is_not_read(tmp_path: Path, kind: str) -> None:
    # A process of its own, with little memory and time: without the check it would take all there is.
    if kind == "a pipe":
        os.mkfifo(tmp_path / MANIFEST)
    else:
        (tmp_path / MANIFEST).symlink_to("/dev/zero")
    program = (
        "import resource, sys; from pathlib import Path; from wonder.app.backup_manifest import read_manifest\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))\n"
        "read_manifest(Path(sys.argv[1]))"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, str(tmp_path), stderr=asyncio.subprocess.PIPE
    )
    try:
        _, errors = await asyncio.wait_for(process.communicate(), 30)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert b"is no backup: manifest.json can't be read: it is not a regular file" in errors


async def test_a_restored_backup_can_t_send_escape_sequences_to_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{tmp_path}/one.db"
    async with open_wonder(url):
        await make_backup(url, None, tmp_path / "backup", unseen)
    manifest = json.loads((tmp_path / "backup" / MANIFEST).read_text())
    (tmp_path / "backup" / MANIFEST).write_text(json.dumps({**manifest, "made_at": "\x1b[2J\nnow"}))
    capsys.readouterr()
    assert await asyncio.to_thread(main, ["restore", str(tmp_path / "backup"), "--check", "--db", url]) == 0
    assert r"made at \x1b[2J\nnow, sqlite" in capsys.readouterr().out


async def test_nothing_is_restored_over_what_is_there(
    store_url: str, empty_url: str, tmp_path: Path, objects: Path
) -> None:
    folder = await a_backup(store_url, tmp_path)
    with pytest.raises(BackupFailed, match="already"):
        await restore_backup(folder, store_url, None, unseen)
    with pytest.raises(BackupFailed, match="exists already"):
        await make_backup(store_url, None, folder, unseen)
    if store_url.startswith("sqlite"):
        # The log of a database that was removed would be taken for a part of the new one.
        (tmp_path / "restored" / "wonder.db-wal").write_bytes(b"old")
        with pytest.raises(BackupFailed, match=r"wonder\.db-wal exists already"):
            await restore_backup(folder, empty_url, None, unseen)


async def test_a_content_that_is_missing_is_named_and_the_rest_is_kept(
    store_url: str, empty_url: str, tmp_path: Path, objects: Path
) -> None:
    async def step() -> dict[str, Any]:
        return {}

    async with running(store_url, step=step) as wonder:
        await wonder.deploy(writing())
        for text in ("kept", "lost", "damaged"):
            await (await wonder.start("writing", {"text": text})).wait()
    for path in [path for path in (objects / "sha256").rglob("*") if path.is_file()]:
        match path.read_text():
            case "lost":
                path.unlink()
            case "damaged":
                path.write_text("DAMAGED")
    manifest = await make_backup(store_url, None, tmp_path / "backup", unseen)
    assert sorted(manifest.objects.missing.values()) == ["OBJECT_DAMAGED", "OBJECT_MISSING"]
    await restore_backup(tmp_path / "backup", empty_url, f"file://{tmp_path}/objects-2", unseen)
    assert [path.read_text() for path in (tmp_path / "objects-2" / "sha256").rglob("*") if path.is_file()] == ["kept"]


async def test_a_backup_that_fails_leaves_nothing_behind(
    store_url: str, tmp_path: Path, objects: Path, monkeypatch: Any
) -> None:
    await (await open_store(store_url)).close()

    def fail(self: object, folder: Path) -> None:
        raise OSError(28, "No space left on device", str(folder))

    monkeypatch.setattr("wonder.app.backup_manifest.Manifest.write", fail)
    with pytest.raises(BackupFailed, match="No space left"):
        await make_backup(store_url, None, tmp_path / "backup", unseen)
    assert not any(path.name.startswith("backup") for path in await asyncio.to_thread(lambda: list(tmp_path.iterdir())))


async def test_a_file_that_somebody_put_where_a_backup_is_restored_does_not_get_its_content(
    tmp_path: Path, objects: Path
) -> None:
    folder = await a_backup(f"sqlite:///{tmp_path}/app.db", tmp_path)
    (tmp_path / "restored").mkdir()
    (tmp_path / "theirs").write_text("theirs")
    (tmp_path / "restored" / "wonder.db.partial").symlink_to(tmp_path / "theirs")
    await restore_backup(folder, f"sqlite:///{tmp_path}/restored/wonder.db", f"file://{tmp_path}/objects-2", unseen)
    assert (tmp_path / "theirs").read_text() == "theirs"
    assert not (tmp_path / "restored" / "wonder.db").is_symlink()
