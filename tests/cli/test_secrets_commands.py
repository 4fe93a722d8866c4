"""`wonder secrets`: what a person and a program see, and that nobody sees a value."""

import io
import json
import os
import pty
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from wonder.cli.main import main

CANARY = "canary-5d41402abc4b2a76"


@pytest.fixture(params=["sqlite", "postgresql"])
def key_file(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory with an empty database, on each kind; gives where its key will be."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WONDER_SECRET_KEY", raising=False)
    if request.param == "postgresql":
        monkeypatch.setenv("WONDER_DATABASE_URL", request.getfixturevalue("fresh_postgres_url"))
    else:
        monkeypatch.delenv("WONDER_DATABASE_URL", raising=False)
    return tmp_path / ".wonder" / "key"


@pytest.fixture
def wonder(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command with a standard input; give its status and all that it printed, which never has the canary."""

    def run(*words: str, given: str | bytes = "") -> tuple[int, str]:
        raw = given.encode() if isinstance(given, str) else given
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
        status = main(["secrets", *words])
        printed = capsys.readouterr()
        assert CANARY not in printed.out + printed.err
        return status, printed.out + printed.err

    return run


def test_a_secret_is_set_listed_changed_and_deleted(wonder: Any, key_file: Path) -> None:
    status, printed = wonder("set", "TOKEN", given=CANARY + "\n")
    assert (status, "✓ TOKEN (new), a secret of the project; use it as {{secrets.TOKEN}}" in printed) == (0, True)
    assert stat.S_IMODE(key_file.stat().st_mode) == 0o600
    assert wonder("set", "TOKEN", given=CANARY)[1].startswith("✓ TOKEN (changed)")
    assert wonder("set", "SHARED", "--all-projects", given=CANARY)[0] == 0
    status, printed = wonder("list")
    assert [line.split()[:2] for line in printed.splitlines()[1:]] == [["SHARED", "workspace"], ["TOKEN", "project"]]
    status, printed = wonder("list", "--json")
    assert [(one["name"], one["scope"]) for one in json.loads(printed)["secrets"]] == [
        ("SHARED", "workspace"),
        ("TOKEN", "project"),
    ]
    assert wonder("delete", "SHARED") == (
        2,
        "wonder: there is no secret of this project 'SHARED'; check the spelling, or list what there is\n",
    )
    assert wonder("delete", "SHARED", "--all-projects")[0] == 0
    assert wonder("delete", "TOKEN", "--json") == (0, '{\n  "name": "TOKEN",\n  "scope": "project"\n}\n')
    assert wonder("list") == (0, "no secrets yet; `wonder secrets set NAME` stores one\n")


def test_a_value_comes_from_a_file_as_it_is(wonder: Any, key_file: Path, tmp_path: Path) -> None:
    (tmp_path / "pem").write_text(f"-----BEGIN-----\n{CANARY}\n")
    assert wonder("set", "PEM", "--from-file", "pem")[0] == 0
    assert wonder("set", "PEM", "--from-file", "absent")[0] == 2
    (tmp_path / "pem").write_bytes(b"\xff\xfe" * 10)
    status, printed = wonder("set", "PEM", "--from-file", "pem")
    assert (status, "base64" in printed) == (2, True)


@pytest.mark.parametrize(
    ("words", "given", "reason"),
    [
        (["set", "TOKEN"], "short", "at least 8"),
        (["set", "TOKEN"], "", "at least 8"),
        (["set", "TOKEN"], "x" * 65_537, "too long"),
        (["set", "TOKEN"], "é" * 200_000, "too long"),
        (["set", "A B"], CANARY, "can't be the name"),
        (["set", "TOKEN", CANARY], CANARY, "other users can see"),
    ],
)
def test_what_can_not_be_stored_is_refused(
    wonder: Any, key_file: Path, words: list[str], given: str, reason: str
) -> None:
    status, printed = wonder(*words, given=given)
    assert status == 2
    assert reason in printed
    assert not key_file.exists()


def test_rotating_makes_a_new_key_and_the_old_one_is_gone(wonder: Any, key_file: Path) -> None:
    wonder("set", "TOKEN", given=CANARY)
    before = key_file.read_text()
    status, printed = wonder("rotate")
    assert (status, printed) == (0, f"✓ 1 secret encrypted with the new key in {key_file}\n")
    assert before.strip() not in key_file.read_text()
    assert len(key_file.read_text().split()) == 1
    key_file.unlink()
    for words in (["set", "OTHER"], ["rotate"]):
        status, printed = wonder(*words, given=CANARY)
        assert (status, "put that key there" in printed) == (2, True)
    assert not key_file.exists()
    assert wonder("list")[0] == wonder("delete", "TOKEN")[0] == 0, "neither takes a key"


def test_keys_of_the_environment_are_rotated_with_a_new_one_first(
    wonder: Any, key_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = "A" * 43 + "=", "B" * 42 + "A="
    monkeypatch.setenv("WONDER_SECRET_KEY", old)
    wonder("set", "TOKEN", given=CANARY)
    assert "set WONDER_SECRET_KEY=NEW,OLD" in wonder("rotate")[1]
    monkeypatch.setenv("WONDER_SECRET_KEY", f"{new},{old}")
    assert wonder("rotate") == (0, "✓ 1 secret encrypted with the new key in WONDER_SECRET_KEY\n")
    monkeypatch.setenv("WONDER_SECRET_KEY", new)
    assert wonder("set", "OTHER", given=CANARY)[0] == 0
    assert not key_file.exists()


def test_at_a_terminal_the_value_is_asked_for_and_not_shown(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    environment = {name: text for name, text in os.environ.items() if not name.startswith("WONDER_")}
    asked = subprocess.Popen(
        [sys.executable, "-c", "from wonder.cli.main import entry; entry()", "secrets", "set", "TOKEN"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=tmp_path,
        env=environment,
        start_new_session=True,
    )
    os.close(theirs)
    shown = b""
    while b"(not shown): " not in shown:
        shown += os.read(ours, 1_000)
    os.write(ours, CANARY.encode() + b"\n")
    assert asked.wait(timeout=20) == 0
    try:
        while more := os.read(ours, 1_000):
            shown += more
    except OSError:
        pass  # the other end is closed
    os.close(ours)
    assert b"TOKEN (new)" in shown
    assert CANARY.encode() not in shown


def test_a_secret_is_given_a_scope_with_its_value_or_alone(wonder: Any, key_file: Path) -> None:
    """The scope is shown, and a mistake in one is told before anything is stored."""
    assert "has no scope" in wonder("set", "TOKEN", given=CANARY)[1]
    assert "none (wonder run only)" in wonder("list")[1]
    status, printed = wonder("scope", "TOKEN", "--for-host", "API.example.com", "--for-workflow", "pay")
    assert (status, "--for-host api.example.com --for-workflow pay" in printed) == (0, True)
    assert "--for-host api.example.com --for-workflow pay" in wonder("list")[1]
    assert "has no scope" not in wonder("set", "TOKEN", given=CANARY + "2")[1]
    (shown,) = json.loads(wonder("list", "--json")[1])["secrets"]
    assert (shown["scope"], shown["for"]["hosts"], shown["for"]["workflows"]) == (
        "project",
        ["api.example.com"],
        ["pay"],
    )
    given = ("--for-server", "git", "--for-program", "/usr/bin/git", "--for-kind", "k", "--for-host", "*.example.com")
    assert wonder("set", "TOKEN", *given, given=CANARY)[0] == 0
    shown = json.loads(wonder("list", "--json")[1])["secrets"][0]["for"]
    assert shown == {
        "hosts": ["*.example.com"],
        "servers": ["git"],
        "programs": ["/usr/bin/git"],
        "kinds": ["k"],
        "workflows": [],
    }
    for words in (["--for-host", "https://x.example"], ["--for-workflow", "w"], [], ["--for-program", "git"]):
        status, printed = wonder("scope", "TOKEN", *words)
        assert (status, "Traceback" in printed) == (2, False)
    assert wonder("scope", "NONE", "--for-host", "a.example")[0] == 2
