"""Where the checks put what they find."""

from typing import Any

from wonder.definitions.faults import FAULTS_MAX, Fault, Path, too_many_faults


class TooManyErrors(Exception):
    """So much was found that checking does not go on."""


class Findings:
    """The faults found so far, in paths of the document that was checked."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self._errors = 0

    def error(
        self, code: str, path: Path, message: str, hint: str, *, expected: Any = None, actual: Any = None
    ) -> None:
        """Note what keeps a definition from being stored; raises TooManyErrors where nobody would read more."""
        if self._errors == FAULTS_MAX:
            self.faults.append(too_many_faults())
            raise TooManyErrors
        self._errors += 1
        self.faults.append(Fault(code, path, message, hint, expected=expected, actual=actual))

    def warning(self, code: str, path: Path, message: str, hint: str) -> None:
        """Note what is allowed, but surely not meant; of very many, the first."""
        if len(self.faults) - self._errors < FAULTS_MAX:
            self.faults.append(Fault(code, path, message, hint, severity="warning"))
