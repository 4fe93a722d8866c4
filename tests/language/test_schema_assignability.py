"""Whether values of one schema fit another: always, never, or not to be told."""

import time
from random import Random
from typing import Any

import jsonschema_rs
import pytest

from support.depth import tries
from support.schema_samples import fitting_value, random_document, random_schema
from wonder.language.schemas import assignable, compile_validator, describe, disjoint, schema_faults

S, N, INT, NULL = {"type": "string"}, {"type": "number"}, {"type": "integer"}, {"type": "null"}


def array(items: Any, **more: Any) -> Any:
    return {"type": "array", "items": items, **more}


def obj(required: str = "", /, **properties: Any) -> Any:
    return {"type": "object", "properties": properties, "required": required.split()}


def strict(schema: Any) -> Any:
    return schema | {"additionalProperties": False}


def tree(leaf: Any, name: str = "tree") -> Any:
    return {
        "$ref": f"#/$defs/{name}",
        "$defs": {name: obj("value", value=leaf, children=array({"$ref": f"#/$defs/{name}"}))},
    }


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (S, S),
        (S, True),
        (S, {}),
        (False, S),
        (INT, N),
        ({"type": "number", "multipleOf": 3}, INT),
        ({"const": 1.0}, INT),
        ({"type": "boolean"}, {"enum": [False, True, None]}),
        ({"enum": ["x", "y"]}, {"enum": ["z", "y", "x"]}),
        ({"enum": ["ab", "cd"]}, {"type": "string", "pattern": "^..$"}),
        ({"const": {"a": 1}}, obj("a", a=INT)),
        ({"type": ["string", "null"]}, {"anyOf": [NULL, S]}),
        ({"anyOf": [S, INT]}, {"type": ["number", "string"]}),
        ({"anyOf": [S, N]}, {"oneOf": [N, S]}),
        ({"type": "integer", "minimum": 1}, {"exclusiveMinimum": 0}),
        ({"type": "integer", "exclusiveMinimum": 0.5}, {"minimum": 1}),
        ({"type": "string", "minLength": 3, "maxLength": 4}, {"minLength": 2, "maxLength": 4}),
        ({"type": "string", "pattern": "^a"}, {"pattern": "^a"}),
        ({"type": "integer", "multipleOf": 6}, {"multipleOf": 3}),
        (array(INT), array(N)),
        (array(INT, minItems=2), array(N, minItems=1)),
        ({"type": "array", "prefixItems": [S, INT], "items": False}, {"prefixItems": [S, N]}),
        (array(S, maxItems=0), array(N)),
        (obj("a b", a=S, b=INT), obj("a", a=S)),
        (strict(obj("a", a=S)), strict(obj("", a=S, b=N))),
        ({"type": "object", "additionalProperties": INT}, {"additionalProperties": N}),
        ({"allOf": [obj("a", a=S), obj("b", b=INT)]}, obj("a b", a=S, b=N)),
        (S, {"not": N}),
        (INT, {"not": {"type": "string"}}),
        ({"type": "integer", "minimum": 5}, {"not": {"maximum": 4}}),
        (
            obj("kind", kind={"const": "a"}),
            {"oneOf": [obj("kind", kind={"const": "a"}), obj("kind", kind={"const": "b"})]},
        ),
        ({"type": "string", "minLength": 2}, {"if": S, "then": {"minLength": 1}, "else": False}),
        (tree(INT), tree(N, "other")),
        (tree(INT), obj("value", value=N)),
        ({"type": "string", "minLength": 5, "maxLength": 2}, N),  # no such text
        (
            obj("kind v", kind={"enum": ["a", "b"]}, v=S),
            {"anyOf": [obj("kind", kind={"const": "a"}, v=S), obj("kind", kind={"const": "b"})]},
        ),
        (
            obj("on", on={"type": "boolean"}),
            {"oneOf": [obj("on", on={"const": True}), obj("on", on={"const": False})]},
        ),
    ],
)
def test_every_value_of_the_source_fits(source, target):
    assert assignable(source, target) == []


