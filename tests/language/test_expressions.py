"""Expressions: names (EXP-2), truth (EXP-3), what goes in and out (EXP-6), and what can't be evaluated (EXP-7)."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from wonder.language.expressions import (
    RESERVED_WORDS,
    ROOTS,
    ExpressionFailed,
    ExpressionForbidden,
    ExpressionSyntax,
    Names,
    UnknownFunction,
    compile_expression,
    is_item_var,
    parse_path,
    show_path,
)

NAMES = Names(ROOTS | {"item"}, ("state.approved", "input.order.total", "state.list[2]"))
SCOPE: dict[str, Any] = {
    "input": {"user": {"id": 7}, "order": {"total": 12.5}, "names": ["Ada", "Bob"]},
    "state": {
        "approved": True,
        "rows": [{"price": 1}, {"price": 2.0}],
        "a-b": 5,
        "a": 9,
        "b": 4,
        "end": "last",
        'say "hi"': 1,
        "now": "now",
        "tags": ["x", "y"],
        "nothing": None,
        "big": 2**70,
        "user": {"id": 1, "name": "Ada"},
    },
    "output": {},
    "_branch": {"index": 3},
    "_last_error": {"code": "TIMEOUT", "attempts": 2},
    "item": {"price": 30},
}


def evaluate(text: str, scope: dict[str, Any] = SCOPE) -> Any:
    return compile_expression(text, NAMES).evaluate(scope)


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("input.user.id", ("input", "user", "id"), 7),
        ("_branch.index", ("_branch", "index"), 3),
        ("item.price", ("item", "price"), 30),
        ("state.rows[1].price", ("state", "rows", 1, "price"), 2.0),
        ('state."a-b"', ("state", "a-b"), 5),
        ('state."say ""hi"""', ("state", 'say "hi"'), 1),
        ("state.end", ("state", "end"), "last"),  # behind a dot, words of the language are names
        ("state.rows[9]", ("state", "rows", 9), None),
        ("state.rows[0].price.deeper", ("state", "rows", 0, "price", "deeper"), None),
        ("state.a[0]", ("state", "a", 0), None),
        ("state.end[0]", ("state", "end", 0), None),  # a text is no list
        ("state.tags.x", ("state", "tags", "x"), None),
        ("output.none", ("output", "none"), None),
        ("_last_error.code", ("_last_error", "code"), "TIMEOUT"),
        ("state._last_error.code", ("_last_error", "code"), "TIMEOUT"),
        ("item", ("item",), {"price": 30}),
        ("approved", ("state", "approved"), True),  # through reads
        ("total", ("input", "order", "total"), 12.5),  # through reads
        ("user.id", ("state", "user", "id"), 1),  # a bare name that is nothing else
        ('"end"', ("state", "end"), "last"),
        ("(((state.a)))", ("state", "a"), 9),
        ("State", ("state", "State"), None),  # case matters in names
    ],
)
def test_exp_2_names_are_paths_into_the_context(text: str, path: tuple[str | int, ...], value: Any) -> None:
    expression = compile_expression(text, NAMES)
    assert expression.paths == (path,)
    assert expression.evaluate(SCOPE) == value


def test_exp_2_a_path_without_quotes_ends_at_a_minus() -> None:
    assert evaluate("state.a-b") == 5
    assert compile_expression("state.a-b", NAMES).paths == (("state", "a"), ("state", "b"))


def test_exp_2_double_quotes_are_names_and_single_quotes_are_texts() -> None:
    assert evaluate('"a" = 9') is True
    assert evaluate("'a' = 9") is False


def test_exp_2_a_name_that_two_reads_end_with_must_be_written_in_full() -> None:
    with pytest.raises(ExpressionSyntax, match=r"could be input\.id or state\.id; write one of them in full"):
        compile_expression("id = 1", Names(reads=("state.id", "input.id")))


def test_exp_2_paths_are_each_told_once_and_in_order() -> None:
    expression = compile_expression("state.b > state.a or state.b is null and input.x = item.y", NAMES)
    assert expression.paths == (("state", "b"), ("state", "a"), ("input", "x"), ("item", "y"))


