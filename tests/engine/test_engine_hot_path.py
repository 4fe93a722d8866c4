"""EXP-4: an expression is parsed and compiled once per definition version, and the hot path never parses."""

import sys
from types import FrameType
from typing import Any

from support.engine_runs import Player, append, workflow

_PARSERS = ("/expressions/parser.py", "/expressions/tokens.py", "/paths/rfc9535.py", "/paths/dotted.py", "/mappings.py")


def play(player: Player) -> None:
    """Go through conditions, updates, mappings, a foreach and a merge."""
    player.start({"xs": [1, 2]})
    player.complete("a", {"n": 3})
    for path in ("0.0", "0.1"):
        player.complete(f"b@{path}", {"x": path})
    assert player.run.status == "completed"
    assert player.run.state["all"] == ["0.0", "0.1"]


def test_exp_4_a_second_run_of_a_version_parses_nothing() -> None:
    compiled = workflow(
        {
            "a": {"input": {"xs": "$.input.xs[*]"}, "output": {"state.n": "$.n"}},
            "b": {"input": {"item": "$.item"}, "output": {"state.x": "$.x"}},
            "c": {"updates": [("state.m", "state.n * 2 + json_array_length(state.all)")]},
        },
        [
            {
                "from": "a",
                "to": "b",
                "if": "state.n > 2 AND input.xs IS NOT NULL",
                "foreach": {"collection": "input.xs"},
            },
            {"from": "b", "to": "c", "join": {"sibling_group": "a", "merge": append("state.all")}},
        ],
    )
    play(Player(compiled))
    parsed: list[str] = []

    def watch(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.endswith(_PARSERS) and code.co_name.startswith(("parse", "compile")):
            parsed.append(f"{code.co_filename}:{code.co_name}")

    sys.setprofile(watch)
    try:
        play(Player(compiled))
    finally:
        sys.setprofile(None)
    assert parsed == []
    sys.setprofile(watch)
    try:
        workflow({"a": {"updates": [("state.m", "1")]}}, [])
    finally:
        sys.setprofile(None)
    assert parsed, "parsing is seen where there is any"
