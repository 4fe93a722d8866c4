"""Structured conditions: the same trees as expressions, written as JSON (EXP-5)."""

from collections.abc import Callable
from typing import Any, Final, NoReturn

from wonder.language.expressions.building import build
from wonder.language.expressions.errors import ExpressionSyntax, ExpressionTooLarge
from wonder.language.expressions.expression import Expression
from wonder.language.expressions.limits import MAX_NESTING, MAX_STRUCTURED
from wonder.language.expressions.names import Names, parse_path
from wonder.language.expressions.sql_values import from_json
from wonder.language.expressions.tree import Binary, Call, Chain, Constant, In, Node, NullTest, Reference, Truth, Unary
from wonder.language.paths import PathSyntax, parse_dotted
from wonder.language.values import JsonValue, encode_json

_COMPARISONS: Final = {"==": "=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_CALLS: Final = {"contains": "contains", "starts_with": "starts with", "ends_with": "ends with"}
_MEMBERSHIPS: Final = ("in", "not_in")
_TESTS: Final = ("exists", "is_null")
_OPERATORS: Final = (*_COMPARISONS, *_MEMBERSHIPS, *_CALLS, *_TESTS)


def build_from_structured(definition: JsonValue, names: Names) -> Expression:
    """Build an expression from a structured condition; raise ExpressionSyntax, with the place, if it is invalid."""
    text = encode_json(definition)
    if len(text) > MAX_STRUCTURED:
        raise ExpressionTooLarge(
            text, 0, f"the condition has {len(text):,} characters as JSON, the limit is {MAX_STRUCTURED:,}; split it up"
        )
    return build(text, _Reader(text, names).condition(definition, "", 1))


class _Reader:
    def __init__(self, text: str, names: Names) -> None:
        self._text, self._names = text, names

    def condition(self, definition: JsonValue, place: str, depth: int) -> Node:
        if depth > MAX_NESTING:
            raise ExpressionTooLarge(self._text, 0, f"the condition is nested deeper than {MAX_NESTING} levels")
        if not isinstance(definition, dict):
            self._refuse(place, "expected an object with a type: comparison, and, or, not")
        kind = definition.get("type")
        read = self._KINDS.get(kind) if isinstance(kind, str) else None
        if read is None:
            self._refuse(f"{place}.type", f"expected comparison, and, or, not; found {encode_json(kind)[:40]}")
        return read(self, definition, place, depth)

    def _comparison(self, definition: dict[str, Any], place: str, depth: int) -> Node:
        self._check_keys(definition, place, {"type", "left", "operator", "right"})
        operator = definition.get("operator")
        if operator not in _OPERATORS:
            self._refuse(f"{place}.operator", f"expected one of {', '.join(_OPERATORS)}")
        left = self._operand(definition.get("left"), f"{place}.left")
        if operator in _TESTS:
            if definition.get("right") is not None:
                self._refuse(f"{place}.right", f"{operator} has no right operand; leave it out")
            return NullTest(left, negated=operator == "exists")
        right_place = f"{place}.right"
        if operator in _MEMBERSHIPS:
            node = self._membership(left, definition.get("right"), right_place)
            if operator == "in":
                return node
            return Truth(not node.value) if isinstance(node, Truth) else Unary("not", node)
        right = self._operand(definition.get("right"), right_place)
        if operator in _CALLS:
            return Call(_CALLS[operator], (left, right), infix=True)
        return Binary(_COMPARISONS[operator], left, right)

    def _membership(self, left: Node, right: JsonValue, place: str) -> Node:
        if isinstance(right, dict) and right.get("type") == "literal":
            elements = right.get("value")
            if not isinstance(elements, list):
                self._refuse(f"{place}.value", "expected a list for the operator in")
            constants = tuple(Constant(from_json(element)) for element in elements)
            return In(left, constants) if constants else Truth(False)
        return Call("element of", (left, self._operand(right, place)), infix=True)

    def _operand(self, operand: JsonValue, place: str) -> Node:
        if not isinstance(operand, dict) or operand.get("type") not in ("field", "literal"):
            self._refuse(place, 'expected {"type": "field", "path": ...} or {"type": "literal", "value": ...}')
        if operand["type"] == "literal":
            self._check_keys(operand, place, {"type", "value"})
            if "value" not in operand:
                self._refuse(f"{place}.value", "expected the value of the literal")
            return Constant(from_json(operand["value"]))
        self._check_keys(operand, place, {"type", "path"})
        path = operand.get("path")
        if not isinstance(path, str):
            self._refuse(f"{place}.path", "expected a path like state.approved")
        try:
            # CTX-6: a path may be written as a JSONPath as well.
            segments = parse_dotted(path) if path.startswith("$") else parse_path(path)
            return Reference(self._names.resolve(segments, path, 0))
        except (ExpressionSyntax, PathSyntax) as error:
            self._refuse(f"{place}.path", error.reason)

    def _several(self, definition: dict[str, Any], place: str, depth: int) -> Node:
        self._check_keys(definition, place, {"type", "conditions"})
        conditions = definition.get("conditions")
        if not isinstance(conditions, list) or not conditions:
            self._refuse(f"{place}.conditions", "expected a list of at least one condition")
        operands = [
            self.condition(condition, f"{place}.conditions[{index}]", depth + 1)
            for index, condition in enumerate(conditions)
        ]
        return Chain(definition["type"], tuple(operands))

    def _negation(self, definition: dict[str, Any], place: str, depth: int) -> Node:
        self._check_keys(definition, place, {"type", "condition"})
        return Unary("not", self.condition(definition.get("condition"), f"{place}.condition", depth + 1))

    def _check_keys(self, definition: dict[str, Any], place: str, known: set[str]) -> None:
        for key in definition:
            if key not in known:
                self._refuse(
                    f"{place}.{key}", f"this field is not known here; the fields are {', '.join(sorted(known))}"
                )

    def _refuse(self, place: str, reason: str) -> NoReturn:
        raise ExpressionSyntax(self._text, 0, f"at {place.lstrip('.') or 'the condition'}: {reason}")

    _KINDS: Final[dict[str, Callable[["_Reader", dict[str, Any], str, int], Node]]] = {
        "comparison": _comparison,
        "and": _several,
        "or": _several,
        "not": _negation,
    }
