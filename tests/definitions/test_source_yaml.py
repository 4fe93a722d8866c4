"""Reading YAML 1.2 (CTX-7): what a scalar means, what is refused, and where."""

import time

import pytest

from wonder.definitions.source import SourceFaults, read_source

FILE = "flow.yaml"


def read(text: str | bytes) -> object:
    return read_source(text, FILE).value


def faults(text: str | bytes) -> list[tuple[str, int, int]]:
    with pytest.raises(SourceFaults) as caught:
        read_source(text, FILE)
    assert all(fault.place.file == FILE and fault.message and fault.hint for fault in caught.value.faults)
    return [(fault.code, fault.place.line, fault.place.column) for fault in caught.value.faults]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("on", "on"),
        ("yes", "yes"),
        ("No", "No"),
        ("off", "off"),
        ("y", "y"),
        ("12:30:00", "12:30:00"),
        ("2024-01-01", "2024-01-01"),
        ("010", 10),
        ("0o10", 8),
        ("0o8", "0o8"),
        ("0x1F", 31),
        ("0xFG", "0xFG"),
        ("-0x1F", "-0x1F"),
        ("0b11", "0b11"),
        ("1_000", "1_000"),
        ("+12", 12),
        ("-12", -12),
        ("-0", 0),
        ("0", 0),
        ("000", 0),
        ("9007199254740993", 9007199254740993),
        ("1" + "0" * 40, 10**40),
        ("1e3", 1000.0),
        ("1.0", 1.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("-1.5E-3", -0.0015),
        ("+.5", 0.5),
        ("e3", "e3"),
        (".", "."),
        ("-", None),
        ("1.2.3", "1.2.3"),
        ("~", None),
        ("null", None),
        ("Null", None),
        ("NULL", None),
        ("nULL", "nULL"),
        ("true", True),
        ("True", True),
        ("TRUE", True),
        ("tRUE", "tRUE"),
        ("false", False),
        ("'1'", "1"),
        ('"true"', "true"),
        ("''", ""),
        ("$.state.x", "$.state.x"),
        ("=", "="),
        ("<<", "<<"),
        ("１２", "１２"),  # digits of another script are a text
    ],
)
def test_a_plain_scalar_means_what_yaml_1_2_says(written: str, value: object) -> None:
    read_value = read(f"[a, {written}]" if written != "-" else "- a\n-\n")
    assert read_value == ["a", value]
    assert type(read_value[1]) is type(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1\nb:\n  - x\n  - {c: d}\n", {"a": 1, "b": ["x", {"c": "d"}]}),
        ("\ufeffa: 1", {"a": 1}),
        (b"\xef\xbb\xbfa: 1", {"a": 1}),
        ("a: 1\r\nb: |\r\n  x\r\n  y\r\n", {"a": 1, "b": "x\ny\n"}),
        ("%YAML 1.2\n---\na: 1\n...\n", {"a": 1}),
        ("a: &x [1, {k: v}]\nb: *x\n", {"a": [1, {"k": "v"}], "b": [1, {"k": "v"}]}),
        ("a: &x 1\nb: &x 2\nc: *x", {"a": 1, "b": 2, "c": 2}),
        ("on: 1\nyes: 2", {"on": 1, "yes": 2}),
        ("'1': a\n\"true\": b\n'<<': c", {"1": "a", "true": "b", "<<": "c"}),
        ("a: 'x\u2028y\u0085z'\nb: \u2029\nc: 1", {"a": "x\u2028y\u0085z", "b": "\u2029", "c": 1}),
        ("a: \U0001f600\U000f0000 \u2028", {"a": "\U0001f600\U000f0000 \u2028"}),
        ('{"a": "\\ud83d\\ude00", "b":1}', {"a": "\U0001f600", "b": 1}),
        ('{\n\t"a": [1,\n\t2]\n}', {"a": [1, 2]}),
        ("{a: 1, b: [x]}", {"a": 1, "b": ["x"]}),
        ("[]", []),
        ("null", None),
        ("text", "text"),
    ],
)
def test_a_file_reads_as_its_value(text: str | bytes, value: object) -> None:
    assert read(text) == value


