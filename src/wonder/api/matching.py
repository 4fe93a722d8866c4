"""Finds what a path means: each part of it is a word, or a parameter that any text fits."""

from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar
from urllib.parse import unquote_to_bytes

from wonder.api.problems import Problem

_PARTS_MAX: Final = 12
_PATH_BYTES_MAX: Final = 4_000

Target = TypeVar("Target")


@dataclass
class _Place(Generic[Target]):
    words: dict[str, "_Place[Target]"] = field(default_factory=dict)
    parameter: "_Place[Target] | None" = None
    targets: dict[str, tuple[Target, list[str]]] = field(default_factory=dict)
    """By method, with the names of the parameters on the way."""


class Paths(Generic[Target]):
    """All paths, as a tree: finding one costs the same however many there are."""

    def __init__(self) -> None:
        self._root: _Place[Target] = _Place()
        self.all: list[tuple[str, str, Target]] = []
        """Every method and path, with what it means."""

    def add(self, method: str, path: str, target: Target) -> None:
        """Add what a method and a path mean; a path means one thing only."""
        place, names = self._root, list[str]()
        for part in path.split("/")[1:]:
            if part.startswith("{"):
                place.parameter = place.parameter or _Place()
                place = place.parameter
                names.append(part.strip("{}"))
            else:
                place = place.words.setdefault(part, _Place())
        assert method not in place.targets, f"{method} {path} means two things"
        place.targets[method] = (target, names)
        self.all.append((method, path, target))

    def find(self, method: str, raw_path: bytes) -> tuple[Target, dict[str, str]]:
        """Give what is meant, with its parameters; raises Problem."""
        parts = _parts(raw_path)
        place, values = self._root, list[str]()
        for part in parts:
            following = place.words.get(part)
            if following is None:
                following = place.parameter
                values.append(part)
            if following is None:
                raise _nothing_here()
            place = following
        if not place.targets:
            raise _nothing_here()
        asked = "GET" if method == "HEAD" else method
        if asked not in place.targets:
            allowed = sorted(place.targets) + (["HEAD"] if "GET" in place.targets else [])
            message = f"{method[:20]} is not possible here; use {' or '.join(sorted(place.targets))}"
            raise Problem(405, "METHOD_NOT_ALLOWED", message, headers={"allow": ", ".join(allowed)})
        target, names = place.targets[asked]
        return target, dict(zip(names, values, strict=True))


def _parts(raw_path: bytes) -> list[str]:
    """Split a path before its escapes are read: `%2F` is part of a name, and not a place where a path is split."""
    if len(raw_path) > _PATH_BYTES_MAX:
        raise Problem(400, "BAD_PATH", f"the path has more than {_PATH_BYTES_MAX:,} bytes")
    raw = raw_path.split(b"/")[1:]
    if len(raw) > _PARTS_MAX:
        raise _nothing_here()
    try:
        parts = [unquote_to_bytes(part).decode() for part in raw]
    except UnicodeDecodeError:
        raise Problem(400, "BAD_PATH", "the path is not UTF-8") from None
    for part in parts:
        if part in ("", ".", ".."):
            raise _nothing_here()
        if any(ord(character) < 32 or ord(character) == 127 for character in part):
            raise Problem(400, "BAD_PATH", "the path contains a control character")
    return parts


def _nothing_here() -> Problem:
    return Problem(404, "NOT_FOUND", "there is nothing at this path; GET /openapi.json lists what there is")