@pytest.mark.parametrize(
    ("text", "reads"),
    [("_last_error.code = 'X'", True), ("state._last_error is not null", True), ("state.last_error = 1", False)],
)
def test_ctl_15_an_expression_tells_whether_it_reads_the_last_error(text: str, reads: bool) -> None:
    assert compile_expression(text, NAMES).reads_last_error is reads


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        *[("item", True), ("order", True), ("größe", True), ("_x1", True), ("a$", True)],
        *[("state", False), ("_branch", False), ("case", False), ("NULL", False), ("True", False)],
        *[("", False), ("1a", False), ("a b", False), ("a.b", False), ("a-b", False)],
    ],
)
def test_exp_2_an_item_var_is_an_identifier_that_is_no_root_and_no_word_of_the_language(
    name: str, allowed: bool
) -> None:
    assert is_item_var(name) is allowed


@pytest.mark.parametrize("word", sorted(RESERVED_WORDS))
def test_exp_2_a_word_of_the_language_is_a_name_behind_a_dot_or_in_quotes(word: str) -> None:
    assert compile_expression(f'state.{word} = 1 and "{word}" = 1', NAMES).paths == (("state", word),)
    assert compile_expression(f"state.{word.upper()}", NAMES).paths == (("state", word.upper()),)


@pytest.mark.parametrize("path", ["state.a", 'state."a b"[3].c', "_branch.item", 'state.""', 'state."a""b"'])
def test_exp_2_a_path_is_written_as_it_was_read(path: str) -> None:
    assert show_path(parse_path(path)) == path


@pytest.mark.parametrize(
    "path", ["", "state.", "state[", "state[-1]", "state[x]", "a b", "state..a", "1", "$.a", 'a."b']
)
def test_exp_2_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(ExpressionSyntax):
        parse_path(path)


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        *[("true", True), ("false", False), ("null", False), ("1", True), ("0", False), ("0.5", True), ("-1", True)],
        *[("'1'", True), ("'abc'", False), ("'0.0'", False), ("'2x'", True), ("state.nothing = null", False)],
        *[("state.absent", False), ("not state.absent", False), ("state.absent is null", True), ("state.tags", False)],
        *[("state.approved", True), ("1e999", True), ("state.absent or true", True), ("state.absent and true", False)],
    ],
)
def test_exp_3_a_condition_matches_only_when_it_is_true_in_sqlites_sense(text: str, matches: bool) -> None:
    assert compile_expression(text, NAMES).matches(SCOPE) is matches


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 = 1", True),
        ("1 == 2", False),
        ("1 != 1", False),
        ("1 < 2", True),
        ("1 and 2", True),
        ("0 or 0", False),
        ("not 5", False),
        ("1 is null", False),
        ("1 isnull", False),
        ("1 is not 2", True),
        ("1 is true", True),
        ("1 is distinct from 2", True),
        ("1 in (1, 2)", True),
        ("1 not in ()", True),
        ("'a' like 'A'", True),
        ("'a' not glob 'A'", True),
        ("1 between 0 and 2", True),
        ("true", True),
        ("(false)", False),
        ("null = 1", None),
        ("null and 1", None),
        ("null", None),
    ],
)
def test_exp_6_comparison_and_logic_at_the_top_give_true_or_false(text: str, value: Any) -> None:
    assert evaluate(text) is value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 1", 2),
        ("7 / 2", 3),
        ("7 / 2.0", 3.5),
        ("1 || 2", "12"),
        ("like('a', 'A')", 1),  # a function gives what SQLite gives
        ("iif(1, true, false)", 1),
        ("+(1 = 1)", 1),
        ("coalesce(state.absent, 'x')", "x"),
        ("json_array(1, 'a', null, 1 = 1)", [1, "a", None, 1]),
        ("json_object('a', state.tags)", {"a": ["x", "y"]}),
        ("json_set(state.user, '$.id', 2)", {"id": 2, "name": "Ada"}),
        ("json_insert(state.tags, '$[#]', 'z')", ["x", "y", "z"]),
        ("state.user -> 'name'", "Ada"),
        ("state.user -> 'absent'", None),
        ("state.user ->> 'name'", "Ada"),
        ("state.tags ->> 0", "x"),
        ("input ->> 'names'", '["Ada","Bob"]'),  # SQL text, not JSON
        ("input -> 'names'", ["Ada", "Bob"]),
        ("json_extract(state.user, '$.id')", 1),
        ("json_extract(input, '$.names')", ["Ada", "Bob"]),
        ("json('[1,2.50]')", [1, 2.5]),
        ("json_quote('a')", "a"),
        ("json_array_length(state.tags)", 2),
        ("cast(state.tags as text)", '["x","y"]'),
        ("state.tags || ''", '["x","y"]'),
        ("coalesce(state.tags, 1)", ["x", "y"]),
        ("max(1, 2, 3)", 3),
        ("date('2024-02-28', '+1 day')", "2024-02-29"),
        ("unixepoch('2024-02-29T12:00:00Z')", 1709208000),
        ("datetime(1709208000, 'unixepoch')", "2024-02-29 12:00:00"),
        ("julianday('2024-03-01') - julianday('2024-02-28')", 2.0),
        ("timediff('2024-03-01', '2023-01-31')", "+0001-00-30 00:00:00.000"),
        ("strftime('%Y week %V', '2021-01-03')", "2021 week 53"),
        ("typeof(state.tags)", "text"),
        ('state.tags = \'["x","y"]\'', True),
        ('state.user = \'{"id":1,"name":"Ada"}\'', True),
        ("state.approved + 1", 2),
    ],
)
def test_exp_6_json_functions_give_json_and_the_rest_is_as_sqlite_gives_it(text: str, value: Any) -> None:
    result = evaluate(text)
    assert (result, type(result)) == (value, type(value))


