"""How two operands are compared: the affinity and the collation that their places in the tree give them."""

from typing import NamedTuple

from wonder.language.expressions.sql_values import COLLATIONS, Affinity, Collation
from wonder.language.expressions.tree import Cast, Collate, Node


class Rules(NamedTuple):
    """What is done to both operands before they are compared."""

    affinity: Affinity
    collation: Collation | None


def rules_for(left: Node, right: Node) -> Rules:
    """Return the rules for a comparison: a CAST decides on conversion, the left operand first on collation."""
    return Rules(_comparison_affinity(affinity_of(left), affinity_of(right)), _collation_of_pair(left, right))


def rules_for_in(operand: Node) -> Rules:
    """Return the rules for x IN (...): only the left operand counts."""
    return Rules(_comparison_affinity(affinity_of(operand), None), collation_of(operand))


def collation_of_arguments(arguments: tuple[Node, ...]) -> Collation | None:
    """Return the collation of min(), max() and nullif(): that of the first argument that has one."""
    name = next((name for name in map(_collation_name, arguments) if name), "binary")
    return COLLATIONS[name]


def affinity_of(node: Node) -> Affinity | None:
    """Return the affinity of an operand, None for one without; paths have none, like SQLite's parameters."""
    while isinstance(node, Collate):
        node = node.operand
    return node.affinity if isinstance(node, Cast) else None


def collation_of(node: Node) -> Collation | None:
    """Return the collation of an operand, None for comparison byte by byte."""
    return COLLATIONS[_collation_name(node) or "binary"]


def _comparison_affinity(left: Affinity | None, right: Affinity | None) -> Affinity:
    if left and right:
        return "none" if left == right == "text" else "numeric"
    return left or right or "none"


def _collation_of_pair(left: Node, right: Node) -> Collation | None:
    name = _collation_name(left) or _collation_name(right)
    return COLLATIONS[name or "binary"]


def _collation_name(node: Node) -> str | None:
    """Find the COLLATE that counts for an operand: SQLite looks into its left part first, then into its lists."""
    current: Node | None = node
    while current is not None:
        if isinstance(current, Collate):
            return current.collation
        current = next((child for child in current.children() if _has_collate(child)), None)
    return None


def _has_collate(node: Node) -> bool:
    return isinstance(node, Collate) or any(_has_collate(child) for child in node.children())
