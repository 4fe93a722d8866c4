"""Collections: where the items of a foreach come from, a path, a query or an expression (CTX-6)."""

import re
from typing import Final, final

from wonder.language.expressions import Expression, Names, compile_expression
from wonder.language.paths import MISSING, Missing, Path, Query, compile_query, parse_dotted
from wonder.language.paths.faults import PathSyntax
from wonder.language.paths.getters import getter
from wonder.language.values import JsonValue

# What has nothing but names, dots and brackets was meant as a path, and its error is that of a path.
_LIKE_A_PATH: Final = re.compile(r'[\w.\[\]"-]*')


@final
class Collection:
    """A compiled collection, immutable.

    `path`: its names and indexes, if it is a path. `query`: a JSONPath query that finds several values. `expression`:
    anything else.
    """

    __slots__ = ("_find", "expression", "path", "query", "reads_branch", "text")

    def __init__(
        self, text: str, path: Path | None = None, query: Query | None = None, expression: Expression | None = None
    ) -> None:
        self.text, self.path, self.query, self.expression = text, path, query, expression
        self._find = getter(path) if path is not None else query.find if query is not None else None
        read = [path] if path else [query.prefix] if query else list(expression.paths) if expression else []
        # A query that begins with a wildcard reads all roots.
        self.reads_branch = any(place[:1] in ((), ("_branch",)) for place in read)

    def find(self, context: dict[str, JsonValue]) -> JsonValue | Missing:
        """Give the value over a context by root, a list if all is well; raises ExpressionFailed."""
        if self._find is not None:
            return self._find(context)
        assert self.expression is not None
        value = self.expression.evaluate(context)
        return MISSING if value is None and self.expression.copies else value


def compile_collection(text: str, names: Names) -> Collection:
    """Compile a collection; raises PathSyntax or ExpressionSyntax if it is none."""
    if text.startswith("$"):
        query = compile_query(text)
        return Collection(text, query=query) if not query.singular else Collection(text, parse_dotted(text))
    try:
        return Collection(text, parse_dotted(text))
    except PathSyntax:
        if _LIKE_A_PATH.fullmatch(text):
            raise
        return Collection(text, expression=compile_expression(text, names))
