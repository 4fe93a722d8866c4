"""What a command writes: its beginning is kept in memory, and all of it goes to an artifact when there is more."""

import asyncio
import codecs
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

from wonder.actions.protocol import ActionFailed
from wonder.actions.shell_command.processes import PipeReader
from wonder.storage.artifacts import Artifact

INLINE_MAX: Final = 1_000_000
"""So many bytes of each stream are part of the output."""
TOTAL_MAX: Final = 256_000_000
"""A command that writes more than so many bytes to a stream is ended."""
_END_BYTES: Final = 4_096
_WAITING_MAX: Final = 4_194_304

Store = Callable[[AsyncIterator[bytes]], Awaitable[Artifact]]


class CommandOutput:
    """One stream of a command; `fail` is told, once, when it can't go on.

    `hear` is given what the command writes, as it comes. With `by_lines` it is cut only at the end of a line, and where
    there is none nothing is kept: of a secret that was cut in two nobody would know any more that it is one.
    """

    def __init__(
        self,
        name: str,
        descriptor: int,
        store: Store | None,
        fail: Callable[[ActionFailed], None],
        by_lines: bool = False,
        hear: Callable[[bytes], None] | None = None,
    ) -> None:
        self._hear = hear
        self._name, self._store, self._fail, self._by_lines = name, store, fail, by_lines
        self._beginning = bytearray()
        self._end = b""
        self.size_bytes = 0
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._more = asyncio.Event()
        # Only what came to its end becomes an artifact, not what was broken off.
        self._is_whole = False
        self._storing: asyncio.Task[Artifact] | None = None
        self.pipe = PipeReader(descriptor, self._take)

    @property
    def is_busy(self) -> bool:
        """Whether what was read has still to be stored before more is read."""
        return self.pipe.is_held

    def text(self) -> str:
        """Give the beginning as text; what is not UTF-8, or can't be part of a text, is replaced."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        is_whole = self.size_bytes == len(self._beginning)
        kept = bytes(self._beginning)
        if self._by_lines and not is_whole:
            kept = kept[: kept.rfind(b"\n") + 1]
        # Where it was cut, half a character may be left, which is no fault of the command's.
        text = decoder.decode(kept, final=is_whole)
        return text.replace("\0", "\N{REPLACEMENT CHARACTER}")

    def end_text(self) -> str:
        """Give the last of it as text, for an error."""
        end = self._end or bytes(self._beginning[-_END_BYTES:])
        if self._by_lines and self.size_bytes > len(end):
            end = end.partition(b"\n")[2]
        return end.decode("utf-8", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}")

    async def stored(self) -> str | None:
        """Wait until all is stored, if there was too much, and give the artifact's id; raises ActionFailed."""
        self.pipe.stop()
        self._is_whole = True
        self._more.set()
        return (await self._storing).id if self._storing else None

    async def drop(self) -> None:
        """Read and store no more."""
        self.pipe.stop()
        if self._storing:
            self._storing.cancel()
            await asyncio.wait([self._storing])

    def _take(self, chunk: bytes) -> None:
        if self._hear:
            self._hear(chunk)
        room = INLINE_MAX - self.size_bytes
        self.size_bytes += len(chunk)
        if self.size_bytes > TOTAL_MAX:
            self.pipe.stop()
            self._fail(self._too_much(TOTAL_MAX, "let it write less, or to a file"))
            return
        if room > 0:
            self._beginning += chunk[:room]
        if len(chunk) > room:
            before = self._end or bytes(self._beginning[: self.size_bytes - len(chunk)])
            self._end = (before + chunk)[-_END_BYTES:]
            self._spill(chunk)

    def _spill(self, chunk: bytes) -> None:
        if self._storing is None:
            if self._store is None:
                self.pipe.stop()
                self._fail(self._too_much(INLINE_MAX, "there is no object store here for more"))
                return
            already = self.size_bytes - len(chunk)
            self._put(bytes(self._beginning[:already]))
            self._storing = asyncio.ensure_future(self._store(self._stream()))
            self._storing.add_done_callback(self._note_stored)
        self._put(chunk)
        if self._waiting_bytes > _WAITING_MAX:
            self.pipe.hold()

    def _put(self, chunk: bytes) -> None:
        self._waiting.append(chunk)
        self._waiting_bytes += len(chunk)
        self._more.set()

    async def _stream(self) -> AsyncIterator[bytes]:
        while True:
            while self._waiting:
                chunk = self._waiting.popleft()
                self._waiting_bytes -= len(chunk)
                yield chunk
            self.pipe.go_on()
            if self._is_whole:
                return
            self._more.clear()
            await self._more.wait()

    def _note_stored(self, storing: "asyncio.Task[Artifact]") -> None:
        if not storing.cancelled() and (error := storing.exception()):
            self.pipe.stop()
            reason = f"what the command wrote to {self._name} can't be stored: {error}"
            self._fail(error if isinstance(error, ActionFailed) else ActionFailed("ACTION_BROKEN", reason))

    def _too_much(self, limit: int, hint: str) -> ActionFailed:
        message = f"the command wrote more than {limit:,} bytes to {self._name}; {hint}"
        return ActionFailed("OUTPUT_TOO_LARGE", message, details={"stream": self._name, "bytes_max": limit})
