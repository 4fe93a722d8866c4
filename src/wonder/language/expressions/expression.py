"""Expression: a compiled expression."""

from collections.abc import Callable
from typing import NoReturn, final

from wonder.language.expressions.errors import EvaluationError, ExpressionFailed
from wonder.language.expressions.names import Path, show_path
from wonder.language.expressions.readers import Scope, compile_reader
from wonder.language.values import BadValue, JsonValue, encode_json

_SHOWN_CHARACTERS = 1_000


@final
class Expression:
    """An expression, compiled once; it can be evaluated any number of times, from any thread.

    `paths` are the paths that it reads, each once, in order, from their roots on; `quoted` are the names that stand
    alone and in double quotes. One that `copies` is a bare path, whose value goes out unchanged (EXP-6).
    """

    __slots__ = ("_evaluate", "_matches", "copies", "paths", "quoted", "reads_last_error", "text")

    def __init__(
        self,
        text: str,
        paths: tuple[Path, ...],
        quoted: frozenset[str],
        evaluate: Callable[[Scope], JsonValue],
        matches: Callable[[Scope], bool],
        *,
        copies: bool = False,
    ) -> None:
        self.text, self.paths, self.quoted, self.copies = text, paths, quoted, copies
        self.reads_last_error = any(path[0] == "_last_error" for path in paths)
        self._evaluate, self._matches = evaluate, matches

    def evaluate(self, scope: Scope) -> JsonValue:
        """Return the value over a scope of JSON values by root (EXP-6); raise ExpressionFailed if it has none."""
        try:
            return self._evaluate(scope)
        except (EvaluationError, BadValue) as error:
            self._fail(scope, error)

    def matches(self, scope: Scope) -> bool:
        """Tell whether the expression is true over a scope; NULL is not (EXP-3)."""
        try:
            return self._matches(scope)
        except (EvaluationError, BadValue) as error:
            self._fail(scope, error)

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"

    def _fail(self, scope: Scope, error: Exception) -> NoReturn:
        values = {show_path(path): _shortened(compile_reader(path)(scope)) for path in self.paths}
        raise ExpressionFailed(self.text, str(error), values) from None


def _shortened(value: JsonValue) -> JsonValue:
    """Return a value for an error: a large one only by its beginning."""
    if isinstance(value, str | list | dict):
        text = value if isinstance(value, str) else encode_json(value)
        return value if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."
    return value