def test_an_alias_gives_a_copy_so_that_no_part_of_the_value_is_shared() -> None:
    value = read("a: &x {k: []}\nb: *x\nc: *x")
    value["b"]["k"].append(1)
    assert value == {"a": {"k": []}, "b": {"k": [1]}, "c": {"k": []}}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # CTX-7: what is no JSON value
        ("a: .inf\nb: -.INF\nc: .nan", [("BAD_VALUE", 1, 4), ("BAD_VALUE", 2, 4), ("BAD_VALUE", 3, 4)]),
        ("a: 1e999", [("BAD_VALUE", 1, 4)]),
        ('a: "x\\0y"', [("BAD_VALUE", 1, 4)]),
        ("a: x\x00y", [("BAD_VALUE", 1, 5)]),
        ("a: \x07", [("BAD_VALUE", 1, 4)]),
        ("a: x\ud800", [("BAD_VALUE", 1, 5)]),
        ("a: b\ufeffc", [("BAD_VALUE", 1, 5)]),
        ('a: "\\ud83d"', [("YAML_SYNTAX", 1, 7)]),
        ("a: " + "9" * 10_001, [("BAD_VALUE", 1, 4)]),
        ("a: 0x" + "f" * 10_001, [("BAD_VALUE", 1, 4)]),
        # keys
        ("a: 1\nb: 2\na: 3\nb: 4", [("DUPLICATE_KEY", 3, 1), ("DUPLICATE_KEY", 4, 1)]),
        ("a: 1\n'a': 3", [("DUPLICATE_KEY", 2, 1)]),
        ("x: {a: 1, a: 2}\ny: {b: 1, b: 2}", [("DUPLICATE_KEY", 1, 11), ("DUPLICATE_KEY", 2, 11)]),
        ("1: a\ntrue: b\nnull: c\n~: d\n1.5: e", [("YAML_KEY", n, 1) for n in (1, 2, 3, 4, 5)]),
        ("? [a]\n: 1", [("YAML_KEY", 1, 3)]),
        ("prompt: {{name}}", [("YAML_KEY", 1, 10)]),
        ("a: &x 1\n*x : 2", [("YAML_KEY", 2, 1)]),
        ("a: &x {b: 1}\nc:\n  <<: *x", [("YAML_MERGE", 3, 3)]),
        # tags
        ("a: !!str 1\nb: !foo {}\nc: ! x", [("YAML_TAG", 1, 4), ("YAML_TAG", 2, 4), ("YAML_TAG", 3, 4)]),
        ("!!python/object/apply:os.system ['true']", [("YAML_TAG", 1, 1)]),
        ("!!map {a: 1}", [("YAML_TAG", 1, 1)]),
        ("%TAG !a! x\n" * 101 + "---\na: 1", [("YAML_TAG", 101, 1)]),
        ("a: 1\n...\n" + "".join(f"%TAG !{n}! x\r" for n in range(101)) + "---\na: 1", [("YAML_TAG", 103, 1)]),
        # aliases
        ("a: *x", [("YAML_ALIASES", 1, 4)]),
        ("a: &x [1, *x]", [("YAML_ALIASES", 1, 11)]),
        ("&x a: {b: &y {c: *y}}", [("YAML_ALIASES", 1, 18)]),
        # documents
        ("a: 1\n---\nb: 2", [("YAML_DOCUMENTS", 2, 1)]),
        ("", [("EMPTY", 1, 1)]),
        (" \n\t\n", [("EMPTY", 1, 1)]),
        ("# only a comment\n", [("EMPTY", 1, 1)]),
        ("---\n", [("EMPTY", 1, 1)]),
        # syntax
        ("a: 1\n\tb: 2", [("YAML_SYNTAX", 2, 1)]),
        ("a: b: c", [("YAML_SYNTAX", 1, 5)]),
        ("a: @ref", [("YAML_SYNTAX", 1, 4)]),
        ("a: [1, 2", [("YAML_SYNTAX", 1, 9)]),
        ("a: 1\n b: 2", [("YAML_SYNTAX", 2, 3)]),
        ("%YAML 3.0\n---\na: 1", [("YAML_SYNTAX", 1, 1)]),
        # bytes
        (b"a: 1\nb: \xff", [("NOT_UTF8", 2, 4)]),
        ("a: 1".encode("utf-16"), [("NOT_UTF8", 1, 1)]),
        ("é: 1\nb: ".encode() + b"\xc3", [("NOT_UTF8", 2, 4)]),
        # faults of several kinds in one file
        (
            "a: !x 1\na: 2\n1: .nan",
            [("YAML_TAG", 1, 4), ("DUPLICATE_KEY", 2, 1), ("YAML_KEY", 3, 1), ("BAD_VALUE", 3, 4)],
        ),
    ],
)
def test_a_text_that_is_not_plain_yaml_is_refused_with_every_place(
    text: str | bytes, expected: list[tuple[str, int, int]]
) -> None:
    assert faults(text) == expected


