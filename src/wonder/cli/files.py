"""Reads the definition files that a command is given."""

import sys

from wonder.app.given_files import FileTooLarge, read_given_file, read_stream
from wonder.definitions.faults import Fault
from wonder.definitions.source import Place
from wonder.operations.definition_files import DefinitionFile, read_definition


def read_definition_file(name: str) -> DefinitionFile:
    """Read a file, or standard input for `-`; whatever is wrong with it is reported as faults."""
    try:
        if name == "-":
            name, text = "<stdin>", _standard_input()
        else:
            text = read_given_file(name)
    except FileTooLarge as error:
        return _unread(name, "too_large", str(error), "split it into several files")
    except OSError as error:
        return _unread(name, "unreadable_file", f"the file can't be read: {error.strerror or error}", "check the path")
    return read_definition(name, text)


def _unread(name: str, code: str, reason: str, hint: str) -> DefinitionFile:
    return DefinitionFile(name, faults=[Fault(code, (), reason, hint, place=Place(name, 1, 1))])


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise OSError("standard input is closed")
    return read_stream(sys.stdin.buffer, "<stdin>")
