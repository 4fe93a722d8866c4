"""Where the keys for secrets are: the environment, or a file that nobody else can read."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from wonder.storage.sealing import Key, KeyRing, SecretBroken, SecretKeyBad, SecretKeyMissing, new_key, read_keys
from wonder.storage.secret_keys import KeySource, key_source

KEY = Key(bytes(range(32)))


def keep(path: Path, text: str, mode: int = 0o600) -> KeySource:
    """Write a key's file."""
    path.write_text(text)
    path.chmod(mode)
    return KeySource(path)


def test_a_key_is_made_when_it_is_first_needed_for_us_alone(tmp_path: Path) -> None:
    source = KeySource(tmp_path / "key")
    assert source.load() is None
    made = source.make()
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    assert source.load().keys == made.keys == source.make().keys  # type: ignore[union-attr]  # it is there now
    assert list(tmp_path.iterdir()) == [tmp_path / "key"]


def test_the_file_is_ours_alone_whatever_the_umask_says(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        KeySource(tmp_path / "key").make()
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600


def test_of_many_that_make_a_key_at_once_all_get_the_same(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as threads:
        made = list(threads.map(lambda _: KeySource(tmp_path / "key").make().first, range(64)))
    assert len(set(made)) == 1
    assert list(tmp_path.iterdir()) == [tmp_path / "key"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o644, 0o666, 0o610])
def test_a_file_that_others_can_read_or_write_is_refused(tmp_path: Path, mode: int) -> None:
    source = keep(tmp_path / "key", KEY.text, mode)
    with pytest.raises(SecretKeyBad, match=r"other users can read or write it .*chmod 600") as refused:
        source.load()
    assert KEY.text not in str(refused.value)


def test_a_file_or_a_link_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(tmp_path / "real", KEY.text)
    (tmp_path / "key").symlink_to(tmp_path / "real")
    assert KeySource(tmp_path / "key").load().first == KEY  # type: ignore[union-attr]  # a link of our own is fine
    if os.geteuid() == 0:
        os.lchown(tmp_path / "key", 1234, 1234)
        with pytest.raises(SecretKeyBad, match="the link belongs to another user"):
            KeySource(tmp_path / "key").load()
        os.chown(tmp_path / "real", 1234, 1234)
        with pytest.raises(SecretKeyBad, match="the file belongs to another user"):
            KeySource(tmp_path / "real").load()


@pytest.mark.parametrize("text", ["", "\n", "abc", "not base64!", KEY.text[:-4], f"{KEY.text}\nabc", "ä" * 44])
def test_a_file_without_whole_keys_is_refused_without_showing_it(tmp_path: Path, text: str) -> None:
    source = keep(tmp_path / "key", text)
    with pytest.raises(SecretKeyBad, match="openssl rand -base64 32") as refused:
        source.load()
    assert KEY.text[:10] not in str(refused.value)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "key").mkdir(mode=0o700)
    with pytest.raises(SecretKeyBad):
        KeySource(tmp_path / "key").load()
    with pytest.raises(SecretKeyBad, match="can't be written"):
        KeySource(tmp_path / "absent" / "key").make()


def test_the_environment_comes_first_and_may_hold_several_keys(tmp_path: Path) -> None:
    other = new_key()
    keep(tmp_path / "key", KEY.text)
    url = f"sqlite:///{tmp_path}/wonder.db"
    from_file = key_source(url, {}).load()
    from_environment = key_source(url, {"WONDER_SECRET_KEY": f" {other.text},{KEY.text} "}).load()
    assert from_file
    assert from_environment
    assert from_file.keys == (KEY,)
    assert from_environment.keys == (other, KEY)
    with pytest.raises(SecretKeyBad, match="WONDER_SECRET_KEY"):
        key_source(url, {"WONDER_SECRET_KEY": "abc"}).load()


def test_for_postgresql_the_file_is_in_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    source = key_source("postgresql://user@host/name", {})
    assert source.path == tmp_path / ".wonder" / "key"
    assert source.load() is None
    source.make()
    assert source.path.is_file()


def test_a_key_never_shows_itself() -> None:
    ring = KeyRing([KEY], "here")
    assert KEY.text not in f"{KEY!r} {KEY} {ring!r} {KEY.id}"
    assert read_keys(f"{KEY.text},{KEY.text}", "here") == (KEY,)
    with pytest.raises(SecretKeyMissing, match="not in here"):
        ring.key("0123")


def test_the_same_text_is_sealed_differently_each_time() -> None:
    sealed = {KEY.seal("a secret", "x|y|z") for _ in range(100)}
    assert len(sealed) == 100
    assert {KEY.open(one, "x|y|z", "name") for one in sealed} == {"a secret"}
    one = sealed.pop()
    for broken in (one[:-1], one[:12], b"", bytes([one[0] ^ 1]) + one[1:], one + b"x"):
        with pytest.raises(SecretBroken):
            KEY.open(broken, "x|y|z", "name")
