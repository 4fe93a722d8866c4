"""What a run leaves behind: nothing that only the garbage collector finds, which comes seldom while an engine runs."""

import gc
from collections.abc import Iterator
from typing import Any

import pytest

from support.engine_runs import Player, append, workflow
from wonder.engine.decide import decide
from wonder.engine.decisions import CloseGroup
from wonder.engine.facts import TaskCompleted, TurnContinued
from wonder.engine.state import Group, Scope, Segment, Token

TASK: dict[str, Any] = {}
JOIN = {"sibling_group": "a", "merge": append("state.all")}
JOINED = workflow(
    {"a": TASK, "b": {"output": {"state.x": "$.x"}}, "c": TASK},
    [{"from": "a", "to": "b", "spawn_count": 3}, {"from": "b", "to": "c", "join": JOIN}],
)


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def of_the_engine() -> list[Any]:
    """Give all parts of runs in memory that are there only because they point at each other."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        gc.collect()
        return [one for one in gc.garbage if isinstance(one, Group | Scope | Segment | Token)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("last", ["completes", "fails"])
def test_ctl_13_branches_of_a_group_that_is_closed_are_in_no_circle(last: str) -> None:
    """What branches gave may be large, and runs many, before the collector looks."""
    player = Player(JOINED).start()
    player.complete("a")
    player.complete("b@0.0", {"x": 1})
    player.complete("b@0.1", {"x": 2})
    if last == "fails":
        player.fail("b@0.2")
    else:
        player.complete("b@0.2", {"x": 3})
        player.complete("c")
    assert player.run.ended
    del player
    assert of_the_engine() == []


def test_ctl_20_a_turn_that_ends_where_a_group_is_closed_goes_on_without_its_branches() -> None:
    """What `max_parallel` would let begin next is not looked for in a group that is no more."""
    compiled = workflow(
        {"a": TASK, "b": {"output": {"state.x": "$.x"}}, "c": {"updates": [("state.n", "1")]}, "d": TASK},
        [
            {"from": "a", "to": "b", "foreach": {"collection": "input.items", "max_parallel": 1}},
            {"from": "b", "to": "c", "join": JOIN},
            {"from": "c", "to": "d"},
        ],
    )
    player = Player(compiled).start({"items": [1, 2]})
    player.complete("a")
    player.complete("b@0.0", {"x": 1})
    last = TaskCompleted(player.token("b@0.1").id, {"x": 2})
    decisions = decide(player.run, last, now_ms=2, new_id=player.new_id, over_time=lambda: True)
    assert isinstance(decisions[-1], CloseGroup)
    player.bring(TurnContinued())
    assert player.live() == ["d@0.fanin dispatched"]
