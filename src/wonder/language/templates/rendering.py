"""What a template needs while it is rendered: scopes, looking names up, writing values as JavaScript would."""

from collections.abc import Callable
from decimal import Decimal
from typing import TypeAlias

from wonder.language.paths import MISSING, Missing
from wonder.language.steps import spend, spend_on_text
from wonder.language.templates.faults import TemplateTooLarge
from wonder.language.values import JsonValue, encode_json

Found: TypeAlias = JsonValue | Missing

# How many tags, texts and turns of blocks one rendering may go through, whether they write something or not.
STEPS_MAX = 1_000_000


class Output:
    """What has been written so far, within a limit."""

    __slots__ = ("characters_left", "limit", "parts", "steps_left")

    def __init__(self, limit: int) -> None:
        self.parts: list[str] = []
        self.limit = self.characters_left = limit
        self.steps_left = STEPS_MAX

    def write(self, text: str) -> None:
        """Add a text; raises TemplateTooLarge beyond the limit."""
        self.characters_left -= len(text)
        if self.characters_left < 0:
            raise TemplateTooLarge("characters", self.limit)
        self.parts.append(text)

    def spend(self, steps: int) -> None:
        """Count steps; raises TemplateTooLarge when there are too many."""
        self.steps_left -= steps
        if self.steps_left < 0:
            raise TemplateTooLarge("steps", STEPS_MAX)


class Scope:
    """Where a part of a template is rendered: `this`, what `../` leads to, `@` variables and block names."""

    __slots__ = ("names", "outer", "outer_variables", "this", "variables")

    def __init__(
        self,
        this: Found,
        outer: "Scope | None",
        variables: dict[str, Found],
        outer_variables: tuple[dict[str, Found], ...],
        names: dict[str, Found],
    ) -> None:
        self.this, self.outer = this, outer
        self.variables, self.outer_variables = variables, outer_variables
        self.names = names

    def inside(self, this: Found, names: dict[str, Found] | None = None) -> "Scope":
        """Return the scope of a block about another value; about the same value, `../` stays what it was."""
        outer = self.outer if _same(this, self.this) else self
        named = {**self.names, **names} if names else self.names
        return Scope(this, outer, self.variables, self.outer_variables, named)

    def turn(self, this: Found, variables: dict[str, Found], names: dict[str, Found]) -> "Scope":
        """Return the scope of one turn of a repeated block."""
        scope = self.inside(this, names)
        scope.outer_variables = (self.variables, *self.outer_variables)
        scope.variables = {**self.variables, **variables}
        return scope


Render: TypeAlias = Callable[[Scope, Output], None]
Evaluate: TypeAlias = Callable[[Scope], Found]


def member(value: Found, name: str) -> Found:
    """Return a member of a value: a key, an index or `length`; never an attribute of a Python object."""
    if isinstance(value, dict):
        return value.get(name, MISSING)
    if isinstance(value, list | str):
        if name == "length":
            return len(value)
        # The length first: to look at each of a million digits takes a millisecond, and may be asked for in every turn.
        if len(name) < 10 and name.isascii() and name.isdigit() and str(int(name)) == name and int(name) < len(value):
            return value[int(name)]
    return MISSING


def is_empty(value: Found) -> bool:
    """Say whether a value counts as nothing to `#with`: all that is false except 0, and an empty list."""
    return value is MISSING or value is None or value is False or value == "" or value == []


def is_false(value: Found) -> bool:
    """Say whether a value counts as false to `#if`: what is empty, and 0."""
    return is_empty(value) or value == 0


def text_of(value: Found) -> str:
    """Write a value as JavaScript would, save that integers keep all their digits."""
    match value:
        case str():
            return value
        case None | Missing():
            return ""
        case bool():
            return "true" if value else "false"
        case int():
            return encode_json(value)
        case float():
            return _number_text(value)
        case list():
            spend(len(value))
            text = ",".join([text_of(element) for element in value])
            # Not only what is written: `{{#if (lookup x list)}}` makes the text and writes nothing.
            spend_on_text(len(text))
            return text
        case _:
            return "[object Object]"


def _number_text(value: float) -> str:
    if value == 0:
        return "0"
    if 1e-6 <= abs(value) < 1e21:
        text = format(Decimal(repr(value)), "f")
        return text.removesuffix(".0")
    mantissa, exponent = f"{value!r}".split("e")
    return f"{mantissa}e{int(exponent):+d}"


def _same(left: Found, right: Found) -> bool:
    if isinstance(left, list | dict) or isinstance(right, list | dict):
        return left is right
    return left == right
