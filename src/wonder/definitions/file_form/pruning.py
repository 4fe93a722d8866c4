"""Cuts the broken parts out of a document, so that the rest can still be read and all its faults be told at once."""

from collections.abc import Collection
from typing import Any

from wonder.definitions.faults import Fault, Path
from wonder.language.values import JsonValue


class Pruning:
    """A copy of a document that is cut down step by step."""

    def __init__(self, document: dict[str, JsonValue]) -> None:
        self.document: dict[str, Any] = _copy(document)
        # The lists that something was cut out of, by identity, with where each element that is left stood. They stay
        # plain lists: parts of the document are handed on as they are, to readers that know of no other kind.
        self._shortened: dict[int, tuple[list[Any], list[int]]] = {}
        self.cuts: set[Path] = set()
        """Where something was cut out that a person wrote or should have written, in the original's paths."""
        self._known_cuts: set[Path] = set()

    def cut(self, faults: Collection[Fault]) -> None:
        """Cut out what each fault is about; paths are those of the document as it is now."""
        unknown = {fault.path for fault in faults if fault.code == "unknown_field"}
        # From the back, so that a cut does not move what is still to be cut.
        for path in sorted({_what_to_cut(fault) for fault in faults}, key=_from_the_back, reverse=True):
            original = self.original(path)
            if fill := _placeholder(path, self.document):
                _parent(self.document, path)[path[-1]] = fill
            elif path:
                self._cut_one(path)
            else:
                self.document.clear()
            self.cuts.add(original)
            if path not in unknown:
                self._known_cuts.add(original)

    def original(self, path: Path) -> Path:
        """Give the path that something had before anything was cut out."""
        value: Any = self.document
        found: list[str | int] = []
        for segment in path:
            inner = _step(value, segment)
            if id(value) in self._shortened and isinstance(segment, int) and segment < len(value):
                segment = self._shortened[id(value)][1][segment]
            found.append(segment)
            value = inner
        return tuple(found)

    def is_consequence(self, path: Path) -> bool:
        """Say whether something at this original path is only missing because it was cut out."""
        return any(path[: len(cut)] == cut for cut in self.cuts)

    def emptied(self, path: Path) -> bool:
        """Say whether something right below this original path was cut out that may be all that it misses now."""
        return any(cut[:-1] == path for cut in self._known_cuts)

    def _cut_one(self, path: Path) -> None:
        holder, last = _parent(self.document, path), path[-1]
        if isinstance(holder, list) and isinstance(last, int) and last < len(holder):
            _, places = self._shortened.setdefault(id(holder), (holder, list(range(len(holder)))))
            del holder[last], places[last]
        elif isinstance(holder, dict):
            holder.pop(last, None)


def _what_to_cut(fault: Fault) -> Path:
    if fault.code == "missing_field" and fault.path[-1] != "initial_node":
        return fault.path[:-1]
    return fault.path


def _placeholder(path: Path, document: dict[str, Any]) -> str | None:
    # Without its initial node a workflow could not be read at all; any node will do to look at the others.
    if path and path[-1] == "initial_node":
        nodes = _parent(document, path).get("nodes")
        if isinstance(nodes, dict) and nodes:
            return str(next(iter(nodes)))
    return None


def _from_the_back(path: Path) -> list[tuple[bool, int, str]]:
    return [(isinstance(segment, int), segment if isinstance(segment, int) else 0, str(segment)) for segment in path]


def _parent(document: Any, path: Path) -> Any:
    for segment in path[:-1]:
        document = _step(document, segment)
    return document


def _step(value: Any, segment: str | int) -> Any:
    if isinstance(value, dict):
        return value.get(segment)
    if isinstance(value, list) and isinstance(segment, int) and segment < len(value):
        return value[segment]
    return None


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(element) for key, element in value.items()}
    return [_copy(element) for element in value] if isinstance(value, list) else value