@pytest.mark.parametrize("value", [True, False, None, 2**70, 1.0, 1, "", [1, {"b": 1, "a": 2}], {}, "text", -0.0])
def test_exp_6_a_bare_path_copies_its_value_unchanged(value: Any) -> None:
    result = compile_expression("state.value", NAMES).evaluate({"state": {"value": value}})
    assert result is value


def test_exp_6_integers_beyond_64_bits_are_real() -> None:
    assert evaluate("state.big + 0") == float(2**70)
    assert evaluate("typeof(state.big)") == "real"


def test_exp_6_a_document_keeps_large_integers_as_they_are() -> None:
    assert evaluate("json_array(json_object('n', 1), item)", {"item": {"n": 2**70}}) == [{"n": 1}, {"n": 2**70}]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("json(state.end)", "malformed JSON"),
        ("state.end -> 'a'", "malformed JSON"),
        ("json_extract(state.user, 'name')", "is no JSON path"),
        ("abs(-9223372036854775808)", "integer overflow"),
        ("1e300 * 1e300", "overflow"),
        ("json_array(1e999)", "beyond what a double can hold"),
        ("json_object(1, 2)", "labels of json_object"),
        ("json_object('a', 1, 'a', 2)", "occurs twice"),
        ("'a' like 'b' escape 'cc'", "single character"),
        ("char(0)", "U.0000"),
        ("char(55296)", "lone surrogate"),
        ("json_extract('\"\\ud800\"', '$')", "lone surrogate"),
        ("json('\"\\u0000\"')", "U.0000"),
        ("unistr('\\zz')", "unistr"),
        ("unistr('\\UFFFFFFFF')", "beyond the last character"),
        ("printf('%.1s', 'é')", "cut a character in two"),
        ("json_valid('1', 99)", "flags"),
        ("date(state.now)", "must not depend on the clock"),
        ("date('2024-01-01', lower('UTC'))", "time zone"),
    ],
)
def test_exp_7_what_cant_be_evaluated_is_an_expression_error(text: str, reason: str) -> None:
    with pytest.raises(ExpressionFailed, match=reason) as caught:
        evaluate(text)
    assert caught.value.code == "EXPRESSION_ERROR"
    assert caught.value.expression == text


def test_exp_7_the_error_has_the_expression_and_the_values() -> None:
    with pytest.raises(ExpressionFailed) as caught:
        evaluate("json(state.end) and state.rows[1].price and state.absent")
    assert caught.value.values == {"state.end": "last", "state.rows[1].price": 2.0, "state.absent": None}
    assert "where state.end = 'last'" in str(caught.value)


def test_exp_7_the_error_shows_only_the_beginning_of_a_large_value() -> None:
    with pytest.raises(ExpressionFailed) as caught:
        evaluate("json(state.end)", {"state": {"end": "x" * 1_000_000}})
    assert len(str(caught.value)) < 1_000
    assert len(str(caught.value.values["state.end"])) < 1_100


