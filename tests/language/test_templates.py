"""Templates: Handlebars without HTML escaping (ACT-9)."""

import time
from contextlib import suppress
from typing import Any

import pytest
from handlebars_cases import CASES, VALUES
from hypothesis import given, settings
from hypothesis import strategies as st

from wonder.language.steps import Steps, TooManySteps, begin, end
from wonder.language.templates import TemplateSyntax, TemplateTooLarge, compile_template


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_act_9_a_template_gives_what_handlebars_js_gives(text: str, expected: str | None) -> None:
    if expected is None:
        with pytest.raises(TemplateSyntax):
            compile_template(text)
    else:
        assert compile_template(text).render(VALUES) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{json x}}", '{"a":[1,null,"é\\"<"],"b":1.0}'),
        ("{{{json x.a}}}", '[1,null,"é\\"<"]'),
        ("{{json x.a.[2]}}", '"é\\"<"'),
        ("{{json missing}}", "null"),
        ('{"x": {{json x.b}}}', '{"x": 1.0}'),  # handlebars.js refuses }}} here, and everybody falls into it
        ("{{json (lookup x 'b')}}", "1.0"),
        ("{{#each x.a}}{{json this}};{{/each}}", '1;null;"é\\"<";'),
        ("{{json 'text'}} {{json 5}} {{json true}} {{json null}}", '"text" 5 true null'),
        ("{{json x.big}}", "null"),
    ],
)
def test_act_9_the_json_helper_writes_json(text: str, expected: str) -> None:
    assert compile_template(text).render({"x": {"a": [1, None, 'é"<'], "b": 1.0}}) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, "true"),
        (False, "false"),
        (None, ""),
        (0, "0"),
        (-0.0, "0"),
        (1.0, "1"),
        (-2.50, "-2.5"),
        (1e21, "1e+21"),
        (1.5e300, "1.5e+300"),
        (123456789012345680000.0, "123456789012345680000"),
        (1e-6, "0.000001"),
        (1.25e-5, "0.0000125"),
        (1e-7, "1e-7"),
        (-1.5e-10, "-1.5e-10"),
        (0.1, "0.1"),
        (9007199254740993, "9007199254740993"),  # JavaScript would round
        pytest.param(10**5000, "1" + "0" * 5000, id="more digits than str() writes"),
        ([1, [2, None], True], "1,2,,true"),
        ({"a": 1}, "[object Object]"),
    ],
)
def test_values_are_written_as_javascript_writes_them(value: object, expected: str) -> None:
    assert compile_template("{{x}}").render({"x": value}) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://x.test/a b/{{s}}?q={{n}}", "https://x.test/a b/a%2Fb%3Fc%3Dd%20%26%C3%A9?q=1.5"),
        ("/{{#each l}}{{this}}{{#unless @last}}/{{/unless}}{{/each}}", "/x%2Fy/~z"),
        ("/{{json o}}", "/%7B%22k%22%3A%5B%5D%7D"),
        ("{{lookup l 0}}", "x%2Fy"),
        # Without an escape of HTML there is nothing for the triple form to leave out: a value is a value.
        ("{{{base}}}/{{s.length}}", "https%3A%2F%2Fy.test%3A8%2Fp/10"),
        ("{{&base}}", "https%3A%2F%2Fy.test%3A8%2Fp"),
    ],
)
def test_act_9_in_a_url_each_value_is_percent_encoded(text: str, expected: str) -> None:
    values = {"s": "a/b?c=d &é", "n": 1.5, "l": ["x/y", "~z"], "o": {"k": []}, "base": "https://y.test:8/p"}
    assert compile_template(text, escape="url").render(values) == expected


