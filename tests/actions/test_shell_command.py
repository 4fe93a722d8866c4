"""`shell_command`: exact arguments, an environment and a folder of its own, and an end of all it starts (ACT-7)."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from support.settled import SettledResources
from support.tasks import ORIGIN, action, bench, step, task, until
from wonder.actions.shell_command import output as command_output
from wonder.actions.shell_command.removing import remove_folder
from wonder.executor.results import TaskFailure, TaskResult

PYTHON = sys.executable


@pytest.fixture(autouse=True)
async def nothing_leaks() -> AsyncIterator[None]:
    """No descriptor, no child and no asyncio task outlives a test."""
    files, processes = descriptors(), children()
    yield
    await until(lambda: children() <= processes and descriptors() <= files and len(asyncio.all_tasks()) <= 2)


def descriptors() -> int:
    """Count the open files of this process."""
    return len(list(Path("/proc/self/fd").iterdir()))


def children() -> set[str]:
    """List the processes that this one has started, zombies too."""
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def alive(pid: int) -> bool:
    """Say whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def allowed(**settings: Any) -> SettledResources:
    """A workspace that allows commands."""
    return SettledResources(workspace={"allow_shell": True}, **settings)


async def run(
    command: Any,
    input: Any = None,
    *,
    resources: SettledResources | None = None,
    execution: dict[str, Any] | None = None,
    **configured: Any,
) -> TaskResult:
    """Run a command where commands are allowed."""
    fields = {"execution": execution} if execution else {}
    act = action("act", "shell_command", {"command": command, **configured}, **fields)
    async with bench(resources=resources or allowed(), grace_ms=2_000) as made:
        result = await made.run(task(step("act")), input, act)
        await made.registry.close()
        return result


async def output(command: Any, input: Any = None, **configured: Any) -> Any:
    """Run a command that ends well, and give its output."""
    result = await run(command, input, **configured)
    assert result.error is None, result.error
    return result.output


async def refusal(command: Any, input: Any = None, **configured: Any) -> TaskFailure:
    """Run a command that fails."""
    result = await run(command, input, **configured)
    assert result.error
    return result.error


async def test_act_7_arguments_are_given_exactly_and_never_read_by_a_shell() -> None:
    given = ["", "a b", "$HOME", "; rm -rf x", "*", "`id`", '"', "\n", "é", "{{{{raw}}}}"[:2]]
    templates = [PYTHON, "-c", "import sys, json; print(json.dumps(sys.argv[1:]))"]
    templates += ["{{input.[" + str(i) + "]}}" for i in range(len(given))]
    told = await output(templates, given)
    assert told["exit_code"] == 0
    assert told["stderr"] == ""
    assert json.loads(told["stdout"]) == given


async def test_act_7_a_text_goes_to_a_shell_only_when_asked_and_is_no_template() -> None:
    told = await output(
        'echo "$NAME" | tr a-z A-Z; echo {{name}}', {"name": "x; id"}, shell=True, env={"NAME": "{{name}}"}
    )
    assert told["stdout"] == "X; ID\n{{name}}\n"