@pytest.mark.parametrize(
    ("text", "position", "reason"),
    [
        ("", 0, "expected a value, not the end"),
        ("1 +", 3, "expected a value, not the end"),
        ("1 2", 2, "expected an operator or the end, not '2'"),
        ("(1", 2, r"expected \) for the \( at position 0, not the end"),
        ("state.a = 'x", 10, "has no closing '"),
        ('state."x', 5, "expected a name directly behind the dot"),
        ("state.", 5, "expected a name directly behind the dot"),
        ("state.rows.0", 10, r"write \[0\] for an index"),
        ("state.rows[x]", 10, r"expected a zero-based index like \[0\]"),
        ("[a]", 0, "use double quotes"),
        ("`a`", 0, "use double quotes"),
        ("12abc", 0, "expected a number"),
        ("1__0", 0, "expected a number"),
        ("end = 1", 0, 'expected a value .*"end" in double quotes would name a field'),
        ("case 1 end", 7, "expected WHEN in CASE"),
        ("case when 1 then 2", 18, "expected END to close CASE"),
        ("1 between 2", 11, "expected AND between the two limits"),
        ("1 not 2", 6, "expected NULL, LIKE, GLOB, IN or BETWEEN behind NOT"),
        ("'a' collate french", 12, "expected BINARY, NOCASE or RTRIM"),
        ("cast(1 text)", 7, "expected AS"),
        ("a ! b", 2, "means nothing.*write NOT"),
        ("a && b", 2, "means nothing.*write AND"),
        ("state['a']", 5, 'a field is state.name, or state."a b"'),
        ("a = \0", 4, r"U\+0000 can't stand in an expression"),
        ("0x11111111111111111", 0, "16 digits"),
        ("likelihood(1, 2)", 0, "expected a number from 0.0 to 1.0"),
    ],
)
def test_exp_1_a_fault_is_told_with_its_place_and_how_to_mend_it(text: str, position: int, reason: str) -> None:
    with pytest.raises(ExpressionSyntax, match=reason) as caught:
        compile_expression(text, NAMES)
    assert caught.value.code == "EXPRESSION_SYNTAX"
    assert (caught.value.text, caught.value.position) == (text, position)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("$.state.a", r"write state.a, not \$.state.a"),
        ("(select 1)", "subqueries"),
        ("select 1", "subqueries"),
        ("exists (select 1)", "subqueries"),
        ("1 in (select 1)", "subqueries"),
        ("1 in state.tags", "tables are not allowed"),
        ("random()", "it is random"),
        ("randomblob(1)", "it is random"),
        ("current_timestamp", "clock"),
        ("date('now')", "depends on the clock"),
        ("time()", "without a time depends on the clock"),
        ("strftime('%Y')", "without a time depends on the clock"),
        ("datetime(state.at, 'LocalTime')", "time zone of the machine"),
        ("last_insert_rowid()", "asks the database"),
        ("load_extension('x')", "asks the database"),
        ("count(1)", "sums up rows"),
        ("jsonb('1')", "binary"),
        ("x'00'", "binary"),
        ("cast(1 as blob)", "binary"),
        ("?1", "parameters"),
        (":name", "parameters"),
        ("1; 2", "single expression"),
        ("(1, 2) = (1, 2)", "one value at a time"),
    ],
)
def test_exp_1_what_is_not_allowed_is_told_clearly(text: str, reason: str) -> None:
    with pytest.raises(ExpressionForbidden, match=reason) as caught:
        compile_expression(text, NAMES)
    assert caught.value.code == "EXPRESSION_FORBIDDEN"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("frobnicate(1)", r"no function frobnicate\(\); there are those of SQLite"),
        ("jsonextract(1)", r"did you mean json_extract\(\)"),
        ("abs(1, 2)", r"abs\(\) takes 1 argument, not 2"),
        ("substr('a')", r"takes 2 to 3 arguments"),
        ("max(1)", "takes at least 2 arguments"),
        ("'a' regexp 'b'", "REGEXP is not available"),
    ],
)
def test_exp_1_an_unknown_function_is_told_apart(text: str, reason: str) -> None:
    with pytest.raises(UnknownFunction, match=reason) as caught:
        compile_expression(text, NAMES)
    assert caught.value.code == "UNKNOWN_FUNCTION"


def test_a_compiled_expression_can_be_used_from_many_threads() -> None:
    expression = compile_expression("json_array_length(state.tags) > state.n", NAMES)
    scopes = [{"state": {"tags": list(range(n % 7)), "n": 3}} for n in range(2_000)]
    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(expression.matches, scopes))
    assert results == [n % 7 > 3 for n in range(2_000)]


def test_evaluation_changes_nothing_in_the_scope() -> None:
    scope = {"state": {"a": {"b": [1]}}}
    expression = compile_expression("json_set(state.a, '$.b[0]', 2, '$.c', 3)", NAMES)
    assert expression.evaluate(scope) == {"b": [2], "c": 3}
    assert scope == {"state": {"a": {"b": [1]}}}
