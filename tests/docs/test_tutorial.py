"""The tutorial does what it says: every block is run, in order, in an empty folder, with the real program."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.pages import Reader, blocks_of, environment

ROOT = Path(__file__).parents[2]
TUTORIAL = ROOT / "docs" / "tutorial.md"
PICTURES = ROOT / "docs" / "pictures"


def test_every_block_of_the_tutorial_does_what_it_shows(tmp_path: Path) -> None:
    """From an empty folder over a crash, a fan-out and a person's answer to SQL and Python."""
    reader = Reader(tmp_path)
    done = reader.follow(TUTORIAL)
    assert {*done} == {"sh", "console", "python", "yaml"}
    assert done.count("sh") == 1, "only the installation is not run"
    assert picture_of(reader) == without_times((PICTURES / "run.svg").read_text("utf-8"))


def picture_of(reader: Reader) -> str:
    """Draw the run that the README shows, the one that a person approved."""
    (run,) = re.findall(r"wonder runs show (01\w+)\n\u2713", TUTORIAL.read_text("utf-8"))
    drawn = subprocess.run(
        [sys.executable, PICTURES / "draw_run.py", reader.ids[run]],
        cwd=reader.folder,
        env=environment(),
        capture_output=True,
        check=True,
        text=True,
    )
    return without_times(drawn.stdout)


def without_times(picture: str) -> str:
    return re.sub(r"\d+\.\d\d s<", "TIME<", picture)


def test_the_tutorial_has_a_crash_a_mistake_a_person_a_join_and_a_query() -> None:
    commands = [command for block in blocks_of(TUTORIAL) if block.kind == "console" for command, _ in block.commands()]
    for part in (
        "kill -9",
        "wonder validate",
        "wonder answer",
        "wonder runs show",
        "wonder query",
        "wonder run expenses",
    ):
        assert [command for command in commands if part in command], part


@pytest.mark.parametrize(
    ("page", "complaint"),
    [
        ("```console\n$ echo one\ntwo\n```\n", r"the page\ntwo\n--- the program\none\n"),
        ("```console\n$ echo one; echo two\none\n```\n", "the program\none\ntwo\n"),
        ("```console\n$ true\none\n```\n", "--- the page\none\n"),
        ("```console\n$ echo '|    ^'\n|   ^\n```\n", "the program"),
        ("```yaml\na: 1\n```\n", "begins with the name of its file"),
        ("```console\n$ no-such-program\n```\n", "not found"),
        (
            "```console\n$ echo 01M7P9D2J8Q0T4X6Z7B1C3E5G9; echo 01M7P9D2J8Q0T4X6Z7B1C3E5GA\n"
            "01M7P9F0K2R4V6Y8A1D3F5H7J9\n01M7P9F0K2R4V6Y8A1D3F5H7J9\n```\n",
            "was 01M7P9D2J8Q0T4X6Z7B1C3E5G9, is 01M7P9D2J8Q0T4X6Z7B1C3E5GA",
        ),
    ],
)
def test_a_page_that_shows_something_else_is_found(tmp_path: Path, page: str, complaint: str) -> None:
    (tmp_path / "page.md").write_text(page, "utf-8")
    with pytest.raises(AssertionError, match=complaint):
        Reader(tmp_path).follow(tmp_path / "page.md")
