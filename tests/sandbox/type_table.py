"""What TypeScript types mean as JSON Schemas: each with values that it takes and values that it refuses."""

from typing import Any, NamedTuple


class TypeRow(NamedTuple):
    """A type, its schema, and values on both sides of it; `with_types` is declared before it."""

    type: str
    schema: Any
    accepted: list[Any]
    refused: list[Any]
    with_types: str = ""


STRING, NUMBER, BOOLEAN, NULL = ({"type": name} for name in ("string", "number", "boolean", "null"))
DIGITS = "-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?(?:e[+-]?[0-9]+)?"


def record(required: list[str] | None = None, /, **properties: Any) -> dict[str, Any]:
    """An object with these properties, all of them required unless it is said which."""
    names = list(properties) if required is None else required
    schema: dict[str, Any] = {"type": "object"}
    if properties:
        schema["properties"] = properties
    return schema | ({"required": names} if names else {})


def array(items: Any) -> dict[str, Any]:
    """A list of these."""
    return {"type": "array", "items": items}


PLAIN = [
    TypeRow("string", STRING, ["", "a", "é\u2028"], [1, None, True, [], {}]),
    TypeRow("number", NUMBER, [0, -1.5, 1e300], ["1", None, True]),
    TypeRow("boolean", BOOLEAN, [True, False], [0, "true", None]),
    TypeRow("null", NULL, [None], [0, "", False]),
    TypeRow("any", True, [1, None, {"a": []}], []),
    TypeRow("unknown", True, [1, None, {"a": []}], []),
    TypeRow("never", False, [], [1, None, {}]),
    TypeRow("object", {"type": "object"}, [{}, {"a": 1}], [1, "a", None]),
    TypeRow("{}", {"type": "object"}, [{}, {"a": 1}], [1, None]),
    TypeRow("string & { readonly brand: 'id' }", STRING, ["a"], [1, {"brand": "id"}]),
]
LITERALS = [
    TypeRow("'a'", {"const": "a"}, ["a"], ["b", "", None]),
    TypeRow("7", {"const": 7}, [7, 7.0], [8, "7"]),
    TypeRow("-0.5", {"const": -0.5}, [-0.5], [0.5]),
    TypeRow("true", {"const": True}, [True], [False, 1, "true"]),
    TypeRow("'a' | 'b'", {"enum": ["a", "b"]}, ["a", "b"], ["c", None]),
    TypeRow("'b' | 'a' | null", {"enum": ["b", "a", None]}, ["a", None], ["c", "null"]),
    TypeRow("1 | 2 | 'x'", {"enum": [1, 2, "x"]}, [1, "x"], ["1", 3]),
    TypeRow("true | false", BOOLEAN, [True, False], [0]),
    TypeRow("'on' | true", {"enum": [True, "on"]}, ["on", True], [False, "true"]),
    TypeRow("'\\u0007' | '\"\\\\'", {"enum": ["\x07", '"\\']}, ["\x07", '"\\'], ["0"]),
    TypeRow("'é' | '😀'", {"enum": ["é", "😀"]}, ["é", "😀"], ["e"]),
]
UNIONS = [
    TypeRow("string | number", {"type": ["string", "number"]}, ["a", 1], [True, None]),
    TypeRow("string | null", {"type": ["string", "null"]}, ["a", None], [1]),
    TypeRow("boolean | null", {"type": ["boolean", "null"]}, [True, None], [0]),
    TypeRow("string | 'a'", STRING, ["a", "b"], [1]),
    TypeRow("number | 'auto'", {"anyOf": [NUMBER, {"const": "auto"}]}, [1, "auto"], ["other", None]),
    TypeRow("string | string[]", {"anyOf": [STRING, array(STRING)]}, ["a", ["a"]], [1, [1]]),
    TypeRow(
        "{ kind: 'a'; n: number } | { kind: 'b'; s: string }",
        {"anyOf": [record(kind={"const": "a"}, n=NUMBER), record(kind={"const": "b"}, s=STRING)]},
        [{"kind": "a", "n": 1}, {"kind": "b", "s": "x"}],
        [{"kind": "a", "s": "x"}, {"kind": "c"}, {}],
    ),
    TypeRow("{ a: string | number | null }", record(a={"type": ["string", "number", "null"]}), [{"a": None}], [{}]),
    TypeRow("string | never", STRING, ["a"], [1]),
    TypeRow("string | unknown", True, [1], []),
]
LISTS = [
    TypeRow("string[]", array(STRING), [[], ["a"]], [[1], "a", {}]),
    TypeRow("Array<number>", array(NUMBER), [[1]], [["1"]]),
    TypeRow("ReadonlyArray<number>", array(NUMBER), [[1]], [["1"]]),
    TypeRow("readonly boolean[]", array(BOOLEAN), [[True]], [[0]]),
    TypeRow("string[][]", array(array(STRING)), [[["a"], []]], [["a"]]),
    TypeRow("(string | null)[]", array({"type": ["string", "null"]}), [["a", None]], [[1]]),
    TypeRow("any[]", array(True), [[1, "a", None]], [{}]),
    TypeRow("never[]", array(False), [[]], [[1]]),
    TypeRow("{ a: 1 }[]", array(record(a={"const": 1})), [[{"a": 1}]], [[{"a": 2}], [{}]]),
]
TUPLES = [
    TypeRow(
        "[string, number]",
        {"type": "array", "prefixItems": [STRING, NUMBER], "items": False, "minItems": 2, "maxItems": 2},
        [["a", 1]],
        [["a"], ["a", 1, 2], [1, "a"], []],
    ),
    TypeRow(
        "[string, number?]",
        {"type": "array", "prefixItems": [STRING, NUMBER], "items": False, "minItems": 1, "maxItems": 2},
        [["a"], ["a", 1]],
        [[], ["a", "b"], ["a", 1, 2]],
    ),
    TypeRow(
        "[string, ...number[]]",
        {"type": "array", "prefixItems": [STRING], "items": NUMBER, "minItems": 1},
        [["a"], ["a", 1, 2]],
        [[], [1], ["a", "b"]],
    ),
    TypeRow("[]", {"type": "array", "items": False, "maxItems": 0}, [[]], [[1]]),
    TypeRow("[...string[]]", array(STRING), [[], ["a"]], [[1]]),
    TypeRow(
        "[from: number, to?: number]",
        {"type": "array", "prefixItems": [NUMBER, NUMBER], "items": False, "minItems": 1, "maxItems": 2},
        [[1], [1, 2]],
        [[]],
    ),
    TypeRow(
        "readonly ['a', 'b']",
        {
            "type": "array",
            "prefixItems": [{"const": "a"}, {"const": "b"}],
            "items": False,
            "minItems": 2,
            "maxItems": 2,
        },
        [["a", "b"]],
        [["b", "a"]],
    ),
    TypeRow(
        "[...[string, string], ...number[]]",
        {"type": "array", "prefixItems": [STRING, STRING], "items": NUMBER, "minItems": 2},
        [["a", "b"], ["a", "b", 1]],
        [["a"], ["a", "b", "c"]],
    ),
]
OBJECTS = [
    TypeRow("{ a: string }", record(a=STRING), [{"a": "x"}, {"a": "x", "more": 1}], [{}, {"a": 1}, []]),
    TypeRow("{ a?: string }", record([], a=STRING), [{}, {"a": "x"}], [{"a": None}, {"a": 1}]),
    TypeRow("{ a: string | undefined }", record([], a=STRING), [{}, {"a": "x"}], [{"a": None}]),
    TypeRow("{ a?: string | null }", record([], a={"type": ["string", "null"]}), [{}, {"a": None}], [{"a": 1}]),
    TypeRow("{ a: string | null }", record(a={"type": ["string", "null"]}), [{"a": None}], [{}]),
    TypeRow("{ a?: 'x' | 'y' }", record([], a={"enum": ["x", "y"]}), [{}, {"a": "x"}], [{"a": "z"}]),
    TypeRow("{ a?: undefined }", record([], a=False), [{}], [{"a": None}]),
    TypeRow("{ a?: never }", record([], a=False), [{}], [{"a": 1}]),
    TypeRow("{ a: any }", record(a=True), [{"a": None}], [{}]),
    TypeRow("{ a?: unknown }", record([], a=True), [{}, {"a": 1}], [1]),
    TypeRow("{ readonly a: number }", record(a=NUMBER), [{"a": 1}], [{}]),
    TypeRow(
        "{ a: { b: { c: string } } }", record(a=record(b=record(c=STRING))), [{"a": {"b": {"c": ""}}}], [{"a": {}}]
    ),
    TypeRow(
        "{ 'odd key/~': 1; 2: 'x' }",
        record(["odd key/~", "2"], **{"2": {"const": "x"}, "odd key/~": {"const": 1}}),
        [{"odd key/~": 1, "2": "x"}],
        [{"2": "x"}],
    ),
    TypeRow("{ a: string } & { b: number }", record(a=STRING, b=NUMBER), [{"a": "", "b": 1}], [{"a": ""}, {"b": 1}]),
    TypeRow("{ a: string | number } & { a: number }", record(a=NUMBER), [{"a": 1}], [{"a": "x"}]),
    TypeRow(
        "Base & { b: 1 }",
        record(a=STRING, b={"const": 1}),
        [{"a": "", "b": 1}],
        [{"b": 1}],
        "interface Base { a: string }",
    ),
    TypeRow(
        "Derived",
        record(b=NUMBER, a=STRING),
        [{"a": "", "b": 1}],
        [{"b": 1}],
        "interface Base { a: string } interface Derived extends Base { b: number }",
    ),
    TypeRow(
        "Merged",
        record(a=STRING, b=NUMBER),
        [{"a": "", "b": 1}],
        [{"a": ""}],
        "interface Merged { a: string } interface Merged { b: number }",
    ),
    TypeRow("Point", record(x=NUMBER, y=NUMBER), [{"x": 1, "y": 2}], [{"x": 1}], "class Point { x = 1; y = 2 }"),
]
KEYS = [
    TypeRow("Record<string, number>", {"type": "object", "additionalProperties": NUMBER}, [{}, {"a": 1}], [{"a": ""}]),
    TypeRow(
        "{ [key: string]: boolean }", {"type": "object", "additionalProperties": BOOLEAN}, [{"a": True}], [{"a": 1}]
    ),
    TypeRow("Record<string, unknown>", {"type": "object", "additionalProperties": True}, [{"a": None}], [1]),
    TypeRow(
        "{ a: string; [key: string]: string | number }",
        record(a=STRING) | {"additionalProperties": {"type": ["string", "number"]}},
        [{"a": "", "b": 1}],
        [{"b": 1}, {"a": 1}, {"a": "", "b": None}],
    ),
    TypeRow(
        "Record<number, string>",
        {"type": "object", "patternProperties": {f"^{DIGITS}$": STRING}},
        [{"1": "a"}, {"x": 1}],
        [{"1": 1}, {"-2.5": 1}],
    ),
    TypeRow(
        "{ [key: `x-${string}`]: number }",
        {"type": "object", "patternProperties": {"^x\\-[\\s\\S]*$": NUMBER}},
        [{"x-a": 1, "y": ""}],
        [{"x-a": ""}],
    ),
    TypeRow("Record<'a' | 'b', number>", record(a=NUMBER, b=NUMBER), [{"a": 1, "b": 2}], [{"a": 1}]),
    TypeRow("Partial<Record<'a' | 'b', number>>", record([], a=NUMBER, b=NUMBER), [{}, {"a": 1}], [{"b": ""}]),
    TypeRow(
        "Record<string, string[]>",
        {"type": "object", "additionalProperties": array(STRING)},
        [{"a": ["b"]}],
        [{"a": "b"}],
    ),
    TypeRow(
        "{ [key: string]: string | undefined }", {"type": "object", "additionalProperties": STRING}, [{}], [{"a": None}]
    ),
    TypeRow(
        "{ __proto__: string; constructor: number }",
        record(__proto__=STRING, constructor=NUMBER),
        [{"__proto__": "", "constructor": 1}],
        [{"constructor": 1}, {"__proto__": 1, "constructor": 1}],
    ),
]
A = "interface A { a: string; b: number; c?: boolean }"
DERIVED = [
    TypeRow("Partial<A>", record([], a=STRING, b=NUMBER, c=BOOLEAN), [{}, {"a": ""}], [{"a": 1}], A),
    TypeRow(
        "Required<A>", record(a=STRING, b=NUMBER, c=BOOLEAN), [{"a": "", "b": 1, "c": True}], [{"a": "", "b": 1}], A
    ),
    TypeRow("Readonly<A>", record(["a", "b"], a=STRING, b=NUMBER, c=BOOLEAN), [{"a": "", "b": 1}], [{"a": ""}], A),
    TypeRow("Pick<A, 'a' | 'c'>", record(["a"], a=STRING, c=BOOLEAN), [{"a": ""}], [{"c": True}], A),
    TypeRow("Omit<A, 'b'>", record(["a"], a=STRING, c=BOOLEAN), [{"a": ""}], [{"b": 1}], A),
    TypeRow(
        "Partial<Pick<A, 'b'>> & Omit<A, 'b'>", record(["a"], b=NUMBER, a=STRING, c=BOOLEAN), [{"a": ""}], [{"b": 1}], A
    ),
    TypeRow("keyof A", {"enum": ["a", "b", "c"]}, ["a", "c"], ["d"], A),
    TypeRow("A['b']", NUMBER, [1], ["a"], A),
    TypeRow("A['a' | 'b']", {"type": ["string", "number"]}, ["a", 1], [True], A),
    TypeRow("NonNullable<string | null | undefined>", STRING, ["a"], [None]),
    TypeRow("Exclude<'a' | 'b' | 'c', 'a'>", {"enum": ["b", "c"]}, ["b"], ["a"]),
    TypeRow("Extract<'a' | 1 | 2, number>", {"enum": [1, 2]}, [1], ["a"]),
    TypeRow("(typeof list)[number]", {"enum": ["x", "y"]}, ["x"], ["z"], "const list = ['x', 'y'] as const;"),
    TypeRow(
        "typeof settings",
        record(size=NUMBER, name=STRING),
        [{"size": 1, "name": ""}],
        [{}],
        "const settings = { size: 1, name: 'n' };",
    ),
    TypeRow(
        "keyof typeof settings",
        {"enum": ["size", "name"]},
        ["size"],
        ["other"],
        "const settings = { size: 1, name: 'n' };",
    ),
    TypeRow(
        "{ [K in keyof A]: NonNullable<A[K]>[] }",
        record(["a", "b"], a=array(STRING), b=array(NUMBER), c=array(BOOLEAN)),
        [{"a": [""], "b": [1]}],
        [{"a": "", "b": []}],
        A,
    ),
    TypeRow(
        "{ [K in keyof A as `get_${K}`]-?: A[K] }",
        record(get_a=STRING, get_b=NUMBER, get_c=BOOLEAN),
        [{"get_a": "", "get_b": 1, "get_c": True}],
        [{"get_a": ""}],
        A,
    ),
    TypeRow("A extends { a: string } ? 'yes' : 'no'", {"const": "yes"}, ["yes"], ["no"], A),
    TypeRow("ReturnType<typeof count>", NUMBER, [1], ["a"], "const count = (s: string) => s.length;"),
    TypeRow(
        "Element<string[][]>", array(STRING), [["a"]], ["a"], "type Element<T> = T extends (infer E)[] ? E : never;"
    ),
    TypeRow(
        "Page<{ id: string }>",
        record(items=array(record(id=STRING)), total=NUMBER),
        [{"items": [{"id": ""}], "total": 1}],
        [{"items": [{}], "total": 1}],
        "interface Page<T> { items: T[]; total: number }",
    ),
    TypeRow(
        "Maybe<number>",
        {"anyOf": [record(ok={"const": False}), record(ok={"const": True}, value=NUMBER)]},
        [{"ok": False}, {"ok": True, "value": 1}],
        [{"ok": True}],
        "type Maybe<T> = { ok: false } | { ok: true; value: T };",
    ),
]
ENUMS = [
    TypeRow("Color", {"enum": [0, 1]}, [0, 1], [2, "Red"], "enum Color { Red, Green }"),
    TypeRow("Color", {"enum": ["red", "green"]}, ["red"], ["Red", 0], "enum Color { Red = 'red', Green = 'green' }"),
    TypeRow("Color.Red", {"const": "red"}, ["red"], ["green"], "enum Color { Red = 'red', Green = 'green' }"),
    TypeRow("Flag", {"enum": [1, 2, 4]}, [4], [3], "const enum Flag { A = 1, B = 1 << 1, C = 1 << 2 }"),
    TypeRow("Mixed", {"enum": [0, "b"]}, [0, "b"], ["a", 1], "enum Mixed { A, B = 'b' }"),
    TypeRow("keyof typeof Color", {"enum": ["Red", "Green"]}, ["Red"], [0], "enum Color { Red, Green }"),
    TypeRow("Size", NUMBER, [3], ["a"], "enum Size { A = 'abc'.length }"),
    TypeRow("`${Color}`", {"enum": ["red", "green"]}, ["red"], ["Red"], "enum Color { Red = 'red', Green = 'green' }"),
]
TEMPLATES = [
    TypeRow("`id-${string}`", {"type": "string", "pattern": "^id\\-[\\s\\S]*$"}, ["id-", "id-a\nb"], ["a", "xid-", 1]),
    TypeRow("`${number}px`", {"type": "string", "pattern": f"^{DIGITS}px$"}, ["1px", "-1.5px"], ["px", "apx"]),
    TypeRow("`${'a' | 'b'}-${1 | 2}`", {"enum": ["a-1", "a-2", "b-1", "b-2"]}, ["a-1"], ["a-3"]),
    TypeRow(
        "`${string}.${'js' | 'ts'}`",
        {
            "anyOf": [
                {"type": "string", "pattern": "^[\\s\\S]*\\.js$"},
                {"type": "string", "pattern": "^[\\s\\S]*\\.ts$"},
            ]
        },
        ["a.js", "b.ts"],
        ["a.py", "js"],
    ),
    TypeRow("Uppercase<'a' | 'b'>", {"enum": ["A", "B"]}, ["A"], ["a"]),
    TypeRow("Uppercase<string>", {"type": "string", "pattern": "^[^\\p{Ll}]*$"}, ["ABC 1", "ÄÖ"], ["Abc", "ä"]),
    TypeRow("Capitalize<string>", {"type": "string", "pattern": "^(?:[^\\p{Ll}][\\s\\S]*)?$"}, ["", "Abc"], ["abc"]),
    TypeRow("`${bigint}`", {"type": "string", "pattern": "^(?:0|-?[1-9][0-9]*)$"}, ["0", "-12"], ["1.5", "01"]),
    TypeRow(
        "`a${string}` | 'b'",
        {"anyOf": [{"const": "b"}, {"type": "string", "pattern": "^a[\\s\\S]*$"}]},
        ["b", "ax"],
        ["c"],
    ),
]


