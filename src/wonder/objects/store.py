"""The object store: content by its own digest, the same for a directory and for S3.

What is stored twice lies there once, nothing is ever changed in place, and what is read is held against its digest.
"""

import re
from collections.abc import AsyncIterable, AsyncIterator
from hashlib import sha256
from typing import Final, NamedTuple, Protocol, TypeAlias

from wonder.objects.errors import ObjectDamaged, ObjectMissing, ObjectTooLarge

# What is held in memory at once of content that streams.
CHUNK_BYTES: Final = 1_048_576

Content: TypeAlias = bytes | AsyncIterable[bytes]
"""The whole, or a stream of it."""

_KEY = re.compile(r"sha256/([0-9a-f]{2})/\1[0-9a-f]{62}")


class StoredObject(NamedTuple):
    """Content that is durable."""

    key: str
    size_bytes: int


class Objects(Protocol):
    """An object store; nothing is opened or made before it is first used."""

    @property
    def address(self) -> str:
        """Say where it is, fit to be shown: without a password."""

    async def put(self, content: Content, *, size_max: int | None = None) -> StoredObject:
        """Store content; durable when this returns, and nothing is left of it when this raises.

        Raises ObjectTooLarge or ObjectsUnavailable, and whatever the stream raises.
        """

    def read(self, key: str) -> AsyncIterator[bytes]:
        """Stream content; raises ObjectMissing, ObjectsUnavailable, and at the end ObjectDamaged."""

    async def has(self, key: str) -> bool:
        """Say whether there is content under a key; raises ObjectsUnavailable."""

    async def delete(self, key: str) -> None:
        """Delete the content under a key, if there is any; raises ObjectsUnavailable."""

    async def close(self) -> None:
        """Let go of connections."""


async def read_whole(objects: Objects, key: str, *, size_max: int) -> bytes:
    """Read content that is small; raises what `read` does, and ObjectTooLarge."""
    parts: list[bytes] = []
    size = 0
    async for chunk in objects.read(key):
        size += len(chunk)
        if size > size_max:
            raise ObjectTooLarge(size_max)
        parts.append(chunk)
    return b"".join(parts)


def key_of(digest: str) -> str:
    """Give the key of content by its SHA-256 in hexadecimal; the first two digits keep folders small."""
    return f"sha256/{digest[:2]}/{digest}"


def check_key(address: str, key: str) -> str:
    """Give the key, if it is one: no other text may ever become a path. Raises ObjectMissing."""
    if not _KEY.fullmatch(key):
        raise ObjectMissing(address, key)
    return key


class Digest:
    """The digest and the size of content as it goes by."""

    def __init__(self, size_max: int | None = None) -> None:
        self.size_bytes = 0
        self._size_max, self._hash = size_max, sha256()

    def add(self, chunk: bytes) -> None:
        """Take a part in; raises ObjectTooLarge."""
        self.size_bytes += len(chunk)
        if self._size_max is not None and self.size_bytes > self._size_max:
            raise ObjectTooLarge(self._size_max)
        self._hash.update(chunk)

    def stored(self) -> StoredObject:
        """Give the key and the size of all that went by."""
        return StoredObject(key_of(self._hash.hexdigest()), self.size_bytes)

    def check(self, address: str, key: str) -> None:
        """Raise ObjectDamaged unless this is the content of a key."""
        if self.stored().key != key:
            raise ObjectDamaged(address, key)
