"""Errors of a phase workflow say how to fix them, and none is told that only follows from another (PHS-4)."""

from typing import Any

import pytest

from support.phase_runs import known, only_error, phases, tool
from wonder.app.phase_faults import read_phase_form
from wonder.definitions.faults import Fault
from wonder.definitions.file_form.phase_form import PhaseForm
from wonder.phases.checking import check
from wonder.phases.hints import hint_for, texts_like_refs

S, N, INT = ({"type": name} for name in ("string", "number", "integer"))
PICK = "interface Input {} interface Output { due: Array<{ id: string; cents: number }>; total: number } …"


def obj(required: str = "", /, **properties: Any) -> Any:
    return {"type": "object", "properties": properties, "required": required.split()}


ORDER = obj("id", id=S, cents=N, email={"anyOf": [S, {"type": "null"}]})
KNOWN = known(
    {
        "shop/list": (obj(), obj("orders count", orders={"type": "array", "items": ORDER}, count=N)),
        "shop/plain": (obj("text", text=S), None),
    }
    | {"shop/charge": (obj("id cents", id=S, cents=INT), obj("ok", ok={"type": "boolean"}))},
    {PICK: (obj(), obj("due total", due={"type": "array", "items": obj("id cents", id=S, cents=N)}, total=N))},
)
LIST = {"name": "list", "tool": tool("shop", "list")}
CHOOSE: dict[str, Any] = {"name": "pick", "transform": PICK}


def charge(**fields: Any) -> dict[str, Any]:
    return {"name": "charge", "tool": tool("shop", "charge"), "input": {"id": "a", "cents": 1}, **fields}


def plain(text: Any, **fields: Any) -> dict[str, Any]:
    return {"name": "plain", "tool": tool("shop", "plain"), "input": {"text": text}, **fields}


@pytest.mark.parametrize(
    ("steps", "hint"),
    [
        # TypeScript has no integers, and most tools that count take one.
        (
            [CHOOSE, charge(input={"id": "a", "cents": "@pick.output.total"})],
            "give step 'pick' an outputSchema in which",
        ),
        ([LIST, charge(input={"id": "a", "cents": "@list.output.count"})], "make it a whole number in a transform"),
        # A declared schema takes the place of the type, and half of one says less than nothing.
        (
            [CHOOSE | {"outputSchema": {"properties": {"due": {"items": INT}}}}, charge(forEach="@pick.output.due")],
            "the outputSchema of 'pick' stands in for the type Output of its transform",
        ),
        ([CHOOSE | {"outputSchema": obj("x", x=S)}, plain("@pick.output.y")], "stands in for the type Output"),
        ([CHOOSE, charge(forEach="@pick.output")], "write a ref to a list: @pick.output.due"),
        ([CHOOSE, charge(forEach="@pick.output.total")], "write a ref to a list"),
        ([LIST, plain("@item.email", forEach="@list.output.orders")], "it may be null: put something in its place"),
        ([LIST, charge(forEach="@list.output.orders", input={"id": "a", "cents": "@item.cents"})], "whole number"),
        ([LIST, plain("@order.id", forEach="@list.output.orders")], "the item is called @item here; `as: order` calls"),
        # As other systems write it.
        (
            [CHOOSE, charge(input={"id": "a", "cents": "pick.output.total"})],
            'begins with @: write "@pick.output.total"',
        ),
        ([CHOOSE, charge(input={"id": "a", "cents": "${pick.total}"})], 'write "@pick.output.total"'),
        ([CHOOSE, charge(input={"id": "a", "cents": "{{ steps.pick.output.total }}"})], 'write "@pick.output.total"'),
        ([CHOOSE, charge(input={"id": "a", "cents": "$.input.cents"})], 'write "@input.cents"'),
        ([CHOOSE, charge(input={"id": "a", "cents": "a lot"})], ""),
        # Looked at in little time.
        ([CHOOSE, charge(input={"id": "a", "cents": " " * 200_000 + "x"})], ""),
        ([CHOOSE, plain("@nobody.output")], ""),
    ],
)
def test_an_error_that_a_newcomer_meets_says_how_to_mend_it(steps: list[dict[str, Any]], hint: str) -> None:
    workflow = phases(*steps)
    found = hint_for(only_error(workflow, KNOWN), workflow)
    assert hint in found
    assert bool(hint) == bool(found)


@pytest.mark.parametrize(
    ("text", "is_like"),
    [
        ("Dear @input.name", True),
        ("total: ${pick.total}", True),
        ("{{ pick.output.total }}", True),
        ("see @item", False),  # there is no item
        ("@pick.output.text", False),  # a ref
        ("@@input.name", False),  # a text that begins with @
        ("mail ada@input.example.org", False),
        ("@somebody, look at @input", False),  # a ref that is wrong, and told as that
        ("{{not one of ours}}", False),
        ("fill in {input}", False),  # a tool may have templates of its own
    ],
)
def test_a_text_that_seems_to_hold_a_ref_is_noticed(text: str, is_like: bool) -> None:
    """PHS-2: only a whole text is a ref."""
    workflow = phases(CHOOSE, plain({"in": [text]}))
    found = [(("steps", 1, 0, "input", "text", "in", 0), text)]
    assert list(texts_like_refs(workflow)) == (found if is_like else [])


def test_a_text_that_seems_to_hold_a_ref_is_a_warning_where_it_stands() -> None:
    (fault,) = read_phase_form(form(plain("Dear @input.name"))).warnings()
    assert (fault.code, fault.severity, fault.path) == ("text_like_ref", "warning", ("steps", 0, 0, "input", "text"))
    (in_item,) = read_phase_form(form(LIST, plain("no. @index", forEach="@list.output.orders"))).warnings()
    assert in_item.path == ("steps", 1, 0, "input", "text")


