"""The values, literals and arguments that generated expressions are made of."""

from typing import Any

from wonder.language.expressions.functions import FUNCTIONS

ABSENT = object()


def lines(text: str) -> list[str]:
    """Return the lines of a block, between their bars if they have some: |...| keeps spaces and empty texts."""
    found = [line.strip() for line in text.strip().splitlines()]
    return [line[1:-1] if len(line) > 1 and line[0] == line[-1] == "|" else line for line in found]


VALUES: dict[str, list[Any]] = {
    "boolean": [True, False],
    "integer": [0, 1, -1, 2, 3, 5, 7, 10, -3, 100, 64, 63],
    "integer near 2^53": [2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1],
    "integer near 2^63": [2**63 - 1, -(2**63), 2**63 - 2, 2**62, -(2**63) + 1],
    "integer beyond 64 bits": [2**63, 2**64, -(2**63) - 1, 10**30, 2**1024],
    "real": [0.5, -0.5, 1.5, 2.5, 3.0, -0.0, 0.1, 0.3, 1e15, 1e300, -2.5e-7, 123456.789, 2.0**53 + 2, 1e18, 49.47],
    "text": lines("""
        ||
        abc
        ABC
        a
        b
        é
        É
        ÉaÄB
        Straße
        it's
        a%b
        x_y
        | abc |
        %
        日本
        true
        say "hi"
        a\\b
        c]d
        -
        tab	here
        """),
    "text like a number": lines("""
        12
        | 12 |
        12abc
        1e3
        -7
        3.14
        0x10
        .5
        5.
        +4
        007
        1_000
        -0
        9223372036854775807
        9223372036854775808
        -9223372036854775808
        1e400
        1e
        4e+
        -.5e1
        12 13
        123456789012345678901234567890
        1.0
        0.1e1
        """),
    "text that is JSON": lines("""
        [1,2,3]
        {"a":1,"b":[1,2]}
        "txt"
        12
        null
        {a:1}
        [1,2
        {"a":{"b":"c"}}
        [1.50,"x\\u0041"]
        [1,]
        {'x':+5,}
        [.5,5.,0x1F,-0]
        {"a":1,"a":2}
        | [ 1 , 2 ] |
        -Infinity
        NaN
        /*c*/1
        {"a\\u0062":1}
        [1e5,-1E-3,12345678901234567890]
        {
        [1 2]
        "\\x41\\v"
        01
        tru
        'it"s'
        {"a":[{"b":null},{"c":"\\ud83d\\ude00"}],"new":{}}
        // line
        [true,false,null,"",{},[]]
        """),
    "list": [[], [1, 2, 3], [1, "a", None, True], [[1], [2]], ["b", "a"], [0.5, 2**63, "é\n"]],
    "object": [{}, {"a": 1}, {"b": [1, 2], "a": {"c": "é"}}, {"a b": 1.5, "big": 2**70}, {"a": None, "b": True}],
    "null": [None],
    "absent": [ABSENT],
}

# Values that tell most readings of an expression apart.
TELLING: list[Any] = [0, 1, 2, 3, True, False, None, "a", "A", "b", "1", "2.5", 0.5, "a "]

LITERALS = lines("""
    0
    1
    2
    5
    -1
    10
    3.5
    0.1
    1e3
    'abc'
    'A'
    'a'
    ''
    '12'
    ' 3x'
    'é'
    null
    true
    false
    0x1F
    0xFFFFFFFFFFFFFFFF
    9223372036854775807
    9223372036854775808
    1_000
    .5
    1e999
    '1.0'
    'a%'
    '[1,2]'
    '{"a":[1,2]}'
    5.
    1E-2
    'it''s'
    TRUE
    -0.0
    """)

CASES = lines("""
    case when _ then _ end
    case when _ then _ else _ end
    case _ when _ then _ when _ then _ else _ end
    case _ when _ then _ end
    case when _ then _ when _ then _ end
    """)
TYPES = [
    "text",
    "integer",
    "real",
    "numeric",
    "varchar(10)",
    "double precision",
    "decimal(10, 2)",
    "boolean",
    "foo",
    "",
]


def _quoted(text: str) -> list[str]:
    return ["'" + line.replace("'", "''") + "'" for line in lines(text)]


