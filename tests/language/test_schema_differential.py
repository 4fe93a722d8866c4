"""Whether one type fits another, against an independent prover: the schemas of TypeScript's types and of tools."""

from collections import Counter
from typing import Any

import jsonschema_rs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.depth import tries
from wonder.language.schemas import Mismatch, assignable

EXAMPLES = tries(400, 4_000)
PAIRS = settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))

NAMES = st.sampled_from(["a", "b", "c"])
SCALARS = st.sampled_from([{"type": name} for name in ("string", "number", "integer", "boolean", "null")])
VALUES = st.sampled_from(["x", "y", "", 0, 1, 2.5, True, False, None])
LITERALS = st.one_of(
    VALUES.map(lambda value: {"const": value}),
    st.lists(VALUES, min_size=1, max_size=3, unique_by=lambda value: (type(value), value)).map(
        lambda values: {"enum": values}
    ),
)
LIMITED = st.one_of(
    st.builds(lambda low, width: {"type": "integer", "minimum": low, "maximum": low + width}, *[st.integers(0, 3)] * 2),
    st.builds(lambda low: {"type": "number", "minimum": low}, st.integers(0, 2)),
    st.builds(lambda low: {"type": "number", "exclusiveMinimum": low}, st.integers(0, 2)),
    st.builds(lambda most: {"type": "string", "maxLength": most}, st.integers(0, 2)),
    st.builds(lambda least: {"type": "string", "minLength": least}, st.integers(0, 2)),
)


def structures(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    closed = st.sampled_from([{}, {"additionalProperties": False}])
    return st.one_of(
        st.builds(_object, st.dictionaries(NAMES, inner, min_size=1, max_size=3), st.sets(NAMES), closed),
        st.builds(lambda held: {"type": "object", "additionalProperties": held}, inner),
        st.builds(lambda held: {"type": "array", "items": held}, inner),
        st.builds(_tuple, st.lists(inner, min_size=1, max_size=2), st.one_of(st.just(False), inner)),
        st.builds(lambda parts: {"anyOf": parts}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda held: {"anyOf": [held, {"type": "null"}]}, inner),
    )


def _object(properties: dict[str, Any], required: set[str], closed: dict[str, Any]) -> Any:
    return {"type": "object", "properties": properties, "required": sorted(required & properties.keys()), **closed}


def _tuple(first: list[Any], rest: Any) -> Any:
    made = {"type": "array", "prefixItems": first, "items": rest, "minItems": len(first)}
    return made | {"maxItems": len(first)} if rest is False else made


TYPES = st.recursive(st.one_of(SCALARS, LITERALS, LIMITED), structures, max_leaves=6)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Any, Any]:
    """Make a type, and another one that often differs in one place only."""
    source = draw(TYPES)
    target = draw(st.one_of(TYPES, st.just(None)))
    return source, _changed(source, draw) if target is None else target


def _changed(schema: Any, draw: st.DrawFn) -> Any:
    """Change a type in one place, sometimes to a wider one."""
    if draw(st.booleans()):
        return {"anyOf": [draw(TYPES), schema]}
    match schema:
        case {"properties": properties} if properties:
            name = draw(st.sampled_from(sorted(properties)))
            changed = schema | {"properties": properties | {name: _changed(properties[name], draw)}}
            fewer = [one for one in schema["required"] if one != name]
            return changed | ({"required": fewer} if draw(st.booleans()) else {})
        case {"items": dict(items)}:
            return schema | {"items": _changed(items, draw)}
        case {"anyOf": [first, *others]}:
            return {"anyOf": [_changed(first, draw), *others]}
        case {"type": "integer"}:
            return {"type": "number"}
    return draw(TYPES)


def covers(target: Any, source: Any) -> str:
    wide, narrow = (jsonschema_rs.canonicalize(schema, offline=True) for schema in (target, source))
    return wide.covers(narrow).value


def closed(schema: Any) -> Any:
    """Write out what is meant by a declaration (CTX-5b): an object that lists properties has no others."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict) or "const" in schema or "enum" in schema:
        return schema
    made = {
        key: {name: closed(part) for name, part in held.items()} if key == "properties" else closed(held)
        for key, held in schema.items()
    }
    return {"additionalProperties": False, **made} if made.get("properties") else made


def compare(mismatches: list[Mismatch], proved: str, pair: tuple[Any, Any], agreed: Counter[str]) -> None:
    """Note whether both agree; they may differ in one way only."""
    if proved == "yes" and mismatches:
        # Alternatives that take all values together, and none of them alone (`string` for `"" | longer`), and limits
        # that leave listed values only (`maxLength: 0` for `""`). Both are told as not shown, never as certain.
        assert not any(mismatch.certain for mismatch in mismatches), pair
        assert any(keyword in str(pair[1]) for keyword in ("anyOf", "const", "enum")), pair
        agreed["not shown"] += 1
        return
    assert proved != "no" or mismatches, pair
    agreed["unknown to the prover" if proved == "unknown" else "yes" if not mismatches else "no"] += 1


def check_agreed(agreed: Counter[str]) -> None:
    assert agreed["yes"] > 0.15 * EXAMPLES, agreed
    assert agreed["no"] > 0.3 * EXAMPLES, agreed
    assert agreed["not shown"] < 0.01 * EXAMPLES, agreed
    assert agreed["unknown to the prover"] < 0.15 * EXAMPLES, agreed


def test_a_type_fits_another_where_the_prover_says_so():
    agreed: Counter[str] = Counter()

    @PAIRS
    @given(pairs())
    def agree(pair: tuple[Any, Any]) -> None:
        compare(assignable(*pair), covers(pair[1], pair[0]), pair, agreed)

    agree()
    check_agreed(agreed)


def test_ctx_5b_a_declared_type_fits_another_where_it_does_when_written_out():
    agreed: Counter[str] = Counter()

    @PAIRS
    @given(pairs())
    def agree(pair: tuple[Any, Any]) -> None:
        compare(assignable(*pair, declared=True), covers(pair[1], closed(pair[0])), pair, agreed)

    agree()
    check_agreed(agreed)
