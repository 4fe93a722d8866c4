"""An object store that is a bucket of S3, or of anything that speaks like it.

The key of content is known when its end is. Until then it is held here: in memory, and what is larger in a file without
a name, of which a crash leaves nothing. The driver is optional and takes long to load, so functions import it.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import timedelta
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING, Any, Final

from wonder.objects.errors import ObjectMissing, ObjectsDriverMissing, ObjectsUnavailable
from wonder.objects.store import CHUNK_BYTES, Content, Digest, StoredObject, check_key
from wonder.objects.url import S3Address

if TYPE_CHECKING:
    from obstore.store import S3Store

_IN_MEMORY_BYTES: Final = 8 * CHUNK_BYTES
_CONNECT_SECONDS: Final = 10
# Without a byte; a whole request, which may be a large download, has longer.
_SILENT_SECONDS: Final = 30.0
_REQUEST_SECONDS: Final = 3_600
_RETRY_SECONDS: Final = 20
_RETRIES_MAX: Final = 3


class S3Objects:
    """Content in a bucket; the library that speaks S3 is loaded when something is first stored or read."""

    def __init__(self, address: S3Address) -> None:
        self._address = address
        self._known: S3Store | None = None

    @property
    def address(self) -> str:
        """Say where it is."""
        return self._address.shown

    async def put(self, content: Content, *, size_max: int | None = None) -> StoredObject:
        """Store content; durable when this returns, as far as the server keeps its word."""
        digest = Digest(size_max)
        if isinstance(content, bytes):
            digest.add(content)
            return await self._upload(digest.stored(), content)
        # Written to in the loop: that is memory, or the cache of the disk.
        with SpooledTemporaryFile(_IN_MEMORY_BYTES) as file:
            async for chunk in content:
                digest.add(chunk)
                file.write(chunk)
            file.seek(0)
            return await self._upload(digest.stored(), file)

    async def read(self, key: str) -> AsyncIterator[bytes]:
        """Stream content, and hold it against its digest in the end."""
        digest, path = Digest(), self._path(key)
        store = await self._store()
        with self._translated(key):
            from obstore import get_async

            got = await get_async(store, path)
            chunks = got.stream(CHUNK_BYTES).__aiter__()
        while True:
            # Not around the yield: an error of the reader is not the server's.
            with self._translated(key):
                try:
                    chunk = bytes(await chunks.__anext__())
                except StopAsyncIteration:
                    break
            digest.add(chunk)
            yield chunk
        digest.check(self.address, key)

    async def has(self, key: str) -> bool:
        """Say whether there is content under a key."""
        return await self._size(key) is not None

    async def delete(self, key: str) -> None:
        """Delete the content under a key, if there is any."""
        store, path = await self._store(), self._path(key)
        with self._translated(key):
            from obstore import delete_async

            try:
                await delete_async(store, path)
            except FileNotFoundError:
                return

    async def close(self) -> None:
        """Let go of the connections."""
        self._known = None

    async def _upload(self, stored: StoredObject, content: "bytes | SpooledTemporaryFile[bytes]") -> StoredObject:
        store = await self._store()
        if await self._size(stored.key) == stored.size_bytes:
            return stored
        with self._translated(stored.key):
            from obstore import put_async

            given: bytes | IO[bytes] = content if isinstance(content, bytes) else _Readable(content)  # type: ignore[assignment]
            await put_async(store, self._path(stored.key), given)
        return stored

    async def _size(self, key: str) -> int | None:
        store, path = await self._store(), self._path(key)
        with self._translated(key):
            from obstore import head_async

            try:
                return (await head_async(store, path))["size"]
            except FileNotFoundError:
                return None

    def _path(self, key: str) -> str:
        check_key(self.address, key)
        return f"{self._address.prefix}/{key}" if self._address.prefix else key

    async def _store(self) -> "S3Store":
        if self._known is None:
            # In a thread, because the library takes a moment to load.
            self._known = await asyncio.to_thread(self._open)
        return self._known

    def _open(self) -> "S3Store":
        try:
            from obstore.store import S3Store
        except ModuleNotFoundError as error:
            raise ObjectsDriverMissing(str(error.name)) from error
        address = self._address
        options: dict[str, Any] = dict(address.options)
        if address.endpoint:
            options["endpoint"] = address.endpoint
        with self._translated(""):
            return S3Store(
                address.bucket,
                client_options={
                    "allow_http": (address.endpoint or "").startswith("http://"),
                    "connect_timeout": timedelta(seconds=_CONNECT_SECONDS),
                    "read_timeout": timedelta(seconds=_SILENT_SECONDS),
                    "timeout": timedelta(seconds=_REQUEST_SECONDS),
                },
                retry_config={"max_retries": _RETRIES_MAX, "retry_timeout": timedelta(seconds=_RETRY_SECONDS)},
                **options,
            )

    @contextmanager
    def _translated(self, key: str) -> Iterator[None]:
        from obstore import exceptions as refusals

        final = (
            refusals.PermissionDeniedError,
            refusals.UnauthenticatedError,
            refusals.InvalidPathError,
            refusals.NotSupportedError,
            refusals.UnknownConfigurationKeyError,
        )
        try:
            yield
        except FileNotFoundError as error:
            raise ObjectMissing(self.address, key) from error
        except final as error:
            reason = f"{_first_line(error)}; check the bucket, its endpoint and the credentials"
            raise ObjectsUnavailable(self.address, reason, passing=False) from error
        except (refusals.BaseError, OSError, ValueError) as error:
            raise ObjectsUnavailable(self.address, _first_line(error), passing=True) from error


class _Readable:
    """A file that the library can read: it asks for these three, and takes no other file for one."""

    def __init__(self, file: "SpooledTemporaryFile[bytes]") -> None:
        self.read, self.seek, self.tell = file.read, file.seek, file.tell


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0][:500]
