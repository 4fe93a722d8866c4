"""What SQLite sees in the tree before it computes anything: idle operands of AND and OR, and tests for truth."""

from typing import Final

from wonder.language.expressions.tree import Binary, Call, Chain, Collate, Constant, Node, NullTest, Truth, Unary

# Functions that only tell SQLite's planner something; they are their first argument.
LIKELY: Final = frozenset({"likelihood", "likely", "unlikely"})


def simplified(chain: Chain) -> list[Node]:
    """Leave out operands of AND and OR that a literal makes idle; SQLite does not compute those, so they can't fail."""
    # A literal true in AND, or false in OR, is idle itself; the opposite makes all the others so.
    idle = chain.operator == "and"
    kept: list[Node] = []
    for operand in chain.operands:
        if isinstance(operand, Chain) and operand.operator != "||" and len(inner := simplified(operand)) == 1:
            operand = inner[0]
        known = _known_truth(operand)
        first_known = _known_truth(kept[0]) if len(kept) == 1 else None
        if not kept or known is (not idle) or first_known is idle:
            kept = [operand]
        elif known is not idle and first_known is not (not idle):
            kept.append(operand)
    return kept


def tested_truth(node: Binary) -> Truth | None:
    """Return the word of `x IS true` and its like, which asks for truth and not for the number 1."""
    if node.operator not in ("is", "is not"):
        return None
    right = node.right
    while isinstance(right, Collate) or (isinstance(right, Call) and right.name in LIKELY):
        right = right.operand if isinstance(right, Collate) else right.arguments[0]
    return right if isinstance(right, Truth) else None


def _known_truth(node: Node) -> bool | None:
    if isinstance(node, Truth):
        return node.value
    if isinstance(node, NullTest):
        operand = node.operand
        while isinstance(operand, Unary) and operand.operator in ("+", "-"):
            operand = operand.operand
        return node.negated if isinstance(operand, Constant) and operand.value is not None else None
    if isinstance(node, Constant) and type(node.value) is int and node.written and "_" not in node.written:
        # SQLite looks only at numbers that it can keep in 32 bits and need not clean first.
        return node.value != 0 if 0 <= node.value < 2**31 else None
    return None
