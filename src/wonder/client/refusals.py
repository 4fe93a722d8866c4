"""Errors of definitions as a server reports them, as this process shows its own."""

import re
from collections.abc import Iterable
from typing import Any, Final

from msgspec.structs import replace

from wonder.definitions.faults import Fault
from wonder.definitions.source import Place
from wonder.operations.definition_files import FaultRecord

_SEGMENTS: Final = re.compile(r'\[(\d+)\]|\.?"((?:[^"]|"")*)"|\.?([^."\[\]]+)')


def faults_of(records: Iterable[FaultRecord], *, placed: bool = True) -> list[Fault]:
    """Give what a server has found in a definition, in the order of the text; with places if it is from a file."""
    faults = [_fault(record) for record in records]
    faults.sort(key=lambda fault: (fault.place.line, fault.place.column) if fault.place else (0, 0))
    return faults if placed else [replace(fault, place=None) for fault in faults]


def _fault(record: FaultRecord) -> Fault:
    place = Place(record.file or "", record.line or 1, record.column or 1) if record.file else None
    severity: Any = record.severity
    return Fault(
        code=record.type,
        path=_path(record.path),
        message=record.message,
        hint=record.hint,
        severity=severity,
        place=place,
        expected=record.expected or None,
        actual=record.actual or None,
    )


def _path(text: str) -> tuple[str | int, ...]:
    """Read a path as `show_path` writes it."""
    return tuple(
        int(index) if index else plain or quoted.replace('""', '"') for index, quoted, plain in _SEGMENTS.findall(text)
    )
