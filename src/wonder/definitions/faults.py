"""A fault: one thing wrong in a definition, with its place and a way to fix it."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from wonder.definitions.source import Place, SourceDocument
from wonder.errors import WonderError
from wonder.language.values import show_path

# More faults than anyone fixes in one go. Beyond them a file is wrong as a whole, and telling all would take minutes.
FAULTS_MAX = 1_000

Path = tuple[str | int, ...]
Severity = Literal["error", "warning"]


class Fault(Struct, frozen=True):
    """What is wrong, where, and what to do about it; a warning does not keep a definition from being stored."""

    code: str
    path: Path
    message: str
    hint: str = ""
    severity: Severity = "error"
    place: Place | None = None
    expected: Any = None
    actual: Any = None
    inside: tuple[int, int] | None = None
    """The line and column inside of the text at the path, if it is about a part of it."""

    def as_json(self) -> dict[str, Any]:
        """Give the fault in the shape of the REST errors (API-1), without what is not known."""
        shown: dict[str, Any] = {
            "type": self.code,
            "severity": self.severity,
            "path": show_path(self.path),
            "message": self.message,
            "hint": self.hint,
        }
        if self.place:
            shown |= {"file": self.place.file, "line": self.place.line, "column": self.place.column}
        if self.expected is not None or self.actual is not None:
            shown |= {"expected": self.expected, "actual": self.actual}
        return shown

    def __str__(self) -> str:
        """Write the fault on one line, as compilers do, so that editors find the place."""
        where = f"{self.place.file}:{self.place.line}:{self.place.column}: " if self.place else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{where}{self.severity} {self.code} at {show_path(self.path) or 'the top'}: {self.message}{hint}"


class DefinitionRefused(WonderError):
    """A definition has errors, all of which are in `faults`; nothing of it was stored."""

    code = "DEFINITION_REFUSED"

    def __init__(self, faults: Sequence[Fault]) -> None:
        errors = [fault for fault in faults if fault.severity == "error"]
        count = "1 error" if len(errors) == 1 else f"{len(errors)} errors"
        super().__init__("\n".join([f"the definition has {count}; nothing was stored", *map(str, faults)]))
        self.faults = tuple(faults)


def place_faults(faults: Iterable[Fault], document: SourceDocument) -> list[Fault]:
    """Give each fault its line and column, and sort all in the order of the text, errors of one line first."""
    first: dict[tuple[object, ...], Fault] = {}
    for fault in faults:
        first.setdefault((fault.code, fault.path, fault.message, fault.inside), fault)
    return sorted((_placed(fault, document) for fault in first.values()), key=_in_order_of_text)


def say_inside(fault: Fault) -> Fault:
    """Give a fault that says itself where in its text it is, for there is no place in a file that would."""
    if fault.inside is None:
        return fault
    line, column = fault.inside
    return replace(fault, message=f"line {line}, column {column}: {fault.message}", inside=None)


def _placed(fault: Fault, document: SourceDocument) -> Fault:
    exact = document.place_inside(fault.path, *fault.inside) if fault.inside else None
    return replace(fault, place=exact) if exact else replace(say_inside(fault), place=document.place_of(fault.path))


def too_many_faults() -> Fault:
    """Make the fault that says that there are more of them than are told."""
    message = f"there are more than {FAULTS_MAX:,} errors; the others are not told"
    return Fault("too_many_faults", (), message, "fix these first")


def has_errors(faults: Iterable[Fault]) -> bool:
    """Say whether anything but warnings was found."""
    return any(fault.severity == "error" for fault in faults)


def _in_order_of_text(fault: Fault) -> tuple[int, int, bool]:
    assert fault.place is not None
    return fault.place.line, fault.place.column, fault.severity == "warning"
