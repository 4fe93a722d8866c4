"""Readers: closures that give the JSON value at a path of the context."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from wonder.language.expressions.names import Path

Scope: TypeAlias = Mapping[str, Any]


def compile_reader(path: Path) -> Callable[[Scope], Any]:
    """Return a closure that gives the JSON value at a path, None where there is nothing."""
    root, *rest = path
    if len(rest) == 1 and type(rest[0]) is str:
        return _field_reader(root, rest[0])

    def read(scope: Scope) -> Any:
        value = scope.get(root)  # type: ignore[arg-type]  # the first part of a path is a name
        for segment in rest:
            if type(segment) is int:
                if type(value) is not list or segment >= len(value):
                    return None
                value = value[segment]
            elif isinstance(value, dict):
                value = value.get(segment)
            else:
                return None
        return value

    return read


def _field_reader(root: str | int, name: str) -> Callable[[Scope], Any]:
    def read(scope: Scope) -> Any:
        try:
            return scope[root][name]  # type: ignore[index]  # the first part of a path is a name
        except (KeyError, TypeError):
            return None

    return read
