"""Tokens: each is made once and ends once, moves as CTL-1 says, and its result counts once (INV-2)."""

from collections.abc import Iterator
from typing import Final

from wonder.checker.fold import beginning, history
from wonder.checker.state import PENDING, WAITING_FOR_SIBLINGS, State
from wonder.checker.stored import Event, StoredRun
from wonder.checker.violations import Violation

FINAL: Final = ("completed", "failed", "timed_out", "cancelled")
_WORKING: Final = ("dispatched", "executing")
# By the type of an event of a token: the statuses in which it can find the token.
_POSSIBLE: Final[dict[str, tuple[str, ...]]] = {
    "token_dispatched": (PENDING, *_WORKING),
    "node_started": ("dispatched", "executing"),
    # From work when a budget stops it: then a person decides whether it begins again.
    "token_suspended": (PENDING, *_WORKING),
    "token_resumed": ("suspended",),
    "fan_in_waiting": (PENDING, *_WORKING, "suspended"),
    "node_completed": (PENDING, *_WORKING, "suspended"),
    "node_failed": (PENDING, *_WORKING, "suspended"),
    "token_completed": (PENDING, *_WORKING, "suspended", WAITING_FOR_SIBLINGS),
}
_ENDS: Final = {f"token_{status}" for status in FINAL}


def check_tokens(run: StoredRun) -> Iterator[Violation]:
    """Look for tokens that are made or end twice, or move as no token does."""
    made: set[str] = set(beginning(run).tokens)
    ended: dict[str, Event] = {}
    for event, state in history(run):
        if event.type == "context_snapshot":
            made |= {token["id"] for token in event.metadata["snapshot"]["tokens"]}
        if event.type == "tokens_ended":
            ended |= dict.fromkeys(state.tokens, event)
            if event.metadata["count"] != len(state.tokens):
                count = event.metadata["count"]
                message = f"event {event.sequence} ends {count} tokens, and {len(state.tokens)} are live"
                yield Violation("tokens", run.id, message)
        id = event.token_id
        if id is None or event.type == "late_result_ignored":
            continue
        if event.type == "token_spawned":
            if id in made:
                yield Violation("tokens", run.id, f"token {id} is made a second time at event {event.sequence}")
            made.add(id)
        elif id not in made:
            yield Violation("tokens", run.id, f"event {event.sequence} ({event.type}) is of token {id}, never made")
        elif id in ended:
            what = "ends once more" if event.type in _ENDS else f"still has an event ({event.type})"
            message = (
                f"token {id} ended at event {ended[id].sequence} ({ended[id].type}) and {what} at {event.sequence}"
            )
            yield Violation("tokens", run.id, message)
        elif id in state.tokens:
            yield from _check_move(run, state, event)
        if event.type in _ENDS:
            ended.setdefault(id, event)
    if run.has_ended:
        for id in sorted(made - ended.keys()):
            yield Violation("tokens", run.id, f"the run is {run.row['status']}, and token {id} has not ended")


def _check_move(run: StoredRun, state: State, event: Event) -> Iterator[Violation]:
    token = state.tokens[event.token_id or ""]
    possible = _POSSIBLE.get(event.type)
    if possible is not None and token.status not in possible:
        message = f"token {token.id} is {token.status}, and event {event.sequence} is {event.type}"
        yield Violation("tokens", run.id, message)
    if (event.node_id, event.path_id) != (token.node, token.path):
        places = f"{event.node_id} {event.path_id}, and it is at {token.node} {token.path}"
        message = f"event {event.sequence} puts token {token.id} at {places}"
        yield Violation("tokens", run.id, message)
    begins = event.type in ("token_dispatched", "token_suspended", "node_completed", "node_failed")
    if begins and token.status == PENDING and state.paused is not None:
        message = f"token {token.id} begins at event {event.sequence} ({event.type}), and the run is paused"
        yield Violation("paused", run.id, message)


def check_results(run: StoredRun) -> Iterator[Violation]:
    """Look for results that were taken twice, or without the work that they are the result of."""
    results: dict[str, Event] = {}
    begun: set[str] = set()
    for event in run.events:
        id = event.token_id or ""
        if event.type in ("node_started", "token_suspended"):
            begun.add(id)
        elif event.type in ("node_completed", "node_failed"):
            if id in results:
                message = (
                    f"the result of token {id} was taken at event {results[id].sequence}, and again at {event.sequence}"
                )
                yield Violation("results", run.id, message)
            results[id] = event
            if "attempts" in event.metadata and id not in begun:
                message = f"event {event.sequence} takes a result of token {id}, whose task was never begun"
                yield Violation("results", run.id, message)
        elif event.type == "context_updated" and event.token_id is not None and id in results:
            message = f"event {event.sequence} writes to the context for token {id}, whose result was taken before"
            yield Violation("results", run.id, message)
        elif event.type == "transitions_evaluated" and id not in results:
            message = f"event {event.sequence} sends token {id} on, which has no result"
            yield Violation("results", run.id, message)
