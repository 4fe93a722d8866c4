"""References: how one definition names another, `library/name@version`."""

import re
from hashlib import sha256
from typing import Literal

from msgspec import Struct

from wonder.definitions.faults import Path
from wonder.definitions.records.fields import NAME_MAX

ResourceKind = Literal[
    "workflow", "task", "action", "prompt", "artifact_type", "model", "vector_index", "mcp_server", "library"
]

_SEPARATORS = re.compile("[/@]")
_FORM = re.compile(r"(?:(?P<library>[^/@]+)/)?(?P<name>[^/@]+)(?:@(?P<version>[1-9]\d{0,8}))?")


class Reference(Struct, frozen=True):
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


def inline_name(outer: str, ref: str) -> str:
    """Name what stands in line: after what it stands in and its ref there, in the form that names must have.

    A ref may hold `/` and `@`, and both together may be too long; then a part of a hash keeps different ones apart.
    """
    whole = f"{outer}.{ref}"
    if len(whole) <= NAME_MAX and not _SEPARATORS.search(whole):
        return whole
    mark = sha256(whole.encode()).hexdigest()[:8]
    return f"{_SEPARATORS.sub('-', whole)[: NAME_MAX - len(mark) - 1]}.{mark}"


def split_version(text: str) -> tuple[str, int | None]:
    """Give the name and the version of `name@version`; what has no such form is a name as it is."""
    name, sign, version = text.rpartition("@")
    if sign and name and version.isascii() and version.isdigit() and 0 < int(version) < 2**53:
        return name, int(version)
    return text, None


def parse_reference(kind: ResourceKind, text: str, path: Path, version: int | None = None) -> Reference | None:
    """Read a reference; None if it has not the form `name`, `name@version` or `library/name@version`.

    `version` is one that is written beside it; two that differ mean nothing either.
    """
    found = _FORM.fullmatch(text)
    if not found:
        return None
    written = int(found["version"]) if found["version"] else None
    if written and version and written != version:
        return None
    return Reference(kind, found["name"], found["library"], written or version, path)
