"""Definition files as operations take them, and what is wrong with them as they report it."""

import re
from dataclasses import dataclass, field
from typing import Any

from msgspec import UNSET, UnsetType

from wonder.actions.announcing import announce_kinds
from wonder.actions.functions.functions import FunctionRegistry
from wonder.definitions.faults import DefinitionRefused, Fault
from wonder.definitions.loading import Loaded, load_text
from wonder.operations.outputs import Output
from wonder.storage.zones import announce_zones

# As lines are counted in places: Python's splitlines() also breaks at characters that may stand inside a line.
_LINE_BREAK = re.compile(r"\r\n|\n|\r")


@dataclass
class DefinitionFile:
    """One file: what could be read of it, or the faults that kept it from being read."""

    name: str
    lines: list[str] = field(default_factory=list)
    loaded: Loaded | None = None
    faults: list[Fault] = field(default_factory=list)
    functions: FunctionRegistry | None = None
    """Where the functions of a person's own file are looked for; None where that is for the process to say."""

    @property
    def is_phase_form(self) -> bool:
        """Whether the file is one workflow in the phase form."""
        return self.loaded is not None and self.loaded.is_phase_form


class FaultRecord(Output, frozen=True):
    """Something wrong in a definition, with its position and a fix; a warning does not keep it from being stored."""

    type: str
    severity: str
    path: str
    message: str
    hint: str
    file: str | UnsetType = UNSET
    line: int | UnsetType = UNSET
    column: int | UnsetType = UNSET
    expected: Any | UnsetType = UNSET
    actual: Any | UnsetType = UNSET
    step: str | UnsetType = UNSET
    """Of a phase workflow: the step, the field of it, and the ref that is wrong (PHS-4)."""
    field: str | UnsetType = UNSET
    ref: str | UnsetType = UNSET


def read_definition(name: str, text: bytes) -> DefinitionFile:
    """Read the text of a definition file; whatever is wrong with it is reported as faults."""
    announce_kinds()
    announce_zones()
    lines = _LINE_BREAK.split(text.decode("utf-8", errors="replace").removeprefix("\ufeff"))
    try:
        return DefinitionFile(name, lines, load_text(text, name))
    except DefinitionRefused as refusal:
        return DefinitionFile(name, lines, faults=list(refusal.faults))


def fault_records(faults: list[Fault], severity: str) -> list[FaultRecord]:
    """Give the faults of one severity."""
    return [FaultRecord(**fault.as_json()) for fault in faults if fault.severity == severity]
