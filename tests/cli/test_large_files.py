"""Files that commands are given: none is read beyond its limit, whether it is a file, a device or a pipe."""

import asyncio
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import wonder
from support.definitions import GREET_EVERYONE
from wonder.app.given_files import FileTooLarge

WONDER = Path(sys.executable).with_name("wonder")
MEMORY_MAX = 1 << 30
"""What a command may map in all; enough for the limit of 16 MB, and not for a file of gigabytes."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a good definition and a sparse file of 4 GB."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WONDER_DATABASE_URL", raising=False)
    (tmp_path / "good.yaml").write_text(GREET_EVERYONE)
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate(4 << 30)
    return tmp_path


def refused(*words: str, stdin: int = subprocess.DEVNULL) -> str:
    """Run a command with little memory, see that it refuses in good order, and give what it printed."""
    ended = subprocess.run(
        [WONDER, *words],
        stdin=stdin,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX, MEMORY_MAX)),
    )
    printed = ended.stdout + ended.stderr
    assert ended.returncode == 2, printed
    assert "Traceback" not in printed
    return printed


@pytest.mark.parametrize(
    "words",
    [
        ["run", "good.yaml", "--input"],
        ["schedules", "create", "daily", "--workflow", "greet", "--cron", "0 0 * * *", "--input"],
    ],
    ids=["run", "schedules create"],
)
def test_an_input_file_that_is_too_large_is_refused_before_it_is_read(words: list[str], folder: Path) -> None:
    if words[0] == "schedules":
        subprocess.run([WONDER, "deploy", "good.yaml"], check=True, capture_output=True)
    assert "the input file large.json has 4,294,967,296 bytes; the limit is 16,000,000" in refused(
        *words, "@large.json"
    )
    assert "the input file /dev/zero has more than 16,000,000 bytes" in refused(*words, "@/dev/zero")


@pytest.mark.parametrize("command", ["validate", "deploy", "run"])
def test_a_definition_that_is_too_large_is_refused_before_it_is_read(command: str, folder: Path) -> None:
    assert "large.json has 4,294,967,296 bytes; the limit is 16,000,000" in refused(command, "large.json")
    with Path("/dev/zero").open("rb") as zeros:
        assert "<stdin> has more than 16,000,000 bytes" in refused(command, "-", stdin=zeros.fileno())


def test_a_pipe_without_end_is_read_up_to_the_limit(folder: Path) -> None:
    os.mkfifo("pipe")
    with subprocess.Popen(["cat", "/dev/zero"], stdout=(writing := os.open("pipe", os.O_RDWR))) as endless:
        os.close(writing)
        try:
            assert "the input file pipe has more than" in refused("run", "good.yaml", "--input", "@pipe")
        finally:
            endless.kill()


def test_a_secret_and_the_settings_are_read_up_to_their_limits(folder: Path) -> None:
    subprocess.run([WONDER, "deploy", "good.yaml"], check=True, capture_output=True)
    assert "the value is too long" in refused("secrets", "set", "TOKEN", "--from-file", "/dev/zero")
    Path("wonder.toml").symlink_to("large.json")
    assert "wonder.toml has 4,294,967,296 bytes; the limit is 20,000" in refused("workflows", "list")


def test_a_program_that_deploys_a_file_is_told_that_it_is_too_large(folder: Path) -> None:
    async def deploy() -> None:
        async with wonder.open("sqlite:///app.db") as app:
            await app.deploy("large.json")

    with pytest.raises(FileTooLarge, match="4,294,967,296 bytes"):
        asyncio.run(deploy())
