"""Writes: what an output mapping, an update or a merge changes, worked out before anything is changed (CTX-5a)."""

from wonder.engine.replaced import NOTHING, with_write
from wonder.errors import WonderError
from wonder.language.mappings import Mapping, compile_mapping
from wonder.language.paths import Path
from wonder.language.steps import spend_on_text
from wonder.language.targets import Change, TargetUnwritable, parse_target, write
from wonder.language.values import JsonValue, encode_json

TARGET_ROOTS = ("state", "output", "_branch")
# About how many bytes a number has as JSON, and the names on the way to a value.
_SCALAR = 24
_SCALARS = frozenset({int, float, bool, type(None)})
_WAY = 64


class NoBranch(WonderError):
    """A target in `_branch` was written where there is no branch."""

    code = "TARGET_UNWRITABLE"

    def __init__(self, target: str) -> None:
        super().__init__(f"can't write {target}: this node does not run in a branch; write to state instead")
        self.target = target


class TooMuchWritten(WonderError):
    """One node wrote more than a whole context may have."""

    code = "RUN_LIMIT_CONTEXT_BYTES"

    def __init__(self, size: int, most: int) -> None:
        super().__init__(f"one node wrote {size:,} bytes to the context, which may have {most:,}")
        self.size, self.most = size, most


class WriteTarget:
    """A place to write to, as seen from the run and from a branch (CTL-7)."""

    __slots__ = ("in_branch", "in_run", "is_state", "text")

    def __init__(self, text: str) -> None:
        path = parse_target(text, TARGET_ROOTS).path
        self.text = text
        self.is_state = path == ("state",)
        self.in_run: Path | None = None if path[0] == "_branch" else path
        inner = path[2:] if path[0] == "_branch" else path[1:]
        # In a branch `state.x` and `_branch.output.x` are one place; `branch` is the root under which it is kept here.
        self.in_branch: Path = path if path[0] == "output" else ("branch", *inner)


class Writes:
    """An output mapping: targets in the order written, and the template of each."""

    __slots__ = ("mapping", "targets")

    def __init__(self, output_mapping: dict[str, JsonValue]) -> None:
        self.targets = [WriteTarget(text) for text in output_mapping]
        # Compiled as one object, so that a query that finds nothing leaves its target as it is.
        self.mapping: Mapping = compile_mapping(output_mapping)

    def values(self, output: JsonValue) -> list[tuple[WriteTarget, JsonValue]]:
        """Give what is to be written for this output."""
        built = self.mapping.apply(output)
        assert isinstance(built, dict)
        return [(target, built[target.text]) for target in self.targets if target.text in built]


class Draft:
    """The roots that a node may write, changed on a copy until all has gone well."""

    __slots__ = ("in_branch", "most", "replaced", "roots", "size", "to_branch", "to_run")

    def __init__(
        self,
        state: JsonValue,
        output: JsonValue,
        branch: JsonValue,
        replaced: JsonValue = NOTHING,
        *,
        in_branch: bool,
        most: int,
    ) -> None:
        self.in_branch, self.most = in_branch, most
        self.replaced = replaced
        """Which objects of the branch's output were written as a whole."""
        self.size = 0
        """How many bytes were written, as JSON, with the names on the way to them."""
        self.roots: dict[str, JsonValue] = {"output": output}
        self.roots["branch" if in_branch else "state"] = branch if in_branch else state
        self.to_run: list[Change] = []
        """The changes of the run's own state and output."""
        self.to_branch: list[Change] = []
        """The changes of the branch's output, with paths inside of it."""

    def write(self, target: WriteTarget, value: JsonValue) -> None:
        """Write one value; raises where that can't be."""
        path = target.in_branch if self.in_branch else target.in_run
        if path is None:
            raise NoBranch(target.text)
        if target.is_state and not isinstance(value, dict):
            raise TargetUnwritable(("state",), (), "would be no object any more; state is always an object")
        # Before the next one: values are shared in memory, so that a few updates which copy could make an endless text.
        size = json_size(value)
        spend_on_text(size)
        self.size += size + _WAY
        if self.size > self.most:
            raise TooMuchWritten(self.size, self.most)
        self.roots, change = write(self.roots, path, value)
        if path[0] == "branch":
            self.to_branch.append(Change(change.path[1:], change.value))
            self.replaced = with_write(self.replaced, path[1:], value)
        else:
            self.to_run.append(change)


def json_size(value: JsonValue) -> int:
    """Give how many bytes a value has as JSON, about."""
    return _SCALAR if type(value) in _SCALARS else len(encode_json(value))
