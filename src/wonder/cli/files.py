"""Reads the definition files that a command is given."""

import sys
from pathlib import Path

from wonder.actions.functions.functions import FunctionRegistry
from wonder.app.given_files import FileTooLarge, read_given_file, read_stream
from wonder.cli.settings import modules_setting
from wonder.definitions.faults import Fault
from wonder.definitions.source import Place
from wonder.errors import WonderError
from wonder.operations.definition_files import DefinitionFile, read_definition


def read_definition_file(name: str, *, own_functions: bool = False) -> DefinitionFile:
    """Read a file, or standard input for `-`; whatever is wrong with it is reported as faults.

    With `own_functions`, its functions are looked for where `wonder run FILE` finds them. Raises BadSettings.
    """
    shown = "<stdin>" if name == "-" else name
    try:
        text = _standard_input() if name == "-" else read_given_file(name)
    except FileTooLarge as error:
        return _unread(shown, "too_large", str(error), "split it into several files")
    except OSError as error:
        return _unread(shown, "unreadable_file", f"the file can't be read: {error.strerror or error}", "check the path")
    file = read_definition(shown, text)
    if own_functions:
        file.functions = _functions_beside(name)
    return file


def _functions_beside(name: str) -> FunctionRegistry:
    here = Path.cwd()
    return FunctionRegistry(modules_setting(None), [here if name == "-" else Path(name).resolve().parent, here], [here])


def _unread(name: str, code: str, reason: str, hint: str) -> DefinitionFile:
    return DefinitionFile(name, faults=[Fault(code, (), reason, hint, place=Place(name, 1, 1))])


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise OSError("standard input is closed")
    return read_stream(sys.stdin.buffer, "<stdin>")


class NothingToRun(WonderError):
    """A file has no workflow that could be run."""

    code = "NOTHING_TO_RUN"

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} has no 'workflow' that could be run; it was stored")
