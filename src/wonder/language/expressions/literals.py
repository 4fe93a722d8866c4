"""What the literals and type names of an expression stand for."""

from wonder.language.expressions.errors import ExpressionForbidden, ExpressionSyntax
from wonder.language.expressions.numbers import MAX_INTEGER, MIN_INTEGER, real_prefix
from wonder.language.expressions.sql_values import Affinity
from wonder.language.expressions.tokens import Token
from wonder.language.expressions.tree import Constant, Node, Unary


def number_literal(text: str, token: Token) -> Constant:
    """Return a number as SQLite reads it: integers of more than 64 bits are REAL, hexadecimal ones have a sign bit."""
    written = token.text.replace("_", "")
    if written[:2] in ("0x", "0X"):
        value = int(written, 16)
        if value >= 2**64:
            raise ExpressionSyntax(text, token.position, "a hexadecimal number may have 16 digits")
        return Constant(value - 2**64 if value >= 2**63 else value, token.text)
    if written.isdigit() and len(written) <= _DIGITS_MAX and int(written) <= MAX_INTEGER:
        return Constant(int(written), token.text)
    return Constant(real_prefix(written).value, token.text)


def negated(text: str, token: Token, operand: Constant) -> Node:
    """Return an operand with a minus in front of it; only so the smallest integer can be written as an integer."""
    written, value = operand.written.replace("_", ""), operand.value
    if not written:
        return Unary("-", operand)
    if value == MIN_INTEGER:
        raise ExpressionSyntax(text, token.position, "the negative of this hexadecimal number has more than 64 bits")
    if written.isdigit() and len(written) <= _DIGITS_MAX and -int(written) == MIN_INTEGER:
        return Constant(MIN_INTEGER)
    return Constant(-value)


# Zeros in front aside, this many digits are far beyond 64 bits.
_DIGITS_MAX = 400

# What in the name of a type decides, in the order in which SQLite looks.
_TEXT_TYPES = ("char", "clob", "text")
_REAL_TYPES = ("real", "floa", "doub")


def cast_affinity(text: str, start: int, end: int) -> Affinity:
    """Return what CAST makes of a type name: SQLite looks only for parts of it, like INT or CHAR."""
    name = text[start:end].lower()
    if "int" in name:
        return "integer"
    if any(part in name for part in _TEXT_TYPES):
        return "text"
    if "blob" in name:
        raise ExpressionForbidden(text, start, "CAST to a binary type is not allowed, because values are JSON")
    return "real" if any(part in name for part in _REAL_TYPES) else "numeric"
