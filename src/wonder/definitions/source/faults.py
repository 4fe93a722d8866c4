"""Why a text can't be read: faults with their places, gathered so that all are told at once."""

from collections.abc import Sequence

from msgspec import Struct

from wonder.definitions.source.document import VALUES_MAX, Place, SourceText
from wonder.errors import WonderError

_FAULTS_MAX = 100


class SourceFault(Struct, frozen=True):
    """One reason why a text can't be read, where it is, and how to fix it."""

    code: str
    place: Place
    message: str
    hint: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}; {self.hint}"


class SourceFaults(WonderError):
    """A text can't be read as a definition file; `faults` holds every reason found."""

    code = "SOURCE_UNREADABLE"

    def __init__(self, faults: Sequence[SourceFault]) -> None:
        super().__init__("\n".join(str(fault) for fault in faults))
        self.faults = tuple(faults)


class Unreadable(Exception):
    """Reading can't go on beyond a fault that was noted."""


class FaultList:
    """The faults found so far in one text."""

    def __init__(self, source: SourceText) -> None:
        self._source = source
        self.found: list[SourceFault] = []

    def note(self, code: str, offset: int, message: str, hint: str) -> None:
        """Note a fault that reading can go on behind; raises Unreadable when there are too many."""
        if len(self.found) >= _FAULTS_MAX:
            raise self.stop("TOO_MANY_FAULTS", offset, f"more than {_FAULTS_MAX} faults", "fix those before it first")
        self.found.append(SourceFault(code, self._source.place(offset), message, hint))

    def note_duplicate(self, key: str, offset: int, first_offset: int) -> None:
        """Note a key that stands in its object a second time."""
        first = self._source.place(first_offset)
        message = f"the key {key!r} occurs twice in one object, first at line {first.line}, column {first.column}"
        self.note("DUPLICATE_KEY", offset, message, "keep one of them")

    def stop_at_too_many(self, offset: int) -> Unreadable:
        """Note that the text holds more values than a file may; raise what this returns."""
        return self.stop("TOO_LARGE", offset, f"more than {VALUES_MAX:,} values", "split the file into several")

    def stop(self, code: str, offset: int, message: str, hint: str) -> Unreadable:
        """Note the last fault; raise what this returns."""
        self.found.append(SourceFault(code, self._source.place(offset), message, hint))
        return Unreadable(message)

    def raise_if_any(self) -> None:
        """Raise SourceFaults unless nothing was noted."""
        if self.found:
            raise SourceFaults(self.found)
