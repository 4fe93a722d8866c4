"""What is wrong with a phase workflow is told before anything is stored, all of it at once (PHS-4)."""

import re
from pathlib import Path
from typing import Any

import pytest

from support.phase_runs import errors_of, known, only_error, phases, sound, tool
from wonder.definitions.source import read_source
from wonder.language.schemas import schema_faults
from wonder.phases.known import TypeFault
from wonder.phases.needs import needs
from wonder.phases.records import PhaseWorkflow

S, N, INT, BOOL, NULL = ({"type": name} for name in ("string", "number", "integer", "boolean", "null"))
ANY: dict[str, Any] = {}


def array(items: Any, **more: Any) -> Any:
    return {"type": "array", "items": items, **more}


def obj(required: str = "", /, **properties: Any) -> Any:
    return {"type": "object", "properties": properties, "required": required.split()}


USER = obj("id name email active", id=S, name=S, email=S, active=BOOL)
FILTER = "interface Input { users: User[] } interface Output { activeEmails: string[]; count: number } ..."
BROKEN = "interface Input {} export default (input: Input) => ({})"
TOOLS = {
    "api/list-users": (obj(), obj("users total", users=array(USER), total=N, next=S)),
    "email/send-batch": (obj("recipients", recipients=array(S), subject=S), obj("sent", sent=INT)),
    "svc/aggregate": (obj("data", data=array(S)), obj("sum", sum=N)),
    "any/thing": (ANY, ANY),
    "old/plain": (obj("text", text=S), None),
}
KNOWN = known(
    TOOLS,
    {
        FILTER: (
            obj("users", users=array(obj("email active", email=S, active=BOOL))),
            obj("activeEmails count", activeEmails=array(S), count=N, note=S),
        ),
        BROKEN: [TypeFault("Missing required 'Output' interface declaration", 1, 1)],
    },
)
FETCH = {"name": "fetch-users", "tool": tool("api", "list-users")}
ACTIVE = {"name": "filter-active", "transform": FILTER, "input": {"users": "@fetch-users.output.users"}}


def send(**fields: Any) -> dict[str, Any]:
    inputs = {"input": {"recipients": "@filter-active.output.activeEmails"}}
    return {"name": "send-emails", "tool": tool("email", "send-batch"), **inputs, **fields}


def test_the_example_of_the_source_has_no_errors():
    checked = sound(phases(FETCH, ACTIVE, send()), KNOWN)
    assert checked.input_schema == {"type": "object"}
    assert checked.output_schema == obj("sent", sent=INT)
    assert checked.cached()["filter-active"] == {
        "input": obj("users", users=array(obj("email active", email=S, active=BOOL))),
        "output": obj("activeEmails count", activeEmails=array(S), count=N, note=S),
    }


def test_the_errors_of_the_source_are_told_as_it_tells_them():
    workflow = phases(
        FETCH,
        ACTIVE,
        send(input={"recipients": "@filter-active.output.count"}),
        {"name": "aggregate", "tool": tool("svc", "aggregate"), "input": {"data": "@nonexistent.output"}},
        {"name": "transform-data", "transform": BROKEN},
    )
    assert errors_of(workflow, KNOWN) == [
        {
            "type": "type_mismatch",
            "step": "send-emails",
            "field": "recipients",
            "ref": "@filter-active.output.count",
            "expected": {"type": "array", "items": {"type": "string"}},
            "actual": {"type": "number"},
            "message": "Expected string[] but got number",
        },
        {
            "type": "missing_ref",
            "step": "aggregate",
            "field": "data",
            "ref": "@nonexistent.output",
            "message": "Step 'nonexistent' not found in previous phases",
        },
        {
            "type": "invalid_typescript",
            "step": "transform-data",
            "field": "transform",
            "message": "Missing required 'Output' interface declaration",
        },
    ]


def test_each_tool_and_each_transform_is_needed_once():
    asked = needs(phases(FETCH, [ACTIVE, {**ACTIVE, "name": "again"}], send(), {"name": "z", "sleep": {"ms": 1}}))
    assert sorted(asked.tools) == [("api", "list-users"), ("email", "send-batch")]
    assert asked.transforms == {FILTER}