@pytest.mark.parametrize(
    ("text", "position", "reason"),
    [
        ("Hi {{name", 3, "a tag has no end"),
        ("{{{name}}", 7, "unexpected '}' in a tag"),
        ("{{#if a}}x", 0, "the block if has no end"),
        ("x{{/if}}", 1, "{{/if}} stands outside a block"),
        ("x{{else}}", 1, "{{else}} stands outside a block"),
        ("{{#if a}}{{/each}}", 9, "{{/each}} closes the block if"),
        ("{{#if a}}{{else}}{{else}}{{/if}}", 17, "a second {{else}} in one block"),
        ("a\nb {{upper name}}", 6, "there is no helper 'upper'"),
        ("{{#list a}}{{/list}}", 3, "there is no helper 'list'"),
        ("{{lookup a (upper b)}}", 12, "there is no helper 'upper'"),
        ("{{#if (if a)}}{{/if}}", 7, "there is no helper 'if'"),
        ("{{log a}}", 2, "there is no helper 'log'"),
        ("{{> header}}", 0, "partials are not there in these templates"),
        ("{{#> header}}{{/header}}", 0, "partial blocks are not there in these templates"),
        ("{{#*inline 'x'}}{{/inline}}", 0, "inline partials are not there in these templates"),
        ("{{{{raw}}}}{{{{/raw}}}}", 0, "raw blocks are not there in these templates"),
        ("{{json}}", 2, "json takes 1 value"),
        ("{{lookup a}}", 2, "lookup takes 2 values"),
        ("{{#json a}}{{/json}}", 3, "json is no block"),
        ("{{if a}}", 2, "if is a block"),
        ("{{#if a b}}{{/if}}", 3, "#if takes one value, and was given 2"),
        ("{{#each}}{{/each}}", 3, "#each takes one value, and was given 0"),
        ("{{a.this}}", 4, "this inside a path"),
        ("{{!-- a }}", 0, "a comment has no end"),
        ("{{}}", 0, "a name is missing in a tag"),
        ("{{a;b}}", 2, "unexpected 'a' in a tag"),
        ("{{lookup a b=1 c}}", 15, "a value behind an option"),
        ("{{lookup (lookup a b c}}", 9, "a parenthesis has no end"),
        ("{{#if a}}" * 101 + "{{/if}}" * 101, 900, "more than 100 blocks in blocks"),
        ("{{lookup " + "(lookup " * 200 + "a 1" + ") 1" * 200 + " 1}}", 0, "too many parentheses in one tag"),
        pytest.param("x" * 1_000_001, 1_000_000, "longer than 1,000,000 characters", id="too long"),
    ],
)
def test_a_text_that_is_no_template_is_refused_with_its_position(text: str, position: int, reason: str) -> None:
    with pytest.raises(TemplateSyntax) as caught:
        compile_template(text)
    assert (caught.value.position, caught.value.reason) == (position, reason)
    assert caught.value.hint


def test_a_template_error_says_line_and_column() -> None:
    with pytest.raises(TemplateSyntax) as caught:
        compile_template("Dear all,\n  {{shout name}}")
    assert (caught.value.line, caught.value.column) == (2, 5)
    assert str(caught.value) == (
        "the template is wrong at line 2, column 5: there is no helper 'shout'; "
        "the helpers are each, if, json, lookup, unless, with"
    )


@pytest.mark.parametrize(
    "text",
    [
        "{{x.__class__}}{{x.__dict__}}{{x.keys}}{{x.items}}",
        "{{s.__class__}}{{s.upper}}{{s.format}}{{s.[-1]}}{{s.[99]}}",
        "{{l.append}}{{l.__len__}}{{l.[-1]}}{{l.[00]}}{{l.[1.0]}}{{l.[٣]}}",
        "{{n.real}}{{n.bit_length}}{{t.real}}{{nothing.x.y}}",
        "{{lookup x '__class__'}}{{lookup l '__class__'}}{{lookup s '__init__'}}",
        "{{@root.__class__}}{{@__class__}}{{this.__init__}}{{#with x}}{{../__globals__}}{{/with}}",
        "{{#each x}}{{@__class__}}{{@parent}}{{/each}}",
    ],
)
def test_no_name_leads_out_of_the_values(text: str) -> None:
    values = {"x": {"a": 1}, "s": "text", "l": [1], "n": 1, "t": True, "nothing": None}
    assert compile_template(text).render(values) == ""


