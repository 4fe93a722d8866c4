"""Effects: what actions did in the world, against what was decided (INV-3, INV-4, CTL-16)."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from wonder.checker.definitions import LOSSES_MAX, Definition
from wonder.checker.stored import StoredRun
from wonder.checker.violations import Violation

# What was under way when a run was cancelled has a second to clean up.
GRACE_MS: Final = 1_000
# Clocks of one machine, read at two places.
CLOCK_MS: Final = 5
# A loss may have been noted so much before it happened.
NOTED_MS: Final = 1_000


def check_effects(
    run: StoredRun, definition: Definition, effects: Iterable[dict[str, Any]], *, losses: Sequence[int] = ()
) -> Iterator[Violation]:
    """Look for actions that nobody ordered, that acted too often, or before their time.

    At each of the times in `losses`, what the run had under way may have been lost, and was to be done again.
    """
    dispatched: dict[str, list[int]] = {}
    parents: dict[str, str | None] = {}
    nodes: dict[str, str | None] = {}
    due: dict[str, int] = {}
    for event in run.events:
        token_id = event.token_id or ""
        if event.type == "token_dispatched":
            dispatched.setdefault(token_id, []).append(event.at_ms)
        elif event.type == "token_spawned":
            parents[token_id], nodes[token_id] = event.metadata["parent"], event.node_id
        elif event.type == "timer_set" and event.metadata["key"].startswith("sleep:"):
            due[token_id] = event.metadata["due_ms"]
        elif event.type == "node_failed":
            due.pop(token_id, None)  # its time-out came first, and a transition took the failure
    counts: dict[str, int] = {}
    for effect in effects:
        token_id, at_ms = effect["token"], effect["at"]
        counts[token_id] = counts.get(token_id, 0) + 1
        if token_id not in dispatched:
            yield Violation("effects", run.id, f"token {token_id} acted, and was never dispatched")
        elif at_ms + CLOCK_MS < dispatched[token_id][0]:
            early_ms = dispatched[token_id][0] - at_ms
            yield Violation("effects", run.id, f"token {token_id} acted {early_ms} ms before it was dispatched")
        slept = due.get(parents.get(token_id) or "")
        if slept is not None and at_ms + CLOCK_MS < slept:
            message = f"token {token_id} acted {slept - at_ms} ms before the sleep that led to it was over"
            yield Violation("effects", run.id, message)
    for token_id, times in counts.items():
        node = definition.nodes.get(nodes.get(token_id) or "")
        if node is None:
            continue
        tries = node.attempts_max * sum(node.action_attempts_max.values())
        ordered = dispatched.get(token_id, ())
        again = sum(at_ms + NOTED_MS >= ordered[0] for at_ms in losses) if ordered else 0
        most = tries * (min(len(ordered), LOSSES_MAX + 1) + again)
        if times > most:
            message = f"token {token_id} acted {times} times, and at most {most} are allowed"
            yield Violation("effects", run.id, message)


def check_cancelled(run: StoredRun, effects: Iterable[dict[str, Any]], confirmed_ms: int) -> Iterator[Violation]:
    """Look for actions that began when a client had been told that the run was cancelled."""
    for effect in effects:
        if effect["at"] > confirmed_ms + GRACE_MS:
            late_ms = effect["at"] - confirmed_ms
            message = f"token {effect['token']} acted {late_ms} ms after the run's cancelling was confirmed"
            yield Violation("cancel", run.id, message)