@pytest.mark.parametrize(
    ("steps", "ref", "message"),
    [
        (
            [FETCH, [ACTIVE, send()]],
            "@filter-active.output.activeEmails",
            "Step 'filter-active' not found in previous phases: it is in the same phase",
        ),
        (
            [send(), FETCH, ACTIVE],
            "@filter-active.output.activeEmails",
            "Step 'filter-active' not found in previous phases: it is in phase 2, which comes later",
        ),
        (
            [FETCH, send(input={"recipients": "@fetch-user.output.users"})],
            "@fetch-user.output.users",
            "Step 'fetch-user' not found in previous phases; did you mean 'fetch-users'?",
        ),
        (
            [FETCH, send(input={"recipients": "@fetch-users.output.usres"})],
            "@fetch-users.output.usres",
            "'@fetch-users.output.usres' does not exist: the output of 'fetch-users' has no 'usres'; "
            "did you mean 'users'?",
        ),
        (
            [FETCH, send(input={"recipients": "@fetch-users.output.users[0].nick"})],
            "@fetch-users.output.users[0].nick",
            "'@fetch-users.output.users[0].nick' does not exist: 'users[0]' of the output of 'fetch-users' has no "
            "'nick'; it has 'id', 'name', 'email', 'active'",
        ),
        (
            [FETCH, send(input={"recipients": "@fetch-users.output.users.1.email"})],
            "@fetch-users.output.users.1.email",
            "'@fetch-users.output.users.1.email' does not exist: 'users' of the output of 'fetch-users' is a list; "
            "write @fetch-users.output.users[1].email",
        ),
        (
            [FETCH, send(input={"recipients": "@fetch-users.output.total.x"})],
            "@fetch-users.output.total.x",
            "'@fetch-users.output.total.x' does not exist: 'total' of the output of 'fetch-users' is number, which has "
            "no 'x'",
        ),
        (
            [FETCH, send(input={"recipients": "@item"})],
            "@item",
            "'@item' exists only with forEach; add forEach, or write another ref",
        ),
        (
            [FETCH, send(input={"recipients": "@index"})],
            "@index",
            "'@index' exists only with forEach; add forEach, or write another ref",
        ),
        (
            [FETCH, send(input={"recipients": "@output"})],
            "@output",
            "'@output' is the output of the workflow, which only its triggers can read; write @STEP.output",
        ),
        (
            [FETCH, send(input={"recipients": "@fetch-users"})],
            "@fetch-users",
            "'@fetch-users' is not a ref: what a step gives is its output; write @fetch-users.output",
        ),
        (
            [FETCH, send(input={"recipients": "@ada"})],
            "@ada",
            "'@ada' is not a ref: write @STEP.output.path, @input.path, @item or @index, or @@ for a string that "
            "begins with @",
        ),
        (
            [FETCH, send(input={"recipients": "@fetch-users.output.users[x]"})],
            "@fetch-users.output.users[x]",
            "'@fetch-users.output.users[x]' is not a ref: it can't be read from '[x]' on; write .name, .\"any name\" "
            "or [0]",
        ),
    ],
)
def test_a_ref_to_what_is_not_there_is_missing(steps, ref, message):
    error = only_error(phases(*steps), KNOWN)
    assert (error.type, error.step, error.field, error.ref) == ("missing_ref", "send-emails", "recipients", ref)
    assert error.message == message


