"""Target paths (CTX-5a): where a value is written to, and writing it without changing what was there."""

from collections.abc import Collection
from typing import NamedTuple

from wonder.errors import WonderError
from wonder.language.paths import Path, PathSyntax, parse_dotted
from wonder.language.steps import spend_on_elements
from wonder.language.values import JsonValue, show_path


class Target(NamedTuple):
    """A place to write to; the first segment of `path` is the root that it begins with."""

    text: str
    path: Path


class Change(NamedTuple):
    """What a write changed: the outermost path that has another value now, and that value."""

    path: Path
    value: JsonValue


class TargetUnwritable(WonderError):
    """A value can't be written to a place, because of what stands on the way to it."""

    code = "TARGET_UNWRITABLE"

    def __init__(self, path: Path, reached: Path, reason: str) -> None:
        super().__init__(f"can't write {show_path(path)}: {show_path(reached) or 'the whole'} {reason}")
        self.path, self.reached, self.reason = path, reached, reason


def parse_target(text: str, roots: Collection[str] = ("state", "output")) -> Target:
    """Read a target path that begins with one of the roots; raises PathSyntax.

    Of `_branch`, only `_branch.output` and what is in it can be written.
    """
    path = parse_dotted(text)
    if path[0] not in roots:
        allowed = " or ".join(roots)
        raise PathSyntax(text, 0, f"{path[0]!r} can't be written", f"begin the target with {allowed}")
    if path[0] == "_branch" and path[1:2] != ("output",):
        raise PathSyntax(text, 0, "only the output of _branch can be written", "write to _branch.output")
    return Target(text, path)


def write(root: dict[str, JsonValue], path: Path, value: JsonValue) -> tuple[dict[str, JsonValue], Change]:
    """Return the root with the value written at the path, and what has changed.

    The root that is given, and all in it, stay as they are: what lies on the path is copied, what lies beside it is
    shared. Objects and lists that are missing are made; an index may be at most the length of its list, which appends.
    Raises TargetUnwritable where a text, a number, a boolean or null stands on the way.
    """
    assert path, "a target names at least its root"
    if len(path) == 2:
        # Most targets are a key of a root that is there. Below, the same takes three times as long.
        name, key = path
        inside = root.get(name)  # type: ignore[arg-type]  # the first segment is a root's name
        if type(inside) is dict and type(key) is str:
            spend_on_elements(len(inside))
            return {**root, name: {**inside, key: value}}, _changed(path, value)  # type: ignore[dict-item]  # see above
    new_root = dict(root)
    holder: dict[str, JsonValue] | list[JsonValue] = new_root
    for depth, segment in enumerate(path):
        exists = _exists(holder, segment, path, depth)
        if depth == len(path) - 1:
            _put(holder, segment, value, exists=exists)
            return new_root, _changed(path, value)
        if not exists:
            made = _made(path, depth + 1, value)
            _put(holder, segment, made, exists=False)
            return new_root, Change(path[: depth + 1], made)
        inner = holder[segment]  # type: ignore[index]  # _exists has just looked the segment up
        if isinstance(inner, dict):
            spend_on_elements(len(inner))
            inner = dict(inner)
        elif isinstance(inner, list):
            spend_on_elements(len(inner))
            inner = list(inner)
        else:
            raise TargetUnwritable(
                path, path[: depth + 1], f"is {_kind(inner)}, which holds nothing; write it as a whole"
            )
        _put(holder, segment, inner, exists=True)
        holder = inner
    raise AssertionError("the last segment returns")


def _changed(path: Path, value: JsonValue) -> Change:
    # As the class does it, which goes through a function of Python's and takes four times as long.
    return tuple.__new__(Change, (path, value))


def _exists(holder: dict[str, JsonValue] | list[JsonValue], segment: str | int, path: Path, depth: int) -> bool:
    """Say whether a segment is there already; raises where it can't be put there either."""
    if isinstance(holder, dict):
        if not isinstance(segment, str):
            raise TargetUnwritable(path, path[:depth], "is an object; name one of its keys instead of an index")
        return segment in holder
    if not isinstance(segment, int):
        raise TargetUnwritable(path, path[:depth], f"is a list; give an index instead of the name {segment!r}")
    if not 0 <= segment <= len(holder):
        reason = f"has {len(holder)} elements; the index can be at most {len(holder)}, which appends"
        raise TargetUnwritable(path, path[:depth], reason)
    return segment < len(holder)


def _put(holder: dict[str, JsonValue] | list[JsonValue], segment: str | int, value: JsonValue, *, exists: bool) -> None:
    if isinstance(holder, list) and not exists:
        holder.append(value)
    else:
        holder[segment] = value  # type: ignore[index]  # _exists has just looked the segment up


def _made(path: Path, depth: int, value: JsonValue) -> JsonValue:
    """Return what has to be made for the rest of a path, from the inside out."""
    for index in range(len(path) - 1, depth - 1, -1):
        segment = path[index]
        if isinstance(segment, str):
            value = {segment: value}
        elif segment == 0:
            value = [value]
        else:
            raise TargetUnwritable(path, path[:index], "is missing; a list that is made begins with index 0")
    return value


def _kind(value: JsonValue) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case _:
            return "a number"
