"""Vectors of artifacts: what a search is over. They are derived, and made again from the artifacts if they are lost.

A collection holds what one vector index has embedded in one way; when the index is changed, it gets another one.
"""

import re
from array import array
from collections.abc import Collection, Sequence
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple, Protocol

from wonder.errors import WonderError

_HEADER: Final = re.compile(r"^-- name: *(\w+)[ \t]*$", re.MULTILINE)
_COMMENT: Final = re.compile(r"^--.*\n?", re.MULTILINE)


class Embedded(NamedTuple):
    """What an artifact's text became: 32-bit floats, or None for a text that can't be embedded.

    The digest is that of the text, so that what is known already is not embedded again.
    """

    artifact_id: str
    digest: str
    vector: "array[float] | None"


class Near(NamedTuple):
    """An artifact and how near it is to what was looked for: the cosine, at most 1."""

    artifact_id: str
    score: float


class Vectors(Protocol):
    """A store of vectors; nothing is opened or made before it is first used. Each method raises VectorsUnavailable."""

    async def digests(self, collection: str, artifact_ids: Sequence[str]) -> dict[str, str]:
        """Give the digests of those of the artifacts that the collection has."""

    async def put(self, collection: str, embedded: Sequence[Embedded]) -> None:
        """Write vectors, over those that the same artifacts had."""

    async def remove(self, collection: str, artifact_ids: Sequence[str]) -> None:
        """Take artifacts out of a collection."""

    async def nearest(self, collection: str, vector: "array[float]", count: int) -> list[Near]:
        """Give the nearest artifacts, the nearest first; of equally near ones, the one with the lower id."""

    async def keep_only(self, collections: Collection[str]) -> None:
        """Remove all other collections."""

    async def close(self) -> None:
        """Let go of files."""


class VectorsUnavailable(WonderError):
    """The vectors can't be read or written; `passing` says that they may be later."""

    code = "VECTORS_UNAVAILABLE"

    def __init__(self, address: str, reason: str, *, passing: bool) -> None:
        super().__init__(f"the vectors in {address} can't be used: {reason}")
        self.address, self.reason, self.passing = address, reason, passing


@cache
def queries(file: str) -> dict[str, str]:
    """Read the named queries of a store of vectors."""
    text = (files("wonder.objects") / file).read_text("utf-8")
    _, *parts = _HEADER.split(text)
    bodies = (_COMMENT.sub("", body).strip() for body in parts[1::2])
    return dict(zip(parts[::2], bodies, strict=True))
