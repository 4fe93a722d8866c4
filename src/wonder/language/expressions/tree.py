"""The syntax tree of an expression, in the shapes that SQLite gives it."""

from dataclasses import dataclass, field
from typing import Literal

from wonder.language.expressions.names import Path
from wonder.language.expressions.sql_values import Affinity, SqlValue


@dataclass(slots=True)
class Node:
    """A part of an expression; `height` counts the levels below and with it."""

    height: int = field(init=False, default=1, compare=False)

    def __post_init__(self) -> None:
        self.height = 1 + max((child.height for child in self.children()), default=0)

    def children(self) -> tuple["Node", ...]:
        """Return the parts that it is made of, from left to right."""
        return ()


@dataclass(slots=True)
class Constant(Node):
    """A number, text or NULL; `written` is how a number was written, without a sign."""

    value: SqlValue
    written: str = ""


@dataclass(slots=True)
class Truth(Node):
    """The word true or false."""

    value: bool


@dataclass(slots=True)
class Reference(Node):
    """A path into the context, from its root on."""

    path: Path


@dataclass(slots=True)
class Unary(Node):
    """An operator in front of its operand."""

    operator: Literal["+", "-", "~", "not"]
    operand: Node

    def children(self) -> tuple[Node, ...]:
        return (self.operand,)


@dataclass(slots=True)
class Binary(Node):
    """An operator of arithmetic or comparison between two operands."""

    operator: str
    left: Node
    right: Node

    def children(self) -> tuple[Node, ...]:
        return (self.left, self.right)


@dataclass(slots=True)
class Chain(Node):
    """Operands with the same operator between them, which would be a deep tree otherwise."""

    operator: Literal["and", "or", "||"]
    operands: tuple[Node, ...]

    def children(self) -> tuple[Node, ...]:
        return self.operands


@dataclass(slots=True)
class NullTest(Node):
    """IS NULL, or IS NOT NULL if negated."""

    operand: Node
    negated: bool

    def children(self) -> tuple[Node, ...]:
        return (self.operand,)


@dataclass(slots=True)
class Call(Node):
    """A function, also one that is spelled as an operator like LIKE; then `infix` is true."""

    name: str
    arguments: tuple[Node, ...]
    infix: bool = False

    def children(self) -> tuple[Node, ...]:
        return self.arguments


@dataclass(slots=True)
class In(Node):
    """Membership in a list that is not empty."""

    operand: Node
    elements: tuple[Node, ...]

    def children(self) -> tuple[Node, ...]:
        return (self.operand, *self.elements)


@dataclass(slots=True)
class Between(Node):
    """A value between two others, both included."""

    operand: Node
    low: Node
    high: Node

    def children(self) -> tuple[Node, ...]:
        return (self.operand, self.low, self.high)


@dataclass(slots=True)
class Case(Node):
    """CASE with or without an operand; `branches` are pairs of what to test and what to give."""

    operand: Node | None
    branches: tuple[tuple[Node, Node], ...]
    otherwise: Node | None

    def children(self) -> tuple[Node, ...]:
        pairs = tuple(part for branch in self.branches for part in branch)
        return tuple(part for part in (self.operand, *pairs, self.otherwise) if part is not None)


@dataclass(slots=True)
class Cast(Node):
    """A conversion to a type."""

    operand: Node
    affinity: Affinity

    def children(self) -> tuple[Node, ...]:
        return (self.operand,)


@dataclass(slots=True)
class Collate(Node):
    """An operand with the way in which its text is compared."""

    operand: Node
    collation: str

    def children(self) -> tuple[Node, ...]:
        return (self.operand,)
