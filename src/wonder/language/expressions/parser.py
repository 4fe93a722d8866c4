"""Builds the tree of an expression with SQLite's precedences: a Pratt parser over one table."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NoReturn

from wonder.language.expressions.errors import (
    ExpressionForbidden,
    ExpressionSyntax,
    ExpressionTooLarge,
    UnknownFunction,
)
from wonder.language.expressions.functions import (
    DATE_FUNCTIONS,
    FORBIDDEN_FUNCTIONS,
    FUNCTIONS,
    IMPURE_TIMES,
    SPECIAL_FUNCTIONS,
)
from wonder.language.expressions.limits import MAX_NESTING
from wonder.language.expressions.literals import cast_affinity, negated, number_literal
from wonder.language.expressions.names import Names
from wonder.language.expressions.sql_values import COLLATIONS
from wonder.language.expressions.tokens import Token, tokenize
from wonder.language.expressions.tree import (
    Between,
    Binary,
    Call,
    Case,
    Cast,
    Chain,
    Collate,
    Constant,
    In,
    Node,
    NullTest,
    Reference,
    Truth,
    Unary,
)

# How tightly each operator binds; operators of the same power group from left to right.
POWERS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "or": 1,
        "and": 2,
        "prefix not": 3,
        **dict.fromkeys(["=", "==", "!=", "<>", "is", "in", "like", "glob", "regexp", "match", "between"], 4),
        **dict.fromkeys(["isnull", "notnull", "not"], 4),
        **dict.fromkeys(["<", "<=", ">", ">="], 5),
        **dict.fromkeys(["&", "|", "<<", ">>"], 7),
        **dict.fromkeys(["+", "-"], 8),
        **dict.fromkeys(["*", "/", "%"], 9),
        **dict.fromkeys(["||", "->", "->>"], 10),
        "collate": 11,
        "prefix": 12,
    }
)
_SAME: Final = {"==": "=", "<>": "!="}
_CHAINED: Final = frozenset({"and", "or", "||"})


def parse(text: str, names: Names, powers: Mapping[str, int] = POWERS) -> Node:
    """Return the tree of an expression; raise ExpressionSyntax or one of its kinds."""
    return _Parser(text, names, powers).whole()


class _Parser:
    def __init__(self, text: str, names: Names, powers: Mapping[str, int]) -> None:
        self._text, self._names, self._powers = text, names, powers
        self._tokens = tokenize(text)
        self._at = 0
        self._depth = 0

    def whole(self) -> Node:
        node = self._expression(0)
        if self._token.kind != "end":
            self._refuse("expected an operator or the end")
        return node

    @property
    def _token(self) -> Token:
        return self._tokens[self._at]

    def _advance(self) -> Token:
        token = self._token
        if token.kind != "end":
            self._at += 1
        return token

    def _accept(self, *words: str) -> bool:
        """Go past these words or operators if all of them are next."""
        following = self._tokens[self._at : self._at + len(words)]
        if [token.text for token in following if token.kind in ("word", "operator")] != list(words):
            return False
        self._at += len(words)
        return True

    def _expect(self, word: str, why: str) -> None:
        if not self._accept(word):
            self._refuse(f"expected {word.upper()} {why}")

    def _refuse(self, reason: str, token: Token | None = None) -> NoReturn:
        """Refuse a token, the next one unless another is given."""
        token = token or self._token
        found = "the end" if token.kind == "end" else repr(self._text[token.position :][:20])
        raise ExpressionSyntax(self._text, token.position, f"{reason}, not {found}")

    def _checked(self, node: Node) -> Node:
        if node.height > MAX_NESTING:
            self._too_deep()
        return node

    def _too_deep(self) -> NoReturn:
        raise ExpressionTooLarge(
            self._text,
            self._token.position,
            f"the expression is nested deeper than {MAX_NESTING} levels; compute a part of it in an earlier step",
        )

    def _expression(self, power: int) -> Node:
        """Read an operand and all operators behind it that bind more tightly than `power`."""
        self._depth += 1
        if self._depth > MAX_NESTING:
            self._too_deep()
        node = self._checked(self._operand())
        while self._left_power() > power:
            node = self._checked(self._operator(node))
        self._depth -= 1
        return node

    def _left_power(self) -> int:
        token = self._token
        return self._powers.get(token.text, 0) if token.kind in ("word", "operator") else 0

    def _operator(self, left: Node) -> Node:
        token = self._advance()
        negate = token.text == "not"
        if negate:
            if self._accept("null"):
                return NullTest(left, negated=True)
            token = self._advance()
            if token.text not in ("like", "glob", "regexp", "match", "in", "between") or token.kind != "word":
                self._refuse("expected NULL, LIKE, GLOB, IN or BETWEEN behind NOT", token)
        special = self._SPECIAL.get(token.text)
        if special is None:
            return self._binary(token.text, left)
        node = special(self, left, token)
        if not negate:
            return node
        return Truth(not node.value) if isinstance(node, Truth) else Unary("not", node)

    def _binary(self, operator: str, left: Node) -> Node:
        right = self._expression(self._powers[operator])
        if operator in ("->", "->>"):
            return Call(operator, (left, right), infix=True)
        if operator in _CHAINED:
            operands = left.operands if isinstance(left, Chain) and left.operator == operator else (left,)
            return Chain(operator, (*operands, right))  # type: ignore[arg-type]  # it is one of _CHAINED
        return Binary(_SAME.get(operator, operator), left, right)

    def _null_test(self, left: Node, token: Token) -> Node:
        return NullTest(left, negated=token.text == "notnull")

    def _is(self, left: Node, token: Token) -> Node:
        negate = self._accept("not")
        if self._accept("distinct", "from"):
            negate = not negate
        right = self._expression(self._powers["is"])
        if isinstance(right, Constant) and right.value is None:
            return NullTest(left, negated=negate)
        return Binary("is not" if negate else "is", left, right)

    def _like(self, left: Node, token: Token) -> Node:
        if token.text in ("regexp", "match"):
            raise UnknownFunction(
                self._text, token.position, f"{token.text.upper()} is not available; use LIKE, GLOB or instr()"
            )
        pattern = self._expression(self._powers["like"])
        if not self._accept("escape"):
            return Call(token.text, (pattern, left), infix=True)
        if token.text == "glob":
            self._refuse("expected no ESCAPE behind GLOB; put the character in brackets like [*]", token)
        return Call(token.text, (pattern, left, self._expression(self._powers["like"])), infix=True)

    def _between(self, left: Node, token: Token) -> Node:
        low = self._expression(self._powers["and"])
        self._expect("and", "between the two limits of BETWEEN")
        return Between(left, low, self._expression(self._powers["between"]))

    def _in(self, left: Node, token: Token) -> Node:
        if not self._accept("("):
            if self._token.kind in ("path", "function"):
                raise ExpressionForbidden(
                    self._text,
                    self._token.position,
                    "IN takes a list in parentheses, tables are not allowed; write x IN (1, 2), or look for an element "
                    "of a list with the operator contains of a structured condition",
                )
            self._refuse("expected ( and a list behind IN")
        elements = self._arguments("IN")
        return In(left, elements) if elements else Truth(False)

    def _collate(self, left: Node, token: Token) -> Node:
        named = self._advance()
        name = named.path[0] if named.kind == "path" and len(named.path) == 1 else named.text
        if named.kind not in ("path", "text") or str(name).lower() not in COLLATIONS:
            self._refuse("expected BINARY, NOCASE or RTRIM behind COLLATE", named)
        return Collate(left, str(name).lower())

    def _operand(self) -> Node:
        token = self._advance()
        if token.kind == "number":
            return number_literal(self._text, token)
        if token.kind == "text":
            return Constant(token.text)
        if token.kind == "path":
            return Reference(self._names.resolve(token.path, self._text, token.position))
        if token.kind == "function":
            return self._call(token)
        if token.kind == "operator":
            return self._prefix_operator(token)
        return self._prefix_word(token)

    def _prefix_operator(self, token: Token) -> Node:
        if token.text == "(":
            return self._parenthesis(token)
        if token.text not in ("+", "-", "~"):
            self._refuse("expected a value", token)
        operand = self._expression(self._powers["prefix"])
        if isinstance(operand, Unary) and operand.operator == "+" and token.text != "~":
            operand = operand.operand
        if token.text == "-" and isinstance(operand, Constant):
            return negated(self._text, token, operand)
        return Unary(token.text, operand)  # type: ignore[arg-type]  # it is one of the three

    def _parenthesis(self, token: Token) -> Node:
        if self._token.text in ("select", "values", "with") and self._token.kind in ("word", "path"):
            raise ExpressionForbidden(
                self._text, self._token.position, "subqueries are not allowed; use paths and functions"
            )
        node = self._expression(0)
        if self._token.text == "," and self._token.kind == "operator":
            raise ExpressionForbidden(
                self._text, self._token.position, "lists of values are not allowed here; compare one value at a time"
            )
        self._expect(")", f"for the ( at position {token.position}")
        return node

    def _prefix_word(self, token: Token) -> Node:
        if token.text == "not" and token.kind == "word":
            return Unary("not", self._expression(self._powers["prefix not"]))
        if token.text in ("true", "false"):
            return Truth(token.text == "true")
        if token.text == "null":
            return Constant(None)
        if token.text == "case":
            return self._case()
        if token.text == "cast":
            return self._cast()
        if token.text in ("like", "glob") and self._token.text == "(":
            return self._call(token)
        if token.text in ("select", "exists"):
            raise ExpressionForbidden(self._text, token.position, "subqueries are not allowed; use paths and functions")
        if token.text.startswith("current_"):
            raise ExpressionForbidden(
                self._text,
                token.position,
                f"{token.text.upper()} is not allowed: a decision must not depend on the clock",
            )
        hint = f' ("{token.text}" in double quotes would name a field)' if token.kind == "word" else ""
        return self._refuse(f"expected a value{hint}", token)

    def _case(self) -> Node:
        operand = None if self._next_is("when") else self._expression(0)
        branches = []
        while self._accept("when"):
            test = self._expression(0)
            self._expect("then", "behind the test of WHEN")
            branches.append((test, self._expression(0)))
        if not branches:
            self._refuse("expected WHEN in CASE")
        otherwise = self._expression(0) if self._accept("else") else None
        self._expect("end", "to close CASE")
        return Case(operand, tuple(branches), otherwise)

    def _next_is(self, word: str) -> bool:
        return self._token.kind == "word" and self._token.text == word

    def _cast(self) -> Node:
        self._expect("(", "behind CAST")
        operand = self._expression(0)
        self._expect("as", "in CAST(value AS type)")
        start = self._token.position
        while self._token.kind in ("text", "function") or (self._token.kind == "path" and len(self._token.path) == 1):
            self._advance()
        if self._accept("("):
            self._type_sizes()
        end = self._token.position
        self._expect(")", "to close CAST")
        return Cast(operand, cast_affinity(self._text, start, end))

    def _type_sizes(self) -> None:
        """Go past the sizes in a type like VARCHAR(10), which mean nothing."""
        for _ in range(2):
            if self._token.text in ("+", "-"):
                self._advance()
            if (size := self._advance()).kind != "number":
                self._refuse("expected a number in the parentheses of the type", size)
            if not self._accept(","):
                break
        self._expect(")", "to close the sizes of the type")

    def _arguments(self, of: str) -> tuple[Node, ...]:
        if self._accept(")"):
            return ()
        if self._next_is("select"):
            raise ExpressionForbidden(
                self._text, self._token.position, "subqueries are not allowed; use paths and functions"
            )
        arguments = [self._expression(0)]
        while self._accept(","):
            arguments.append(self._expression(0))
        self._expect(")", f"or a comma in the list of {of}")
        return tuple(arguments)

    def _call(self, token: Token) -> Node:
        name = token.text
        self._expect("(", f"behind {name}")
        if self._token.text == "*" or self._next_is("distinct"):
            self._refuse(f"the arguments of {name}() are values; * and DISTINCT are for tables")
        if name in FORBIDDEN_FUNCTIONS:
            reason = f"{name}() is not allowed: {FORBIDDEN_FUNCTIONS[name]}"
            raise ExpressionForbidden(self._text, token.position, reason)
        arguments = self._arguments(f"{name}()")
        self._check_count(token, len(arguments))
        if name in DATE_FUNCTIONS:
            self._check_pure(token, arguments)
        if name == "likelihood" and not _is_probability(arguments[1]):
            self._refuse("expected a number from 0.0 to 1.0 as the second argument of likelihood()", token)
        return Call(name, arguments)

    def _check_pure(self, token: Token, arguments: tuple[Node, ...]) -> None:
        for argument in arguments:
            if isinstance(argument, Constant) and str(argument.value).lower() in IMPURE_TIMES:
                reason = f"{token.text}() with {argument.value!r} depends on the clock or the time zone of the machine"
                raise ExpressionForbidden(self._text, token.position, f"{reason}; give it a time from the context")

    def _check_count(self, token: Token, count: int) -> None:
        name = token.text
        if name in FUNCTIONS:
            fewest, most = FUNCTIONS[name].fewest, FUNCTIONS[name].most
        elif name in SPECIAL_FUNCTIONS:
            fewest, most = SPECIAL_FUNCTIONS[name]
        else:
            near = _near(name)
            hint = (
                f"did you mean {near}()?"
                if near
                else "there are those of SQLite, as coalesce(), length(), json_extract()"
            )
            raise UnknownFunction(self._text, token.position, f"there is no function {name}(); {hint}")
        if name in DATE_FUNCTIONS and count < fewest and most is None:
            reason = f"{name}() without a time depends on the clock; give it a time from the context"
            raise ExpressionForbidden(self._text, token.position, reason)
        if count < fewest or (most is not None and count > most):
            wanted = f"{fewest}" if most == fewest else f"{fewest} to {most}" if most else f"at least {fewest}"
            noun = "argument" if wanted == "1" else "arguments"
            raise UnknownFunction(self._text, token.position, f"{name}() takes {wanted} {noun}, not {count}")

    _SPECIAL: Final[dict[str, Callable[["_Parser", Node, Token], Node]]] = {
        "isnull": _null_test,
        "notnull": _null_test,
        "is": _is,
        **dict.fromkeys(["like", "glob", "regexp", "match"], _like),
        "between": _between,
        "in": _in,
        "collate": _collate,
    }


def _is_probability(node: Node) -> bool:
    return isinstance(node, Constant) and bool(node.written) and type(node.value) is float and node.value <= 1.0


def _near(name: str) -> str | None:
    """Find the function that a misspelled name was meant for."""
    known = [*FUNCTIONS, *SPECIAL_FUNCTIONS]
    matches = [other for other in known if other.replace("_", "") == name.replace("_", "")]
    if not matches:
        matches = [other for other in known if name and (other.startswith(name) or name.startswith(other))]
    return min(matches, key=len) if matches else None
