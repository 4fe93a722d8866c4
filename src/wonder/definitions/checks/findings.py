"""Where the checks put what they find."""

from typing import Any

from wonder.definitions.faults import Fault, Path


class Findings:
    """The faults found so far, in paths of the document that was checked."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []

    def error(
        self, code: str, path: Path, message: str, hint: str, *, expected: Any = None, actual: Any = None
    ) -> None:
        """Note what keeps a definition from being stored."""
        self.faults.append(Fault(code, path, message, hint, expected=expected, actual=actual))

    def warning(self, code: str, path: Path, message: str, hint: str) -> None:
        """Note what is allowed, but surely not meant."""
        self.faults.append(Fault(code, path, message, hint, severity="warning"))
