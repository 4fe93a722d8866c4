"""`read_file` and `write_file`: inside the project's files_root, whole or not at all (ACT-10)."""

import asyncio
import os
import shutil
import stat
import threading
import time
from base64 import b64encode
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from support.settled import SettledResources
from support.tasks import action, bench, step, task
from wonder.actions.files import project_files
from wonder.actions.files.private_places import kept_private
from wonder.actions.files.project_files import BYTES_MAX
from wonder.actions.protocol import ActionFailed
from wonder.executor.results import TaskFailure, TaskResult


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The project's files_root, beside which lies what must not be reached."""
    folder = tmp_path / "root"
    folder.mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("hidden")
    return folder


def names(folder: Path) -> set[str]:
    """What lies in a folder."""
    return {path.name for path in folder.iterdir()}


async def run(kind: str, root: Path | None, input: Any = None, **configured: Any) -> TaskResult:
    """Run one action over a project's files."""
    resources = SettledResources(project={"files_root": str(root)} if root else {})
    async with bench(resources=resources, grace_ms=1_000) as made:
        return await made.run(task(step("act")), input, action("act", kind, configured))


async def read(root: Path, path: str, input: Any = None, **configured: Any) -> Any:
    """Read a file that can be read."""
    result = await run("read_file", root, input, path=path, **configured)
    assert result.error is None, result.error
    return result.output


async def write(root: Path, path: str, content: str, input: Any = None) -> Any:
    """Write a file that can be written."""
    result = await run("write_file", root, input, path=path, content=content)
    assert result.error is None, result.error
    return result.output


async def refusal(kind: str, root: Path | None, input: Any = None, **configured: Any) -> TaskFailure:
    """Have an action refused."""
    result = await run(kind, root, input, **configured)
    assert result.error
    assert not result.error.retryable
    return result.error


async def test_act_10_a_file_is_read_as_text_or_as_base64(root: Path) -> None:
    (root / "a").mkdir()
    (root / "a" / "name.txt").write_text("Grüße\r\n", encoding="utf-8")
    assert await read(root, "a/{{who}}.txt", {"who": "name"}) == {"content": "Grüße\r\n", "size_bytes": 9}
    (root / "raw").write_bytes(b"\0\xff")
    expected = {"content": b64encode(b"\0\xff").decode(), "size_bytes": 2}
    assert await read(root, "./raw", encoding="base64") == expected
    (root / "empty").touch()
    assert await read(root, "empty") == {"content": "", "size_bytes": 0}


async def test_act_10_a_file_is_written_with_the_folders_that_it_needs(root: Path) -> None:
    output = await write(root, "out//{{n}}/./x.txt", "Hello {{name}}\n", {"n": 1, "name": "Zoë"})
    assert output == {"path": "out/1/x.txt", "size_bytes": 11}
    assert (root / "out/1/x.txt").read_text(encoding="utf-8") == "Hello Zoë\n"
    assert [path.name for path in (root / "out/1").iterdir()] == ["x.txt"]


async def test_act_10_a_file_is_replaced_as_a_whole_and_keeps_its_mode(root: Path) -> None:
    """Whoever has the old one open goes on reading it."""
    target = root / "x"
    target.write_text("old and long")
    target.chmod(0o600)
    with target.open() as reader:
        await write(root, "x", "new")
        assert reader.read() == "old and long"
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "path",
    ["../outside/secret.txt", "/etc/passwd", "~/x", "a/../../outside/secret.txt", "..", "a\0b"],
    ids=["up", "absolute", "home", "up later", "only up", "zero"],
)
@pytest.mark.parametrize("kind", ["read_file", "write_file"])
async def test_act_10_no_path_leads_out_of_files_root(root: Path, kind: str, path: str) -> None:
    content = {"content": "x"} if kind == "write_file" else {}
    error = await refusal(kind, root, {"path": path}, path="{{path}}", **content)
    assert error.code == "PATH_OUTSIDE"
    assert "relative" in error.message


