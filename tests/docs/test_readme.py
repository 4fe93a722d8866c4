"""The README does what it says: every block but the installation and `make` is run."""

import re
from pathlib import Path

from support.pages import Reader, blocks_of

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"


def test_every_block_of_the_readme_does_what_it_shows(tmp_path: Path) -> None:
    done = Reader(tmp_path).follow(README)
    assert {"console", "python", "yaml"} < {*done}


def test_the_make_commands_of_the_readme_exist() -> None:
    text = "".join(block.text for block in blocks_of(README) if block.kind == "sh")
    named = re.findall(r"^make (\w+)", text, re.MULTILINE)
    rules = re.findall(r"^(\w+):.*##", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert {"run", "test"} <= {*named} <= {*rules}


def test_the_picture_of_the_readme_is_small() -> None:
    (picture,) = re.findall(r"!\[.*?\]\((.*?)\)", README.read_text("utf-8"))
    assert (ROOT / picture).stat().st_size < 200_000
