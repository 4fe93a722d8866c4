"""Random schemas, contexts that fit them more or less, and random updates, to try the context tables with."""

from typing import Any

from hypothesis import strategies as st

from wonder.context.plan import ContextPlan
from wonder.context.rows import Writes
from wonder.language.values import JsonValue
from wonder.storage.store import Transaction

Path = tuple[Any, ...]

AWKWARD_NAMES = [
    *[
        "order",
        "a b",
        'x"; DROP TABLE runs; --',
        "",
        "A",
        "a",
        "a_b",
        "a.b",
        "run_id",
        "position",
        "_rest",
        "value",
        "select",
    ],
    *[
        "x" * 200,
        "x" * 199 + "y",
        "é",
        "数量",
        "数" * 40,
        "😀",
        "'",
        "$1",
        "?1",
        "İ",
        "state",
        "items",
        "0",
        "$ref",
        "type",
    ],
]
names = st.one_of(
    st.sampled_from(["a", "b", "c"]),
    st.sampled_from(AWKWARD_NAMES),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5),
)
texts = st.one_of(
    st.sampled_from(["", "a", "1", "null", "{}", "é😀"]),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8),
)
EDGES = [0, 1, -1, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**30, 10**400]
integers = st.one_of(st.integers(-5, 5), st.sampled_from(EDGES), st.integers())
FLOATS = [0.0, -0.0, 1.0, 0.1, 1e308, -1e308, 5e-324, 2.0**53, 2.0**53 + 2, 2.0**63, -(2.0**63), 1e22]
floats = st.one_of(st.sampled_from(FLOATS), st.floats(allow_nan=False, allow_infinity=False))
scalars = st.one_of(st.none(), st.booleans(), integers, floats, texts)
anything: st.SearchStrategy[Any] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=6
)

_SCALARS = ["string", "integer", "number", "boolean"]
_KINDS = [*_SCALARS, "null", "object", "array"]
_REFS = ["#", "#/$defs/a", "#/$defs/b", "#/$defs/none", "#/properties/a", "http://x/y"]
_OPEN = [
    True,
    False,
    {},
    {"type": "null"},
    {"type": "object"},
    {"type": "array", "prefixItems": [True]},
    {"title": "any"},
]
# Weights: what gets columns and tables of its own comes up most.
_SORTS = ["scalar"] * 8 + ["object"] * 5 + ["list"] * 5 + ["nullable"] * 2
_SORTS += ["open", "union", "constants", "choice", "optional", "ref", "tuple"]
_one_in_twelve = st.sampled_from([False] * 11 + [True])


@st.composite
def _schema(draw: st.DrawFn, depth: int) -> Any:
    match draw(st.sampled_from(_SORTS if depth else ["scalar", "scalar", "nullable", "open", "ref"])):
        case "scalar":
            return {"type": draw(st.sampled_from(_SCALARS))}
        case "nullable":
            return {"type": draw(st.permutations([draw(st.sampled_from(_SCALARS)), "null"]))}
        case "object":
            return draw(_object_schema(depth))
        case "list":
            kind = draw(st.sampled_from(["array", "array", ["array", "null"]]))
            return {"type": kind, **draw(st.sampled_from([{}, *[{"items": draw(_schema(depth - 1))}] * 4]))}
        case "union":
            return {"type": draw(st.lists(st.sampled_from(_KINDS), min_size=1, max_size=3, unique=True))}
        case "constants":
            return {draw(st.sampled_from(["enum", "const"])): draw(st.lists(scalars, min_size=1, max_size=3))}
        case "choice":
            choices = st.lists(_schema(depth - 1), min_size=1, max_size=3)
            return {draw(st.sampled_from(["anyOf", "oneOf", "allOf"])): draw(choices)}
        case "optional":
            return {"anyOf": [draw(_schema(depth - 1)), {"type": "null"}]}
        case "ref":
            return {"$ref": draw(st.sampled_from(_REFS))}
        case "tuple":
            return {"items": [draw(_schema(depth - 1))]}
        case _:
            return draw(st.sampled_from(_OPEN))


@st.composite
def _object_schema(draw: st.DrawFn, depth: int) -> Any:
    properties = draw(st.dictionaries(names, _schema(depth - 1), min_size=1, max_size=4))
    said = st.fixed_dictionaries(
        {"type": st.sampled_from(["object", "object", ["object", "null"]])},
        optional={"additionalProperties": st.booleans(), "patternProperties": st.just({"^x": True})},
    )
    return {"properties": properties, **draw(st.one_of(said, said, said, st.just({})))}


@st.composite
def schemas(draw: st.DrawFn) -> Any:
    """A schema document: mostly an object, with definitions that may refer to each other."""
    schema = draw(_schema(3)) if draw(_one_in_twelve) else draw(_object_schema(3))
    if isinstance(schema, dict) and "$ref" in str(schema):
        schema = {**schema, "$defs": draw(st.fixed_dictionaries({"a": _schema(2), "b": _schema(2)}))}
    return schema


@st.composite
def values(draw: st.DrawFn, schema: Any, document: Any, depth: int = 5) -> Any:
    """A value that fits the schema, most of the time: misfits come up too, because `output` may hold them."""
    if not isinstance(schema, dict) or not depth or draw(_one_in_twelve):
        return draw(anything)
    match schema:
        case {"anyOf": choices} | {"oneOf": choices} | {"allOf": choices}:
            return draw(values(draw(st.sampled_from(choices)), document, depth - 1))
        case {"enum": constants}:
            return draw(st.sampled_from(constants))
        case {"const": constant}:
            return constant
        case {"$ref": "#"}:
            return draw(values(document, document, depth - 1))
        case {"$ref": ref}:
            return draw(values(document.get("$defs", {}).get(ref[-1], True), document, depth - 1))
        case {"type": [*kinds]}:
            kind = draw(st.sampled_from(kinds))
        case {"type": kind}:
            pass
        case _:
            kind = "object" if "properties" in schema else "array"
    return draw(_value_of_kind(kind, schema, document, depth))


