"""Parsing a query for PostgreSQL, with PostgreSQL's own grammar: one SELECT, made of parts that can only read."""

import importlib
import re
from typing import Any, Final, NamedTuple

from wonder.storage.querying.answers import QueryRefused
from wonder.storage.querying.policy import FUNCTIONS, refused_function

# Everything else is refused, among it all that writes or locks, parameters, XML and TABLESAMPLE.
_PART_NAMES: Final = """
    SelectStmt ResTarget ColumnRef A_Star A_Const A_Expr A_Indices A_Indirection A_ArrayExpr BoolExpr NullTest
    BooleanTest FuncCall NamedArgExpr TypeCast TypeName CollateClause SubLink CaseExpr CaseWhen CoalesceExpr MinMaxExpr
    RowExpr GroupingFunc GroupingSet SortBy WindowDef RangeVar RangeSubselect RangeFunction JoinExpr CommonTableExpr
    List String Integer Float Boolean BitString SQLValueFunction ColumnDef
    JsonValueExpr JsonKeyValue JsonObjectConstructor JsonArrayConstructor JsonArrayQueryConstructor JsonObjectAgg
    JsonArrayAgg JsonParseExpr JsonScalarExpr JsonSerializeExpr JsonIsPredicate JsonFuncExpr JsonArgument JsonTable
    JsonTableColumn JsonTablePathSpec
"""
_PARTS: Final = frozenset(_PART_NAMES.split())
_CATALOG: Final = "pg_catalog"
# PostgreSQL's scanner takes the square of the length of such a row: 10 seconds for a query of 100 KB.
_SIGNS: Final = re.compile(r"[~!@#^&|`?+\-*/%<>=]+")
_SIGNS_MAX: Final = 1_000
_ONLY: Final = "only one SELECT (or WITH … SELECT) is possible here"


class Select(NamedTuple):
    """A query that only reads: its text without a final semicolon, and the names in it that can be functions.

    PostgreSQL takes `x.name` for the function `name` of x where x has no such column, so those names are here too.
    """

    text: str
    names: frozenset[str]


def parse_select(sql: str) -> Select:
    """Parse a query; raises QueryRefused if it is anything but one SELECT with functions that are allowed."""
    pgparse = _parser()
    if "\0" in sql:
        # The parser stops there, and the protocol's message would go on behind it.
        raise QueryRefused("the query has the character U+0000; leave it out")
    if any(len(signs) > _SIGNS_MAX for signs in _SIGNS.findall(sql)):
        raise QueryRefused(f"the query has more than {_SIGNS_MAX:,} signs of operators in a row; put blanks in between")
    try:
        statements = pgparse.parse(sql)
    except pgparse.PGQueryError as error:
        raise QueryRefused(f"the query is not valid SQL: {error}; correct it") from None
    except RecursionError:
        raise QueryRefused("the query is nested too deeply; simplify it") from None
    if len(statements) != 1:
        found = f"{len(statements)} statements were found" if statements else "no statement was found"
        raise QueryRefused(f"{_ONLY}, and {found}; write one")
    statement = statements[0]
    if set(statement["stmt"]) != {"SelectStmt"}:
        found = next(iter(statement["stmt"])).removesuffix("Stmt")
        raise QueryRefused(f"{_ONLY}, and a statement of the kind {found!r} was found; write one that reads")
    start = statement.get("stmt_location", 0)
    text = sql.encode()[start : start + statement["stmt_len"] if "stmt_len" in statement else None]
    return Select(text.decode(), _names(statement["stmt"]))


def _parser() -> Any:
    try:
        return importlib.import_module("pgparse")  # an extra, imported when it is used
    except ImportError:
        raise QueryRefused(
            "queries on PostgreSQL need the package pgparse; install it with: pip install 'wonder-workflows[postgres]'"
        ) from None


def _names(statement: dict[str, Any]) -> frozenset[str]:
    """Look at every part of a query; give the names that can be functions."""
    names: set[str] = set()
    left: list[Any] = [statement]
    while left:
        part = left.pop()
        if isinstance(part, list):
            left += part
        elif isinstance(part, dict):
            for key, value in part.items():
                # A part's kind begins with a capital letter, a field of a part does not.
                if key[0].isupper():
                    names |= _checked(key, value)
                elif key in ("intoClause", "lockingClause"):
                    what = "INTO" if key == "intoClause" else "FOR UPDATE or FOR SHARE"
                    raise QueryRefused(f"only queries that read are possible here, without {what}; leave it out")
                left.append(value)
    return frozenset(names)


def _checked(kind: str, part: dict[str, Any]) -> set[str]:
    if kind not in _PARTS:
        raise QueryRefused(f"a query can't contain {kind!r}, only what a SELECT that reads is made of; leave it out")
    match kind:
        case "FuncCall":
            *schema, name = _strings(part["funcname"])
            if schema not in ([], [_CATALOG]) or name not in FUNCTIONS["postgresql"]:
                raise QueryRefused(refused_function(".".join([*schema, name])))
            return {name}
        case "ColumnRef":
            return set(_strings(part["fields"])[1:])
        case "A_Indirection":
            return set(_strings(part["indirection"]))
        case _:
            return set()


def _strings(parts: list[dict[str, Any]]) -> list[str]:
    return [part["String"].get("sval", "") for part in parts if "String" in part]
