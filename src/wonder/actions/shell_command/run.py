"""One run of a command: started, fed, listened to, and waited for."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from signal import SIGKILL
from typing import Final

from wonder.actions.protocol import ActionFailed
from wonder.actions.shell_command.output import CommandOutput
from wonder.actions.shell_command.processes import PipeWriter, Process
from wonder.language.values import JsonValue
from wonder.storage.artifacts import Artifact

STDOUT: Final = "stdout"
STDERR: Final = "stderr"
# What a command has left running may still write so long, and be silent so long in between, before it is ended.
_AFTER_EXIT_SECONDS: Final = 0.1
_SILENT_SECONDS: Final = 0.5
_DRAIN_SECONDS: Final = 10.0

Store = Callable[[str, AsyncIterator[bytes]], Awaitable[Artifact]]


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a command ended, and what it wrote; a negative exit code is the number of a signal."""

    exit_code: int
    stdout: str
    stderr: str
    stdout_end: str
    stderr_end: str
    artifacts: dict[str, JsonValue]
    """The ids of the artifacts that have all of a stream, where it was long."""


class CommandRun:
    """A command under way; who gives it up must `end` it."""

    def __init__(
        self,
        arguments: Sequence[str],
        env: Mapping[str, str],
        cwd: str,
        stdin: bytes | None,
        store: Store | None,
        by_lines: bool = False,
        hear_errors: Callable[[bytes], None] | None = None,
    ) -> None:
        self.is_over = False
        self._failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._process = _start(arguments, env, cwd, has_input=stdin is not None)
        to_input, from_output, from_error = self._process.pipes
        storing = {name: partial(store, name) if store else None for name in (STDOUT, STDERR)}
        self._outputs = {
            STDOUT: CommandOutput(STDOUT, from_output, storing[STDOUT], self._fail, by_lines),
            STDERR: CommandOutput(STDERR, from_error, storing[STDERR], self._fail, by_lines, hear_errors),
        }
        self._input = None
        if to_input is not None:
            assert stdin is not None
            self._input = PipeWriter(to_input, stdin, self._process.close_input)

    async def result(self, seconds_max: float | None) -> CommandResult:
        """Wait for its end; raises ActionFailed when it writes too much or takes too long."""
        waited_for: list[asyncio.Future[None]] = [self._process.exited, self._failed]
        done, _ = await asyncio.wait(waited_for, timeout=seconds_max, return_when=asyncio.FIRST_COMPLETED)
        if self._failed in done:
            self._failed.result()
        if not done:
            message = f"the command took longer than {seconds_max:,.0f} seconds; set timeout_ms on its action for more"
            raise ActionFailed("COMMAND_TIMEOUT", message, retryable=True)
        await self._drain()
        if self._input:
            self._input.stop()
        for output in self._outputs.values():
            output.pipe.stop()
        exit_code = self._process.reap()
        artifacts: dict[str, JsonValue] = {}
        for name, output in self._outputs.items():
            if (id := await output.stored()) is not None:
                artifacts[f"{name}_artifact_id"] = id
        if self._failed.done():
            self._failed.result()
        self.is_over = True
        out, error = self._outputs[STDOUT], self._outputs[STDERR]
        return CommandResult(exit_code, out.text(), error.text(), out.end_text(), error.end_text(), artifacts)

    def errors(self) -> str:
        """Give the beginning of what it has written to its standard error so far."""
        return self._outputs[STDERR].text()

    async def end(self) -> None:
        """End the command with all that it has started, and keep nothing of what it wrote."""
        self.is_over = True
        if self._input:
            self._input.stop()
        for output in self._outputs.values():
            output.pipe.stop()
        await self._process.end()
        for output in self._outputs.values():
            await output.drop()
        # Looked at, because nobody else may: asyncio would complain.
        if self._failed.done():
            self._failed.exception()

    async def _drain(self) -> None:
        """Read what is left in the pipes, however long others hold them open."""
        ends = [output.pipe.ended for output in self._outputs.values()]
        _, open_ends = await asyncio.wait(ends, timeout=_AFTER_EXIT_SECONDS)
        if not open_ends:
            return
        self._process.signal_group(SIGKILL)
        until = asyncio.get_running_loop().time() + _DRAIN_SECONDS
        while open_ends and not self._failed.done() and asyncio.get_running_loop().time() < until:
            before = self._progress()
            _, open_ends = await asyncio.wait(ends, timeout=_SILENT_SECONDS)
            if self._progress() == before and not any(output.is_busy for output in self._outputs.values()):
                return

    def _progress(self) -> int:
        return sum(output.size_bytes for output in self._outputs.values())

    def _fail(self, failure: ActionFailed) -> None:
        if not self._failed.done():
            self._failed.set_exception(failure)


def _start(arguments: Sequence[str], env: Mapping[str, str], cwd: str, *, has_input: bool) -> Process:
    name = arguments[0]
    try:
        return Process.start(arguments, cwd=cwd, env=env, has_input=has_input)
    except FileNotFoundError as error:
        message = f"there is no program {name!r} on the PATH of the command, or what it is written for is missing"
        raise ActionFailed("COMMAND_NOT_FOUND", f"{message}; install it, or write its whole path") from error
    except OSError as error:
        message = f"the program {name!r} can't be started: {error.strerror}"
        raise ActionFailed("COMMAND_REFUSED", message) from error