@pytest.mark.parametrize(
    ("source", "target", "path", "message"),
    [
        (N, array(S), (), "Expected string[] but got number"),
        (array(N), array(S), (), "Expected string[] but got number[]"),
        (N, INT, (), "Expected integer but got number"),
        ({"type": ["string", "null"]}, S, (), "Expected string but got string | null"),
        (S, {"enum": ["x", "y"]}, (), 'Expected "x" | "y" but got string'),
        ({"enum": ["x", "w"]}, {"enum": ["x", "y"]}, (), 'Expected "x" | "y" but got "x" | "w"'),
        (S, False, (), "Expected never but got string"),
        (True, S, (), "Expected string but got any"),
        (obj("a", a=S), obj("a", a=N), ("a",), "Expected number but got string"),
        (obj("", a=S), obj("a", a=S), ("a",), "Expected string but it may be missing"),
        (strict(obj("", a=S)), obj("b", b=S), ("b",), "Expected string but it is always missing"),
        (obj("a", a=obj("b", b=INT)), obj("a", a=obj("b", b=S)), ("a", "b"), "Expected string but got integer"),
        (array(obj("a", a=S)), array(obj("a", a=N)), ("*", "a"), "Expected number but got string"),
        (
            {"type": "string", "minLength": 2},
            {"type": "string", "minLength": 3},
            (),
            "Expected string with minLength 3",
        ),
        ({"type": "integer"}, {"type": "integer", "maximum": 9}, (), "Expected integer with maximum 9"),
        (S, {"type": "string", "pattern": "^a"}, (), "Expected string with the pattern '^a'"),
        (array(S), array(S, uniqueItems=True), (), "Expected string[] with different elements"),
        (obj("a", a=S), strict(obj("a", a=S)), (), "Expected {a: string} with no other properties than these"),
        ({"anyOf": [S, N]}, {"anyOf": [S, NULL]}, (), "Expected string | null but got string | number"),
        (N, {"oneOf": [N, INT]}, (), "Expected number | integer but got number"),
        (tree(N), tree(INT), ("value",), "Expected integer but got number"),
    ],
)
def test_the_place_and_the_reason_are_told_where_a_value_does_not_fit(source, target, path, message):
    first = assignable(source, target)[0]
    assert (first.path, first.message, first.certain) == (path, message, True)
    assert schema_faults(first.expected) == []
    assert schema_faults(first.actual) == []


def test_all_mismatches_are_told_at_once():
    source = obj("a b c", a=S, b=N, c=obj("d", d=S))
    target = obj("a b c e", a=N, b=N, c=obj("d", d=INT), e=S)
    assert {mismatch.path for mismatch in assignable(source, target)} == {("a",), ("c", "d"), ("e",)}


def test_what_can_neither_be_proved_nor_refuted_is_told_as_such():
    [mismatch] = assignable({"type": "string", "pattern": "^ab"}, {"type": "string", "pattern": "^a"})
    assert not mismatch.certain


def by_pattern(rest, **parts):
    return {
        "type": "object",
        "additionalProperties": rest,
        "patternProperties": {f"^{name}-": part for name, part in parts.items()},
    }


@pytest.mark.parametrize(
    ("source", "target", "fits"),
    [
        (by_pattern(N, x=S), by_pattern(N, x=S), True),
        (by_pattern(N, x=S), by_pattern(S, x=S), False),
        (by_pattern(S, x=N), by_pattern(S, x=S), False),
        (by_pattern(False, x=N), by_pattern(False, x=S), False),
        (by_pattern(False, x=S), by_pattern(S, x=S), True),
        (by_pattern(False, x=N), {"type": "object", "additionalProperties": S}, False),
        (by_pattern(False, x=N), {"type": "object", "additionalProperties": N}, True),
        ({"type": "object", "additionalProperties": N}, by_pattern(N, x=S), False),
        (by_pattern(False, x=S), by_pattern(S, y=N), True),
        (by_pattern(False, x=S), by_pattern(S, x=S, **{"x-1": N}), False),
    ],
)
def test_what_the_names_of_a_pattern_hold_has_to_fit_as_all_others_do(source, target, fits):
    assert (assignable(source, target, declared=True) == []) is fits
    assert (assignable(source, target) == []) is fits


def test_a_tuple_that_allows_no_others_is_no_longer_than_it_lists():
    pair = {"type": "array", "prefixItems": [S, S], "items": False, "minItems": 2}
    assert assignable(pair, pair | {"maxItems": 2}) == []
    assert assignable(pair, pair | {"maxItems": 1})


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (obj("a", a=S), strict(obj("a", a=S)), None),
        (obj("a", a=S), obj("a", a=S, b=N), None),
        (obj("a", a=S), obj("b", b=S), "Expected string but it is always missing"),
        (True, S, None),
        (obj("a", a=True), obj("a", a=S), None),
        (array({}), array(S), None),
        ({"type": "object"}, obj("a", a=S), None),
        ({"type": "object"}, S, "Expected string but got object"),
        (
            obj("a", a=S) | {"additionalProperties": True},
            strict(obj("a", a=S)),
            None,
        ),
        ({"allOf": [obj("a", a=S), obj("b", b=S)]}, strict(obj("", a=S, b=S)), None),
    ],
)
def test_ctx_5b_a_declared_source_has_what_it_lists_and_nothing_is_held_against_what_is_not_said(
    source, target, message
):
    mismatches = assignable(source, target, declared=True)
    assert [mismatch.message for mismatch in mismatches] == ([message] if message else [])


