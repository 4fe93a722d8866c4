"""What is known of one attempt of an action: whose it is, its time, and what it has used and stored."""

from typing import Protocol

import msgspec

from wonder.language.steps import STEPS_MAX


class Usage(msgspec.Struct, frozen=True):
    """What actions have used up; sums with `+`."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cost_usd + other.cost_usd,
        )


NOTHING_USED = Usage()


class StoredArtifact(msgspec.Struct, frozen=True):
    """An artifact that an action has stored."""

    artifact_id: str
    content_type: str
    size_bytes: int


class Origin(msgspec.Struct, frozen=True):
    """Where a task belongs: its project and run, the ref of its node, and its token with the path of it."""

    project_id: str
    run_id: str
    node: str
    branch: str = "0"
    token_id: str = ""
    evaluation_steps: int = STEPS_MAX
    """How much its queries, expressions, templates and mappings may do (`run_limits.evaluation_steps`)."""
    records_output: bool = True
    """Whether its output is recorded (`record_io`)."""


class AttemptClock(Protocol):
    """What counts the time of an attempt against its limit; `due_ms` is the time of day when that is over."""

    due_ms: float | None

    def hold(self) -> None:
        """Stop counting."""

    def begin(self) -> None:
        """Count from zero."""
