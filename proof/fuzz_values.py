"""The target for values from outside: texts that expressions, queries, templates and refs of a good definition meet."""

from contextlib import suppress
from typing import Any, Final

from wonder.errors import WonderError
from wonder.language.expressions import Names, compile_expression
from wonder.language.paths import compile_query
from wonder.language.redaction import Redactor
from wonder.language.templates import compile_template
from wonder.language.values import check_value, encode_json, parse_json

_TEXTS: Final = (
    "input.x + 1",
    "-input.x * 2.5",
    "input.x = 1 or input.x < 'a'",
    "cast(input.x as integer)",
    "cast(input.x as real)",
    "cast(input.x as numeric)",
    "abs(input.x) + round(input.x, 2)",
    "date(input.x)",
    "time('12:00', input.x)",
    "datetime('2024-02-29 12:00:00', input.x, input.x)",
    "strftime(input.x, '2024-01-01')",
    "strftime('%Y-%j %f %s', input.x)",
    "timediff(input.x, '2024-01-01')",
    "julianday(input.x, 'auto')",
    "input.x like '%a_b%'",
    "'abc' like input.x",
    "input.x glob '*[a-c]?*'",
    "'abcabc' glob input.x",
    "json_valid(input.x, 6)",
    "json_extract(input.x, '$.a[0]')",
    'json_extract(\'{"a": [1, {"b": 2}]}\', input.x)',
    "json_set(input.x, '$.a', 1)",
    "json(input.x)",
    "json_quote(input.x)",
    "printf(input.x, 1, 'a', 2.5)",
    "printf('%5.3s %q %d %e', input.x, input.x, input.x, input.x)",
    "hex(input.x)",
    "instr(input.x, 'a') + length(input.x)",
    "replace(substr(input.x, 2, 5), 'a', 'bb')",
    "trim(input.x, 'ab ') || upper(input.x) || lower(input.x)",
    "quote(input.x)",
    "unicode(input.x)",
)
_EXPRESSIONS: Final = tuple(compile_expression(text, Names()) for text in _TEXTS)
_QUERIES: Final = tuple(
    compile_query(text) for text in ("$..[?match(@, '[a-z]*b')]", "$..[?search(@.x, '(a|b)+c')]", "$.input.x.a[0]")
)
_TEMPLATES: Final = tuple(
    compile_template("{{input.x}} {{#each input.x}}{{this}}{{/each}} {{json input.x}}", escape=escape)
    for escape in ("none", "url")
)
parts: int = 1
"""Each input is given to one of so many parts of the expressions; all of them take half a second."""
_SECRET: Final = "sk-Zx9hidden7Q"  # of nobody
_REDACTOR: Final = Redactor()
_REDACTOR.add("KEY", _SECRET)


def values(text: str) -> None:
    """Give a text, and the JSON that it may be, to expressions, queries and templates, and have it redacted."""
    check_value(text)
    found: list[Any] = [text]
    with suppress(WonderError):
        found.append(parse_json(text))
    for value in found:
        scope: Any = {"input": {"x": value}, "state": {}, "output": {}}
        for expression in _EXPRESSIONS[len(text) % parts :: parts]:
            with suppress(WonderError):
                check_value(expression.evaluate(scope))
        for query in _QUERIES:
            with suppress(WonderError):
                query.find(scope)
        for template in _TEMPLATES:
            with suppress(WonderError):
                check_value(template.render(scope))
        assert _SECRET not in encode_json(_REDACTOR.value(value)), "a secret is redacted"