@pytest.mark.parametrize(
    ("given", "field", "message"),
    [
        ({"recipients": "@filter-active.output.count"}, "recipients", "Expected string[] but got number"),
        ({"recipients": "@fetch-users.output.users"}, "recipients", "Expected string[] but got {id: string, name:"),
        ({"recipients": ["@fetch-users.output.total"]}, "recipients.0", "Expected string but got number"),
        ({"recipients": [], "subject": "@fetch-users.output.total"}, "subject", "Expected string but got number"),
        ({"recipients": "me"}, "recipients", 'Expected string[] but got "me"'),
        ({"recipients": ["a", 5]}, "recipients.1", "Expected string but got 5"),
        ({"recipients": [], "subject": ["@@x"]}, "subject", 'Expected string but got ["@x"]'),
        ({"recipients": {"to": "@fetch-users.output.next"}}, "recipients", "Expected string[] but got {to?: string}"),
        ({"recipients": ["@fetch-users.output.next"]}, "recipients.0", "Expected string but got string | null"),
        ({}, "recipients", "Expected string[] but 'input' does not give it: the tool 'send-batch' needs 'recipients'"),
        (
            {"recipients": [], "subjct": "x"},
            "subjct",
            "The tool 'send-batch' takes no 'subjct'; did you mean 'subject'?",
        ),
    ],
)
def test_what_does_not_fit_is_a_type_mismatch(given, field, message):
    error = only_error(phases(FETCH, ACTIVE, send(input=given)), KNOWN)
    assert (error.type, error.step, error.field) == ("type_mismatch", "send-emails", field)
    assert error.message.startswith(message)
    assert error.expected is None or schema_faults(error.expected) == []
    assert (error.expected is None) == ("takes no" in message)


@pytest.mark.parametrize(
    ("given", "field", "message"),
    [
        ({"e": "z"}, "e", 'Expected "x" | "y" but got "z"'),
        ({"n": 7}, "n", "Expected at most 3 but got 7"),
        ({"n": 1.5}, "n", "Expected integer but got 1.5"),
        ({"u": {"name": None}}, "u.name", "Expected string but got null"),
        ({"u": {}}, "u.name", "Expected string but 'input' does not give it: the tool 'y' needs 'name'"),
        ({"u": {"$literal": "@fetch-users.output"}}, "u", "An object with the key '$literal' can't hold refs"),
    ],
)
def test_literals_are_checked_against_what_they_go_into(given, field, message):
    takes = obj(e={"enum": ["x", "y"]}, n={"type": "integer", "maximum": 3}, u=obj("name", name=S))
    workflow = phases(FETCH, {"name": "s", "tool": tool("x", "y"), "input": given})
    error = only_error(workflow, known({**TOOLS, "x/y": (takes, ANY)}))
    assert (error.step, error.field) == ("s", field)
    assert error.message.startswith(message)


def test_a_mismatch_inside_a_value_tells_the_place_inside():
    target = (obj("users", users=array(obj("id", id=N))), ANY)
    workflow = phases(FETCH, {"name": "s", "tool": tool("x", "y"), "input": {"users": "@fetch-users.output.users"}})
    error = only_error(workflow, known({**TOOLS, "x/y": target}))
    assert (error.field, error.message) == ("users.*.id", "Expected number but got string")
    assert (error.expected, error.actual) == (N, S)
    assert error.path == ("steps", 1, 0, "input", "users")


def test_an_optional_property_does_not_fit_a_required_one():
    step = {"name": "s", "tool": tool("old", "plain"), "input": {"text": "@fetch-users.output.next"}}
    error = only_error(phases(FETCH, step), KNOWN)
    assert (error.type, error.field, error.ref) == ("type_mismatch", "text", "@fetch-users.output.next")
    assert (error.message, error.expected, error.actual) == ("Expected string but it may be missing", S, S)


def test_an_optional_property_fits_an_optional_one():
    sound(phases(FETCH, ACTIVE, send(input={"recipients": [], "subject": "@filter-active.output.note"})), KNOWN)


def test_what_is_inside_a_nullable_value_may_be_missing():
    tools = {"a/b": (ANY, obj("x", x={"anyOf": [obj("y", y=S), NULL]})), **TOOLS}
    step = {"name": "s", "tool": tool("old", "plain"), "input": {"text": "@a.output.x.y"}}
    error = only_error(phases({"name": "a", "tool": tool("a", "b")}, step), known(tools))
    assert error.message == "Expected string but it may be missing"


@pytest.mark.parametrize(("least", "is_sound"), [({"minItems": 2}, True), ({"minItems": 1}, False), ({}, True)])
def test_an_element_that_a_shorter_tuple_lacks_may_be_missing(least, is_sound):
    pair = {"type": "array", "prefixItems": [N, S], "items": False, **least}
    step = {"name": "s", "tool": tool("old", "plain"), "input": {"text": "@a.output[1]"}}
    workflow = phases({"name": "a", "tool": tool("a", "b")}, step)
    if is_sound:
        sound(workflow, known({"a/b": (ANY, pair), **TOOLS}))
    else:
        assert (
            only_error(workflow, known({"a/b": (ANY, pair), **TOOLS})).message
            == "Expected string but it may be missing"
        )