def test_a_value_is_never_read_as_a_template() -> None:
    assert compile_template("{{x}}").render({"x": "{{y}}", "y": "secret"}) == "{{y}}"


def test_the_output_is_bounded() -> None:
    template = compile_template("{{#each l}}{{@root.s}}{{/each}}")
    assert len(template.render({"l": [1] * 1000, "s": "x" * 1000})) == 1_000_000
    with pytest.raises(TemplateTooLarge, match="more than 1,000,000 characters"):
        template.render({"l": [1] * 1001, "s": "x" * 1000})
    with pytest.raises(TemplateTooLarge, match="more than 10 characters"):
        compile_template("{{s}}", output_max=10).render({"s": "x" * 11})


@pytest.mark.parametrize(
    "text",
    [
        "{{#each l}}{{#each @root.l}}{{#each @root.l}}{{/each}}{{/each}}{{/each}}",
        "{{#each l}}" + "{{#if missing}}{{/if}}" * 3000 + "{{/each}}",
    ],
)
def test_a_template_that_repeats_for_ever_without_writing_is_stopped(text: str) -> None:
    with pytest.raises(TemplateTooLarge, match="more than 1,000,000 steps"):
        compile_template(text).render({"l": [0] * 1000})


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Hello {{input.name}}, {{state.count}} {{input.name}}", {("input", "name"), ("state", "count")}),
        ("{{#if a.b}}{{c}}{{else}}{{d}}{{/if}}", {("a", "b"), ("c",), ("d",)}),
        ("{{#each rows}}{{id}}{{../x}}{{@root.y.z}}{{@index}}{{/each}}", {("rows",), ("x",), ("y", "z")}),
        ("{{#with user}}{{name}}{{../x}}{{/with}}", {("user",), ("user", "name"), ("x",)}),
        ("{{#each rows as |row|}}{{row.id}}{{/each}}", {("rows",)}),
        ("{{lookup a b}}{{json (lookup c 'd')}}", {("a",), ("b",), ("c",)}),
        ("{{#flag}}{{inner}}{{/flag}}", {("flag",)}),
        ("text {{! a }}", set()),
    ],
)
def test_a_template_knows_the_names_that_it_reads(text: str, names: set[tuple[str, ...]]) -> None:
    assert set(compile_template(text).names) == names


PIECES = [
    "{{",
    "}}",
    "{{{",
    "}}}",
    "#if ",
    "/if",
    "else",
    "#each ",
    "/each",
    "^",
    "~",
    "!--",
    "--",
    "a",
    "list",
    " ",
    "\n",
]
PIECES += [
    ".",
    "..",
    "/",
    "@index",
    "[",
    "]",
    "(",
    ")",
    "'",
    '"',
    "=",
    "|",
    " as |x|",
    "lookup ",
    "json ",
    "\\",
    "1",
    "true",
]


@settings(max_examples=500)
@given(st.lists(st.sampled_from(PIECES), max_size=25))
def test_any_text_is_rendered_or_refused_clearly(pieces: list[str]) -> None:
    text = "".join(pieces)
    try:
        template = compile_template(text)
    except TemplateSyntax as refusal:
        position = refusal.position
    else:
        position = 0
        assert isinstance(template.render(VALUES), str)
    assert 0 <= position <= len(text)


ROWS = list(range(100_000))


@pytest.mark.parametrize(
    "scope",
    [
        {"rows": ROWS, "x": {"a": 1}, "key": ["a" * 1_000_000, "b"]},
        {"rows": ROWS, "x": [1], "key": "1" * 1_000_000},
    ],
    ids=["a list as a key", "a long number as a key"],
)
def test_res_6_long_keys_that_are_looked_up_in_every_turn_are_counted(scope: dict[str, Any]) -> None:
    template = compile_template("{{#each rows}}{{#if (lookup ../x ../key)}}{{/if}}{{/each}}")
    token = begin(Steps(5_000_000))
    began = time.process_time()
    try:
        with suppress(TooManySteps):
            template.render(scope)
    finally:
        end(token)
    assert time.process_time() - began < 5