def recursive(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """A schema that refers to itself by a name, where it stands and where it is named."""
    return {**schema, "$defs": {name: schema}}


TREE = record(value=NUMBER, children=array({"$ref": "#/$defs/Tree"}))
JSON = {"$ref": "#/$defs/Json"}
RECURSIVE = [
    TypeRow(
        "Tree",
        recursive("Tree", TREE),
        [{"value": 1, "children": [{"value": 2, "children": []}]}],
        [{"value": 1, "children": [{"value": "x", "children": []}]}, {"value": 1}],
        "interface Tree { value: number; children: Tree[] }",
    ),
    TypeRow(
        "{ top: Tree }",
        record(top={"$ref": "#/$defs/Tree"}) | {"$defs": {"Tree": TREE}},
        [{"top": {"value": 1, "children": []}}],
        [{"top": {"value": 1}}],
        "interface Tree { value: number; children: Tree[] }",
    ),
    TypeRow(
        "{ value: Json }",
        {
            **record(value=JSON),
            "$defs": {
                "Json": {
                    "anyOf": [
                        {"type": ["string", "number", "boolean", "null"]},
                        array(JSON),
                        {"type": "object", "additionalProperties": JSON},
                    ]
                }
            },
        },
        [{"value": None}, {"value": [{"a": [True]}]}],
        [{}],
        "type Json = string | number | boolean | null | Json[] | { [key: string]: Json };",
    ),
    TypeRow(
        "List",
        recursive("List", record(["head"], head=STRING, tail={"$ref": "#/$defs/List"})),
        [{"head": "a"}, {"head": "a", "tail": {"head": "b"}}],
        [{"head": "a", "tail": {}}],
        "interface List { head: string; tail?: List }",
    ),
    TypeRow(
        "Even",
        recursive("Even", record(next=record(next={"anyOf": [NULL, {"$ref": "#/$defs/Even"}]}))),
        [{"next": {"next": None}}, {"next": {"next": {"next": {"next": None}}}}],
        [{"next": {}}],
        "interface Even { next: Odd } interface Odd { next: Even | null }",
    ),
    TypeRow(
        "Chain<number>",
        recursive("Chain", record(["value"], value=NUMBER, next={"$ref": "#/$defs/Chain"})),
        [{"value": 1, "next": {"value": 2}}],
        [{"value": 1, "next": {"value": "a"}}],
        "interface Chain<T> { value: T; next?: Chain<T> }",
    ),
    TypeRow(
        "[Chain<1>, Chain<2>]",
        {
            "type": "array",
            "prefixItems": [{"$ref": "#/$defs/Chain"}, {"$ref": "#/$defs/Chain_2"}],
            "items": False,
            "minItems": 2,
            "maxItems": 2,
            "$defs": {
                "Chain": record(["value"], value={"const": 1}, next={"$ref": "#/$defs/Chain"}),
                "Chain_2": record(["value"], value={"const": 2}, next={"$ref": "#/$defs/Chain_2"}),
            },
        },
        [[{"value": 1, "next": {"value": 1}}, {"value": 2}]],
        [[{"value": 1, "next": {"value": 2}}, {"value": 2}]],
        "interface Chain<T> { value: T; next?: Chain<T> }",
    ),
    TypeRow(
        "Nested",
        recursive("Nested", array({"anyOf": [NUMBER, {"$ref": "#/$defs/Nested"}]})),
        [[], [1, [2, [3]]]],
        [["a"], [[["a"]]]],
        "type Nested = (number | Nested)[];",
    ),
]
WORDS = [
    TypeRow(
        "Told",
        {**record(a={**NUMBER, "description": "How many."}), "description": "What is told."},
        [{"a": 1}],
        [{}],
        "/** What is told. */\ninterface Told {\n  /** How many. */\n  a: number }",
    ),
]

TABLE = [*PLAIN, *LITERALS, *UNIONS, *LISTS, *TUPLES, *OBJECTS, *KEYS, *DERIVED, *ENUMS, *TEMPLATES, *RECURSIVE, *WORDS]