async def test_act_7_the_environment_is_what_the_definition_gives_and_the_path(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OF_THE_ENGINE", "hidden")
    told = await output(["env"], {"v": 3}, env={"GIVEN": "v={{v}}", "EMPTY": ""})
    assert sorted(told["stdout"].splitlines()) == ["EMPTY=", "GIVEN=v=3", f"PATH={os.environ['PATH']}"]
    assert (await output(["/usr/bin/env"], env={"PATH": "/nowhere"}))["stdout"] == "PATH=/nowhere\n"


async def test_act_7_no_descriptor_of_ours_is_inherited() -> None:
    read, write = os.pipe()
    os.set_inheritable(write, True)
    try:
        told = await output(
            [
                PYTHON,
                "-c",
                "import os; print(sorted(map(int, os.listdir('/proc/self/fd')))[:3], len(os.listdir('/proc/self/fd')))",
            ]
        )
    finally:
        os.close(read)
        os.close(write)
    assert told["stdout"] == "[0, 1, 2] 4\n", "and the folder that it lists"


async def test_act_7_input_is_given_and_need_not_be_read() -> None:
    lines = {"lines": "line\n" * 100_000}
    told = await output(["wc", "-c"], lines, stdin="{{lines}}.")
    assert told["stdout"].strip() == "500001"
    assert (await output(["true"], lines, stdin="{{lines}}"))["exit_code"] == 0
    assert (await output(["cat"]))["stdout"] == "", "without one, its input is empty"


async def test_act_7_secrets_may_stand_in_the_environment_and_the_input_only() -> None:
    resources = allowed(secrets={"TOKEN": "s3cr3t-value"})
    told = await output(
        ["sh", "-c", 'cat; echo "$T"; echo "$0"', "{{secrets.TOKEN}}"],
        {"secrets": {"TOKEN": "forged"}},
        resources=resources,
        env={"T": "env {{secrets.TOKEN}}"},
        stdin="stdin {{secrets.TOKEN}}\n",
    )
    assert told["stdout"] == "stdin s3cr3t-value\nenv s3cr3t-value\n\n"
    error = await refusal(["true"], resources=resources, env={"T": "{{secrets.OTHER}}"})
    assert error.code == "SECRET_MISSING"


async def test_res_6_commands_are_off_unless_the_workspace_allows_them(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    error = await refusal(["touch", str(mark)], resources=SettledResources())
    assert error.code == "SHELL_NOT_ALLOWED"
    assert "allow_shell" in error.message
    assert not mark.exists()


async def test_act_7_a_command_runs_inside_files_root_and_no_link_leads_it_out(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "link").symlink_to("..")
    resources = allowed(project={"files_root": str(root)})
    assert (await output(["pwd"], resources=resources))["stdout"] == f"{root}\n"
    assert (await output(["pwd"], {"d": "sub"}, cwd="{{d}}", resources=resources))["stdout"] == f"{root}/sub\n"
    for cwd, code in {
        "..": "PATH_OUTSIDE",
        "/tmp": "PATH_OUTSIDE",
        "link": "PATH_OUTSIDE",
        "no": "FILE_NOT_FOUND",
    }.items():
        assert (await refusal(["pwd"], {"d": cwd}, cwd="{{d}}", resources=resources)).code == code
    assert (await refusal(["pwd"], cwd="sub")).code == "FILES_ROOT_MISSING"


async def test_act_7_without_files_root_a_command_has_a_folder_of_its_own_that_goes_with_it() -> None:
    folder = Path((await output("pwd; touch x; mkdir -p a/b; stat -c %a .", shell=True))["stdout"].split("\n")[0])
    assert "wonder-command-" in folder.name
    assert not folder.exists()  # noqa: ASYNC240


async def test_act_10_another_exit_code_is_a_business_error_with_what_was_written() -> None:
    error = await refusal("echo out; echo first >&2; echo reason >&2; exit 3", shell=True)
    assert (error.code, error.retryable) == ("COMMAND_FAILED", False)
    assert error.message.endswith("ended with exit code 3: reason")
    assert error.details == {"exit_code": 3, "stdout_end": "out\n", "stderr_end": "first\nreason\n"}
    assert (await output(["sh", "-c", "exit 3"], ok_exit_codes=[0, 3]))["exit_code"] == 3
    assert (await refusal(["true"], ok_exit_codes=[1])).details["exit_code"] == 0


async def test_act_7_a_command_that_a_signal_ended_has_failed() -> None:
    error = await refusal("kill -SEGV $$", shell=True)
    assert (error.code, error.details["exit_code"]) == ("COMMAND_FAILED", -11)
    assert "signal 11" in error.message


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["no-such-program-anywhere"], "COMMAND_NOT_FOUND"),
        (["./no-such"], "COMMAND_NOT_FOUND"),
        (["/etc/passwd"], "COMMAND_REFUSED"),
        (["/"], "COMMAND_REFUSED"),
        (["{{missing}}"], "BAD_ARGUMENTS"),
        (["echo", "{{zero}}"], "BAD_ARGUMENTS"),
        (["echo", "{{big}}"], "COMMAND_REFUSED"),
    ],
)
async def test_act_7_what_can_not_be_started_is_told(command: list[str], code: str) -> None:
    error = await refusal(command, {"zero": "a\0b", "big": "x" * 900_000})
    assert (error.code, error.retryable) == (code, False)


async def test_act_7_output_that_is_no_utf_8_is_replaced() -> None:
    told = await output(["printf", r"a\377b\000c\303\251"])
    assert told["stdout"] == "a\ufffdb\ufffdcé"


