"""Hostile expressions and values end with a clear error, soon, and without eating the machine."""

import time
import tracemalloc
from contextlib import suppress
from typing import Any

import pytest

from wonder.language.expressions import (
    ExpressionFailed,
    ExpressionSyntax,
    ExpressionTooLarge,
    Names,
    compile_expression,
)
from wonder.language.expressions.limits import MAX_LENGTH, MAX_NESTING
from wonder.language.steps import Steps, begin, end

NAMES = Names()


def evaluate(text: str, /, **state: Any) -> Any:
    return compile_expression(text, NAMES).evaluate({"state": state})


@pytest.mark.parametrize(
    "text",
    [
        "(" * 2_000 + "1" + ")" * 2_000,
        "- " * 3_000 + "1",
        "not " * 2_000 + "1",
        "~" * 5_000 + "1",
        "1 + (" * 1_500 + "1" + ")" * 1_500,
        "abs(" * 1_500 + "1" + ")" * 1_500,
        "case when " * 900 + "1",
        "1" + " + 1" * 2_000,
        "1" + " collate nocase" * 600,
        "1 in (" * 1_500,
        "1" + " is not null" * 800,
        "state.a" + " between 1 and 2" * 500,
    ],
)
def test_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(ExpressionTooLarge, match=f"nested deeper than {MAX_NESTING} levels"):
        compile_expression(text, NAMES)


def test_nesting_up_to_the_limit_works_even_deep_in_the_stack() -> None:
    levels = MAX_NESTING - 2
    text = "(" * levels + "state.a" + ")" * levels

    def below(frames: int) -> Any:
        return below(frames - 1) if frames else evaluate(text, a=7)

    assert below(200) == 7
    assert evaluate("abs(" * levels + "state.a" + ")" * levels, a=-7) == 7


@pytest.mark.parametrize(("operator", "value"), [("or", True), ("and", False), ("||", "0" * 1_000)])
def test_long_chains_of_one_operator_are_no_nesting(operator: str, value: Any) -> None:
    text = f" {operator} ".join(["0"] * 999 + (["1"] if operator == "or" else ["0"]))
    assert evaluate(text) == value


def test_a_long_text_is_refused() -> None:
    with pytest.raises(ExpressionTooLarge, match=r"10,001 characters, the limit is 10,000; split it up"):
        compile_expression("1" * (MAX_LENGTH + 1), NAMES)


@pytest.mark.parametrize(
    "text",
    [
        "printf('%1000000000d', 1)",
        "printf('%.1000000000d', 1)",
        "printf('%.2000000000f', 1)",
        "printf('%*d', 2147483647, 1)",
        "printf('%.1000000000c', 'x')",
        "printf('%-999999999s', 'x')",
        "replace(state.long, 'x', state.long)",
        "state.long || state.long || state.long",
        "concat(state.long, state.long, state.long)",
        "concat_ws(state.long, 1, 2, 3)",
        "hex(state.long)",
        "quote(state.quotes)",
        "json_pretty(state.deep, state.long)",
        "json_array(" + ", ".join(["state.large"] * 60) + ") || ''",
    ],
)
def test_a_text_that_would_grow_too_large_is_not_built(text: str) -> None:
    state = {"long": "x" * 900_000, "quotes": "'" * 900_000, "deep": [[[[[1] * 100] * 100]]], "large": ["y" * 900_000]}
    expression = compile_expression(text, NAMES)
    tracemalloc.start()
    with pytest.raises(ExpressionFailed, match=r"would be built|would build"):
        expression.evaluate({"state": state})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100_000_000


def test_a_long_text_can_still_be_read_and_cut() -> None:
    long = "Ab" * 2_000_000
    assert evaluate("length(state.long)", long=long) == 4_000_000
    assert evaluate("lower(substr(state.long, 1, 4))", long=long) == "abab"
    assert evaluate("state.long like '%ba%'", long=long) is True
    assert evaluate("json_array_length(json_set(state.list, '$[#]', state.long))", list=[], long=long) == 1


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("state.text like '%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%b'", False),
        ("state.text like '" + "%a" * 500 + "%b%'", False),
        ("state.text like '" + "_%" * 500 + "b'", False),
        ("state.text glob '*" + "[a-z]*" * 300 + "b'", False),
        ("state.text glob '" + "?*" * 300 + "'", True),
        ("state.text like '" + "a_" * 1_000 + "%'", True),
    ],
)
def test_patterns_need_no_exponential_time(text: str, outcome: bool) -> None:
    expression = compile_expression(text, NAMES)
    started = time.process_time()
    assert expression.evaluate({"state": {"text": "a" * 20_000}}) is outcome
    assert time.process_time() - started < 30


def test_a_match_that_would_take_too_long_is_refused() -> None:
    with pytest.raises(ExpressionFailed, match="too long for a text so long"):
        evaluate("state.text like state.pattern", text="a" * 1_000_000, pattern="%" + "a" * 20_000 + "_b%")
    with pytest.raises(ExpressionFailed, match="50,000 bytes"):
        evaluate("'a' like state.pattern", pattern="a" * 50_001)


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_json_texts_that_are_nested_deeply_are_refused(opening: str) -> None:
    with pytest.raises(ExpressionFailed, match="nested deeper than 200 levels"):
        evaluate("json(state.text)", text=opening * 100_000)


