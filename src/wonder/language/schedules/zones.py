"""Time zones, as far as counting needs them; a room that may read files provides them."""

from collections.abc import Callable, Sequence
from typing import Protocol


class Zone(Protocol):
    """How far the clocks of a place are ahead of UTC, at any time."""

    name: str

    def offset(self, seconds: int) -> int:
        """Say by how many seconds local time is ahead at a time, in seconds since 1970."""


class _Utc:
    name = "UTC"

    def offset(self, seconds: int) -> int:
        return 0


UTC: Zone = _Utc()


class Zones:
    """The zones that definitions may name."""

    def __init__(self) -> None:
        self._find: Callable[[str], Zone | None] = lambda name: UTC if name == "UTC" else None
        self._names: Callable[[], Sequence[str]] = lambda: ["UTC"]

    def known_by(self, find: Callable[[str], Zone | None], names: Callable[[], Sequence[str]]) -> None:
        """Ask these for zones, and for the names of all of them."""
        self._find, self._names = find, names

    def find(self, name: str) -> Zone | None:
        """Find a zone by its name; None if there is none."""
        return self._find(name)

    def names(self) -> Sequence[str]:
        """List the names of all zones."""
        return self._names()


ZONES = Zones()
"""Those of this process. Reading the files of zones is for who wires the parts together: none is touched here."""
