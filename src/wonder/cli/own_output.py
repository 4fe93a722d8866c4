"""Standard output for what the command itself prints, while functions of the user's run in the same process (CMD-4).

What functions, the modules that are imported for them and the programs that they start print to standard output goes to
standard error: a program that reads `wonder run --json` gets one JSON document. The descriptor is moved and not only
`sys.stdout`, because programs and libraries in C write to the descriptor. On a terminal all of it is printed above the
picture of the live view, which would be torn otherwise. What Python code prints is logged as well (EVT-4a).
"""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Final, TextIO

from wonder.actions.printed_output import LoggedOutput

_OUT: Final = 1
_ERR: Final = 2
_CHUNK: Final = 65_536
_JOIN_SECONDS: Final = 1.0
# The stream that standard output was, while the descriptor leads elsewhere.
_own: list[TextIO] = []


def own_output() -> TextIO:
    """Return the stream that the command itself prints to."""
    return _own[-1] if _own else sys.stdout


def say(*values: object, **options: Any) -> None:
    """Print what the command itself has to say."""
    print(*values, file=own_output(), **options)


class Picture:
    """Lines at the end of a terminal that are drawn again and again, in any thread."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._drawing = threading.RLock()

    def draw(self, lines: list[str]) -> None:
        """Draw lines in the place of those before."""
        with self._drawing:
            up = f"\x1b[{len(self._lines)}A" if self._lines else ""
            self._lines = lines
            own_output().write(up + "".join(f"\x1b[2K{line}\n" for line in lines))
            own_output().flush()

    def erase(self) -> None:
        """Take the lines away; what is printed next is in their place."""
        with self._drawing:
            if self._lines:
                own_output().write(f"\x1b[{len(self._lines)}A\x1b[J")
                own_output().flush()
            self._lines = []

    def leave(self) -> None:
        """Leave the lines as they are; what is printed next is below."""
        with self._drawing:
            self._lines = []

    def put_above(self, data: bytes, descriptor: int) -> None:
        """Write what others have printed above the lines."""
        with self._drawing:
            lines = self._lines
            self.erase()
            _write_all(descriptor, data)
            self.draw(lines)


PICTURE: Final = Picture()
"""The picture on this program's terminal."""


@contextmanager
def functions_print_to_stderr() -> Iterator[None]:
    """Send what is printed to standard output by others than `say` to standard error."""
    ours = sys.stdout
    with ExitStack() as stack:
        if _is_descriptor(ours, _OUT):
            own, printed = stack.enter_context(_moved(ours)), LoggedOutput(ours)
        else:
            # A test, or a program that calls the command, has put its own stream in place.
            own, printed = ours, LoggedOutput(sys.stderr)
        sys.stdout = printed
        _own.append(own)
        try:
            yield
            own.flush()
        finally:
            _own.remove(own)
            sys.stdout = ours
            printed.end()


@contextmanager
def _moved(ours: TextIO) -> Iterator[TextIO]:
    """Give a stream for what standard output was, and let the descriptor be standard error meanwhile."""
    ours.flush()
    kept = os.dup(_OUT)
    own = os.fdopen(kept, "w", encoding=ours.encoding, errors=ours.errors)
    line_by_line = getattr(ours, "line_buffering", False)
    try:
        with _above_picture(own) if _is_descriptor(sys.stderr, _ERR) and _is_terminal(own) else _beside():
            ours.reconfigure(line_buffering=True)  # type: ignore[attr-defined]  # standard output is a TextIOWrapper
            try:
                yield own
            finally:
                with suppress(OSError, ValueError):
                    ours.flush()
                ours.reconfigure(line_buffering=line_by_line)  # type: ignore[attr-defined]  # as above
    finally:
        os.dup2(kept, _OUT)
        with suppress(OSError):
            own.close()


@contextmanager
def _beside() -> Iterator[None]:
    try:
        os.dup2(_ERR, _OUT)
    except OSError:  # standard error is closed
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, _OUT)
        os.close(nowhere)
    yield


@contextmanager
def _above_picture(own: TextIO) -> Iterator[None]:
    """Let both descriptors be a pipe whose content is written to the terminal above the picture."""
    reading, writing = os.pipe()
    kept = os.dup(_ERR)

    def copy() -> None:
        rest = b""
        while data := os.read(reading, _CHUNK):
            # Whole lines: the picture begins at the beginning of a line.
            lines, end, rest = (rest + data).rpartition(b"\n")
            if len(rest) > _CHUNK:
                lines, end, rest = lines + end + rest, b"\n", b""
            if end:
                PICTURE.put_above(lines + end, kept)
        if rest:
            PICTURE.put_above(rest + b"\n", kept)

    copying = threading.Thread(target=copy, name="wonder-output", daemon=True)
    os.dup2(writing, _OUT)
    os.dup2(writing, _ERR)
    os.close(writing)
    copying.start()
    try:
        yield
    finally:
        with suppress(OSError, ValueError):
            sys.stderr.flush()
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        os.dup2(kept, _OUT)
        os.dup2(kept, _ERR)
        # A program that was started and goes on may keep the pipe open.
        copying.join(_JOIN_SECONDS)
        if not copying.is_alive():
            os.close(reading)
            os.close(kept)


def _write_all(descriptor: int, data: bytes) -> None:
    with suppress(OSError):
        while data:
            data = data[os.write(descriptor, data) :]


def _is_descriptor(stream: TextIO | None, number: int) -> bool:
    try:
        return stream is not None and stream.fileno() == number
    except (OSError, ValueError, AttributeError):
        return False


def _is_terminal(own: TextIO) -> bool:
    return own.isatty() and os.isatty(_ERR)
