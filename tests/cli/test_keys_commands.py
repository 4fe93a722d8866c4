"""`wonder keys`: the first key is made on the machine itself, is shown once, and is revoked by its prefix."""

import json
from pathlib import Path
from typing import Any

import pytest

from wonder.cli.main import main


@pytest.fixture(params=["sqlite", "postgresql"])
def wonder(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Any:
    """Run a command in an empty folder with an empty database, on each kind; give its status and what it printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WONDER_DATABASE_URL", raising=False)
    if request.param == "postgresql":
        monkeypatch.setenv("WONDER_DATABASE_URL", request.getfixturevalue("fresh_postgres_url"))

    def run(*words: str) -> tuple[int, str]:
        status = main(list(words))
        printed = capsys.readouterr()
        return status, printed.out + printed.err

    return run


def test_key_2_a_key_is_made_listed_and_revoked_on_the_machine_itself(wonder: Any) -> None:
    status, printed = wonder("keys", "create", "--role", "admin", "--name", "first")
    assert status == 0
    done, key, told = printed.splitlines()
    assert done == "✓ key first: admin, whole server"
    assert "not shown again" in told
    prefix = key[:15]
    status, listed = wonder("keys", "list")
    assert (status, key in listed, prefix in listed) == (0, False, True)
    status, printed = wonder("keys", "revoke", prefix)
    assert (status, printed) == (0, f"✓ key first ({prefix}) revoked\n")
    assert wonder("keys", "list")[1].startswith("no keys yet")
    assert "revoked" in wonder("keys", "list", "--revoked")[1]


def test_key_2_the_scope_is_what_is_named(wonder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert wonder("workspaces", "create", "acme")[0] == 0
    wide, narrow = ["--workspace", "acme"], ["--workspace", "acme", "--project", "default"]
    scopes = []
    for words in ([], wide, narrow, ["--scope", "server", *narrow], ["--expires", "12h", *wide]):
        status, printed = wonder("keys", "create", "--role", "viewer", "--json", *words)
        assert status == 0
        record = json.loads(printed)["record"]
        scopes.append((record["scope"], record["workspace"], record["project"], record["expires_at"] is None))
    assert scopes == [
        ("server", None, None, True),
        ("workspace", "acme", None, True),
        ("project", "acme", "default", True),
        ("server", None, None, True),
        ("workspace", "acme", None, False),
    ]
    monkeypatch.setenv("WONDER_WORKSPACE", "acme")
    assert "workspace acme" in wonder("keys", "create", "--role", "viewer")[1]
    page = json.loads(wonder("keys", "list", "--json", "--limit", "2")[1])
    assert (len(page["keys"]), page["cursor"] is None) == (2, False)
    assert "key" not in page["keys"][0]


def test_a_command_with_a_mistake_makes_no_key(wonder: Any) -> None:
    for words in (
        ["create"],
        ["create", "--role", "root"],
        ["create", "--role", "viewer", "--expires", "soon"],
        ["create", "--role", "viewer", "--expires", "5s"],
        ["create", "--role", "viewer", "--workspace", "nowhere"],
        ["create", "--role", "viewer", "--name", ""],
        ["revoke", "wonder_zzzzzzzz"],
    ):
        assert wonder("keys", *words)[0] == 2, words
    assert wonder("keys", "list", "--revoked")[1].startswith("no keys yet")
