"""How refs are written, and what they mean (PHS-2)."""

import pytest

from support.phase_runs import phases
from wonder.language.mappings import compile_mapping
from wonder.language.paths import parse_dotted
from wonder.language.refs import is_ref, refs_in
from wonder.phases.node_refs import NodeRefs, dotted, query, trigger_ref
from wonder.phases.refs import BadRef, parse_ref, plain_text

STEPS = ["fetch", "extract-emails", "a.b", "a", "a.output", 'say "hi"', "it's", "[0]", "x@y/z", "naïve step"]
HARD = ["a b", "a.b", "a'b", 'a"b', "a\\b", "a\nb\t", "0", "", "output", "$", "ü", "a]b", "order", "@x"]


@pytest.mark.parametrize(
    ("text", "root", "step", "path"),
    [
        ("@fetch.output", "step", "fetch", ()),
        ("@fetch.output.a.b", "step", "fetch", ("a", "b")),
        ("@fetch.output.a[0].b", "step", "fetch", ("a", 0, "b")),
        ("@fetch.output[12]", "step", "fetch", (12,)),
        ("@extract-emails.output.e-mails", "step", "extract-emails", ("e-mails",)),
        ('@fetch.output."a.b"[1]."say ""x"""', "step", "fetch", ("a.b", 1, 'say "x"')),
        ("@fetch.output.a b.ü", "step", "fetch", ("a b", "ü")),
        ("@fetch.output.output", "step", "fetch", ("output",)),
        ("@a.b.output.c", "step", "a.b", ("c",)),
        ("@a.output.b", "step", "a", ("b",)),
        ("@a.output.output.c", "step", "a.output", ("c",)),  # the longest name that fits
        ('@"a".output.output.c', "step", "a", ("output", "c")),
        ('@"a.b".output', "step", "a.b", ()),
        ('@say "hi".output.x', "step", 'say "hi"', ("x",)),
        ('@"say ""hi""".output.x', "step", 'say "hi"', ("x",)),
        ("@it's.output", "step", "it's", ()),
        ("@[0].output[0]", "step", "[0]", (0,)),
        ("@x@y/z.output", "step", "x@y/z", ()),
        ("@naïve step.output", "step", "naïve step", ()),
        ("@nobody.output.x", "step", "nobody", ("x",)),
        ("@input", "input", "", ()),
        ("@input.a[0]", "input", "", ("a", 0)),
        ("@input.output", "input", "", ("output",)),
        ("@output.items", "output", "", ("items",)),
        ("@item", "item", "", ()),
        ("@item.a.b", "item", "", ("a", "b")),
        ("@item[1]", "item", "", (1,)),
        ("@user.name", "item", "", ("name",)),
        ("@index", "index", "", ()),
    ],
)
def test_a_ref_names_a_root_and_a_path(text, root, step, path):
    ref = parse_ref(text, STEPS, "user")
    assert (ref.root, ref.step, ref.path, ref.text) == (root, step, path, text)


@pytest.mark.parametrize(
    "text",
    [
        *["@", "@fetch", "@fetch.", "@fetch.output.", "@fetch.output..a", "@fetch.output[", "@fetch.output[-1]"],
        *["@fetch.output[x]", "@fetch.output[01]", "@fetch.outputs", "@.output", "@index.x", '@fetch.output."a', "@ "],
        *["@fetch.output" + ".a" * 41, "@user", "@fetch.out put", "@inputs.x", "@input.a\x01"],
    ],
)
def test_a_text_that_begins_like_a_ref_and_is_none_is_refused(text):
    with pytest.raises(BadRef):
        parse_ref(text, STEPS)


def test_only_a_whole_text_is_a_ref_and_a_doubled_at_sign_is_a_text():
    assert [is_ref(text) for text in ("@a.output", "@", "@@a.output", "to @a.output", "", " @a", "@@", 5, None)] == [
        *[True, True],
        *[False] * 7,
    ]
    assert [plain_text(text) for text in ("@@x", "@@@x", "@@", "x", "")] == ["@x", "@@x", "@", "x", ""]


def test_refs_are_found_at_any_depth():
    value = {"a": "@x.output", "b": [1, {"c": ["@@no", "@input.y"]}], "d": {"e": None}}
    assert list(refs_in(value)) == [(("a",), "@x.output"), (("b", 1, "c", 1), "@input.y")]


@pytest.mark.parametrize("name", HARD)
def test_any_name_can_be_written_in_a_query_and_in_a_dotted_path(name):
    assert compile_mapping(query(("state", name, 0))).apply({"state": {name: ["found"]}}) == "found"
    assert parse_dotted(dotted(("state", name, 0))) == ("state", name, 0)


@pytest.mark.parametrize("name", [name for name in HARD if name])
def test_phs_6_the_ref_of_a_trigger_is_written_so_that_it_needs_no_names_of_steps(name):
    steps = [*STEPS, name]
    written = '@"' + name.replace('"', '""') + '".output.x[0]'
    assert parse_dotted(trigger_ref(written, steps)[1:]) == (name, "output", "x", 0)
    assert trigger_ref("@extract-emails.output.emails", STEPS) == '@"extract-emails".output.emails'
    assert trigger_ref("@output.items", STEPS) == "@output.items"


def test_phs_1_no_node_around_a_step_has_the_name_of_another():
    each = {"forEach": "@input", "sleep": {"ms": 0}}
    plain = {"name": "a.all", "sleep": {"ms": 0}}
    workflow = phases([{"name": "a", **each}, plain], [{"name": "phase-1", **each}, {"name": "b", **each}])
    refs = NodeRefs(workflow)
    assert [refs.step(step) for phase in workflow.steps for step in phase] == [
        ("a.each", "a.all~"),
        ("a.all", "a.all"),
        ("phase-1.each", "phase-1.all"),
        ("b.each", "b.all"),
    ]
    assert (refs.phase(0), refs.phase(1)) == (("phase-0", "phase-0.all"), ("phase-1~", "phase-1.all~"))
