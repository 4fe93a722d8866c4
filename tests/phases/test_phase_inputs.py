"""What a workflow takes is inferred from all uses of its input, unless the file says it (PHS-3)."""

from typing import Any

import pytest

from support.phase_runs import errors_of, known, only_error, phases, sound, tool
from wonder.language.schemas import compile_validator

S, N, INT, ANY = {"type": "string"}, {"type": "number"}, {"type": "integer"}, {}


def array(items: Any, **more: Any) -> Any:
    return {"type": "array", "items": items, **more}


def obj(required: str = "", /, **properties: Any) -> Any:
    made = {"type": "object", "properties": properties, "required": required.split()}
    return made if required else {key: held for key, held in made.items() if key != "required"}


NODE = {"$ref": "#/$defs/node"}
KNOWN = known(
    {
        "t/text": (obj("text", text=S, note=S), S),
        "t/number": (obj("n", n=N), N),
        "t/whole": (obj("n", n=INT), N),
        "t/list": (obj("list", list=array(S)), N),
        "t/user": (obj("user", user=obj("name", name=S, age=N)), N),
        "t/open": (ANY, N),
        "t/tree": (obj("tree", tree=NODE) | {"$defs": {"node": obj("v", v=N, next=NODE)}}, N),
        "t/words": (obj("words", words=NODE) | {"$defs": {"node": array({"$ref": "#/$defs/x"}), "x": S}}, N),
        "t/short": (obj("text", text={"type": "string", "maxLength": 3}), S),
        "t/kinds": ({"oneOf": [obj("kind v", kind={"const": "x"}, v=S), obj("kind v", kind={"const": "y"}, v=N)]}, S),
        "t/either": ({"anyOf": [obj("a", a=S), obj("a b", a=N, b=N)]}, S),
    }
)


def step(name: str, of: str, fields: dict[str, Any] | None = None, /, **given: Any) -> dict[str, Any]:
    return {"name": name, "tool": tool("t", of), "input": given, **(fields or {})}


@pytest.mark.parametrize(
    ("steps", "schema"),
    [
        ([step("a", "text", text="hi")], {"type": "object"}),
        ([step("a", "text", text="@input.t")], obj("t", t=S)),
        ([step("a", "text", text="x", note="@input.t")], obj(t=S)),
        ([step("a", "text", text="@input.t", note="@input.t")], obj("t", t=S)),
        ([step("a", "text", text="@input.a.b")], obj("a", a=obj("b", b=S))),
        ([step("a", "text", text="x", note="@input.a.b")], obj(a=obj(b=S))),
        ([step("a", "number", n="@input.n"), step("b", "whole", n="@input.n")], obj("n", n=INT)),
        ([step("a", "text", text="@input.x"), step("b", "number", n="@input.y")], obj("x y", x=S, y=N)),
        ([step("a", "open", any={"deep": ["@input.x"]})], obj(x={})),
        ([step("a", "open", any="@input.x")], obj(x={})),
        (
            [step("a", "user", user="@input.u"), step("b", "text", text="@input.u.city")],
            obj("u", u={"allOf": [obj("name", name=S, age=N), obj("city", city=S)]}),
        ),
        ([step("a", "user", user={"name": "@input.name"})], obj("name", name=S)),
        ([step("a", "list", list=["@input.a", "@input.b"])], obj("a b", a=S, b=S)),
        (
            [step("a", "text", text="@input.l[1].x")],
            obj("l", l={"type": "array", "prefixItems": [True, obj("x", x=S)], "minItems": 2}),
        ),
        ([step("a", "text", {"forEach": "@input.l"}, text="@item")], obj("l", l=array(S))),
        (
            [step("a", "text", {"forEach": "@input.l", "as": "it"}, text="@it.x.y", note="@item.z")],
            obj("l", l=array(obj("x", x=obj("y", y=S), z=S))),
        ),
        ([step("a", "text", {"forEach": "@input"}, text="@item")], array(S)),
        ([step("a", "open", {"forEach": "@input.l"}, n="@index")], obj("l", l={"type": "array"})),
        ([{"name": "z", "sleep": {"until": "@input.when"}}], obj("when", when=S)),
        ([step("a", "either", a="@input.a")], obj("a", a=S)),
        ([step("a", "either", a="@input.a", b=1)], obj("a", a={"anyOf": [S, N]})),
        ([step("a", "kinds", kind="x", v="@input.v")], obj("v", v=S)),
        ([step("a", "kinds", kind="y", v="@input.v")], obj("v", v=N)),
    ],
)
def test_the_input_is_what_all_uses_take(steps, schema):
    assert sound(phases(*steps), KNOWN).input_schema == schema


def test_schemas_that_refer_to_their_own_definitions_keep_them_apart():
    schema = sound(phases(step("a", "tree", tree="@input.t"), step("b", "words", words="@input.w")), KNOWN).input_schema
    fits = compile_validator(schema).is_valid
    assert fits({"t": {"v": 1, "next": {"v": 2}}, "w": ["x"]})
    assert not fits({"t": {"v": 1, "next": {"v": "x"}}, "w": ["x"]})
    assert not fits({"t": {"v": 1}, "w": [1]})


def test_uses_that_no_value_can_serve_are_a_mismatch():
    error = only_error(phases(step("a", "text", text="@input.x"), step("b", "number", n="@input.x")), KNOWN)
    assert (error.type, error.step, error.field, error.ref) == ("type_mismatch", "b", "n", "@input.x")
    assert error.message == "Expected number but it is string where it flows into 'text' of 'a'"
    assert (error.expected, error.actual) == (N, S)


def test_a_text_that_is_read_into_is_a_mismatch():
    workflow = phases(step("a", "text", text="@input.x"), step("b", "number", n="@input.x.y"))
    assert [error["step"] for error in errors_of(workflow, KNOWN)] == ["b"]


def test_a_given_input_schema_is_kept_and_checked_against_every_use():
    given = obj("x", x=S, y=N)
    checked = sound(phases(step("a", "text", text="@input.x"), input_schema=given), KNOWN)
    assert checked.input_schema == given

    def error(ref: str) -> Any:
        return only_error(phases(step("a", "text", text=ref), input_schema=given), KNOWN)

    assert (error("@input.y").message, error("@input.y").type) == ("Expected string but got number", "type_mismatch")
    assert (error("@input.z").type, error("@input.xs").message) == (
        "missing_ref",
        "'@input.xs' does not exist: the input has no 'xs'; did you mean 'x'?",
    )
    optional = only_error(phases(step("a", "number", n="@input.y"), input_schema=given), KNOWN)
    assert optional.message == "Expected number but it may be missing"


def test_the_output_is_that_of_the_last_phase():
    assert sound(phases(step("a", "text", text="x")), KNOWN).output_schema == S
    several = phases([step("a", "text", text="x"), step("b", "number", {"forEach": "@input.l"}, n="@item")])
    assert sound(several, KNOWN).output_schema == {
        **obj("a b", a=S, b=array(N)),
        "additionalProperties": False,
    }
