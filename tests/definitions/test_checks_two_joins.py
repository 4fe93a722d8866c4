"""A branch can have tokens at one join of its group only: two would lose a token (CTL-12)."""

import sys
from types import FrameType
from typing import Any

import pytest

from support.definitions import SAMPLES, VALID, faults_in
from support.graphs import each, edge, found_in, graph, join

S = join("s")
SPAWN = {"spawn_count": 3}


def refused(*transitions: str | dict[str, Any]) -> list[tuple[str, ...]]:
    """Give the joins, two by two, that the check finds, and where the path of a branch splits."""
    faults = [fault for fault in faults_in(graph(*transitions)) if fault.code == "two_joins"]
    return [tuple(fault.message.split("'")[1::2]) for fault in faults]


def test_ctl_12_one_branch_at_two_joins_of_its_group_is_refused_with_a_hint() -> None:
    ways = [edge(f"{one} > {other}", **S) for one in "ab" for other in "xy"]
    (fault,) = faults_in(graph("s > a", "s > b", *ways))
    assert fault.path == ("workflow", "transitions", 3, "synchronization")
    assert fault.message == (
        "one branch of 's' can have tokens at the join into 'x' and at the one into 'y', because its path splits at "
        "'a'; a branch arrives at one join only, so the other token would be lost"
    )
    assert fault.hint.startswith("join once, then fan out")


LOST = [
    # the path of a branch splits, and goes to both
    ["s > a", "s > b", edge("a > x", **S), edge("a > y", **S), edge("b > x", **S)],
    # several conditions of one tier may hold
    ["s > a", "s > b", edge("a > x if input.p", **S), edge("a > y if input.q", **S), "a > z @1", edge("b > x", **S)],
    # far from where it splits
    ["s > a", "s > b", "a > c", "a > d", "c > e", edge("e > x", **S), edge("d > y", **S), edge("b > x", **S)],
    # each item chooses, and two items of one branch may choose differently
    [edge("s > a", **SPAWN), edge("a > i", **each("input.l")), edge("i > x if input.p", **S), edge("i > y @1", **S)],
    [edge("s > a", **SPAWN), edge("a > i", **SPAWN), edge("i > x if input.p", **S), edge("i > y @1", **S)],
    # one token leaves the inner fan-out before its join
    [
        *("s > a", "s > b", "a > c", "a > d"),
        *(edge("c > m", **join("a")), edge("d > m if input.p", **join("a")), edge("d > x @1", **S)),
        *(edge("m > y", **S), edge("b > x", **S)),
    ],
    # two joins of the inner fan-out go on, each with a token
    [
        *("s > a", "s > b", "a > c", "a > d", edge("c > m", **join("a")), edge("d > n", **join("a"))),
        *(edge("m > x", **S), edge("n > y", **S), edge("b > x", **S)),
    ],
    # a join of one transition does not wait for the branches of another
    [
        *("s > a", "s > b", edge("a > c", ref="left"), "a > d", edge("c > m", **join("left"))),
        *(edge("m > x", **S), edge("d > y", **S), edge("b > x", **S)),
    ],
    # all inner branches have gone to the outer join, so that the inner one goes on with nothing
    [
        *(edge("s > a", **SPAWN), edge("a > i", spawn_count=1), edge("i > x if input.p", **S)),
        *(edge("i > m @1", **join("a")), edge("m > y", **S)),
    ],
    # the second round of a loop meets the token that the first one left at a join
    [
        *(edge("s > a", **SPAWN), "a > c", "a > d", edge("c > x", **S), edge("d > m", **join("a"))),
        *(edge("m > a", loop_config={"max_iterations": 2}), edge("m > y @1", **S)),
    ],
    # one join names the node, the other the transition that made the branch
    [edge("s > a", ref="go"), "s > b", edge("a > x", **S), edge("a > y", **join("go")), edge("b > x", **S)],
    # whatever the strategy
    [edge("s > a", **SPAWN), edge("a > x", **join("s", "any")), edge("a > y", **join("s", {"m_of_n": 2}))],
    # a failure is routed to both
    [
        *(edge("s > a", **SPAWN), edge("a > x if _last_error.code = 'A'", **S)),
        *(edge("a > y if _last_error.code IS NOT NULL", **S), "a > z @1"),
    ],
    # the fan-out is a branch of another one
    [
        *(edge("o > s", **SPAWN), edge("s > a", **SPAWN), edge("a > x", **S), edge("a > y", **S)),
        *(edge("x > z", **join("o")), edge("y > z", **join("o"))),
    ],
]


