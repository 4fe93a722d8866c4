"""Steps: the work of queries, expressions, templates and writes that are evaluated together, counted and bounded.

Each of them has a bound of its own; a definition may have thousands. A caller that evaluates several in a row,
without a wait between them, gives all of them one `Steps`. Steps and not time, so that the same values always give
the same count.
"""

from contextvars import ContextVar
from typing import Final

from wonder.errors import WonderError
from wonder.language.values import JsonValue

STEPS_MAX: Final = 5_000_000
"""How many steps are enough for what is evaluated at a time, unless a project says otherwise: one or two seconds."""
LARGE: Final = 256
"""What is smaller than this (characters of a text, elements of a list) is not worth counting."""

# How much C gets done in the time of one step, a fifth of a microsecond: characters of a text, elements of a container.
_CHARACTERS_A_STEP: Final = 32
_ELEMENTS_A_STEP: Final = 8


class TooManySteps(WonderError):
    """What is evaluated together takes more steps than it may."""

    code = "RUN_LIMIT_EVALUATION_STEPS"

    def __init__(self, most: int) -> None:
        super().__init__(
            "what queries, expressions, templates and mappings do for one node or task takes more than "
            f"{most:,} steps, and its limit run_limits.evaluation_steps is {most:,}; let them read less, or several "
            "nodes do it, or raise the limit with `wonder project set run_limits.evaluation_steps N` and retry the run"
        )
        self.most = most
        self.details: dict[str, JsonValue] = {"limit": "run_limits.evaluation_steps", "most": most}


class Steps:
    """How many steps several evaluations may still take together."""

    __slots__ = ("left", "most")

    def __init__(self, most: int) -> None:
        self.left = self.most = most

    def spend(self, count: int) -> None:
        """Count steps; raises TooManySteps when there are too many."""
        self.left -= count
        if self.left < 0:
            raise TooManySteps(self.most)


# A context variable and no argument: a LIKE is many closures away from the caller that evaluates its expression.
_counted: ContextVar[Steps | None] = ContextVar("counted", default=None)


# Not functions around these, because each decision of the engine calls both.
begin: Final = _counted.set
"""Count what is evaluated from here on in a `Steps`; `end` has to follow before anything is waited for."""
end: Final = _counted.reset
"""Count no more, or where it was counted before; takes what `begin` gave."""


def spend(count: int) -> None:
    """Count steps, if anybody does; raises TooManySteps when there are too many."""
    steps = _counted.get()
    if steps is not None:
        steps.spend(count)


def spend_on_text(length: int) -> None:
    """Count the work on a text of so many characters."""
    if length > LARGE:
        spend(length // _CHARACTERS_A_STEP)


def spend_on_elements(count: int) -> None:
    """Count the work of copying or looking through so many elements."""
    if count > LARGE:
        spend(count // _ELEMENTS_A_STEP)