def test_a_list_with_refs_fits_a_tuple_of_its_length():
    pair = {"type": "array", "prefixItems": [S, N], "items": False, "minItems": 2, "maxItems": 2}
    tools = {"a/b": (ANY, S), "x/y": (obj("pair", pair=pair), ANY)}
    first = {"name": "a", "tool": tool("a", "b")}
    for given, errors in ((["@a.output", 0], 0), (["@a.output"], 1), (["@a.output", 0, 0], 1)):
        step = {"name": "s", "tool": tool("x", "y"), "input": {"pair": given}}
        assert len(errors_of(phases(first, step), known(tools))) == errors, given


def test_what_has_no_refs_is_held_to_all_that_a_schema_says():
    target = {"allOf": [obj("a", a=S)], "properties": {"b": S}, "unevaluatedProperties": False}
    for given, errors in (({"a": "x", "b": "y"}, 0), ({"a": "x", "c": "y"}, 1)):
        step = {"name": "s", "tool": tool("x", "y"), "input": given}
        assert len(errors_of(phases(step), known({"x/y": (target, ANY)}))) == errors, given


def test_what_the_input_schema_has_a_default_for_is_there():
    step = {"name": "s", "tool": tool("old", "plain"), "input": {"text": "@input.text"}}
    given = obj(text=S | {"default": "hi"})
    sound(phases(step, input_schema=given), KNOWN)
    assert only_error(phases(step, input_schema=obj(text=S)), KNOWN).message == "Expected string but it may be missing"


def test_a_union_fits_what_takes_all_of_it_only():
    tools = {
        "a/b": (ANY, obj("x", x={"type": ["string", "number"]})),
        **TOOLS,
        "c/d": (obj("t", t={"type": ["number", "string", "null"]}), ANY),
    }
    first = {"name": "a", "tool": tool("a", "b")}
    sound(phases(first, {"name": "s", "tool": tool("c", "d"), "input": {"t": "@a.output.x"}}), known(tools))
    error = only_error(
        phases(first, {"name": "s", "tool": tool("old", "plain"), "input": {"text": "@a.output.x"}}), known(tools)
    )
    assert error.message == "Expected string but got string | number"


def test_what_holds_between_the_members_of_an_input_is_checked_too():
    either = {"anyOf": [obj("kind n", kind={"const": "n"}, n=N), obj("kind s", kind={"const": "s"}, s=S)]}
    tools = {**TOOLS, "x/y": (either, ANY)}

    def workflow(**given: Any) -> Any:
        return phases(FETCH, {"name": "s", "tool": tool("x", "y"), "input": given})

    sound(workflow(kind="n", n="@fetch-users.output.total"), known(tools))
    assert only_error(workflow(kind="s", n="@fetch-users.output.total"), known(tools)).type == "type_mismatch"


def test_all_errors_are_told_at_once_in_the_order_of_the_file():
    workflow = phases(
        {"name": "a", "tool": tool("any", "thing"), "sleep": {"ms": 1}},
        [send(input={"recipients": "@b.output", "subject": 5}), {"name": "a", "transform": BROKEN}],
        [],
        {"name": "c", "tool": tool("email", "none"), "forEach": "@a.output.x"},
    )
    tools = known(
        {**TOOLS, "email/none": "the server 'email' has no tool 'none'"},
        KNOWN.transforms and {BROKEN: [TypeFault("x", 2, 3)]},
    )
    assert [(error["type"], error["step"], error["field"]) for error in errors_of(workflow, tools)] == [
        ("invalid_step", "a", "sleep"),
        ("missing_ref", "send-emails", "recipients"),
        ("type_mismatch", "send-emails", "subject"),
        ("invalid_step", "a", "name"),
        ("invalid_typescript", "a", "transform"),
        ("invalid_step", "", "steps[2]"),
        ("missing_schema", "c", "tool"),
    ]