def form(*steps: Any, **fields: Any) -> PhaseForm:
    listed = [step if isinstance(step, list) else [step] for step in steps]
    value: dict[str, Any] = {"name": "test", "steps": listed, **fields}
    return PhaseForm((), value)


def faults(written: PhaseForm, unreadable: tuple[str, ...] = ()) -> list[Fault]:
    """Give all that is wrong with a phase form, as it is told."""
    reading = read_phase_form(written)
    assert reading.workflow
    return [*reading.faults, *reading.faults_of(check(reading.workflow, KNOWN).errors, unreadable)]


@pytest.mark.parametrize(
    ("steps", "place", "words"),
    [
        ([{"name": "a", "tool": "shop/list"}], "tool", "write {connectionId: SERVER, toolName: TOOL}"),
        (
            [{"name": "a", "tool": {"connectionId": "shop", "tool": "list", "toolName": "list"}}],
            "tool.tool",
            "toolName",
        ),
        ([{"name": "a", "sleep": 500}], "sleep", "write {ms: 500}"),
        ([{"name": "a", "sleep": {"ms": "5s"}}], "sleep.ms", "write the milliseconds as a number"),
        ([{"name": "a", "sleep": {"seconds": 5}}], "sleep.seconds", "the possible fields are 'ms', 'until'"),
        ([{"name": "a", "sleep": {"ms": 1}, "if": "@input.x"}], "if", "there are no conditions"),
        ([{"name": "a", "sleep": {"ms": 1}, "depends_on": ["b"]}], "depends_on", "phases are the order"),
        ([charge(inputs={"id": "@input.id"}) | {"input": ...}], "inputs", "did you mean 'input'?"),
        ([LIST, charge(foreach="@list.output.orders"), plain("@charge.output[0].ok")], "foreach", "'forEach'?"),
    ],
)
def test_only_the_slip_itself_is_told_and_not_what_follows_from_it(
    steps: list[dict[str, Any]], place: str, words: str
) -> None:
    """A step that "does nothing" because its tool is written in another way, an input that is missing as `inputs`."""
    written = [{key: value for key, value in step.items() if value is not ...} for step in steps]
    (fault,) = faults(form(*written))
    assert (fault.code, ".".join(map(str, fault.path[3:]))) == ("invalid_step", place)
    assert words in fault.hint


@pytest.mark.parametrize(
    ("fields", "hint"),
    [
        ({"schedule": {}}, "did you mean 'schedules'?"),
        ({"phases": []}, "did you mean 'steps'?"),
        (
            {"colour": "red"},
            "the possible fields are 'description', 'input_schema', 'mcp_servers', 'name', 'schedules'",
        ),
        ({"triggers": {"workflowId": "x", "inputs": {}}}, "write a list, as in [{workflowId: …, inputs: {…}}]"),
        ({"triggers": [{"workflowId": "x", "inputs": {}, "if": "y"}]}, "a ref in 'inputs' that is missing skips"),
    ],
)
def test_a_field_of_the_workflow_that_is_written_otherwise_is_told_how(fields: dict[str, Any], hint: str) -> None:
    (fault,) = faults(form(LIST, **fields))
    assert hint in fault.hint


@pytest.mark.parametrize(
    ("steps", "hint"),
    [
        ([LIST], "a phase is a list of steps, also with one step"),
        ({"list": LIST}, "write a list of phases, each of them"),
    ],
)
def test_steps_that_are_no_list_of_lists_are_told_how_to_be_one(steps: Any, hint: str) -> None:
    reading = read_phase_form(PhaseForm((), {"name": "test", "steps": steps}))
    assert [hint in fault.hint for fault in reading.faults] == [True]


def test_an_error_stands_at_its_place_also_behind_a_step_that_can_not_be_read() -> None:
    nap = {"name": "nap", "sleep": {"ms": 1}, "retry": {}}
    found = faults(form([{"nam": "first", "sleep": {"ms": 1}}, nap]))
    assert ("steps", 0, 1, "retry") in [fault.path for fault in found]


@pytest.mark.parametrize(
    ("reason", "hint"),
    [
        ("the MCP server 's' is lost: it ended with exit status 1", "run the server's command by hand, in this folder"),
        ("the MCP server 's' is lost: … No module named 'mcp'", "this `python` has no mcp SDK"),
        ("the workspace does not allow the MCP server 's'", ""),
    ],
)
def test_why_a_server_can_not_be_asked_is_told_once_with_what_to_do(reason: str, hint: str) -> None:
    """In the errors' own shape each has its reason (PHS-4)."""
    steps = [{"name": name, "tool": tool("s", name)} for name in ("a", "b", "c")]
    what = known({"s/a": reason, "s/b": reason, "s/c": "the MCP server 's' has no tool 'c'"})
    reading = read_phase_form(form(*steps))
    assert reading.workflow
    first, second, third = reading.faults_of(check(reading.workflow, what).errors)
    assert first.message == f"Nothing is known of the tool 'a' of 's': {reason}"
    assert hint in first.hint
    assert (second.message, second.hint) == ("Nothing is known of the tool 'b' of 's': see steps[0][0].tool", "")
    assert second.as_json()["message"] == f"Nothing is known of the tool 'b' of 's': {reason}"
    assert third.message.endswith("has no tool 'c'")


def test_a_server_that_can_not_be_read_is_told_once_and_not_at_its_tools() -> None:
    step = {"name": "a", "tool": tool("other", "x")}
    assert [fault.code for fault in faults(form(step))] == ["missing_schema"]
    assert faults(form(step), ("other",)) == []
