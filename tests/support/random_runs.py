"""Random workflows, and random facts for their runs, each by a seed that replays it."""

from random import Random
from typing import Any

from support.engine_runs import workflow
from wonder.engine.compiled import CompiledWorkflow
from wonder.engine.facts import (
    CancelRequested,
    ChildEnded,
    EventArrived,
    Fact,
    GateAnswered,
    InputGiven,
    PauseRequested,
    ResumeRequested,
    TaskCompleted,
    TaskFailed,
    TaskStarted,
    TimerFired,
    TurnContinued,
    WorkerLost,
)
from wonder.engine.failure import Failure
from wonder.engine.state import RunState, Token

_CONDITIONS = [
    "state.n > 1",
    "state.n IS NULL OR state.n < 3",
    "_branch.index = 0",
    "_branch.index % 2 = 1",
    "item > 1",
    "output.last = 'x'",
]
_STRATEGIES: list[Any] = ["all", "all", "any", {"m_of_n": 1}, {"m_of_n": 2}, {"m_of_n": 3}]
_MERGES = ["append", "keyed_by_branch", "last_wins", "merge_object"]


def random_workflow(random: Random) -> CompiledWorkflow:
    """Make a workflow of a few nodes in which fan-outs, joins, loops, waits and error routes meet by chance."""
    names = [f"n{number}" for number in range(random.randint(3, 8))]
    nodes = {name: _node(random) for name in names}
    transitions: list[dict[str, Any]] = []
    joins: dict[str, dict[str, Any]] = {}
    for place in range(len(names) - 1):
        for priority in range(tiers := random.randint(1, 2)):
            for _ in range(random.choice([1, 1, 1, 2, 3])):
                made = _transition(random, names, place, priority, joins)
                if priority == tiers - 1 and random.random() < 0.8:
                    made.pop("if", None)
                transitions.append(made)
    fields: dict[str, Any] = {}
    if random.random() < 0.3:
        fields = {"timeout_ms": random.choice([5, 10, 30]), "on_timeout": random.choice(["fail", "human_gate"])}
    return workflow(nodes, transitions, **fields)


def _node(random: Random) -> dict[str, Any]:
    kind = random.random()
    if kind < 0.5:
        return {"input": {"s": "$.state", "i": "$.item"}, "output": random.choice([{}, {"state.n": "$.n"}]) or None}
    if kind < 0.75:
        updates = [("state.n", "coalesce(state.n, 0) + 1"), ("output.last", {"$literal": "x"}), ("state.o.a", 1)]
        return {"updates": random.sample(updates, random.randint(0, 2))}
    if kind < 0.8:
        return {"kind": "assert", "expr": "coalesce(state.n, 0) < 2"}
    return random.choice(
        [
            {"kind": "sleep", "ms": random.randint(0, 20)},
            {"kind": "human_input", "prompt": "well?", "deadline_ms": 30, "output": {"state.n": "$"}},
            {"kind": "wait_for_event", "event": "e", "timeout_ms": 20},
            {"kind": "workflow_call", "workflow_def_id": "w", "task": {"timeout_ms": 40}},
        ]
    )


def _transition(
    random: Random, names: list[str], place: int, priority: int, joins: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    back = random.random() < 0.12
    to = random.choice(names[: place + 1] if back else names[place + 1 :])
    made: dict[str, Any] = {"from": names[place], "to": to, "priority": priority}
    if back or random.random() < 0.05:
        made["loop_config"] = {"max_iterations": random.randint(1, 2)}
    chance = random.random()
    if chance < 0.15:
        made["if"] = "_last_error.code = 'BROKEN' OR _last_error.code = 'ASSERTION_FAILED'"
    elif chance < 0.35:
        made["if"] = random.choice(_CONDITIONS)
    if random.random() < 0.45:
        made["join"] = joins.setdefault(to, _join(random, names[: place + 1]))
    if "join" not in made and random.random() < 0.3:
        limit = random.choice([None, 1, 2])
        made["foreach"] = {
            "collection": random.choice(["input.two", "input.none", "input.three"]),
            "max_parallel": limit,
        }
    elif random.random() < 0.15:
        made["spawn_count"] = random.randint(1, 3)
    return made


def _join(random: Random, upstream: list[str]) -> dict[str, Any]:
    merge = {"source": "_branch.output", "target": "state.m", "strategy": random.choice(_MERGES)}
    return {
        "strategy": random.choice(_STRATEGIES),
        "sibling_group": random.choice(upstream),
        "merge": random.choice([merge, None]),
        "on_early_complete": random.choice(["cancel", "abandon"]),
        "timeout_ms": random.choice([None, None, 10]),
        "on_timeout": random.choice(["fail", "proceed_with_available"]),
    }


INPUT = {"two": [1, 2], "none": [], "three": [3, 4, 5]}


def random_fact(random: Random, run: RunState, now_ms: int) -> Fact | None:
    """Choose something that may happen to a run now; None when nothing can."""
    chance = random.random()
    if run.paused is not None and (chance < 0.3 or not run.working):
        if run.gate_item_id is not None and random.random() < 0.9:
            return GateAnswered(run.gate_item_id, random.choice(["extend", "extend", "abort", "fail"]), 20)
        return ResumeRequested()
    if chance < 0.02:
        return PauseRequested()
    if chance < 0.023:
        return CancelRequested()
    if run.has_work:
        return TurnContinued()
    due = [key for key, due_ms in run.timers.items() if due_ms <= now_ms]
    if due and chance < 0.5:
        return TimerFired(random.choice(due))
    tokens = [t for t in run.tokens.values() if t.status in ("dispatched", "executing", "suspended")]
    if tokens:
        return _token_fact(random, random.choice(tokens))
    return TimerFired(next(iter(run.timers))) if run.timers else None


def _token_fact(random: Random, token: Token) -> Fact:
    chance = random.random()
    if token.wait is not None:
        match token.wait["kind"]:
            case "human_input":
                return InputGiven(token.id, str(token.wait["item_id"]), random.randint(0, 3))
            case "wait_for_event":
                return EventArrived(token.id, {"n": 2})
            case "workflow_call":
                status = random.choice(["completed", "failed", "cancelled"])
                return ChildEnded(token.id, str(token.wait["child_run_id"]), status, {})
            case _:
                return TimerFired(f"sleep:{token.id}")
    if chance < 0.1:
        return TaskStarted(token.id, 5)
    if chance < 0.15:
        return WorkerLost(token.id)
    if chance < 0.3:
        code = random.choice(["BROKEN", "TASK_TIMEOUT", "OTHER"])
        return TaskFailed(token.id, Failure(code, "it broke", 1))
    return TaskCompleted(token.id, {"n": random.randint(0, 4)})