def test_a_mistake_in_typescript_has_its_line_and_column():
    [error] = errors_of(
        phases({"name": "t", "transform": "bad"}), known({}, {"bad": [TypeFault("no such name", 3, 7)]})
    )
    assert error == {
        "type": "invalid_typescript",
        "step": "t",
        "field": "transform",
        "message": "no such name",
        "line": 3,
        "column": 7,
    }


def test_a_tool_without_output_schema_is_told_only_where_something_reads_into_it():
    old = {"name": "old", "tool": tool("old", "plain"), "input": {"text": "x"}}
    sound(phases(old), KNOWN)
    sound(phases(old, {"name": "s", "tool": tool("any", "thing"), "input": {"all": "@old.output"}}), KNOWN)
    error = only_error(phases(old, send(input={"recipients": "@old.output.names"})), KNOWN)
    assert (error.type, error.step, error.field, error.ref) == (
        "missing_schema",
        "send-emails",
        "recipients",
        "@old.output.names",
    )
    assert error.message == (
        "The tool 'plain' of 'old' has no output schema, so nothing is known of what 'old' gives; "
        "give step 'old' an outputSchema"
    )
    each = {"name": "s", "tool": tool("any", "thing"), "forEach": "@old.output"}
    assert only_error(phases(old, each), KNOWN).type == "missing_schema"


def test_an_output_schema_on_the_step_stands_in():
    old = {"name": "old", "tool": tool("old", "plain"), "input": {"text": "x"}, "outputSchema": obj("n", n=array(S))}
    checked = sound(phases(old, send(input={"recipients": "@old.output.n"})), KNOWN)
    assert checked.schemas["old"].output == obj("n", n=array(S))
    assert only_error(phases(old, send(input={"recipients": "@old.output.m"})), KNOWN).type == "missing_ref"


def test_an_output_schema_says_more_of_what_a_transform_gives():
    tools = {**TOOLS, "n/n": (obj("n", n=INT), ANY)}
    count = {"name": "n", "tool": tool("n", "n"), "input": {"n": "@filter-active.output.count"}}
    what = known(tools, KNOWN.transforms and {FILTER: (obj(), obj("count", count=N))})
    filtered = {"name": "filter-active", "transform": FILTER}
    assert only_error(phases(filtered, count), what).message == "Expected integer but got number"
    sound(phases({**filtered, "outputSchema": obj("count", count=INT)}, count), what)
    error = only_error(phases({**filtered, "outputSchema": obj("count", count=S)}), what)
    assert (error.type, error.field) == ("type_mismatch", "outputSchema")


def test_a_schema_that_is_none_is_told():
    error = only_error(phases({**FETCH, "outputSchema": {"type": "text"}}), KNOWN)
    assert (error.type, error.step, error.field) == ("missing_schema", "fetch-users", "outputSchema")
    error = only_error(phases(FETCH, input_schema={"type": "text"}), KNOWN)
    assert (error.type, error.step, error.field) == ("missing_schema", "", "input_schema")


def test_a_tool_whose_own_schemas_are_none_takes_anything_and_gives_what_is_not_known():
    what = known({**TOOLS, "x/y": ({"type": "text"}, {"type": "text"})})
    sound(phases({"name": "x", "tool": tool("x", "y"), "input": {"a": 1}}), what)
    step = {"name": "x", "tool": tool("x", "y")}
    error = only_error(phases(step, send(input={"recipients": "@x.output"})), what)
    assert error.type == "missing_schema"
    assert "has an output schema that can't be used" in error.message


