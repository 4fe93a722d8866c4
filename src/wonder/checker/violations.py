"""Violations: what was found to be wrong, by rule and run; and the rules themselves, in words."""

from typing import Final, NamedTuple

RULES: Final[dict[str, str]] = {
    "sequence": "EVT-1: event numbers begin with 1 and have no gaps; no event belongs to a later step than its own",
    "declared": "EVT-1: an event has one of the declared types, with the fields of that type and no others",
    "index": "EVT-1: each event of a type that is looked for across runs has a row by which it is found, no other has",
    "end": "INV-1, CTL-18: a run has one final status, one event says so, and only late results and triggers follow",
    "tokens": "CTL-1: a token is made once, ends once, and nothing leaves a final status",
    "conservation": "CTL-3, CTL-4: a token that completes goes on in exactly one way, and no token comes from nowhere",
    "routing": "CTL-3: the first tier with a match is taken, and what is taken leaves the node that was left",
    "fan-out": "CTL-5: a firing makes each of its branches once, with the numbers and paths that it announced",
    "max-parallel": "CTL-5a: at most max_parallel branches of a foreach are under way",
    "fan-in": "CTL-9: a fan-in fires once, when its rule is met and not before, and makes one token",
    "merge": "CTL-11: what a fan-in writes is made of the outputs of the branches that arrived",
    "loops": "CTL-14: a loop is taken as often as it is counted, and not beyond its limit",
    "results": "INV-2: a result counts once, and only for a token that was at work",
    "attempts": "TSK-3, TSK-5, RET-1: tasks, actions and dispatches are tried no more often than their limits say",
    "paused": "CTL-16: nothing begins while a run is paused",
    "timers": "INV-6: a timer fires once, after it was set, and never early",
    "children": "ACT-5: a sub-workflow and its caller say the same of each other",
    "triggers": "PHS-6: what completes starts what its triggers say, each once, and what was started says by whom",
    "schedules": "CTL-17: each planned time starts one run or is accounted for, none early, none beside its overlap",
    "inbox": "ACT-4: a question is asked once and closed once, as the events say",
    "fold": "EVT-2: the fold of the events gives what the tables have",
    "context": "EVT-2, CTX-4: the fold of the events gives the context that the tables have",
    "snapshots": "RES-6: a snapshot is the run as its events have it at that number",
    "counts": "CMD-14: as many runs are counted in each status as there are",
    "listed": "CMD-10: lists find a failed run by its failure, and a run by what its events cost",
    "orphans": "no row belongs to a run that is not there",
    "unreadable": "what is stored can be read",
    "accepted": "INV-1: a run that was accepted is there",
    "told": "INV-1: a run has the end that a client was told of",
    "overdue": "INV-1, RET-3: once all is at rest, nothing is left that should have happened",
    "effects": "INV-3, INV-4: nothing acts that was not decided, more often than its limits say, or before its time",
    "cancel": "CTL-16: a run whose cancelling was confirmed has ended, and begins nothing any more",
    "answers": "ACT-4: an answer that was accepted is kept, and only one is accepted",
    "events": "an event from outside that was accepted is kept, or has woken somebody",
    "lease": "INV-5: every write is by the owner of the newest lease",
}


class Violation(NamedTuple):
    """One thing that is wrong: the rule that is broken, the run (empty if it is about no run), and what and where."""

    rule: str
    run_id: str
    message: str

    def __str__(self) -> str:
        run = f" run {self.run_id}:" if self.run_id else ""
        return f"{self.rule}:{run} {self.message}"
