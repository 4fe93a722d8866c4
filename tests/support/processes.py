"""Several real processes that do something to one database at the same time."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).with_name("store_program.py")
SECONDS = 120


def run_until_killed(command: list[str], lines: int) -> list[str]:
    """Start a process, kill it with SIGKILL once it has printed so many lines, and return all that it printed."""
    one = _launch(command)
    _await_ready(one)
    assert one.stdin is not None
    assert one.stdout is not None
    assert one.stderr is not None
    one.stdin.write("go\n")
    one.stdin.flush()
    printed = [one.stdout.readline() for _ in range(lines)]
    one.kill()
    # Not by `communicate`, which leaves out the lines that were read from the pipe together with those above.
    rest, complaint = one.stdout.read(), one.stderr.read()
    one.stdin.close()
    one.stdout.close()
    one.stderr.close()
    assert one.wait(SECONDS) == -9, complaint
    # The last line may be cut off in the middle.
    return [line.strip() for line in printed] + rest.split("\n")[:-1]


def run_at_once(commands: list[list[str]]) -> list[Any]:
    """Start a process for each command, let them all go in the same moment, and return what each printed."""
    running = [_launch(command) for command in commands]
    try:
        for one in running:
            _await_ready(one)
        for one in running:
            assert one.stdin is not None
            one.stdin.write("go\n")
            one.stdin.flush()
        return [_answer(one) for one in running]
    finally:
        for one in running:
            one.kill()
            one.communicate()


def _answer(one: "subprocess.Popen[str]") -> Any:
    printed, complaint = one.communicate(timeout=SECONDS)
    assert one.returncode == 0, complaint
    return json.loads(printed)


def _launch(command: list[str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, str(PROGRAM), *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(PROGRAM.parent.parent)},
    )


def _await_ready(one: "subprocess.Popen[str]") -> None:
    assert one.stdout is not None
    assert one.stdout.readline() == "ready\n", one.communicate()[1]
