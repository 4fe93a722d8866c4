"""Reading JSON files (CTX-7): strict, with the place of every fault."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wonder.definitions.source import Place, SourceFaults, read_source

FILE = "flow.json"


def faults(text: str | bytes) -> list[tuple[str, int, int]]:
    with pytest.raises(SourceFaults) as caught:
        read_source(text, FILE)
    assert all(fault.message and fault.hint for fault in caught.value.faults)
    return [(fault.code, fault.place.line, fault.place.column) for fault in caught.value.faults]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text('ab\n"\\é\U0001f600'), inner),
    max_leaves=20,
)


@settings(max_examples=200)
@given(JSON, st.sampled_from([None, 1, "\t"]), st.booleans())
def test_what_json_writes_is_read_back(value: object, indent: int | str | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    for file in (FILE, "flow.yaml") if isinstance(value, list | dict) else (FILE,):
        read = read_source(text, file).value
        assert read == value
        assert json.dumps(read) == json.dumps(value)  # 1 is not 1.0, and keys keep their order


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1,\n "a": 2,\n "b": {"c": 1, "c": 2}}', [("DUPLICATE_KEY", 2, 2), ("DUPLICATE_KEY", 3, 16)]),
        ('{"a": 1, "\\u0061": 2}', [("DUPLICATE_KEY", 1, 10)]),
        ("[NaN,\n Infinity, -Infinity]", [("BAD_VALUE", 1, 2), ("BAD_VALUE", 2, 2), ("BAD_VALUE", 2, 12)]),
        ("[1e999]", [("BAD_VALUE", 1, 2)]),
        ('["\\u0000", "\\ud800", "\\udc00\\ud800"]', [("BAD_VALUE", 1, 2), ("BAD_VALUE", 1, 12), ("BAD_VALUE", 1, 22)]),
        ('["\ud800"]', [("BAD_VALUE", 1, 2)]),
        ("[" + "9" * 10_001 + "]", [("BAD_VALUE", 1, 2)]),
        ('{"a": 1', [("JSON_SYNTAX", 1, 8)]),
        ("", [("EMPTY", 1, 1)]),
        ('{"a": 1,}', [("JSON_SYNTAX", 1, 9)]),
        ("[1,]", [("JSON_SYNTAX", 1, 4)]),
        ("[,1]", [("JSON_SYNTAX", 1, 2)]),
        ("[1 2]", [("JSON_SYNTAX", 1, 4)]),
        ("{a: 1}", [("JSON_SYNTAX", 1, 2)]),
        ("{'a': 1}", [("JSON_SYNTAX", 1, 2)]),
        ('{"a" 1}', [("JSON_SYNTAX", 1, 6)]),
        ('{"a": }', [("JSON_SYNTAX", 1, 7)]),
        ("[01]", [("JSON_SYNTAX", 1, 2)]),
        ("[1.]", [("JSON_SYNTAX", 1, 2)]),
        ("[+1]", [("JSON_SYNTAX", 1, 2)]),
        ("[.5]", [("JSON_SYNTAX", 1, 2)]),
        ("[0x1]", [("JSON_SYNTAX", 1, 2)]),
        ("[１]", [("JSON_SYNTAX", 1, 2)]),
        ("[True]", [("JSON_SYNTAX", 1, 2)]),
        ('["a\nb"]', [("JSON_SYNTAX", 1, 2)]),
        ('["a\tb"]', [("JSON_SYNTAX", 1, 4)]),
        ('["\\x41"]', [("JSON_SYNTAX", 1, 3)]),
        ('["\\u12g4"]', [("JSON_SYNTAX", 1, 3)]),
        ('["abc', [("JSON_SYNTAX", 1, 2)]),
        ("[1] 2", [("JSON_SYNTAX", 1, 5)]),
        ("[1] // c", [("JSON_SYNTAX", 1, 5)]),
        ("\n\r\n\r[1, // c\n2]", [("JSON_SYNTAX", 4, 5)]),
        ("\u00a0[1]", [("JSON_SYNTAX", 1, 1)]),
        (b'{"a": "\xff"}', [("NOT_UTF8", 1, 8)]),
        ('{"a": 1, "a": 2, b}', [("DUPLICATE_KEY", 1, 10), ("JSON_SYNTAX", 1, 18)]),
        ("[" * 100_000, [("TOO_DEEP", 1, 201)]),
    ],
)
def test_a_text_that_is_not_strict_json_is_refused_with_its_place(
    text: str | bytes, expected: list[tuple[str, int, int]]
) -> None:
    assert faults(text) == expected


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ('{"a": 1,}', "remove the comma before it"),
        ("[1,]", "remove the comma before it, or write the missing value"),
        ("[01]", "write numbers as 1, -2.5 or 1e3, without a plus sign or leading zeros"),
        ("[1, # c\n]", "JSON has no comments; remove it, or name the file .yaml"),
        ('{"a": 1, // c\n "b": 2}', "JSON has no comments; remove it, or name the file .yaml"),
        ("name: x\nsteps: []\n", "begin with {; a file in YAML is named .yaml"),
        ("['a']", "write strings in double quotes"),
    ],
)
def test_a_json_fault_says_how_to_mend_it(text: str, hint: str) -> None:
    with pytest.raises(SourceFaults) as caught:
        read_source(text, FILE)
    assert caught.value.faults[0].hint == hint


@settings(max_examples=300)
@given(st.text('{}[]",:0123\\ue-.tfn \n\x00\ud800aé', max_size=30), st.sampled_from([FILE, "flow.yaml"]))
def test_any_text_is_read_or_refused_clearly(text: str, file: str) -> None:
    places = [Place(file, 1, 1)]
    try:
        read_source(text, file)
    except SourceFaults as refusal:
        places = [fault.place for fault in refusal.faults]
    assert places
    assert all(place.line >= 1 and place.column >= 1 for place in places)


@settings(max_examples=300)
@given(st.text('{}[]",:0123\\ue-.tfn \n', max_size=20))
def test_python_accepts_whatever_json_we_accept(text: str) -> None:
    try:
        value = read_source(text, FILE).value
    except SourceFaults as refusal:
        if all(fault.code == "JSON_SYNTAX" for fault in refusal.faults):
            with pytest.raises(ValueError):
                json.loads(text)
    else:
        assert json.loads(text) == value
