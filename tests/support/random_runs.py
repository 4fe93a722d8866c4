"""Random workflows, and random facts for their runs, each by a seed that replays it."""

from random import Random

from simulation.graphs import random_graph

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


def random_workflow(random: Random) -> CompiledWorkflow:
    """Make a workflow of a few nodes in which fan-outs, joins, loops, waits and error routes meet by chance."""
    graph = random_graph(random)
    return workflow(graph.nodes, graph.transitions, **graph.fields)


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
