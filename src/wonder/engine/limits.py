"""Limits: how much one run may do, at a time and in one turn."""

from typing import Final

LIVE_FOREACHES_MAX: Final = 10
"""How many full `foreach_limit`s of branches a run may have under way at a time."""


class Limits:
    """What a project's settings and its trigger allow a run, and how much it may do in one turn (CTL-20)."""

    __slots__ = (
        "dispatches_max",
        "foreach_limit",
        "live_tokens_max",
        "nesting_max",
        "pure_nodes_max",
        "retries_left",
        "timeout_ms",
    )

    def __init__(
        self,
        foreach_limit: int = 100_000,
        pure_nodes_max: int = 1_000,
        dispatches_max: int = 3,
        nesting_max: int = 50,
        timeout_ms: int | None = None,
        retries_left: int = 0,
    ) -> None:
        self.foreach_limit = foreach_limit
        # A run that doubles its branches again and again would else take all memory, and hold up every other run.
        self.live_tokens_max = foreach_limit * LIVE_FOREACHES_MAX
        self.pure_nodes_max = pure_nodes_max
        self.dispatches_max = dispatches_max
        # Each level around a token costs a look at its `_branch.output`, and one level of `_branch.parent`.
        self.nesting_max = nesting_max
        # In the place of the definition's own, if a trigger says so (PHS-6).
        self.timeout_ms = timeout_ms
        self.retries_left = retries_left