async def test_no_folders_are_made_deeper_than_programs_can_name_them(root: Path) -> None:
    error = await refusal("write_file", root, {"path": "a/" * 3_000 + "b"}, path="{{path}}", content="x")
    assert error.code == "FILE_REFUSED"
    assert "3,001 parts" in error.message
    assert not (root / "a").exists()


@pytest.mark.parametrize("path", ["link", "folder/secret.txt", "folder/new.txt", "inner", "dangling", "loop/x"])
@pytest.mark.parametrize("kind", ["read_file", "write_file"])
async def test_act_10_no_link_leads_out_of_files_root(root: Path, kind: str, path: str) -> None:
    (root / "link").symlink_to("../outside/secret.txt")
    (root / "folder").symlink_to("../outside", target_is_directory=True)
    (root / "real").write_text("inside")
    (root / "inner").symlink_to("real")
    (root / "dangling").symlink_to("../outside/new.txt")
    (root / "loop").symlink_to("loop")
    content = {"content": "x"} if kind == "write_file" else {}
    error = await refusal(kind, root, path=path, **content)
    assert error.code == "PATH_OUTSIDE"
    assert "symbolic link" in error.message
    assert [path.name for path in (root.parent / "outside").iterdir()] == ["secret.txt"]
    assert (root.parent / "outside" / "secret.txt").read_text() == "hidden"


async def test_act_10_a_link_that_appears_while_a_path_is_walked_leads_nowhere(root: Path) -> None:
    """A folder is exchanged for a link to the outside, again and again, while files are read and written in it."""
    (root / "a").mkdir()
    (root / "a" / "secret.txt").write_text("inside")
    stop = threading.Event()

    def exchange() -> None:
        while not stop.is_set():
            # Writing makes a folder that is missing, so that each of these may fail.
            for change in (
                lambda: shutil.rmtree(root / "b", ignore_errors=True),
                lambda: (root / "a").rename(root / "b"),
                lambda: (root / "a").symlink_to("../outside"),
                (root / "a").unlink,
                lambda: (root / "b").rename(root / "a"),
            ):
                with suppress(OSError):
                    change()

    exchanging = threading.Thread(target=exchange)
    exchanging.start()
    seen: set[str] = set()
    try:
        tries, deadline = 0, time.monotonic() + 20
        # On a busy machine a folder may be exchanged at every look for a while.
        while tries < 2_000 or ("inside" not in seen and time.monotonic() < deadline):
            tries += 1
            # Each by itself: what is not there to be read is there again when it has been written.
            for work in (
                lambda: seen.add(project_files.read_bytes(str(root), "a/secret.txt").decode()),
                lambda: project_files.write_bytes(str(root), "a/secret.txt", b"inside", "mark"),
            ):
                try:
                    work()
                except ActionFailed as refused:
                    seen.add(refused.code)
    finally:
        stop.set()
        exchanging.join()
    assert "inside" in seen
    assert "hidden" not in seen
    assert (root.parent / "outside" / "secret.txt").read_text() == "hidden"


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("missing.txt", "FILE_NOT_FOUND"),
        ("no/such/folder.txt", "FILE_NOT_FOUND"),
        ("folder", "NOT_A_FILE"),
        ("folder/", "NOT_A_FILE"),
        (".", "NOT_A_FILE"),
        ("", "NOT_A_FILE"),
        ("file/inside", "NOT_A_FILE"),
        ("pipe", "NOT_A_FILE"),
        ("latin.txt", "NOT_UTF_8"),
        ("zero.txt", "NOT_UTF_8"),
        ("large", "FILE_TOO_LARGE"),
        ("x" * 300, "FILE_REFUSED"),
    ],
)
async def test_act_10_what_can_not_be_read_is_told(root: Path, path: str, code: str) -> None:
    (root / "folder").mkdir()
    (root / "file").touch()
    os.mkfifo(root / "pipe")
    (root / "latin.txt").write_bytes(b"caf\xe9")
    (root / "zero.txt").write_bytes(b"a\0b")
    with (root / "large").open("wb") as large:
        large.truncate(BYTES_MAX + 1)
    assert (await refusal("read_file", root, {"path": path}, path="{{path}}")).code == code


