"""SQLite as the oracle: what an expression over these values gives there."""

from math import isinf
from typing import Any

import apsw
from expression_cases import Case, Parameter
from expression_specimens import ABSENT

from wonder.language.values import BadValue, canonical_json, check_value, parse_json

JSON_SUBTYPE = 74


class Failed:
    """An outcome that is an error; all errors are alike."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Failed)

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return f"Failed({self.reason})"


class Oracle:
    """A connection to SQLite that evaluates cases."""

    def __init__(self) -> None:
        self._connection = apsw.Connection(":memory:")

    def value(self, case: Case, *, cast_at_top: bool) -> Any:
        """Return the value as JSON, or Failed; what was cast to a text stays a text."""
        sql, parameters = self._translated(case)
        try:
            value = self._single(f"({sql}\n)", parameters)
            is_json = isinstance(value, str) and self._single(f"subtype({sql}\n)", parameters) == JSON_SUBTYPE
        except (apsw.Error, UnicodeDecodeError) as error:
            return Failed(str(error))
        if isinstance(value, float) and isinf(value):
            return Failed("infinite")
        if is_json and not cast_at_top:
            try:
                return parse_json(value)
            except BadValue as error:
                return Failed(str(error))
        return value

    def truth(self, case: Case) -> Any:
        """Return whether the expression is true, as SQLite tests it behind WHEN."""
        sql, parameters = self._translated(case)
        try:
            return bool(self._single(f"CASE WHEN ({sql}\n) THEN 1 ELSE 0 END", parameters))
        except (apsw.Error, UnicodeDecodeError) as error:
            return Failed(str(error))

    def _single(self, sql: str, parameters: list[Any]) -> Any:
        return next(iter(self._connection.execute("SELECT " + sql, parameters)))[0]

    def _translated(self, case: Case) -> tuple[str, list[Any]]:
        names = sorted({piece.name for piece in case.pieces if isinstance(piece, Parameter)})
        sql = ""
        for piece in case.pieces:
            if isinstance(piece, Parameter):
                number = f"?{names.index(piece.name) + 1}"
                sql += f"json({number})" if isinstance(case.values[piece.name], list | dict) else number
            else:
                sql += piece
        return sql, [_bound(case.values[name]) for name in names]


def _bound(value: Any) -> Any:
    """Turn a JSON value into what SQLite is given (EXP-6)."""
    if value is ABSENT:
        return None
    if isinstance(value, list | dict):
        return canonical_json(value)
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        try:
            return float(value)
        except OverflowError:
            return float("inf") if value > 0 else float("-inf")
    return value


def same(ours: Any, theirs: Any) -> bool:
    """Tell whether two outcomes are the same, 1 and 1.0 and -0.0 apart; true and false count as 1 and 0."""
    if isinstance(ours, Failed) or isinstance(theirs, Failed):
        return ours == theirs
    if isinstance(ours, bool):
        ours = int(ours)
    if isinstance(theirs, bool):
        theirs = int(theirs)
    if type(ours) is not type(theirs):
        return False
    if isinstance(ours, list | dict):
        return canonical_json(check_value(ours)) == canonical_json(check_value(theirs))
    return repr(ours) == repr(theirs)
