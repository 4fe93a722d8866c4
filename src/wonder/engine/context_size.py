"""Context size: how many bytes a run's context has as JSON, measured as seldom as a limit on it allows."""

from wonder.engine.failure import Failure
from wonder.engine.limits import over_limit
from wonder.engine.state import RunState
from wonder.engine.turn import Turn
from wonder.engine.writing import Draft, json_size


def count_writes(turn: Turn, draft: Draft) -> Failure | None:
    """Count what was just written to the context; gives the failure if the context has become too large.

    What was written since the context was last measured is the most that it can have grown by. It is measured again
    only when that could be too much, and fails by its true size, whenever the run was last loaded.
    """
    turn.bytes_left -= draft.size
    run, most = turn.run, turn.run.limits.context_bytes
    if run.context_bytes >= 0:
        run.context_bytes += draft.size
    if run.context_bytes < 0 or run.context_bytes > most:
        run.context_bytes = measure(run)
        if run.context_bytes > most:
            return over_limit("context_bytes", run.context_bytes, most)
    return None


def measure(run: RunState) -> int:
    """Measure the context of a run, with the outputs of all branches that are kept."""
    size = json_size(run.input) + json_size(run.state) + json_size(run.output)
    for group in run.groups.values():
        size += sum(json_size(branch.output) for branch in group.branches if branch.output)
    return size