@pytest.mark.parametrize("transitions", LOST, ids=range(len(LOST)))
def test_ctl_12_two_tokens_of_one_branch_that_can_come_to_two_joins_are_refused(
    transitions: list[str | dict[str, Any]],
) -> None:
    assert ("x", "y") in [found[1:3] for found in refused(*transitions)]


SOUND = [
    # different branches, each to its own join
    ["s > a", "s > b", edge("a > x", **S), edge("b > y", **S)],
    # one or the other, by tiers
    [edge("s > a", **SPAWN), edge("a > x if input.p", **S), edge("a > y @1", **S)],
    [
        "s > a",
        "s > b",
        *(edge(f"{one} > x if input.p", **S) for one in "ab"),
        *(edge(f"{one} > y @1", **S) for one in "ab"),
    ],
    # one when it fails, the other when it succeeds
    [edge("s > a", **SPAWN), edge("a > x", **S), edge("a > y if _last_error.code = 'A'", **S)],
    # joined inside, then one or the other
    [
        *(edge("s > a", **SPAWN), "a > c", "a > d", edge("c > m", **join("a")), edge("d > m", **join("a"))),
        *(edge("m > x if input.p", **S), edge("m > y @1", **S)),
    ],
    [
        *(edge("s > a", **SPAWN), edge("a > i", **each("input.l")), edge("i > m", **join("a", "any"))),
        *(edge("m > x if input.p", **S), edge("m > y @1", **S)),
    ],
    # split, but to the same join
    ["s > a", "s > b", "a > c", "a > d", edge("c > x", **S), edge("d > x", **S), edge("b > y", **S)],
    # split, and one of the two ends elsewhere
    ["s > a", "s > b", edge("a > x", **S), "a > log", edge("b > y", **S)],
    # joins of different groups
    [
        *(edge("s > a", **SPAWN), "a > c", "a > d", edge("c > m", **join("a")), edge("d > m", **join("a"))),
        *("m > c2", "m > d2", edge("c2 > n", **join("m")), edge("d2 > n", **join("m")), edge("n > x", **S)),
    ],
    # a loop in a branch, left to one join or the other
    [
        *(edge("s > a", **SPAWN), edge("a > a if input.p", loop_config={"max_iterations": 3})),
        *(edge("a > x @1 if input.q", **S), edge("a > y @2", **S)),
    ],
    # join once, then fan out: what the hint says
    ["s > a", "s > b", edge("a > j", **S), edge("b > j", **S), "j > x", "j > y"],
    # a single inner branch
    [edge("s > a", **SPAWN), edge("a > i", spawn_count=1), edge("i > x if input.p", **S), edge("i > y @1", **S)],
    # the join of the outer group takes the inner branches along
    [edge("s > a", **SPAWN), edge("a > b", **SPAWN), edge("b > x", **S)],
]


@pytest.mark.parametrize("transitions", SOUND, ids=range(len(SOUND)))
def test_ctl_12_a_branch_that_comes_to_one_join_at_a_time_is_accepted(transitions: list[str | dict[str, Any]]) -> None:
    assert [fault for fault in faults_in(graph(*transitions)) if fault.severity == "error"] == []


@pytest.mark.parametrize(
    ("transitions", "found"),
    [
        (["s > a", "s > b", edge("a > x", **S), edge("b > y", **S)], ["transitions.2", "transitions.3"]),
        (["s > a", "s > b", edge("a > x", **S), "b > log"], ["transitions.2"]),
        (["s > a", "s > b", edge("a > x", **S), edge("b > x if input.p", **S), "b > y @1"], []),  # it can come
        (["s > a", "s > b", edge("a > x", **S), "b > x"], []),  # it comes, without being joined
        (["s > a if input.p", "s > b @1", edge("a > x", **S)], []),  # never together
        ([edge("s > a", ref="go"), "s > b", edge("a > x", **join("go"))], []),  # it does not count the other
        (["s > a", "s > b", edge("a > x", **join("s", "any")), "b > log"], []),  # it does not wait
        (["s > a", "s > c", "s > b if _last_error.code", edge("a > x", **S), edge("c > x", **S)], []),
    ],
)
def test_ctl_9_a_join_of_all_that_waits_for_branches_that_can_not_come_is_a_warning(
    transitions: list[str | dict[str, Any]], found: list[str]
) -> None:
    warned = [one for one in found_in(graph(*transitions)) if one.startswith("join_waits_for_others")]
    assert warned == [f"join_waits_for_others at {place}.synchronization" for place in found]