@pytest.mark.parametrize(
    ("source", "target", "path", "message"),
    [
        (N, array(S), (), "Expected string[] but got number"),
        (N, S, (), "Expected string but got number"),
        ({"enum": ["x"]}, {"enum": ["y"]}, (), 'Expected "y" but got "x"'),
        (
            {"type": "integer", "minimum": 5},
            {"type": "integer", "maximum": 4},
            (),
            "Expected integer with other limits",
        ),
        ({"type": "number", "exclusiveMinimum": 1, "exclusiveMaximum": 2}, INT, (), "Expected integer but got number"),
        (
            {"type": "string", "maxLength": 1},
            {"type": "string", "minLength": 2},
            (),
            "Expected string with other limits",
        ),
        (obj("a", a=S), obj("a", a=N), ("a",), "Expected number but got string"),
        (obj("a", a=obj("b", b=INT)), obj("a", a=obj("b", b=S)), ("a", "b"), "Expected string but got integer"),
        (array(S, minItems=1), array(N), (), "Expected number[] but got string[]"),
        (
            {"anyOf": [S, NULL]},
            {"anyOf": [N, {"type": "boolean"}]},
            (),
            "Expected number | boolean but got string | null",
        ),
        (tree(S), tree(N), ("value",), "Expected number but got string"),
        (strict(obj("", a=S)), obj("b", b=S), ("b",), "Expected string but it is always missing"),
        (S, False, (), "Expected never but got string"),
        (S, {"not": S}, (), "Expected any but got string"),
    ],
)
def test_two_schemas_without_a_common_value_are_disjoint(source, target, path, message):
    found = disjoint(source, target)
    assert found is not None
    assert (found.path, found.message) == (path, message)
    assert disjoint(target, source) is not None


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (True, S),
        (N, INT),
        (array(S), array(N)),  # the empty list
        (obj("", a=S), obj("", a=N)),  # the empty object
        ({"type": ["string", "null"]}, {"type": ["null", "number"]}),
        ({"type": "string", "pattern": "^a"}, {"type": "string", "pattern": "^b"}),  # can't be told
        (obj("a", a=S), obj("b", b=S)),
        (tree(S), {"type": "object"}),
        ({"required": ["x"], "properties": {"x": {"$ref": "#"}}}, {"type": "object"}),
    ],
)
def test_two_schemas_that_may_share_a_value_are_not_disjoint(source, target):
    assert disjoint(source, target) is None
    assert disjoint(target, source) is None


def test_ctx_5b_a_required_property_that_a_declared_source_does_not_list_makes_it_disjoint():
    found = disjoint(obj("a", a=S), obj("b", b=N), declared=True)
    assert found is not None
    assert (found.path, found.message) == (("b",), "Expected number but it is always missing")
    assert disjoint(obj("a", a=S) | {"additionalProperties": True}, obj("b", b=N), declared=True) is None
    assert disjoint({"type": "object"}, obj("b", b=N), declared=True) is None


def changed(random: Random, schema: Any) -> Any:
    """Make a schema a little different, so that neither everything nor nothing fits."""
    if not isinstance(schema, dict) or not schema or random.random() < 0.1:
        return random_schema(random, 2)
    keyword = random.choice(list(schema))
    held = schema[keyword]
    match keyword:
        case "$defs":
            return schema
        case "properties" | "patternProperties" if held:
            name = random.choice(list(held))
            return schema | {keyword: held | {name: changed(random, held[name])}}
        case "items" | "additionalProperties" if isinstance(held, dict):
            return schema | {keyword: changed(random, held)}
        case "anyOf" | "oneOf" | "allOf":
            more = [*held, random_schema(random, 1)] if random.random() < 0.5 else held[:-1] or held
            return schema | {keyword: more}
    return {name: part for name, part in schema.items() if name != keyword}


def pair(random: Random) -> tuple[Any, Any]:
    first = random_document(random)
    second = changed(random, first) if random.random() < 0.6 else random_document(random)
    if isinstance(first, dict) and isinstance(second, dict):
        shared = first.get("$defs", {}) | second.get("$defs", {})
        first, second = first | {"$defs": shared}, second | {"$defs": shared}
    return (first, second) if random.random() < 0.5 else (second, first)


def canonical(schema: Any) -> jsonschema_rs.CanonicalSchema:
    return jsonschema_rs.canonicalize(schema, offline=True, validate_formats=False)


def covers(target: Any, source: Any) -> str:
    try:
        return canonical(target).covers(canonical(source)).value
    except jsonschema_rs.canonical.UnsupportedOperand:
        return "unknown"


