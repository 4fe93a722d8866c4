"""Limits: how much one run may do: at a time, in one turn and in all (RES-6, CTL-20)."""

from typing import Final, Literal

from wonder.definitions.records.graph import OnWorkflowTimeout
from wonder.engine.failure import Failure, failure_of
from wonder.errors import WonderError
from wonder.language.steps import STEPS_MAX, TooManySteps

LIVE_FOREACHES: Final = 2
"""How many full `foreach_limit`s of tokens a run may have live at a time, unless `live_tokens` says otherwise."""
TASKS_MAX: Final = 2_000
"""How many tasks of a run its workers have at a time: 1,000 under way, and the next ones while results are stored."""
ended_singly_max = 1_000
"""With more live tokens than this, the end of a run ends all with one decision and one event; simulations set less."""
CODE: Final = "RUN_LIMIT_"
"""How the codes of failures begin that are a limit of the whole run; the name of the limit follows."""

# What is found to be too much, and what to do other than raising the limit.
# An output of more characters as JSON is not part of an event, but kept beside; so much of it is told.
RECORDED_MAX: Final = 65_536
CUT_SHOWN: Final = 1_000
_TOLD: Final = {
    "live_tokens": ("{:,} live tokens at a time", "join branches earlier"),
    "tokens": ("{:,} tokens in all", "split the run into several"),
    "events": ("{:,} events in all", "split the run into several"),
    "context_bytes": ("a context of {:,} bytes", "keep large values as artifacts"),
    "bytes_written": (
        "{:,} bytes written to the database by it and the runs that belong with it through calls and triggers",
        "keep large values as artifacts",
    ),
    "pure_steps": ("{:,} pure nodes in a row, without any wait or task between them", "end the loop by a condition"),
}


class Limits:
    """What a project's settings and its trigger allow a run, and how much it may do in one turn (CTL-20)."""

    __slots__ = (
        "bytes_written",
        "context_bytes",
        "dispatches_max",
        "ended_singly_max",
        "evaluation_steps",
        "events",
        "foreach_limit",
        "function_wait_ms",
        "live_tokens",
        "nesting_max",
        "on_timeout",
        "pure_nodes_max",
        "pure_steps",
        "record_io",
        "retries_left",
        "tasks_max",
        "timeout_ms",
        "tokens",
        "turn_bytes_max",
        "turn_steps_max",
    )

    def __init__(
        self,
        foreach_limit: int = 100_000,
        pure_nodes_max: int = 1_000,
        dispatches_max: int = 3,
        nesting_max: int = 50,
        timeout_ms: int | None = None,
        retries_left: int = 0,
        *,
        live_tokens: int | None = None,
        tokens: int = 10_000_000,
        events: int = 100_000_000,
        context_bytes: int = 256_000_000,
        bytes_written: int = 20_000_000_000,
        pure_steps: int = 100_000,
        evaluation_steps: int = STEPS_MAX,
        function_wait_ms: int = 86_400_000,
        turn_bytes_max: int = 16_000_000,
        turn_steps_max: int = 1_000_000,
        singly_max: int | None = None,
        tasks_max: int | None = None,
        record_io: Literal["all", "failed", "none"] = "all",
        on_timeout: OnWorkflowTimeout = "fail",
    ) -> None:
        self.foreach_limit = foreach_limit
        self.record_io = record_io
        self.pure_nodes_max = pure_nodes_max
        self.dispatches_max = dispatches_max
        # Each level around a token costs a look at its `_branch.output`, and one level of `_branch.parent`.
        self.nesting_max = nesting_max
        # In the place of the definition's own, if a trigger says so (PHS-6).
        self.timeout_ms, self.on_timeout = timeout_ms, on_timeout
        self.retries_left = retries_left
        # A run that doubles its branches again and again would else take all memory, and hold up every other run.
        self.live_tokens = foreach_limit * LIVE_FOREACHES if live_tokens is None else live_tokens
        self.tokens, self.events = tokens, events
        self.context_bytes, self.bytes_written = context_bytes, bytes_written
        self.pure_steps = pure_steps
        # Of one node, and not of a turn: where a turn ends may depend on the time, and what fails a run may not.
        self.evaluation_steps = evaluation_steps
        self.function_wait_ms = function_wait_ms
        # What one turn decides is in memory until it is stored.
        self.turn_bytes_max = turn_bytes_max
        # A fifth of a second: then others have their turn.
        self.turn_steps_max = turn_steps_max
        self.ended_singly_max = ended_singly_max if singly_max is None else singly_max
        # The others stay `pending`, which takes a third of the memory of a task that waits in line at a worker.
        self.tasks_max = TASKS_MAX if tasks_max is None else tasks_max


def over_limit(name: str, found: int, most: int) -> Failure:
    """Give the failure of a run that has reached one of the `run_limits` of its project."""
    what, advice = _TOLD[name]
    message = (
        f"the run reached {what.format(found)}, and its limit run_limits.{name} is {most:,}; {advice}, or raise the"
        f" limit with `wonder project set run_limits.{name} N` and retry the run"
    )
    return Failure(CODE + name.upper(), message, details={"limit": f"run_limits.{name}", "found": found, "most": most})


def evaluation_failure(error: WonderError, attempts: int = 0) -> Failure:
    """Turn an error of a mapping, an expression or a target into a failure, or into that of the run's limit."""
    if isinstance(error, TooManySteps):
        return Failure(error.code, str(error), attempts, details=error.details)
    return failure_of(error, attempts)


def is_run_limit(failure: Failure) -> bool:
    """Say whether a failure is that of a run's limit, which fails the run however its branches are joined."""
    return failure.code.startswith(CODE)