@pytest.mark.parametrize(
    ("steps", "step", "field", "message"),
    [
        ([{"name": "x"}], "x", "name", "Step 'x' does nothing; give it one of tool, transform and sleep"),
        (
            [{"name": "x", "tool": tool("any", "thing"), "sleep": {"ms": 1}}],
            "x",
            "sleep",
            "Step 'x' has tool and sleep; keep one of them",
        ),
        (
            [FETCH, FETCH],
            "fetch-users",
            "name",
            "Phase 0 has a step 'fetch-users' already; give each step its own name",
        ),
        ([[FETCH, FETCH]], "fetch-users", "name", "Phase 0 has a step 'fetch-users' already"),
        ([{**FETCH, "name": "input"}], "input", "name", "A step can't be called 'input'"),
        ([{**FETCH, "name": "output"}], "output", "name", "A step can't be called 'output'"),
        ([{**FETCH, "name": "item"}], "item", "name", "A step can't be called 'item'"),
        ([{**FETCH, "name": "index"}], "index", "name", "A step can't be called 'index'"),
        ([FETCH, []], "", "steps[1]", "Phase 1 has no steps; add one, or leave the phase out"),
        ([], "", "steps", "The workflow has no steps; add a phase"),
        (
            [{"name": "x", "sleep": {"ms": 1}, "retry": {}}],
            "x",
            "retry",
            "Only a tool step can have retry: sleep can't be retried; leave it out",
        ),
        (
            [FETCH, {**ACTIVE, "retry": {"maxAttempts": 2}}],
            "filter-active",
            "retry",
            "Only a tool step can have retry: a transform gives the same result each time; leave it out",
        ),
        ([{"name": "x", "sleep": {}}], "x", "sleep", "A sleep has exactly one of ms and until"),
        (
            [{"name": "x", "sleep": {"ms": 1}, "timeoutMs": 5}],
            "x",
            "timeoutMs",
            "A sleep takes as long as it says; leave timeoutMs out",
        ),
        (
            [{"name": "x", "sleep": {"ms": 1, "until": "2030-01-01"}}],
            "x",
            "sleep",
            "A sleep has exactly one of ms and until",
        ),
        (
            [FETCH, {"name": "e", "tool": tool("any", "thing"), "forEach": "@fetch-users.output.users", "as": "index"}],
            "e",
            "as",
            "An item can't be called 'index'",
        ),
        (
            [
                FETCH,
                {
                    "name": "e",
                    "tool": tool("any", "thing"),
                    "forEach": "@fetch-users.output.users",
                    "as": "fetch-users",
                },
            ],
            "e",
            "as",
            "'fetch-users' is the name of a step",
        ),
    ],
)
def test_a_step_that_can_be_none_is_invalid(steps, step, field, message):
    error = only_error(phases(*steps), KNOWN)
    assert (error.type, error.step, error.field) == ("invalid_step", step, field)
    assert error.message.startswith(message)


@pytest.mark.parametrize(
    ("each", "type", "message"),
    [
        ("@fetch-users.output.total", "type_mismatch", "Expected any[] but got number"),
        ("@fetch-users.output.usres", "missing_ref", "'@fetch-users.output.usres' does not exist"),
        ("fetch-users.output.users", "missing_ref", "'fetch-users.output.users' is not a ref; write a ref to a list"),
        ("@item", "missing_ref", "'@item' exists only with forEach"),
        ("@@x", "missing_ref", "'@@x' is not a ref"),
    ],
)
def test_for_each_goes_over_a_list(each, type, message):
    error = only_error(phases(FETCH, {"name": "e", "tool": tool("any", "thing"), "forEach": each}), KNOWN)
    assert (error.type, error.step, error.field) == (type, "e", "forEach")
    assert error.message.startswith(message)


def test_the_item_has_the_type_of_the_elements_and_the_step_gives_a_list():
    each = {"name": "e", "forEach": "@fetch-users.output.users", "as": "user", "tool": tool("old", "plain")}
    step = {**each, "input": {"text": "@user.email"}, "outputSchema": N}
    last = {"name": "s", "tool": tool("email", "send-batch"), "input": {"recipients": "@e.output"}}
    assert sound(phases(FETCH, step), KNOWN).schemas["e"].output == array(N)
    assert only_error(phases(FETCH, step, last), KNOWN).message == "Expected string[] but got number[]"
    sound(phases(FETCH, {**step, "input": {"text": "@item.name"}}), KNOWN)
    assert only_error(phases(FETCH, {**step, "input": {"text": "@user"}}), KNOWN).field == "text"
    assert only_error(phases(FETCH, {**step, "input": {"text": "@index"}}), KNOWN).message == (
        "Expected string but got integer"
    )
    assert only_error(phases(FETCH, {**step, "input": {"text": "@item.nick"}}), KNOWN).type == "missing_ref"


