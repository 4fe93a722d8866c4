"""What a planted bug is: one text of one source file, replaced by another."""

from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
SOURCE = Path("src/wonder")


class Bug(NamedTuple):
    """A change, and what ought to notice it."""

    name: str
    file: str
    """Below `src/wonder`."""
    old: str
    """Stands in the file exactly once."""
    new: str
    harm: str
    """What goes wrong, in the words of somebody who reads the change."""
    catchers: tuple[str, ...]
    """Test files or tests of pytest, or `simulation …`, tried in this order."""

    def changed(self, text: str) -> str:
        """Give the text of the file with the bug in it; raises OldTextMissing."""
        found = text.count(self.old)
        if found != 1:
            raise OldTextMissing(self, found)
        return text.replace(self.old, self.new)

    def plant(self, root: Path) -> None:
        """Put the bug into a copy of the project."""
        place = root / SOURCE / self.file
        place.write_text(self.changed(place.read_text("utf-8")), "utf-8")


class OldTextMissing(Exception):
    """The source has changed under a planted bug, which must be written anew."""

    def __init__(self, bug: Bug, found: int) -> None:
        super().__init__(
            f"the old text of {bug.name!r} is {found} times in {bug.file}, and must be there once; "
            "write the bug anew for the source as it is now"
        )
        self.bug, self.found = bug, found
