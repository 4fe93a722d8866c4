"""EXP-4: the same expression over the same values in real SQLite gives the same result."""

import math
import struct
from collections.abc import Iterator
from itertools import pairwise
from random import Random

import apsw
import pytest
from expression_cases import Case, Coverage, Parameter
from expression_differential import NAMES, Report, compare_all, compare_one
from expression_oracle import Oracle

from support.depth import tries
from wonder.language.expressions.building import build
from wonder.language.expressions.numbers import integer_prefix, real_prefix, real_text
from wonder.language.expressions.parser import POWERS, parse

SEED = 20_240


@pytest.fixture(scope="module")
def report() -> Report:
    found = compare_all(SEED, tries(10, 20) / 20)
    print(found.text())
    return found


def test_exp_4_sqlite_gives_the_same_results(report: Report) -> None:
    assert not report.differences, report.text()
    assert report.compared >= tries(10_000, 20_000)
    # Most cases have a value: a generator that only makes errors would show nothing.
    assert report.failed_in_both < report.compared / 8


def test_exp_4_every_operator_pair_function_and_kind_of_value_was_compared(report: Report) -> None:
    assert not report.coverage.missing(), report.text()


LEVELS = sorted(set(POWERS.values()))


@pytest.mark.parametrize(("lower", "higher"), list(pairwise(LEVELS))[:-2])
def test_exp_4_two_exchanged_precedences_are_found(lower: int, higher: int) -> None:
    """The last two exchanges, with COLLATE, are left out: SQLite hands a collation on to the result either way."""
    exchange = {lower: higher, higher: lower}
    powers = {name: exchange.get(power, power) for name, power in POWERS.items()}
    report = compare_all(SEED, 1, lambda text: build(text, parse(text, NAMES, powers)), stop_at_difference=True)
    assert report.differences


# What random expressions come upon too seldom.
HAND_PICKED = """
    'a' || 'B' collate nocase || 'c ' collate rtrim = 'abc'
    'A' collate nocase in ('a', 'b')
    'a' in ('A' collate nocase)
    cast(5 as text) = 5
    '5' = cast(5 as integer)
    cast('5' as text) = cast(5 as integer)
    case 'A' collate nocase when 'a' then 'same' end
    case cast('1' as integer) when '1' then 'same' end
    'b' between 'A' collate nocase and 'C'
    nullif('a', 'A' collate nocase)
    max('a', 'B' collate nocase)
    - 9223372036854775808
    -9223372036854775809
    - - 9223372036854775808
    -0x8000000000000000
    0x8000000000000000
    9223372036854775807 + 1
    -9223372036854775808 / -1
    -9223372036854775808 % -1
    7 / 2
    -7 / 2
    -7 % 2
    1 / 0
    1 % 0
    1.5 % 0.5
    'abc' > 5
    '1e3' % 7
    5 -- a comment
    5 /* another */ + /**/ 1
    5--3
    not null is null
    not 1 = 2
    1 is not not 2
    not 1 not null
    1 = 2 not null
    1 between 0 and 2 and 0
    1 between 0 or 1 and 2
    1 not between 2 and 3 = 1
    'a' like 'A' escape 'x' || 'y'
    1 in ()
    1 not in () or json('bad')
    null in ()
    null in (1)
    1 in (2, null)
    json('bad') and 0
    0 and json('bad')
    1 or json('bad')
    state.a and json('bad')
    case when state.a and json('bad') then 1 end
    coalesce(1, json('bad'))
    iif(0, json('bad'), 2)
    1 in (1, json('bad'))
    1 in (1, 2, json('bad'))
    abs(-9223372036854775808)
    substr('abc', 0, 2)
    substr('abc', -9223372036854775808)
    round(2.675, 2)
    round(-0.5)
    round(1e300, 2)
    printf('%.30f', 0.1)
    printf('%,d', -1234567)
    json_extract('[0x11111111111111111]', '$[0]')
    json('{"a":0x1F,b:.5,"c":5.,"d":"\\x41\\0"}')
    json('[1,/*x*/2,//y    3]')
    json_set('{}', '$.a.b[0].c', 1)
    json_set('[1,2]', '$[2]', 3, '$[9]', 4)
    json_insert('{"a":1}', '$."b\\u0063"', 2)
    json_remove('[1,2,3]', '$[0]', '$[0]')
    json_array_insert('[1,2]', '$[1]', 9, '$[#]', 8)
    json_array_insert('{"a":[1]}', '$.b', 9)
    json_patch('{"a":1,"b":{"c":2}}', '{"a":null,"b":{"d":3},"e":{"f":null}}')
    json_patch('{"a":1,"a":2}', '{"a":null}')
    json_valid('{a:1}', 1)
    '[1,2]' -> -1
    '{"a b":1}' -> 'a b'
    '{"a":{"b":1}}' ->> 'a'
    json_quote(json('[1]'))
    json_array(cast(json('[1]') as text))
    typeof(1 + 1.0)
    typeof('1' + '1')
    1e999 > 5
    1 +
    (1
    1)
    'a
    1 2
    state.a b
    case when 1 then 2
    cast(1 as)
    cast(1 as text
    nosuch(1)
    abs(1, 2)
    1 like
    1 not 2
    1 collate nosuch = 2
    12abc
    1__0
    0x
    0xG
    1e
    ,
    ()
    (1, 2)
    in (1)
    like('a', 'A')
    glob('a*', 'abc')
    """


@pytest.mark.parametrize("text", [line.strip() for line in HAND_PICKED.strip().splitlines()])
def test_exp_4_sqlite_agrees_on_what_is_rare(text: str) -> None:
    before, path, after = text.partition("state.a")
    pieces = (before, Parameter("state.a"), after) if path else (text,)
    report = Report(Coverage())
    compare_one(Case(pieces, {"state.a": 0} if path else {}), Oracle(), report)
    assert report.differences == []


def _doubles(count: int) -> Iterator[float]:
    random = Random(SEED)
    for _ in range(count):
        yield struct.unpack("d", struct.pack("Q", random.getrandbits(64)))[0]
        yield round(random.uniform(-1e6, 1e6), random.randint(0, 8))
        yield random.uniform(-1, 1) * 10 ** random.randint(-20, 25)
        yield float(random.randint(-(2**63), 2**63))


def test_exp_4_real_numbers_are_written_as_sqlite_writes_them() -> None:
    connection = apsw.Connection(":memory:")
    for number in _doubles(4_000):
        if not math.isnan(number):
            assert real_text(number) == next(iter(connection.execute("SELECT '' || ?", (number,))))[0]


def test_exp_4_texts_are_read_as_numbers_as_sqlite_reads_them() -> None:
    connection, random = apsw.Connection(":memory:"), Random(SEED)
    sql = "SELECT CAST(?1 AS REAL), CAST(?1 AS INTEGER)"
    for number in _doubles(4_000):
        long = f"{random.getrandbits(100)}.{random.getrandbits(40)}e{random.randint(-360, 330)}"
        text = random.choice([repr(number), f"{number:.25f}", f"{number:.20e}", long, f" {number:.3f}x"])
        if not math.isnan(number):
            theirs = next(iter(connection.execute(sql, (text,))))
            assert (real_prefix(text).value, integer_prefix(text).value) == theirs, text
