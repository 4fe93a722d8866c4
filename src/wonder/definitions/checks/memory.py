"""Answers about schemas that were given already in one check: a graph asks the same ones for every node."""

from typing import Any

from wonder.definitions.faults import Path
from wonder.language.schemas import Mismatch, Schema, Shape, disjoint, shape_at


class Memory:
    """Remembers answers by the identity of the schemas asked about, which it keeps alive."""

    def __init__(self) -> None:
        self._shapes: dict[tuple[int, Path], Shape] = {}
        self._mismatches: dict[tuple[int, int], Mismatch | None] = {}
        self._kept: list[Any] = []

    def shape_at(self, schema: Schema, path: Path) -> Shape:
        """Say what a schema tells about the value at a path."""
        key = (id(schema), path)
        found = self._shapes.get(key)
        if found is None:
            found = self._shapes[key] = shape_at(schema, path)
            self._kept.append(schema)
        return found

    def disjoint(self, source: Schema, target: Schema) -> Mismatch | None:
        """Say why no value of one schema can fit the other; None if some can."""
        key = (id(source), id(target))
        if key not in self._mismatches:
            self._mismatches[key] = disjoint(source, target)
            self._kept += [source, target]
        return self._mismatches[key]
