"""Paths into JSON values: JSONPath queries (RFC 9535, CTX-5) and dotted paths (CTX-6)."""

from wonder.language.paths.dotted import parse_dotted
from wonder.language.paths.faults import PathSyntax, QueryTooLarge
from wonder.language.paths.getters import MISSING, Missing, Path
from wonder.language.paths.query import Query, compile_query

__all__ = [
    "MISSING",
    "Missing",
    "Path",
    "PathSyntax",
    "Query",
    "QueryTooLarge",
    "compile_query",
    "parse_dotted",
]
