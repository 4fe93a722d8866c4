"""Servers that are commands of this machine: started in a process group of their own, and ended as a group."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final, cast

from wonder.actions.mcp.connections import StdioConnection
from wonder.actions.mcp.journal import Journal
from wonder.actions.mcp.limits import Limits, Pace
from wonder.actions.mcp.messages import Incoming, Outgoing, Owed

# What has left the pipe unread is kept this far before the server has to wait.
_WAITING_BYTES: Final = 1_000_000
_LAST_WORDS_SECONDS: Final = 0.3
_SHOWN_BYTES: Final = 200
# Its input ends when this process does, however it ends; a moment later it kills a server that did not care.
_GUARD: Final = 'read -r _; sleep 1; kill -s KILL -- "-$0"'

OnEnd = Callable[[str, bool], None]
"""Told once why a server can't be talked to any more, and whether that is because it said too much."""


class NotStarted(Exception):
    """A command can't be started."""


@asynccontextmanager
async def stdio_streams(
    connection: StdioConnection, limits: Limits, journal: Journal, on_end: OnEnd
) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """Start a server and give what a session talks to it by; in the end it is gone, with its process group.

    Raises NotStarted.
    """
    process = ServerProcess(limits, journal, on_end)
    try:
        await process.start(connection)
        yield process.incoming, process.outgoing
    finally:
        try:
            await process.stop()
        finally:
            process.kill()
            journal.close()


class _Child(asyncio.SubprocessProtocol):
    """A process of ours, of which one hears when it has ended."""

    def __init__(self) -> None:
        self.exited = asyncio.Event()

    def process_exited(self) -> None:
        self.exited.set()

    async def wait(self, seconds: float) -> bool:
        """Wait for its end, and say whether it has ended."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.exited.wait(), seconds)
        return self.exited.is_set()


class ServerProcess(_Child):
    """One running command."""

    def __init__(self, limits: Limits, journal: Journal, on_end: OnEnd) -> None:
        super().__init__()
        self._limits, self._journal, self._on_end = limits, journal, on_end
        self._loop = asyncio.get_running_loop()
        owed = Owed()
        self.incoming = Incoming(limits, owed, self._note_garbage)
        self.incoming.on_read = self._read_on
        self.outgoing = Outgoing(owed, self._write)
        self._transport: asyncio.SubprocessTransport | None = None
        self._guard: tuple[asyncio.SubprocessTransport, _Child] | None = None
        self._partial = bytearray()
        self._errors_pace = Pace(limits)
        self._exit: str | None = None
        self._has_closed_output = False
        self._is_over = False

    async def start(self, connection: StdioConnection) -> None:
        """Start the command, and what ends it should this process be killed."""
        try:
            await self._loop.subprocess_exec(
                lambda: self,
                *connection.command,
                env=connection.env,
                cwd=connection.folder,
                start_new_session=True,
            )
            assert self._transport
            # Without an environment: a server's secrets are not its business.
            self._guard = await self._loop.subprocess_exec(
                _Child,
                *("/bin/sh", "-c", _GUARD, str(self._transport.get_pid())),
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                env={"PATH": os.defpath},
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise NotStarted(reason) from error

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Hear that the server has been started; it may end before anything else is heard of it."""
        self._transport = cast("asyncio.SubprocessTransport", transport)

    async def stop(self) -> None:
        """End the server as the protocol asks: its input ends, then SIGTERM, then SIGKILL."""
        self._is_over = True
        self.incoming.end()
        if self._transport:
            if pipe := self._transport.get_pipe_transport(0):
                pipe.close()
            # One that waits for us to read would not see the end of its input.
            self._resume(1)
            for number in (signal.SIGTERM, signal.SIGKILL):
                if await self.wait(self._limits.stop_seconds):
                    break
                self._signal(number)
            await self.wait(self._limits.stop_seconds)
        if self._guard:
            guard, child = self._guard
            guard.close()  # which kills it
            await child.wait(self._limits.stop_seconds)

    def kill(self) -> None:
        """End whatever is left of the server at once; nothing is waited for."""
        self._is_over = True
        self.incoming.end()
        self._signal(signal.SIGKILL)
        if self._transport:
            self._transport.close()
        if self._guard:
            self._guard[0].close()

    def process_exited(self) -> None:
        """Hear that the server has ended."""
        super().process_exited()
        assert self._transport
        status = self._transport.get_returncode() or 0
        self._exit = f"it ended with exit status {status}" if status >= 0 else f"it was ended by signal {-status}"
        # Its children live on in its group, and may keep its pipes open.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._transport.get_pid(), signal.SIGKILL)
        if self._has_closed_output:
            self._end(self._exit)
        else:
            # What it wrote last is still on the way.
            self._loop.call_later(_LAST_WORDS_SECONDS, self._end, self._exit)

    def pipe_connection_lost(self, fd: int, error: Exception | None) -> None:
        """Hear that the server has closed one of its pipes."""
        if fd == 1:
            self._has_closed_output = True
            self.incoming.end()
        if fd == 1 and self._exit:
            self._end(self._exit)
        elif fd != 2:
            # If it is about to end, its exit status is the better reason.
            reason = "it closed its output" if fd == 1 else "it closed its input"
            self._loop.call_later(_LAST_WORDS_SECONDS, self._end, reason)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Take what the server wrote."""
        if fd == 1:
            self._take_lines(data)
            return
        self._journal.feed(data)
        wait = self._errors_pace.wait_seconds(len(data))
        if wait > 0 and (pipe := self._reading(2)):
            pipe.pause_reading()
            self._loop.call_later(wait, self._resume, 2)

    def _take_lines(self, data: bytes) -> None:
        first, *others = data.split(b"\n")
        self._partial += first
        for line in others:
            if self._partial.strip():
                self.incoming.put(bytes(self._partial))
            self._partial[:] = line
        if len(self._partial) > self._limits.answer_bytes:
            self._partial.clear()
            self._end(f"it wrote a line of more than {self._limits.answer_bytes:,} bytes", too_large=True)
            self._signal(signal.SIGKILL)
        elif self.incoming.waiting_bytes > _WAITING_BYTES and (pipe := self._reading(1)):
            pipe.pause_reading()

    def _read_on(self) -> None:
        if self.incoming.waiting_bytes < _WAITING_BYTES // 2:
            self._resume(1)

    def _resume(self, fd: int) -> None:
        if pipe := self._reading(fd):
            pipe.resume_reading()

    def _reading(self, fd: int) -> asyncio.ReadTransport | None:
        pipe = self._transport.get_pipe_transport(fd) if self._transport else None
        return cast("asyncio.ReadTransport", pipe) if pipe and not pipe.is_closing() else None

    def _write(self, line: bytes) -> bool:
        pipe = self._transport.get_pipe_transport(0) if self._transport else None
        if pipe is None or pipe.is_closing() or self._is_over:
            return False
        writing = cast("asyncio.WriteTransport", pipe)
        if writing.get_write_buffer_size() > self._limits.unread_bytes:
            self._end("it does not read its input")
            return False
        writing.write(line)
        return True

    def _note_garbage(self, line: bytes) -> None:
        self._journal.write(f"(not a message) {line[:_SHOWN_BYTES].decode('utf-8', 'replace')}")

    def _end(self, reason: str, *, too_large: bool = False) -> None:
        if not self._is_over:
            self._is_over = True
            self._on_end(self._exit or reason, too_large)
            self.incoming.end()

    def _signal(self, number: int) -> None:
        # Once it has ended, its number may be another's.
        if self._transport and not self.exited.is_set():
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._transport.get_pid(), number)
