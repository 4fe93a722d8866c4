"""Runs the blocks of a documentation page in order, as a reader would, and compares what is printed with the page.

A `console` block has commands behind `$ ` and their output. A `yaml` or `python` block is a file: its first line is
`# NAME`, or `# add to NAME`. Ids, times and durations may differ; later commands get the real id for the one that the
page shows. `…` stands for the rest of a line, or alone on its line for any lines. A `sh` block is not run.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_BLOCK = re.compile(r"^```(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# (add to )?(\S+\.(?:py|ya?ml))\n")
_ID = re.compile(r"\b01[0-9A-HJKMNP-TV-Z]{24}\b")
_VARYING = [
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"), "TIME"),
    (re.compile(r"\b\d+\.\d+ s\b"), "DURATION"),
    (re.compile(r"(?<=\S) {2,}(?=[^ ^])"), "  "),  # The width of columns, not what a ^ points at.
]
_END = "\x1e"
_LIMIT_SECONDS = 300  # For blocks that hang; no other takes as long, however slow the machine is.


@dataclass(frozen=True)
class Block:
    """A fenced block of a page, with the line on which it begins."""

    kind: str
    text: str
    line: int

    def commands(self) -> list[tuple[str, str]]:
        """Each command with the output that the page shows for it."""
        parts = re.split(r"^\$ (.*)\n", self.text, flags=re.MULTILINE)
        assert parts[0] == "", f"line {self.line}: a console block begins with a command"
        return list(zip(parts[1::2], parts[2::2], strict=True))


def blocks_of(page: Path) -> Iterator[Block]:
    """Find the blocks of a page, in order."""
    text = page.read_text("utf-8")
    for found in _BLOCK.finditer(text):
        yield Block(found[1], found[2], text.count("\n", 0, found.start()) + 1)


@dataclass
class Reader:
    """Somebody who does in a folder what a page says."""

    folder: Path
    ids: dict[str, str] = field(default_factory=dict)

    def follow(self, page: Path) -> list[str]:
        """Do every block of a page, and return the kinds of those that were done."""
        done = []
        for block in blocks_of(page):
            if block.kind == "console":
                self._run(block)
            elif block.kind != "sh":
                self._save(block)
            done.append(block.kind)
        return done

    def _save(self, block: Block) -> None:
        named = _FILE.match(block.text)
        assert named, f"line {block.line}: a {block.kind} block begins with the name of its file"
        file = self.folder / named[2]
        before = f"{file.read_text('utf-8')}\n\n" if named[1] else ""
        file.write_text(before + block.text, "utf-8")

    def _run(self, block: Block) -> None:
        commands = block.commands()
        script = "".join(f"{self._with_real_ids(command)}\nprintf '\\036'\n" for command, _ in commands)
        printed = self._printed_by(script).split(_END)
        for (command, shown), real in zip(commands, printed, strict=False):
            self._compare(f"line {block.line}: $ {command}", shown, real)
        assert len(printed) == len(commands) + 1, printed

    def _printed_by(self, script: str) -> str:
        with subprocess.Popen(
            ["bash", "-c", f"exec 2>&1\n{script}"],
            cwd=self.folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as shell:
            try:
                printed, _ = shell.communicate(timeout=_LIMIT_SECONDS)
            finally:
                _end(shell.pid)
        # The shell may or may not have noticed yet that the job it had in the background was killed.
        return re.sub(r"bash: line \d+: +\d+ Killed.*\n", "", printed)

    def _with_real_ids(self, command: str) -> str:
        return _ID.sub(lambda found: self.ids.get(found[0], found[0]), command)

    def _compare(self, where: str, shown: str, real: str) -> None:
        matched = re.fullmatch(_pattern(shown), _comparable(real))
        assert matched, f"{where}\n--- the page\n{shown}--- the program\n{real}"
        for name, value in zip(_ID.findall(shown), matched.groups(), strict=True):
            assert self.ids.setdefault(name, value) == value, f"{where}: {name} was {self.ids[name]}, is {value}"


def environment() -> dict[str, str]:
    """The variables of a reader who has activated the virtual environment and set nothing of Wonder's."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("WONDER_")}
    return {**variables, "PATH": f"{Path(sys.executable).parent}:{variables['PATH']}"}


def _comparable(text: str) -> str:
    for varying, name in _VARYING:
        text = varying.sub(name, text)
    return re.sub(r" +$", "", text, flags=re.MULTILINE)


def _pattern(shown: str) -> str:
    """A regular expression for what may be printed where a page shows this; one group for each id."""
    pattern = re.escape(_comparable(shown)).replace("\\\n", "\n")
    pattern = re.sub(r"^…\n", r"(?:.*\\n)*", pattern, flags=re.MULTILINE).replace("…", ".*")
    return _ID.sub(lambda _: f"({_ID.pattern})", pattern)


def _end(group: int) -> None:
    """End what a block has left running."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return
