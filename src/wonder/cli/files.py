"""Reads the definition files that a command is given."""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from wonder.actions.announcing import announce_kinds
from wonder.definitions.faults import DefinitionRefused, Fault
from wonder.definitions.loading import Loaded, load_text
from wonder.definitions.source import Place
from wonder.language.values import MAX_BYTES
from wonder.storage.zones import announce_zones

# As lines are counted in places: Python's splitlines() also breaks at characters that may stand inside a line.
_LINE_BREAK = re.compile(r"\r\n|\n|\r")


@dataclass
class DefinitionFile:
    """One file: what could be read of it, or the faults that kept it from being read."""

    name: str
    lines: list[str]
    loaded: Loaded | None
    faults: list[Fault]

    @property
    def is_phase_form(self) -> bool:
        """Whether the file is one workflow in the phase form."""
        return self.loaded is not None and self.loaded.is_phase_form


def read_definition_file(name: str) -> DefinitionFile:
    """Read a file, or standard input for `-`; whatever is wrong with it is told as faults."""
    announce_kinds()
    announce_zones()
    try:
        if name == "-":
            name, text = "<stdin>", _standard_input()
        else:
            with Path(name).open("rb") as file:
                text = file.read(MAX_BYTES + 1)
    except OSError as error:
        reason = f"the file can't be read: {error.strerror or error}"
        fault = Fault("unreadable_file", (), reason, "check the path", place=Place(name, 1, 1))
        return DefinitionFile(name, [], None, [fault])
    lines = _LINE_BREAK.split(text.decode("utf-8", errors="replace").removeprefix("\ufeff"))
    try:
        return DefinitionFile(name, lines, load_text(text, name), [])
    except DefinitionRefused as refusal:
        return DefinitionFile(name, lines, None, list(refusal.faults))


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise OSError("standard input is closed")
    return sys.stdin.buffer.read(MAX_BYTES + 1)
