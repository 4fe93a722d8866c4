"""What can be wrong with a mapping."""

from msgspec import Struct

from wonder.errors import WonderError
from wonder.language.paths import Path
from wonder.language.values import show_path


class MappingFault(Struct, frozen=True):
    """One place of a template that is wrong: `path` leads to it inside the template."""

    path: Path
    message: str
    hint: str

    def __str__(self) -> str:
        where = f"at {show_path(self.path)}: " if self.path else ""
        return f"{where}{self.message}; {self.hint}"


class MappingSyntax(WonderError):
    """A template is not a mapping; `faults` holds every place that is wrong."""

    code = "MAPPING_SYNTAX"

    def __init__(self, faults: tuple[MappingFault, ...]) -> None:
        super().__init__("\n".join(map(str, faults)))
        self.faults = faults