@pytest.mark.parametrize(
    ("path", "code"),
    [("folder", "NOT_A_FILE"), ("file/inside", "NOT_A_FILE"), ("pipe", "NOT_A_FILE"), ("x" * 300, "FILE_REFUSED")],
)
async def test_act_10_what_can_not_be_written_is_told_and_leaves_nothing(root: Path, path: str, code: str) -> None:
    (root / "folder").mkdir()
    (root / "file").touch()
    os.mkfifo(root / "pipe")
    assert (await refusal("write_file", root, {"path": path}, path="{{path}}", content="x")).code == code
    assert names(root) == {"folder", "file", "pipe"}


async def test_act_10_content_has_a_limit(root: Path) -> None:
    assert (await write(root, "x", "{{text}}", {"text": "x" * BYTES_MAX}))["size_bytes"] == BYTES_MAX
    error = await refusal("write_file", root, {"text": "é" * (BYTES_MAX // 2 + 1)}, path="y", content="{{text}}")
    assert error.code == "FILE_TOO_LARGE"
    assert names(root) == {"x"}


@pytest.mark.parametrize("kind", ["read_file", "write_file"])
async def test_res_6_without_files_root_no_file_can_be_touched(kind: str, tmp_path: Path) -> None:
    content = {"content": "x"} if kind == "write_file" else {}
    for root in (None, tmp_path / "missing"):
        error = await refusal(kind, root, path="x", **content)
        assert error.code == "FILES_ROOT_MISSING"
        assert "wonder project set files_root FOLDER" in error.message


async def test_inv_4_what_a_crash_left_goes_when_the_action_is_done_again(root: Path) -> None:
    project_files.write_bytes(str(root), "x", b"1", "mark")
    (root / ".mark.00000000.wonder-part").write_text("hal")
    (root / ".other.00000000.wonder-part").write_text("of another")
    project_files.write_bytes(str(root), "x", b"22", "mark")
    assert names(root) == {"x", ".other.00000000.wonder-part"}


async def test_act_10_a_thousand_files_leave_no_descriptor_open(root: Path) -> None:
    await write(root, "x", "x")
    before = len(names(Path("/proc/self/fd")))
    for number in range(200):
        project_files.write_bytes(str(root), f"a/b/{number}", b"x", "mark")
        project_files.read_bytes(str(root), f"a/b/{number}")
        with pytest.raises(ActionFailed):
            project_files.read_bytes(str(root), "a/b")
    await asyncio.sleep(0)
    assert len(names(Path("/proc/self/fd"))) == before


async def test_act_10_what_the_engine_keeps_for_itself_is_neither_read_nor_written(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """INV-8: whoever reads the key opens every secret, and a mount or a hard link may lead into files_root."""
    monkeypatch.setattr(project_files, "refusal_of", lambda root: None)
    home = root / ".wonder"
    (home / "objects" / "ab").mkdir(parents=True)
    for path in (home / "key", home / "objects" / "ab" / "cd", root / "orders.db", root / "orders.db-wal"):
        path.write_text("the engine's")
    os.link(home / "key", root / "innocent")
    (root / "orders.dbx").write_text("mine")
    database = root / "orders.db"
    with kept_private([home, home / "key", home / "objects", database, root / "later" / "key"]):
        (root / "later").mkdir()
        own = (".wonder/key", ".wonder/objects/ab/cd", "orders.db", "orders.db-wal", "innocent")
        for path in own:
            assert (await refusal("read_file", root, path=path)).code == "PATH_PRIVATE"
        for path in (
            *own,
            "wonder.toml",
            "a/Wonder.TOML",
            "a/.wonder/key",
            ".wonder/new",
            ".wonder/objects/ab/new",
            "later/key",
            "orders.db-shm",
        ):
            assert (await refusal("write_file", root, path=path, content="x")).code == "PATH_PRIVATE"
        assert (await refusal("read_file", home, path="objects/ab/cd")).code == "PATH_PRIVATE"
        assert (await read(root, "orders.dbx"))["content"] == "mine"
        await write(root, "later/keys", "mine too")
    assert (await read(root, "orders.db"))["content"] == "the engine's"
    assert names(root / "later") == {"keys"}
