"""Programs that actions start: in a process group of their own, which is ended as a whole.

The group is signalled only while its first process, even if it has exited, has not been waited for: its number can't
mean any other group until then.
"""

import asyncio
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final

_TERM_SECONDS: Final = 0.5
_KILL_SECONDS: Final = 5.0
_PIPE_BYTES: Final = 65_536


class Process:
    """A program under way; `exited` is done when its first process is, which still has to be reaped."""

    def __init__(self, popen: "subprocess.Popen[bytes]") -> None:
        self._popen = popen
        self._loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[None] = self._loop.create_future()
        self._pidfd: int | None = None
        self._is_reaped = False
        self._watch()

    @classmethod
    def start(cls, arguments: Sequence[str], *, cwd: str, env: Mapping[str, str], has_input: bool) -> "Process":
        """Start a program with nothing of ours: no descriptors, no environment, no terminal; raises OSError."""
        return cls(
            subprocess.Popen(  # noqa: S603  # what is started, and whether, is for the caller to say
                arguments,
                cwd=cwd,
                env=env,
                stdin=subprocess.PIPE if has_input else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        )

    @property
    def pipes(self) -> tuple[int | None, int, int]:
        """The descriptors of its standard input, output and error output on our side."""
        popen = self._popen
        assert popen.stdout
        assert popen.stderr
        return popen.stdin.fileno() if popen.stdin else None, popen.stdout.fileno(), popen.stderr.fileno()

    def close_input(self) -> None:
        """Let the program read the end of its input."""
        if self._popen.stdin:
            self._popen.stdin.close()

    def signal_group(self, number: int) -> None:
        """Send a signal to all of the group that are left."""
        if not self._is_reaped:
            # Refused on some systems when only exited processes are left.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._popen.pid, number)

    def reap(self) -> int:
        """End what is left of the group, and give how its first process, which has exited, did so."""
        self.signal_group(signal.SIGKILL)
        self._is_reaped = True
        code = self._popen.wait()
        self._close()
        return code

    async def end(self) -> None:
        """End the whole group: first asked to, then without being asked."""
        self.signal_group(signal.SIGTERM)
        await asyncio.wait([self.exited], timeout=_TERM_SECONDS)
        self.signal_group(signal.SIGKILL)
        # What hangs in the kernel, on a dead disk, can't be ended by anybody; then it is left to be a zombie.
        done, _ = await asyncio.wait([self.exited], timeout=_KILL_SECONDS)
        if done:
            self.reap()
        else:
            self._close()

    def _watch(self) -> None:
        if hasattr(os, "pidfd_open"):
            with suppress(OSError):  # too old a kernel, or one that does not let us
                self._pidfd = os.pidfd_open(self._popen.pid)
                self._loop.add_reader(self._pidfd, self._note_exit)
                return
        threading.Thread(target=self._wait_in_thread, name="wonder-process", daemon=True).start()

    def _wait_in_thread(self) -> None:
        if hasattr(os, "waitid"):
            os.waitid(os.P_PID, self._popen.pid, os.WEXITED | os.WNOWAIT)
        else:
            # Where there is nothing better: this reaps, and what is left of the group is signalled a moment too late.
            self._popen.wait()
        with suppress(RuntimeError):  # the loop is gone
            self._loop.call_soon_threadsafe(self._note_exit)

    def _note_exit(self) -> None:
        if self._pidfd is not None:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None
        if not self.exited.done():
            self.exited.set_result(None)

    def _close(self) -> None:
        if self._pidfd is not None:
            self._note_exit()
        for pipe in (self._popen.stdin, self._popen.stdout, self._popen.stderr):
            if pipe:
                pipe.close()


class PipeReader:
    """Reads a pipe as it fills, unless it is held; `ended` is done at its end."""

    def __init__(self, descriptor: int, take: Callable[[bytes], None]) -> None:
        self._descriptor, self._take = descriptor, take
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = self._loop.create_future()
        self.is_held = False
        os.set_blocking(descriptor, False)
        self._loop.add_reader(descriptor, self._read)

    def hold(self) -> None:
        """Read no more for now: the pipe fills, and its writer waits."""
        if not self.is_held and not self.ended.done():
            self.is_held = True
            self._loop.remove_reader(self._descriptor)

    def go_on(self) -> None:
        """Read on."""
        if self.is_held and not self.ended.done():
            self.is_held = False
            self._loop.add_reader(self._descriptor, self._read)

    def stop(self) -> None:
        """Read no more at all."""
        if not self.ended.done():
            if not self.is_held:
                self._loop.remove_reader(self._descriptor)
            self.ended.set_result(None)

    def _read(self) -> None:
        try:
            chunk = os.read(self._descriptor, _PIPE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if chunk:
            self._take(chunk)
        else:
            self.stop()


class PipeWriter:
    """Writes to a pipe as it empties, and closes it; a program need not read what it is given."""

    def __init__(self, descriptor: int, content: bytes, close: Callable[[], None]) -> None:
        self._descriptor, self._left, self._close = descriptor, memoryview(content), close
        self._loop = asyncio.get_running_loop()
        os.set_blocking(descriptor, False)
        self._is_open = True
        self._loop.add_writer(descriptor, self._write)

    def stop(self) -> None:
        """Write no more."""
        if self._is_open:
            self._is_open = False
            self._loop.remove_writer(self._descriptor)
            self._close()

    def _write(self) -> None:
        try:
            while self._left:
                self._left = self._left[os.write(self._descriptor, self._left[:_PIPE_BYTES]) :]
        except BlockingIOError:
            return
        except OSError:
            pass  # it has closed its input
        self.stop()
