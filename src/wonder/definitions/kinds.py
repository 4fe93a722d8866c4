"""The kinds of action that definitions may name: ours, and those of packages that somebody has installed (ACT-8)."""

from collections.abc import Callable, Mapping
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticKnownError

from wonder.definitions.records.fields import Record
from wonder.definitions.records.implementations import IMPLEMENTATIONS

Announced = Mapping[str, type[Record]]


class Kinds:
    """What each kind of action takes as its implementation, by the kind's name."""

    def __init__(self, own: Announced) -> None:
        self.own = own
        self._discover: Callable[[], Announced] = dict
        self._announced: Announced | None = None

    def discover_by(self, discover: Callable[[], Announced]) -> None:
        """Ask this for the kinds of others, once, when a name is met that is none of ours."""
        self._discover, self._announced = discover, None

    @property
    def announced(self) -> Announced:
        """The kinds of others; one that has the name of ours does not count."""
        if self._announced is None:
            self._announced = {kind: record for kind, record in self._discover().items() if kind not in self.own}
        return self._announced

    def find(self, kind: str) -> type[Record] | None:
        """Return the record that a kind's implementation must fit; None if there is no such kind here."""
        return self.own.get(kind) or self.announced.get(kind)

    def names(self) -> list[str]:
        """List all kinds, ours first."""
        return [*self.own, *sorted(self.announced)]


KINDS = Kinds(IMPLEMENTATIONS)
"""Those of this process. Looking for packages is for who wires the parts together: no file is touched here."""


def _check_kind(kind: str) -> str:
    if KINDS.find(kind) is None:
        *most, last = (f"'{name}'" for name in KINDS.names())
        raise PydanticKnownError("literal_error", {"expected": f"{', '.join(most)} or {last}"})
    return kind


KnownKind = Annotated[str, Field(max_length=200), AfterValidator(_check_kind)]
"""The name of a kind that is there."""