@pytest.mark.parametrize(
    ("transitions", "message"),
    [
        (
            ["s > a", "s > b", edge("a > x", **join("s", {"m_of_n": 2})), "b > y"],
            "1 branches of 's' at the most can come to 'x', so 2 never arrive",
        ),
        (["s > a", "s > b", edge("a > x", **join("s", {"m_of_n": 1})), "b > y"], None),
        ([edge("s > a", **each("input.l")), "s > b", edge("a > x", **join("s", {"m_of_n": 5})), "b > y"], None),
        (["s > a", "s > b", "b > a", edge("a > x", **join("s", {"m_of_n": 2}))], None),
    ],
)
def test_ctl_9_a_join_that_too_few_branches_can_come_to_is_refused(
    transitions: list[str | dict[str, Any]], message: str | None
) -> None:
    found = [fault.message for fault in faults_in(graph(*transitions)) if fault.code == "too_few_branches"]
    assert found == ([message] if message else [])


@pytest.mark.parametrize("text", [*SAMPLES.values(), *VALID.values()], ids=[*SAMPLES, *VALID])
def test_no_sample_is_refused_for_its_joins(text: str) -> None:
    assert "two_joins" not in [fault.code for fault in faults_in(text)]


CHECK = ("two_joins.py", "token_moves.py", "within_reach.py")


def calls_of_the_check(definition: dict[str, Any]) -> tuple[int, list[str]]:
    """Count the calls inside of the check, and give the codes of what is wrong."""
    calls = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        calls += event == "call" and frame.f_code.co_filename.endswith(CHECK)

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        faults = faults_in(definition)
    finally:
        sys.setprofile(before)
    return calls, [fault.code for fault in faults]


def split_to_two_joins(ways: int) -> list[str | dict[str, Any]]:
    """One branch that splits many ways, towards two joins."""
    ends = [edge(f"n{number} > {'xy'[number % 2]}", **S) for number in range(ways)]
    return [edge("s > a", **SPAWN), *(f"a > n{number}" for number in range(ways)), *ends]


def split_to_joins(ways: int) -> list[str | dict[str, Any]]:
    """One branch that comes to many joins."""
    return [edge("s > a", **SPAWN), *(edge(f"a > x{number}", **S) for number in range(ways))]


def fan_outs_in_a_row(count: int) -> list[str | dict[str, Any]]:
    """Many fan-outs, one behind the other, each with two joins of which a branch comes to one."""
    made: list[str | dict[str, Any]] = []
    for number in range(count):
        group = join(f"s{number}")
        made += [edge(f"s{number} > a{number}", **SPAWN), edge(f"a{number} > x{number} if input.p", **group)]
        made += [edge(f"a{number} > y{number} @1", **group), f"x{number} > s{number + 1}", f"y{number} > s{number + 1}"]
    return made


@pytest.mark.parametrize(
    ("transitions", "is_refused"),
    [
        (split_to_two_joins(100), True),
        (split_to_two_joins(800), True),
        (split_to_joins(1_500), True),
        (fan_outs_in_a_row(60), False),
        (
            [*fan_outs_in_a_row(60), edge("s60 > b", **SPAWN), *(edge(f"b > {z}", **join("s60")) for z in "vw")],
            True,
        ),
    ],
    ids=["split", "split 800", "joins", "row", "row with a fault at its end"],
)
def test_ctl_12_a_large_graph_takes_few_steps(transitions: list[str | dict[str, Any]], is_refused: bool) -> None:
    """The check runs where all runs do, so it gives up rather than take long. Counted, because time depends on load."""
    calls, codes = calls_of_the_check(graph(*transitions))
    assert ("two_joins" in codes) == is_refused
    assert calls < 1_500_000
