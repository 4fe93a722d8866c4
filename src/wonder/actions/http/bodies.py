"""Bodies of HTTP responses on their way in: unpacked piece by piece, and never more than was allowed for."""

import asyncio
import zlib
from collections.abc import AsyncGenerator, AsyncIterable, Iterator
from typing import Final

from wonder.actions.protocol import ActionFailed

BODY_MAX: Final = 16_000_000
"""How many bytes a body may have, packed and unpacked, unless its reader says otherwise."""

ACCEPTED: Final = "gzip, deflate"
"""What requests say that they can unpack. Brotli and Zstandard are not there: they need a package each."""

_PIECE: Final = 256 * 1024
# Tells gzip and zlib by their headers.
_GZIP_OR_ZLIB: Final = 47
_RAW_DEFLATE: Final = -15
_GZIP_STARTS: Final = (b"\x1f\x8b", b"\x1f")


class BodyTooLarge(ActionFailed):
    """A response has more to say than its reader takes."""

    def __init__(self, limit: int) -> None:
        message = f"the response's body has more than {limit:,} bytes, the limit; ask for less, or page by page"
        super().__init__("RESPONSE_TOO_LARGE", message, details={"limit_bytes": limit})
        self.limit = limit


class BadResponse(ActionFailed):
    """A response is not what HTTP, or its own headers, say that it is; `cut` says that its end was missing."""

    def __init__(self, reason: str, *, cut: bool = False) -> None:
        code = "CONNECTION_LOST" if cut else "BAD_RESPONSE"
        super().__init__(code, f"the response can't be read: {reason}", retryable=cut)
        self.reason, self.cut = reason, cut


async def bounded(chunks: AsyncIterable[bytes], encoding: str, limit: int | None) -> AsyncGenerator[bytes, None]:
    """Yield a body, unpacked if it came packed; raises BodyTooLarge as soon as there is more than the limit.

    What came over the wire is counted as well: a body can be endless and unpack to nothing.
    """
    unpacking = None if encoding in ("", "identity") else Unpacking(encoding)
    received = given = 0
    async for chunk in chunks:
        received += len(chunk)
        if limit is not None and received > limit:
            raise BodyTooLarge(limit)
        if unpacking is None:
            yield chunk
            continue
        for piece in unpacking.feed(chunk):
            given += len(piece)
            if limit is not None and given > limit:
                raise BodyTooLarge(limit)
            yield piece
            # One chunk may unpack to a thousand times its size: let others have a turn meanwhile.
            await asyncio.sleep(0)
    if unpacking is not None and received:
        unpacking.end()


class Unpacking:
    """Unpacks one body; raises BadResponse, also for an encoding that nobody asked for."""

    def __init__(self, encoding: str) -> None:
        if encoding not in ("gzip", "x-gzip", "deflate"):
            raise BadResponse(f"its Content-Encoding is {encoding[:100]!r}, and only {ACCEPTED} were asked for")
        self._encoding = encoding
        self._inflate = zlib.decompressobj(_GZIP_OR_ZLIB)
        self._begun = self._ended = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield what a chunk unpacks to, in pieces that are small whatever the chunk holds."""
        while not self._ended:
            piece = self._unpack(chunk)
            if piece:
                yield piece
            chunk = self._inflate.unconsumed_tail
            if self._inflate.eof:
                chunk = self._next_member()
            if not chunk and len(piece) < _PIECE:
                return

    def end(self) -> None:
        """Note that nothing more comes."""
        if not self._ended and not self._inflate.eof:
            raise BadResponse("its packed body was cut off before its end", cut=True)

    def _unpack(self, chunk: bytes) -> bytes:
        try:
            piece = self._inflate.decompress(chunk, _PIECE)
        except zlib.error as error:
            if self._begun or self._encoding != "deflate":
                raise BadResponse(f"its body is no {self._encoding}: {error}") from None
            # Half of the world's servers take `deflate` to be without the header that it should have.
            self._begun, self._inflate = True, zlib.decompressobj(_RAW_DEFLATE)
            return self._unpack(chunk)
        self._begun = self._begun or bool(chunk)
        return piece

    def _next_member(self) -> bytes:
        # Several gzips in a row are one (RFC 1952); anything else behind the end is padding, and dropped.
        rest = self._inflate.unused_data
        if self._encoding != "deflate" and rest[:2] in _GZIP_STARTS:
            self._inflate = zlib.decompressobj(_GZIP_OR_ZLIB)
            return rest
        self._ended = bool(rest)
        return b""
