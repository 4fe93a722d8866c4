"""What a search needs: vectors, what embeds its query, and the word that all is embedded that should be found."""

from collections.abc import Awaitable, Callable

from msgspec import Struct

from wonder.actions.embedding.embeddings import Embedder
from wonder.definitions.records.resources import VectorIndex
from wonder.objects.vectors import Vectors
from wonder.storage.store import Reader


class Searching(Struct, frozen=True):
    """The parts of a search, in the process that has the lease."""

    reader: Reader
    vectors: Vectors
    embedder: Embedder
    caught_up: Callable[[VectorIndex], Awaitable[None]]
    """Waits until an index has what was written so far; raises ActionFailed where it can't have it."""
