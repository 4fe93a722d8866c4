"""References: how one definition names another, `library/name@version`."""

import re
from dataclasses import dataclass
from typing import Literal

from wonder.definitions.faults import Path

ResourceKind = Literal[
    "workflow", "task", "action", "prompt", "artifact_type", "model", "vector_index", "mcp_server", "library"
]

_FORM = re.compile(r"(?:(?P<library>[^/@]+)/)?(?P<name>[^/@]+)(?:@(?P<version>[1-9]\d{0,8}))?")


@dataclass(frozen=True, slots=True)
class Reference:
    """A name, perhaps in a library, perhaps at a version; `path` is where it stands in the document."""

    kind: ResourceKind
    name: str
    library: str | None
    version: int | None
    path: Path

    def __str__(self) -> str:
        """Write the reference as a person does."""
        library = f"{self.library}/" if self.library else ""
        version = f"@{self.version}" if self.version else ""
        return f"{library}{self.name}{version}"

    @property
    def key(self) -> tuple[ResourceKind, str]:
        """The reference without its place: equal for all places that mean the same."""
        return self.kind, str(self)


def parse_reference(kind: ResourceKind, text: str, path: Path, version: int | None = None) -> Reference | None:
    """Read a reference; None if it does not have the form `name`, `name@version` or `library/name@version`."""
    found = _FORM.fullmatch(text)
    if not found:
        return None
    written = int(found["version"]) if found["version"] else None
    return Reference(kind, found["name"], found["library"], written or version, path)