def test_the_item_of_a_tuple_is_any_of_its_elements():
    tools = {**TOOLS, "a/b": (ANY, {"type": "array", "prefixItems": [S, N], "items": False})}
    each = {"name": "e", "forEach": "@a.output", "tool": tool("old", "plain"), "input": {"text": "@item"}}
    error = only_error(phases({"name": "a", "tool": tool("a", "b")}, each), known(tools))
    assert error.message == "Expected string but got string | number"


@pytest.mark.parametrize(
    ("until", "type", "message"),
    [
        (
            "2030-02-31",
            "type_mismatch",
            "Expected a moment, as in 2030-01-31T08:00:00Z, or a ref, but got '2030-02-31'",
        ),
        ("tomorrow", "type_mismatch", "Expected a moment"),
        ("@fetch-users.output.total", "type_mismatch", "Expected string but got number"),
        ("@fetch-users.output.when", "missing_ref", "'@fetch-users.output.when' does not exist"),
    ],
)
def test_a_sleep_lasts_until_a_moment(until, type, message):
    error = only_error(phases(FETCH, {"name": "z", "sleep": {"until": until}}), KNOWN)
    assert (error.type, error.step, error.field) == (type, "z", "sleep.until")
    assert error.message.startswith(message)


def test_the_output_of_a_sleep_is_an_empty_object():
    zzz = {"name": "z", "sleep": {"until": "2030-01-31T08:00:00Z"}}
    assert only_error(phases(zzz, send(input={"recipients": "@z.output.x"})), KNOWN).type == "missing_ref"


def trigger(**fields: Any) -> dict[str, Any]:
    return {"workflowId": "next", "inputs": {}, **fields}


@pytest.mark.parametrize(
    ("fields", "field", "type", "message"),
    [
        ({"inputs": {"n": "@output.set"}}, "inputs.n", "missing_ref", "'@output.set' does not exist: the workflow's"),
        ({"inputs": {"n": {"x": ["@nobody.output"]}}}, "inputs.n.x.0", "missing_ref", "Step 'nobody' not found"),
        ({"inputs": {"n": "@item"}}, "inputs.n", "missing_ref", "'@item' exists only with forEach"),
        ({"forEach": "@output.sent"}, "forEach", "type_mismatch", "Expected any[] but got integer"),
        ({"forEach": "all"}, "forEach", "missing_ref", "'all' is not a ref"),
        (
            {"forEach": "@fetch-users.output.users", "inputs": {"n": "@item.nick"}},
            "inputs.n",
            "missing_ref",
            "'@item.nick' does not exist",
        ),
    ],
)
def test_phs_6_what_a_trigger_reads_can_be_there(fields, field, type, message):
    error = only_error(phases(FETCH, ACTIVE, send(), triggers=[trigger(), trigger(**fields)]), KNOWN)
    assert (error.type, error.step, error.field) == (type, "triggers[1]", field)
    assert error.message.startswith(message)


def test_phs_6_a_trigger_reads_the_output_the_input_and_every_step():
    inputs = {
        "a": "@output.sent",
        "b": "@input.batch",
        "c": "@fetch-users.output.next",
        "d": "@item.email",
        "e": "@index",
    }
    fires = trigger(forEach="@fetch-users.output.users", inputs=inputs)
    checked = sound(phases(FETCH, ACTIVE, send(), triggers=[fires]), KNOWN)
    assert checked.input_schema == {"type": "object", "properties": {"batch": {}}}


def test_the_example_of_the_documentation_has_no_errors():
    text = (Path(__file__).parents[2] / "docs" / "reference" / "phases.md").read_text("utf-8")
    example = read_source(re.search(r"```yaml\n(.*?)```", text, re.DOTALL)[1], "phases.md").value
    workflow = PhaseWorkflow.model_validate(example)
    [source] = needs(workflow).transforms
    users = array(obj("email active", email=S, active=BOOL))
    tools = {
        "api/list-users": (obj(), obj("users", users=users)),
        "email/send": (obj("to subject", to=S, subject=S, number=INT), obj("id", id=S)),
    }
    checked = sound(workflow, known(tools, {source: (obj("users", users=users), obj("emails", emails=array(S)))}))
    assert checked.input_schema == obj("subject", subject=S)
    assert checked.output_schema == array(obj("id", id=S))