def have_a_common_value(source: Any, target: Any) -> str:
    try:
        return canonical(source).intersect(canonical(target)).satisfiability().value
    except (jsonschema_rs.canonical.UnsupportedOperand, jsonschema_rs.canonical.UnsupportedResult):
        return "unknown"


PAIRS = tries(800, 8_000)


def test_the_answers_agree_with_values_and_with_an_independent_prover():
    """Never "always fits" for one that does not, nor "never fits" for one that does, nor a certain mismatch of none."""
    agreed = {"yes": 0, "no": 0, "disjoint": 0, "undecided": 0}
    for seed in range(PAIRS):
        random = Random(seed)
        source, target = pair(random)
        mismatches, never = assignable(source, target), disjoint(source, target)
        from_source, into_target = compile_validator(source), compile_validator(target)
        for value in [fitting_value(random, source, source) for _ in range(6)]:
            if from_source.is_valid(value):
                fits = into_target.is_valid(value)
                assert fits or mismatches, (seed, source, target, value)
                assert not (fits and never), (seed, source, target, value)
        proved = covers(target, source)
        if not mismatches:
            assert proved != "no", (seed, source, target)
        if any(mismatch.certain for mismatch in mismatches):
            assert proved != "yes", (seed, source, target)
        if never:
            assert have_a_common_value(source, target) != "yes", (seed, source, target)
            agreed["disjoint"] += 1
        answer = "yes" if not mismatches else "no" if any(one.certain for one in mismatches) else "undecided"
        agreed[answer] += 1
    assert min(agreed["yes"], agreed["no"], agreed["disjoint"]) > PAIRS * 0.15
    assert agreed["undecided"] < PAIRS * 0.075


def wide(count: int, keyword: str) -> Any:
    return {
        keyword: [obj("kind", kind={"const": n}, **{f"p{k}": {"maxLength": k} for k in range(9)}) for n in range(count)]
    }


def knotted(leaf: Any) -> Any:
    definitions = {
        f"d{n}": obj("v", v=leaf, **{f"p{k}": {"$ref": f"#/$defs/d{(n * 7 + k) % 50}"} for k in range(6)})
        for n in range(50)
    }
    return {"$ref": "#/$defs/d0", "$defs": definitions}


def product(order: int) -> Any:
    return {"allOf": [{"anyOf": [{"required": [f"{n}-{k}"]} for k in range(6)][::order]} for n in range(20)]}


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (wide(60, "oneOf"), {"oneOf": wide(60, "oneOf")["oneOf"][::-1]}),
        (wide(400, "anyOf"), {"anyOf": wide(400, "anyOf")["anyOf"][::-1]}),
        (knotted(INT), knotted(N)),
        (knotted(N), knotted(INT)),
        (product(1), product(-1)),
        ({"enum": list(range(20_000))}, {"enum": list(range(1, 20_001))}),
        (array(S, minItems=10**9), array(N, minItems=10**9)),
        ({"minLength": 10**12}, {"type": "string", "minLength": 10**11}),
    ],
    ids=["oneOf", "anyOf", "references", "references back", "product", "enum", "items", "length"],
)
def test_hostile_schemas_are_compared_in_bounded_time(source, target):
    assert schema_faults(source) == schema_faults(target) == []
    began = time.process_time()
    assignable(source, target)
    assignable(source, target, declared=True)
    disjoint(source, target)
    assert time.process_time() - began < 60  # of the processor: without bounds it would take years


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        (True, "any"),
        ({}, "any"),
        (False, "never"),
        (array(S), "string[]"),
        (array({"type": ["string", "null"]}), "(string | null)[]"),
        (obj("a", a=N, b=S), "{a: number, b?: string}"),
        (obj("a-b", **{"a-b": N}), '{"a-b": number}'),
        ({"enum": ["x", "y", None]}, '"x" | "y" | null'),
        ({"enum": list(range(9))}, "0 | 1 | 2 | 3 | 4 | 5 | ..."),
        ({"type": "object", "additionalProperties": INT}, "{[name]: integer}"),
        ({"type": "object"}, "object"),
        ({"type": "array", "prefixItems": [S, N], "items": False}, "[string, number]"),
        ({"type": "array", "prefixItems": [S]}, "[string, ...]"),
        ({"allOf": [{"anyOf": [S, N]}, {"type": "string"}]}, "(string | number) & string"),
        (tree(INT), "{value: integer, children?: tree[]}"),
        ({"minLength": 3}, "any"),
    ],
)
def test_a_schema_is_described_in_the_notation_of_typescript(schema, text):
    assert describe(schema) == text


def test_a_description_stays_short():
    schema: Any = S
    for level in range(30):
        schema = obj("", **{f"a_rather_long_name_{level}_{n}": schema for n in range(4)})
        assert len(describe(schema)) <= 160