# Arguments of one kind, written as literals.
SPECIMENS: dict[str, list[str]] = {
    "json path": _quoted("""
        $
        $.a
        $.b
        $.a.c
        $[0]
        $[1]
        $[#]
        $[#-1]
        $."a b"
        $.x.y
        $[5]
        $.b[0]
        $.ab
        $[0][0]
        ||
        a
        $.
        $[
        $[a]
        $."a
        $x
        $[#-9]
        $.a.
        $."a\\u0062"
        $.b[#]
        $.new[0].deep
        $[2].x
        $.a[0].b
        $.new.x
        """),
    "label": _quoted('a\nb\nc\nsay "hi"\né\nback\\slash'),
    "format": _quoted("""
        %d
        %5d
        |%-5d!|
        %05d
        %+d
        % d
        %,d
        %x
        %X
        %#x
        %o
        %#o
        %u
        %r
        %s
        %10s
        |%-10s!|
        %.2s
        %!.2s
        %!6s
        %c
        %5c
        %.3c
        |%-5.2c!|
        %q
        %Q
        %w
        %f
        %.2f
        %10.3f
        |%-10.1f!|
        %010.2f
        %e
        %.3E
        %g
        %G
        %!.15g
        %#g
        %!f
        %,.2f
        %i %s
        %%
        100%
        %
        %y
        a%zb
        %5%
        %ld %lld
        %*d
        %.*f
        |%-*d!|
        %j
        %J
        %#Q
        %#q
        %!g
        %.0f
        %#.0f
        %.20f
        %!.20f
        %p
        %#p
        %n%d
        %.10d
        %08,d
        %+.1f
        % .1e
        %#.3f
        %.17g
        %!.17g
        %5.3d
        %d %s %f
        é%sé
        |%-+8d!|
        %0,10.2f
        %5j
        |%-6J!|
        %.1J
        %!5Q
        %s%s
        %d|%d|%d
        %+d %+.2f
        """),
    "pattern": _quoted("""
        a%
        %b%
        _bc
        %
        ||
        A%C
        %é%
        a!%b
        x!_y
        %_
        !
        %a%b%
        __
        É
        é__b
        %\\b
        _%_%_
        """),
    "glob": _quoted("""
        a*
        *b*
        ?bc
        [a-c]*
        [^a]*
        []]
        *[b-
        [a-]*
        *[c-d]?
        ||
        [z-a]
        *]*
        [^]a]bc
        [[]*
        *[A-Z]*
        [-a]bc
        a[!b]c
        [\\]
        a?[b-d-e]*
        *[é-ü]*
        [a^b]*
        """),
    "time": _quoted("""
        2024-02-29
        2024-02-29 12:34:56
        2023-12-31T23:59:59.999Z
        2024-03-31 10:00:00+05:30
        2024-01-01 00:00-14:00
        12:34
        12:34:56.7895
        24:00
        2460000.5
        1700000000
        0
        -1
        -4713-11-24 12:00
        9999-12-31 23:59:59
        2023-02-31
        2023-13-01
        2023-2-1
        2024-02-30 25:00
        1e5
        5373484.5
        2024-02-29 12:34:56 x
        99999999999
        2021-01-03
        2020-12-28 00:00:00.0005
        2024-02-30 24:00
        2024-01-31 24:00:00.000
        24:30
        """),
    "modifier": _quoted("""
        +1 day
        -1 days
        +1.5 hours
        +10 minutes
        -30.25 seconds
        +1 month
        -13 months
        +1 year
        +1.5 years
        +1.5 months
        start of day
        start of month
        start of year
        end of month
        end of day
        end of year
        start of week
        weekday 0
        weekday 3
        weekday -2
        weekday 7
        unixepoch
        auto
        julianday
        subsec
        floor
        ceiling
        +01:30
        -00:00:01.5
        12:00
        +0001-02-03
        -0001-02-03 04:05:06
        +0000-12-01
        +12345-00-00
        +1 week
        3 days
        nonsense
        UnixEpoch
        +1000000 days
        +9e15 seconds
        +24:00
        +24:01
        """),
    "time format": _quoted("""
        %Y-%m-%d %H:%M:%S
        %F %T
        %j %J
        %s
        %f
        %W %U %V
        %G-%g
        %u %w
        %I %l %p %P
        %e|%k|%R
        100%%
        %
        %q
        plain é
        """),
    "escape": ["'!'", "'%'", "'_'", "'xx'", "''", "'é'", "'a'", "null", "'\\'"],
    "small": ["0", "1", "2", "3", "4", "6", "9", "-1", "-2", "-3", "5", "100", "-100", "1.9", "'2'", "null", "40"],
    "characters": ["' '", "'ab'", "'éa'", "''", "'1'", "null", "'a'", "'bc'"],
    "code": ["65", "233", "128512", "-1", "1114112", "'66'", "48.9", "32"],
    "unistr": _quoted("\\00e9\n\\u0041x\n\\+01F600\n\\U0001F600\na\\\\b\n\\q\n\\12\nplain\n\\"),
    "probability": ["0.5", "1.0", "0.0", "0.25"],
    "flags": ["1", "2", "3", "4", "8", "15", "0", "16", "'6'", "null"],
    "indent": ["'  '", "''", "'-'", "null", "3"],
}

# The kinds of a function's arguments, the last one for all that follow; other functions take anything.
ARGUMENTS: dict[str, list[str]] = {
    **{name: ["json", "json path"] for name in ["json_extract", "json_array_length", "json_type", "json_remove"]},
    **{name: ["json"] for name in ["json", "json_patch"]},
    **{name: ["number"] for name in FUNCTIONS if FUNCTIONS[name].call.__module__.endswith("math_functions")},
    **{
        name: ["json", *["json path", "any"] * 2]
        for name in ["json_insert", "json_replace", "json_set", "json_array_insert"]
    },
    **{name: ["text", "characters"] for name in ["trim", "ltrim", "rtrim", "instr", "replace"]},
    **{name: ["text"] for name in ["lower", "upper", "length", "octet_length", "hex", "unicode", "quote"]},
    **{name: ["text"] for name in ["concat", "concat_ws", "max", "min", "nullif", "unistr_quote"]},
    **{name: ["time", "modifier"] for name in ["date", "time", "datetime", "julianday", "unixepoch"]},
    "strftime": ["time format", "time", "modifier"],
    "timediff": ["time"],
    "char": ["code"],
    "format": ["format", "any"],
    "glob": ["glob", "text"],
    "json_error_position": ["json text"],
    "json_object": ["label", "any", "label", "any"],
    "json_pretty": ["json", "indent"],
    "json_valid": ["json", "flags"],
    "like": ["pattern", "text", "escape"],
    "likelihood": ["any", "probability"],
    "printf": ["format", "any"],
    "round": ["number", "small"],
    "substr": ["text", "small"],
    "substring": ["text", "small"],
    "unistr": ["unistr"],
}