@st.composite
def _value_of_kind(draw: st.DrawFn, kind: str, schema: Any, document: Any, depth: int) -> Any:
    match kind:
        case "string":
            return draw(texts)
        case "integer":
            return draw(st.one_of(integers, integers, st.sampled_from([1.0, 2.0**63])))
        case "number":
            return draw(st.one_of(integers, floats))
        case "boolean":
            return draw(st.booleans())
        case "null":
            return None
        case "array":
            items = schema.get("items", True)
            return draw(st.lists(values(True if isinstance(items, list) else items, document, depth - 1), max_size=4))
        case _:
            properties = schema.get("properties", {})
            present = draw(
                st.lists(st.sampled_from([True, True, True, False]), min_size=len(properties), max_size=len(properties))
            )
            chosen = [name for name, there in zip(properties, present, strict=True) if there]
            known = {name: draw(values(properties[name], document, depth - 1)) for name in chosen}
            return {**known, **(draw(st.dictionaries(names, anything, max_size=2)) if draw(_one_in_twelve) else {})}


def places(value: JsonValue, path: Path = ()) -> list[Path]:
    """All paths in a value."""
    inner: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    return [path, *[found for step, member in inner for found in places(member, (*path, step))]]


def at(value: Any, path: Path) -> Any:
    """The value at a path that is there."""
    for step in path:
        value = value[step]
    return value


def with_value(value: Any, path: Path, new: JsonValue) -> Any:
    """A copy with another value at a path, sharing all that is not on the path; a list may grow by one."""
    if not path:
        return new
    step, *rest = path
    copy = value.copy()
    if isinstance(value, list):
        copy[step : int(step) + 1] = [with_value(value[step] if rest else None, tuple(rest), new)]
    else:
        copy[step] = with_value(value[step] if rest else None, tuple(rest), new)
    return copy


def without(value: Any, path: Path) -> Any:
    """A copy without what stands at a path, sharing the rest."""
    around = at(value, path[:-1])
    copy: Any = around.copy()
    del copy[path[-1]]
    return with_value(value, path[:-1], copy)


@st.composite
def updates(draw: st.DrawFn, context: dict[str, Any], donor: dict[str, Any]) -> tuple[dict[str, Any], list[Path]]:
    """A context changed in one to three places, and their paths; the donor gives parts that fit the schemas."""
    paths: list[Path] = []
    for _ in range(draw(st.integers(1, 3))):
        root = draw(st.sampled_from(["state", "state", "output"]))
        path = draw(st.sampled_from([place for place in places(context) if place[:1] == (root,)]))
        there = at(context, path)
        kind = draw(st.sampled_from(["graft", "graft", "grow", "grow", "remove", "anything", "empty", "cut", "whole"]))
        if kind == "grow" and isinstance(there, list):
            path = (*path, len(there))
            context = with_value(context, path, draw(st.sampled_from(there) if there else anything))
        elif kind == "grow" and isinstance(there, dict):
            path = (*path, draw(names))
            context = with_value(context, path, draw(anything))
        elif kind == "remove" and len(path) > 1:
            context = without(context, path)
            path = path[:-1] if isinstance(path[-1], int) else path
        elif kind == "cut" and isinstance(there, list):
            context = with_value(context, path, there[: draw(st.sampled_from([0, len(there) // 2]))])
        elif kind == "empty":
            path = draw(st.sampled_from(_shared_places(context, donor, root)))
            context = with_value(context, path, [] if isinstance(at(donor, path), list) else {})
        elif kind == "whole":
            path = (root,)
            context = with_value(context, path, donor[root])
        elif kind == "anything":
            context = with_value(context, path, draw(anything))
        else:
            path = draw(st.sampled_from(_shared_places(context, donor, root)))
            context = with_value(context, path, at(donor, path))
        paths.append(path)
    return context, paths


def _shared_places(context: Any, donor: Any, root: str) -> list[Path]:
    """The places in the donor that the context has a container for."""
    found = [place for place in places(donor) if place[:1] == (root,)]
    return [place for place in found if _can_hold(context, place)]


def _can_hold(context: Any, path: Path) -> bool:
    for step in path[:-1]:
        if not (isinstance(context, dict) and step in context) and not (
            isinstance(context, list) and isinstance(step, int) and step < len(context)
        ):
            return False
        context = context[step]
    last = path[-1]
    return isinstance(context, dict) if isinstance(last, str) else isinstance(context, list) and last <= len(context)


async def create(transaction: Transaction, plan: ContextPlan, dialect: Any) -> None:
    """Make the plan's tables."""
    for statement in plan.ddl(dialect):
        await transaction.run(statement)


async def write(transaction: Transaction, writes: Writes) -> None:
    """Run writes in their order."""
    for statement, rows in writes:
        await transaction.run(statement, rows)


async def read(transaction: Transaction, plan: ContextPlan, run_id: str) -> dict[str, Any]:
    """Read one run's context back."""
    answers = [await transaction.query(statement, run_id) for statement in plan.select()]
    return plan.read(answers)[run_id]