def test_a_duplicate_key_names_both_places() -> None:
    with pytest.raises(SourceFaults) as caught:
        read_source("nodes:\n  a: 1\n  b: 2\n  a: 3\n", FILE)
    assert str(caught.value) == (
        "flow.yaml:4:3: the key 'a' occurs twice in one object, first at line 2, column 3; keep one of them"
    )


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("a:\n\t- b", "indent with spaces, not tabs"),
        ("a: @x", "quote a string that begins with @"),
        ("a: it: is", "quote a string that contains ': ', or fix the indentation"),
        ('a: "\\d"', "write a backslash in double quotes as \\\\, or use single quotes"),
        ("a: *.py", "quote a string that begins with *"),
        ("a: & b", "quote a string that begins with &"),
        ("a: *py", "write &py before the value that it means, or quote a string that begins with *"),
        ("a: {{name}}", "quote a string that begins with { or ["),
        ("1: x", 'quote it: "1"'),
    ],
)
def test_a_fault_says_how_to_mend_it(text: str, hint: str) -> None:
    with pytest.raises(SourceFaults) as caught:
        read_source(text, FILE)
    assert caught.value.faults[0].hint == hint


def test_ctx_7_nesting_of_200_levels_is_read_and_201_are_refused() -> None:
    assert read("- " * 199 + "[]")
    assert faults("- " * 200 + "[]")[0][0] == "TOO_DEEP"
    assert faults("[ x, " * 100_000)[0][0] == "TOO_DEEP"
    chain = "".join(f"- &a{n} [{f'*a{n - 1}' if n else ''}]\n" for n in range(250))
    assert faults(chain)[0][0] == "TOO_DEEP"


@pytest.mark.parametrize(
    "bomb",
    [
        "a0: &a0 [lol]\n" + "".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12)),
        "a: &a " + "x" * 100_000 + "\nb: [" + "*a, " * 1_000 + "]",
        "a: &a {" + "k" * 1_000 + ": 1}\nb: [" + "*a, " * 2_000 + "]",
    ],
)
def test_aliases_can_not_blow_a_document_up(bomb: str) -> None:
    assert [code for code, *_ in faults(bomb)] == ["YAML_ALIASES"]


def test_ctx_7_a_file_over_the_size_limit_is_refused() -> None:
    assert read_source("a: é", FILE, max_bytes=5).value == {"a": "é"}
    for text in ("a: éx", "a: éx".encode()):
        with pytest.raises(SourceFaults) as caught:
            read_source(text, FILE, max_bytes=5)
        assert caught.value.faults[0].code == "TOO_LARGE"


def test_the_number_of_faults_is_bounded() -> None:
    found = faults("- .nan\n" * 10_000)
    assert len(found) == 101
    assert found[-1][0] == "TOO_MANY_FAULTS"


def test_zeros_that_are_no_number_are_read_in_time_that_their_length_decides() -> None:
    # They took the square of their number: 8 seconds for 50,000.
    begun = time.process_time()
    assert read(f"a: {'0' * 100_000}x") == {"a": "0" * 100_000 + "x"}
    assert time.process_time() - begun < 10