async def test_ret_3_a_command_and_all_that_it_started_end_at_its_deadline(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = f"sh -c 'echo $$ >> {pids}; exec sleep 60' & sleep 60 & echo $! >> {pids}; echo $$ >> {pids}; wait"
    began = time.monotonic()
    error = await refusal(script, shell=True, execution={"timeout_ms": 1_000})
    assert (error.code, error.retryable) == ("ACTION_TIMEOUT", True)
    assert time.monotonic() - began < 30
    numbers = [int(pid) for pid in pids.read_text().split()]
    assert len(numbers) == 3
    await until(lambda: not any(map(alive, numbers)))


async def test_ret_3_a_command_that_ignores_being_asked_is_killed(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    error = await refusal(
        f"trap '' TERM; echo $$ > {pids}; sleep 60; sleep 60", shell=True, execution={"timeout_ms": 500}
    )
    assert error.code == "ACTION_TIMEOUT"
    await until(lambda: not alive(int(pids.read_text())))


async def test_act_7_a_cancelled_command_is_ended_too(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    async with bench(resources=allowed(), grace_ms=2_000) as made:
        act = action("act", "shell_command", {"command": f"echo $$ > {pids}; sleep 60", "shell": True})
        running = asyncio.create_task(made.run(task(step("act")), None, act))
        await until(lambda: pids.exists() and pids.read_text().endswith("\n"))
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await made.registry.close()
    await until(lambda: not alive(int(pids.read_text())))


@pytest.mark.parametrize("hold", ["sleep 60 &", "(sleep 60 &) &", "sleep 60 >/dev/null 2>&1 &"])
async def test_act_7_what_a_command_leaves_running_neither_holds_it_up_nor_lives_on(hold: str) -> None:
    began = time.monotonic()
    told = await output(f"{hold} echo done $!", shell=True)
    assert told["stdout"].startswith("done")
    assert time.monotonic() - began < 30
    if told["stdout"].split()[1:]:
        await until(lambda: not alive(int(told["stdout"].split()[1])))


async def test_act_7_one_that_left_the_group_with_the_pipe_does_not_hold_the_command_up() -> None:
    """What makes a session of its own can't be found again, but its pipe is closed."""
    began = time.monotonic()
    told = await output(["setsid", "--fork", "sh", "-c", "echo $$; exec sleep 60"])
    assert time.monotonic() - began < 30
    os.kill(int(told["stdout"] or 0), 9)


async def test_act_7_without_an_object_store_too_much_output_ends_the_command() -> None:
    error = await refusal(["yes"])
    assert error.code == "OUTPUT_TOO_LARGE"
    assert "1,000,000 bytes to stdout" in error.message


async def test_act_7_a_hundred_commands_at_once_come_to_their_ends() -> None:
    act = action("act", "shell_command", {"command": ["sh", "-c", "echo $0", "{{n}}"]})
    async with bench(resources=allowed(), grace_ms=2_000) as bench_:
        compiled = bench_.compiled(task(step("act")), act)
        results = await asyncio.gather(*(bench_.executor.run(compiled, {"n": n}, ORIGIN) for n in range(100)))
    assert [result.output["stdout"] for result in results] == [f"{n}\n" for n in range(100)]  # type: ignore[index,call-overload]


async def test_act_7_half_a_character_at_the_cut_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_output, "INLINE_MAX", 3)
    read, write = os.pipe()
    failures: list[Any] = []
    stream = command_output.CommandOutput("stdout", read, None, failures.append)
    os.write(write, "aéé".encode())
    os.close(write)
    await until(stream.pipe.ended.done)
    os.close(read)
    assert stream.text() == "aé"
    assert [failure.code for failure in failures] == ["OUTPUT_TOO_LARGE"]


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("exec >&- 2>&- <&-; sleep 0.1; exit 0", ""),
        ('rm -rf "$PWD"; echo gone', "gone\n"),
        ("mkdir -p a/b; chmod 0 a/b a; echo closed", "closed\n"),
        ("i=0; while [ $i -lt 100 ]; do sleep 60 & i=$((i+1)); done; echo many", "many\n"),
        ("trap '' TERM HUP INT; (trap '' TERM; exec sleep 60) & echo deaf", "deaf\n"),
        ("printf '\\033[2J\\r'", "\x1b[2J\r"),
        ("exec 3>&1; (sleep 60 >&3 &) ; echo held", "held\n"),
    ],
    ids=["closes all", "removes its folder", "locks its folder", "100 children", "deaf", "escapes", "holds"],
)
async def test_act_7_a_hostile_command_comes_to_its_end_and_leaves_nothing(script: str, told: str) -> None:
    began = time.monotonic()
    assert (await output(script, shell=True))["stdout"] == told
    assert time.monotonic() - began < 30


