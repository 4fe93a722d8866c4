"""An object store that is a directory.

Content is written under a name of its own in `incoming`, made durable, and only then given its key by a rename. A crash
leaves at most a file in `incoming`, which the next writer removes. Its writer holds a lock on it that goes with the
process, so that nobody removes what is still being written.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final, TypeVar

from wonder.objects.errors import ObjectMissing, ObjectsUnavailable, ObjectTooLarge
from wonder.objects.files import Incoming, Outgoing, make_durable, make_folder, remove_leftovers
from wonder.objects.store import CHUNK_BYTES, Content, Digest, StoredObject, check_key, key_of

_INCOMING: Final = "incoming"

Result = TypeVar("Result")


class DirectoryObjects:
    """Content in a directory, which is made when something is first stored."""

    def __init__(self, root: Path) -> None:
        # Absolute, because the working directory may change.
        self._root = root.absolute()
        self._is_ready = False

    @property
    def address(self) -> str:
        """Say where it is."""
        return str(self._root)

    async def put(self, content: Content, *, size_max: int | None = None) -> StoredObject:
        """Store content; durable when this returns."""
        if isinstance(content, bytes):
            return await self._do(lambda: self._put_whole(content, size_max))
        digest = Digest(size_max)
        incoming = self._new_incoming()
        try:
            await self._do(lambda: self._begin(incoming))
            pending: list[bytes] = []
            size = 0
            async for chunk in content:
                digest.add(chunk)
                pending.append(chunk)
                size += len(chunk)
                if size >= CHUNK_BYTES:
                    whole, pending, size = b"".join(pending), [], 0
                    await self._do(lambda whole=whole: incoming.write(whole))  # type: ignore[misc]
            stored = digest.stored()
            rest = b"".join(pending)
            await self._do(lambda: self._keep(incoming, rest, stored.key))
        finally:
            incoming.done()
        return stored

    async def read(self, key: str) -> AsyncIterator[bytes]:
        """Stream content, and hold it against its digest in the end."""
        check_key(self.address, key)
        digest, file = Digest(), Outgoing()
        try:
            await self._do(lambda: self._open(file, key))
            while chunk := await self._do(file.read):
                digest.add(chunk)
                yield chunk
        finally:
            file.done()
        digest.check(self.address, key)

    async def has(self, key: str) -> bool:
        """Say whether there is content under a key."""
        check_key(self.address, key)
        return await self._do((self._root / key).is_file)

    async def delete(self, key: str) -> None:
        """Delete the content under a key, if there is any."""
        check_key(self.address, key)
        await self._do(lambda: (self._root / key).unlink(missing_ok=True))

    async def close(self) -> None:
        """There is nothing to let go of."""

    async def _do(self, work: Callable[[], Result]) -> Result:
        """Do something in a thread: a disk may take its time."""
        try:
            return await asyncio.to_thread(work)
        except OSError as error:
            # A full disk may have room again; what is not allowed stays so.
            passing = not isinstance(error, PermissionError | NotADirectoryError | IsADirectoryError)
            reason = f"{error.strerror or error} ({error.filename or self._root})"
            raise ObjectsUnavailable(self.address, reason, passing=passing) from error

    def _put_whole(self, content: bytes, size_max: int | None) -> StoredObject:
        if size_max is not None and len(content) > size_max:
            raise ObjectTooLarge(size_max)
        stored = StoredObject(key_of(sha256(content).hexdigest()), len(content))
        path = self._root / stored.key
        with suppress(FileNotFoundError):
            if path.stat().st_size == len(content) and path.read_bytes() == content:
                # The process that put it there may not have come to this yet.
                make_durable(path.parent)
                return stored
        incoming = self._new_incoming()
        try:
            self._begin(incoming)
            self._keep(incoming, content, stored.key)
        finally:
            incoming.done()
        return stored

    def _new_incoming(self) -> Incoming:
        return Incoming(self._root / _INCOMING / os.urandom(16).hex())

    def _begin(self, incoming: Incoming) -> None:
        self._make_ready()
        try:
            incoming.begin()
        except FileNotFoundError:  # somebody has removed the folder
            self._is_ready = False
            self._make_ready()
            incoming.begin()

    def _make_ready(self) -> None:
        if not self._is_ready:
            make_folder(self._root / _INCOMING)
            remove_leftovers(self._root / _INCOMING)
            self._is_ready = True

    def _keep(self, incoming: Incoming, rest: bytes, key: str) -> None:
        path = self._root / key
        make_folder(path.parent)
        incoming.keep(rest, path)

    def _open(self, file: Outgoing, key: str) -> None:
        try:
            file.begin(self._root / key)
        except FileNotFoundError:
            raise ObjectMissing(self.address, key) from None
