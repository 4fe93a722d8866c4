"""What is asked of a model, and the pieces in which its answer comes: the same for all providers."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from wonder.actions.llm_call.structure import NativeForm
from wonder.actions.money.tokens import Used
from wonder.definitions.records.resources import ModelParameters

COUNT_MAX = 1_000_000_000_000
"""No model counts more tokens than this; who does is not believed."""


class Turn(NamedTuple):
    """What one side of the conversation says."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """One call of a model; `schema` is for the structured output of its provider, where that is asked for."""

    model_id: str
    parameters: ModelParameters
    system: str | None
    turns: tuple[Turn, ...]
    schema: dict[str, Any] | None = None
    is_strict: bool = False
    run_id: str = ""

    @property
    def size_bytes(self) -> int:
        """How many bytes of text are sent; a model counts at most one token for each."""
        texts = [self.system or "", *[turn.text for turn in self.turns]]
        if self.schema:
            # As libraries write it, in ASCII: no other form takes more bytes.
            texts.append(json.dumps(self.schema))
        return sum(len(text.encode("utf-8", "replace")) + 16 for text in texts)


class Text(NamedTuple):
    """The next part of the answer's text."""

    text: str


class Ended(NamedTuple):
    """The model has said all that it will; without this piece, the connection was cut."""

    how: Literal["complete", "cut_off", "refused", "filtered", "tool_call", "broken"]
    reason: str = ""


Piece: TypeAlias = Text | Used | Ended


class Provider(Protocol):
    """Speaks one wire."""

    def ask(self, question: Question) -> AsyncIterator[Piece]:
        """Send a question and give the answer as it comes; whatever goes wrong is raised, for `fault_of` to read."""

    def native(self, schema: dict[str, Any]) -> NativeForm | None:
        """Give a schema as the provider's structured output takes it; None where it can't."""

    def fault_of(self, error: Exception) -> "Fault | None":
        """Read an exception of the provider's own library; None for one that it does not know."""


class Fault(NamedTuple):
    """What a provider's library reports: an HTTP status, or no answer at all.

    `is_taken` if it was told inside the answer, after some of the work, which may be charged.
    """

    kind: Literal["status", "time_out", "lost", "garbled"]
    message: str
    status: int = 0
    retry_after_ms: int | None = None
    is_taken: bool = False


def count_of(value: object) -> int:
    """Return a number of tokens as the wire gives it; anything else counts as 0."""
    if isinstance(value, bool) or not isinstance(value, int):
        return 0
    return min(max(value, 0), COUNT_MAX)