async def test_act_7_a_command_that_stops_itself_is_ended_at_its_deadline() -> None:
    error = await refusal("kill -STOP $$; echo never", shell=True, execution={"timeout_ms": 300})
    assert error.code == "ACTION_TIMEOUT"


async def test_act_7_what_was_broken_off_never_becomes_an_artifact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_output, "INLINE_MAX", 3)
    stored: list[bytes] = []
    failures: list[Any] = []

    async def store(content: AsyncIterator[bytes]) -> Any:
        stored.append(b"".join([chunk async for chunk in content]))

    for is_whole in (False, True):
        read, write = os.pipe()
        stream = command_output.CommandOutput("stdout", read, store, failures.append)
        os.write(write, b"abcdef")
        os.close(write)
        await until(stream.pipe.ended.done)
        await asyncio.sleep(0.02)
        assert stored == []
        if is_whole:
            with pytest.raises(AttributeError):  # it is no artifact that this store gives
                await stream.stored()
        else:
            await stream.drop()
        os.close(read)
    assert stored == [b"abcdef"]


async def test_act_7_where_a_process_can_not_be_watched_by_a_descriptor_a_thread_waits_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    told = await output("sleep 60 & echo $!", shell=True)
    await until(lambda: not alive(int(told["stdout"])))
    assert (await refusal(["sleep", "60"], execution={"timeout_ms": 100})).code == "ACTION_TIMEOUT"


@pytest.mark.parametrize(
    ("written", "text", "end"),
    [
        ("x\n" * 40 + "y" * 15 + "SECRET-IN-TWO" + "z" * 5_000, "x\n" * 40, ""),
        ("y" * 95 + "SECRET-IN-TWO" + "z" * 4_080 + "\nend", "", "end"),
        ("SECRET-IN-TWO", "SECRET-IN-TWO", "SECRET-IN-TWO"),
    ],
    ids=["at a line", "no line", "not cut"],
)
async def test_inv_8_no_part_of_a_secret_is_left_where_output_is_cut(
    monkeypatch: pytest.MonkeyPatch, written: str, text: str, end: str
) -> None:
    """Where a command has secrets it is cut at the ends of lines: of half a secret nobody would know that it is one."""
    monkeypatch.setattr(command_output, "INLINE_MAX", 100)

    async def store(content: AsyncIterator[bytes]) -> Any:
        return [chunk async for chunk in content]

    read, write = os.pipe()
    failures: list[Any] = []
    stream = command_output.CommandOutput("stdout", read, store, failures.append, by_lines=True)
    os.write(write, written.encode())
    os.close(write)
    await until(stream.pipe.ended.done)
    assert (stream.text(), stream.end_text()) == (text, end)
    await stream.drop()
    os.close(read)


async def test_inv_8_a_line_that_may_hold_a_secret_is_not_cut_for_the_message() -> None:
    resources = allowed(secrets={"S": "a-secret-value"})
    script = 'head -c 190 /dev/zero | tr "\\0" x >&2; echo "$S" >&2; exit 1'
    error = await refusal(script, shell=True, resources=resources, env={"S": "{{secrets.S}}"})
    assert error.message.endswith("ended with exit code 1")
    error = await refusal(script, shell=True, env={"S": "no secret at all"})
    assert error.message.endswith("xxno secret ")


def test_a_folder_is_removed_however_deep_it_is(tmp_path: Path) -> None:
    """What a command has left may be deeper than Python's own way out of it."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x")
    root = tmp_path / "root"
    root.mkdir()
    inside = os.open(root, os.O_RDONLY)
    for _ in range(3_000):
        os.mkdir("d", dir_fd=inside)
        os.symlink(outside, "link", dir_fd=inside)
        inner = os.open("d", os.O_RDONLY, dir_fd=inside)
        os.close(inside)
        inside = inner
    os.close(inside)
    (root / "closed").mkdir()
    (root / "closed" / "file").write_text("x")
    (root / "closed").chmod(0)
    remove_folder(str(root))
    left = root.exists()
    # What is so deep would be in the way of whoever tidies up after the tests.
    subprocess.run(["rm", "-rf", root], check=True)
    assert not left
    assert (outside / "kept").exists()
    remove_folder(str(root))