def test_json_paths_with_many_steps_are_refused() -> None:
    with pytest.raises(ExpressionFailed, match="more than 200 steps"):
        evaluate("json_set('{}', state.path, 1)", path="$" + ".a" * 5_000)
    assert evaluate("json_extract('{}', state.path)", path="$" + ".a" * 5_000) is None


def test_numbers_with_many_digits_are_read() -> None:
    assert evaluate("9" * 9_000 + " > 0") is True
    assert evaluate("state.text + 0 > 1", text="9" * 100_000) is True
    assert evaluate("'1e" + "9" * 5_000 + "' + 0 > 1") is True
    assert evaluate("json_extract(state.text, '$[0]') > 1", text="[" + "9" * 100_000 + "]") is True
    assert evaluate("state.big > 1", big=10**5_000) is True
    assert evaluate("typeof(json_extract(state.list, '$[0]'))", list=[10**5_000]) == "real"
    assert evaluate("state.a" + "[99999999999999999999999999]", a=[1]) is None


@pytest.mark.parametrize(
    "text", ["'", '"', "/*", "--", "1 /* x", "\ufeff1", "'\U0001f600'", "é = 1", "a.é", "\u00a0", "1\u2003"]
)
def test_strange_texts_give_an_expression_or_a_syntax_error(text: str) -> None:
    with suppress(ExpressionSyntax):
        compile_expression(text, NAMES).evaluate({})


def test_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(ExpressionSyntax, match=r"U\+D800"):
        compile_expression("'\ud800'", NAMES)


@pytest.mark.parametrize("digits", [300, 310, 100_000])
def test_a_second_may_have_any_number_of_digits(digits: int) -> None:
    # 309 of them are more than a double holds, and were no number.
    assert evaluate("strftime('%f', state.a)", a=f"12:00:00.{'1' * digits}") == "00.111"
    assert evaluate("time(state.a)", a=f"12:00:00.{'9' * digits}") == "12:00:00"


def test_a_text_that_is_nearly_a_moment_is_read_in_time_that_its_length_decides() -> None:
    # Blanks behind the time took the square of their number: a second for 16,000, and an hour for a megabyte.
    begun = time.process_time()
    for ending in ("!", "+01:00 !", "z!"):
        assert evaluate("datetime(state.a)", a=f"2024-01-01 12:00{' ' * 100_000}{ending}") is None
    assert evaluate("datetime(state.a)", a=f"2024-01-01 12:00{' ' * 100_000}+01:00 ") == "2024-01-01 11:00:00"
    assert time.process_time() - begun < 10


LONG = 400_000
VERY_LONG = 1_500_000
MANY = "".join(map(chr, range(0x20000, 0x20000 + 100)))


@pytest.mark.parametrize(
    ("text", "state", "result"),
    [
        ("trim(state.text, state.cut)", {"text": "b" * VERY_LONG, "cut": "a" * VERY_LONG + "b"}, ""),
        ("ltrim(state.text, state.cut)", {"text": "b" * VERY_LONG + "c", "cut": "a" * VERY_LONG + "b"}, "c"),
        ("rtrim(state.text, state.cut)", {"text": "c" + "b" * VERY_LONG, "cut": "a" * VERY_LONG + "b"}, "c"),
        ("trim(state.text, state.cut)", {"text": MANY + "c" + MANY, "cut": MANY}, "c"),
        ("printf(state.text, 7)", {"text": "%" + "-+" * LONG + "3d|"}, "+7 |"),
        ("printf(state.text, 7)", {"text": "%" + "+ " * LONG + "d"}, " 7"),
    ],
)
def test_two_long_texts_are_never_held_against_each_other_character_by_character(
    text: str, state: dict[str, Any], result: str
) -> None:
    began = time.process_time()
    assert evaluate(text, **state) == result
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    "text", ["printf(state.nothing)", "strftime(state.years, 0)", "unistr(state.escapes)", "printf(state.flags)"]
)
def test_what_a_long_format_does_is_counted(text: str) -> None:
    """RES-6: a conversion that writes nothing takes its time all the same."""
    state = {"nothing": "%n" * LONG, "years": "%Y" * LONG, "escapes": "\\0041" * LONG, "flags": "%" + "-" * 2 * LONG}
    counted = Steps(10_000_000)
    token = begin(counted)
    try:
        with suppress(ExpressionFailed):
            evaluate(text, **state)
    finally:
        end(token)
    assert counted.most - counted.left > LONG


@pytest.mark.parametrize("text", ["json_array(state.values)", "json_set(state.values, '$[0]', 1)"])
def test_reading_a_long_result_is_counted(text: str) -> None:
    """RES-6: each value of a result takes a microsecond, whatever wrote it."""
    counted = Steps(10_000_000)
    token = begin(counted)
    try:
        evaluate(text, values=[[1] * 500 for _ in range(200)])
    finally:
        end(token)
    assert counted.most - counted.left > 300_000
