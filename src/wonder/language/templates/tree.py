"""The syntax tree of a template."""

from dataclasses import dataclass, field
from typing import TypeAlias

from wonder.language.values import JsonValue


@dataclass(frozen=True, slots=True)
class Strip:
    """Whether a tag takes the white space before it (`{{~x}}`) and behind it (`{{x~}}`)."""

    before: bool = False
    behind: bool = False


@dataclass(frozen=True, slots=True)
class PathExpression:
    """A name to look up: `a.b`, `../a`, `@index`, `this`; `scoped` is one that can't be a helper's."""

    original: str
    position: int
    depth: int
    parts: tuple[str, ...]
    is_variable: bool
    scoped: bool

    @property
    def helper_name(self) -> str | None:
        """The name under which this could be a helper."""
        simple = len(self.parts) == 1 and not (self.depth or self.scoped or self.is_variable)
        return self.parts[0] if simple else None


@dataclass(frozen=True, slots=True)
class Literal:
    """A text, number, boolean, null or undefined."""

    value: JsonValue


@dataclass(frozen=True, slots=True)
class Call:
    """What stands in a tag: a path, or a helper with what it is given."""

    path: PathExpression
    arguments: tuple["Expression", ...]
    options: dict[str, "Expression"]
    block_names: tuple[str, ...] = ()


Expression: TypeAlias = PathExpression | Literal | Call


@dataclass(slots=True)
class Content:
    """Text between tags; `value` shrinks where white space is taken away."""

    original: str
    value: str = ""
    stripped_left: bool = False
    stripped_right: bool = False

    def __post_init__(self) -> None:
        self.value = self.original


@dataclass(slots=True)
class Comment:
    """A comment, which writes nothing."""

    strip: Strip


@dataclass(slots=True)
class Mustache:
    """A tag that writes a value: `{{x}}`, or `{{{x}}}` and `{{&x}}`, which mean the same where nothing is HTML."""

    call: Call
    strip: Strip


@dataclass(slots=True)
class Program:
    """A row of statements; `chained` is that of an `{{else if}}`."""

    body: list["Statement"] = field(default_factory=list)
    chained: bool = False


@dataclass(slots=True)
class Block:
    """A block tag with what it holds; `{{^x}}` has no `program`."""

    call: Call
    program: Program | None
    inverse: Program | None
    open_strip: Strip
    inverse_strip: Strip
    close_strip: Strip


Statement: TypeAlias = Content | Comment | Mustache | Block
