"""PhaseError: one thing wrong with a phase workflow, in the shape that the phase form gives its errors (PHS-4)."""

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from wonder.definitions.faults import Path
from wonder.language.schemas import Schema

ErrorType: TypeAlias = Literal["missing_ref", "type_mismatch", "missing_schema", "invalid_typescript", "invalid_step"]


@dataclass(frozen=True, slots=True)
class PhaseError:
    """What is wrong, in which step, and in which field of it.

    `field` is a dotted path into the step's `input` (`users.*.email`, with `*` for any element), or the name of another
    field of the step. What belongs to no step has `""` as its step; a trigger is `triggers[0]`.
    """

    type: ErrorType
    step: str
    field: str
    ref: str | None = None
    expected: Schema | None = None
    actual: Schema | None = None
    message: str = ""
    line: int | None = None
    column: int | None = None
    """Where in the source of a transform, from 1."""
    path: Path = dataclasses.field(default=(), compare=False)
    """Where in the file, for those who know its lines."""

    def to_json(self) -> dict[str, Any]:
        """Give the error in the source's shape, without what is not known."""
        shown: dict[str, Any] = {"type": self.type, "step": self.step, "field": self.field}
        for name in ("ref", "expected", "actual"):
            if (value := getattr(self, name)) is not None:
                shown[name] = value
        shown["message"] = self.message
        if self.line is not None:
            shown |= {"line": self.line, "column": self.column}
        return shown

    def __str__(self) -> str:
        """Write the error on one line."""
        where = f"step {self.step!r}, " if self.step else ""
        ref = f" ({self.ref})" if self.ref else ""
        return f"{self.type} in {where}{self.field}: {self.message}{ref}"
