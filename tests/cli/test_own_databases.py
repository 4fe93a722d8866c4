"""CMD-1: a database that lies in the working directory is used only by the user that made it, or that trusts it."""

import asyncio
import json
import os
import pty
import select
import shutil
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from wonder import open as open_wonder
from wonder.cli import trusting
from wonder.cli.main import main
from wonder.storage import own_databases
from wonder.storage.own_databases import database_id_of, is_remembered, list_of_databases, remember

SHELL = {"kind": "shell_command", "implementation": {"command": ["touch", "MARK"]}}
FILE = {"workflow": {"name": "w", "initial_node": "a", "nodes": {"a": {"action": SHELL}}}}


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait for who may be making a young database just now."""
    monkeypatch.setattr(trusting, "_WAIT_SECONDS", 0.0)
    monkeypatch.delenv("WONDER_DATABASE_URL", raising=False)


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """A working directory with a file and a database in it that allows it everything, as a stranger has made them."""
    folder = tmp_path / "repository"
    (folder / "work").mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "stranger"))
    assert main(["workspace", "set", "allow_shell", "true"]) == 0
    assert main(["project", "set", "files_root", "work"]) == 0
    Path("x.json").write_text(json.dumps(FILE))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "mine"))
    capsys.readouterr()
    return folder


def _refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    assert main([*words, "--json"]) == 2
    shown = capsys.readouterr()
    assert "NOT_YOUR_DATABASE" in shown.out
    json.loads(shown.out)
    return shown.out


@pytest.mark.parametrize(
    "words",
    [["run", "x.json"], ["deploy", "x.json"], ["runs", "list"], ["doctor"], ["query", "SELECT 1"], ["db", "migrate"]],
)
def test_cmd_1_a_database_that_came_with_a_repository_is_not_used(
    shipped: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    before = Path(".wonder/wonder.db").read_bytes()
    told = _refused(capsys, *words)
    assert "wonder db trust" in told
    assert "--db sqlite:///.wonder/wonder.db" in told
    assert not Path("work/MARK").exists()
    assert Path(".wonder/wonder.db").read_bytes() == before


def test_cmd_1_one_line_is_enough_to_use_it(shipped: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["db", "trust"]) == 0
    assert main(["run", "x.json"]) == 0
    assert Path("work/MARK").exists()
    # It is known wherever it is moved to, and not by its place.
    moved = shipped.with_name("moved")
    shipped.rename(moved)
    os.chdir(moved)
    assert main(["runs", "list"]) == 0


def test_cmd_1_who_names_a_database_has_chosen_it(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["runs", "list", "--db", "sqlite:///.wonder/wonder.db"]) == 0
    monkeypatch.setenv("WONDER_DATABASE_URL", "sqlite:///.wonder/wonder.db")
    assert main(["runs", "list"]) == 0


def test_cmd_1_a_database_that_a_wonder_toml_names_is_no_choice_of_this_user(
    shipped: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(".wonder").rename("data")
    Path("wonder.toml").write_text('database_url = "sqlite:///data/wonder.db"')
    _refused(capsys, "run", "x.json")
    assert not Path("work/MARK").exists()


def test_cmd_1_another_database_in_the_place_of_an_own_one_is_noticed(
    shipped: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(".wonder").rename("theirs")
    assert main(["workspace", "show"]) == 2, "nothing is made by a look"
    assert main(["deploy", "x.json"]) == 0
    assert main(["workspace", "show"]) == 0
    shutil.rmtree(".wonder")
    Path("theirs").rename(".wonder")
    _refused(capsys, "workspace", "show")


async def test_cmd_1_what_a_program_of_this_user_has_made_is_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with open_wonder("sqlite:///.wonder/wonder.db"):
        pass
    assert await asyncio.to_thread(main, ["runs", "list"]) == 0


def test_cmd_1_without_a_home_a_database_is_made_and_then_has_to_be_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in a container with nothing to write to but its data."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert main(["workspace", "set", "allow_shell", "false"]) == 0
    _refused(capsys, "workspace", "show")
    assert main(["workspace", "show", "--db", "sqlite:///.wonder/wonder.db"]) == 0
    capsys.readouterr()
    assert main(["db", "trust"]) == 2
    assert "WONDER_DATABASE_URL" in capsys.readouterr().err


def test_cmd_1_on_a_terminal_a_person_is_asked_once(shipped: Path) -> None:
    assert _on_terminal("n\n", "runs", "list")[0] == 2
    status, shown = _on_terminal("y\n", "runs", "list")
    assert status == 0
    assert "Do you trust it?" in shown
    status, shown = _on_terminal("", "runs", "list")
    assert status == 0
    assert "trust" not in shown


def _on_terminal(typed: str, *words: str) -> tuple[int, str]:
    """Run a command on a terminal, and type when it asks."""
    program = "from wonder.cli import main, trusting; trusting._WAIT_SECONDS = 0; import sys; sys.exit(main.main())"
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", program, *words], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    shown = b""
    while select.select([ours], [], [], 60)[0]:
        try:
            got = os.read(ours, 4_096)
        except OSError:
            break
        if not got:
            break
        shown += got
        if typed and b"[y/N]" in shown:
            os.write(ours, typed.encode())
            typed = ""
    os.close(ours)
    return child.wait(60), shown.decode()


def test_a_list_that_others_can_write_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert remember("01ABC")
    place = list_of_databases()
    assert place is not None
    assert is_remembered("01ABC")
    assert place.stat().st_mode & 0o777 == 0o600
    assert place.parent.stat().st_mode & 0o777 == 0o700
    place.chmod(0o666)
    assert not is_remembered("01ABC")
    assert not remember("01DEF")


def test_the_list_stays_small_and_keeps_the_newest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(own_databases, "_LIST_MAX", 100)
    for number in range(100):
        assert remember(f"ID{number}")
    place = list_of_databases()
    assert place is not None
    assert place.stat().st_size <= 110
    assert is_remembered("ID99")
    assert not is_remembered("ID1")


def test_a_file_that_is_made_to_take_for_ever_is_read_no_further(tmp_path: Path) -> None:
    path = tmp_path / "hostile.db"
    connection = apsw.Connection(str(path))
    connection.execute(
        "CREATE VIEW workspaces AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
        "SELECT i AS id, 'no' AS name, NULL AS archived_at FROM n"
    )
    connection.close()
    assert database_id_of(path) is None


@pytest.mark.parametrize("offset", [0, 4_096])
def test_a_damaged_database_of_one_s_own_is_told_as_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], offset: int
) -> None:
    """CMD-1: whose it is can't be read from it, and that is not what is wrong with it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "mine"))
    assert main(["db", "migrate"]) == 0
    with Path(".wonder/wonder.db").open("r+b") as file:
        file.seek(offset)
        file.write(b"\xff" * (file.seek(0, 2) - file.seek(offset)))
    capsys.readouterr()
    assert main(["runs", "list", "--json"]) != 0
    shown = capsys.readouterr().out
    assert "NOT_YOUR_DATABASE" not in shown
    assert json.loads(shown)["code"] == "NOT_A_DATABASE"


@pytest.mark.parametrize("linked", [".wonder", ".wonder/wonder.db"])
def test_cmd_1_a_link_to_a_database_elsewhere_is_not_followed_unless_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], linked: str
) -> None:
    """A repository may have a link to where a database of its reader's own probably is, which allows commands."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "mine"))
    for name in ("mine", "repository"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "mine")
    assert main(["workspace", "set", "allow_shell", "true"]) == 0
    monkeypatch.chdir(tmp_path / "repository")
    Path("x.json").write_text(json.dumps(FILE))
    link = Path(linked)
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(tmp_path / "mine" / linked)
    told = _refused(capsys, "run", "x.json")
    assert "is a symbolic link" in told
    assert f"--db sqlite:///{tmp_path}/mine/.wonder/wonder.db" in told
    assert main(["runs", "list", "--db", f"sqlite:///{tmp_path}/mine/.wonder/wonder.db"]) == 0
