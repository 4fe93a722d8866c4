"""Which facts may be logged: those that let a run go on with one more task, and that nobody outside waits for.

What that means is in storage/logged_facts.py.
"""

from wonder.coordinator.live import LiveRun
from wonder.engine.facts import TaskCompleted
from wonder.engine.state import DISPATCHED, EXECUTING, Token
from wonder.storage.store import NewId

_WORKING = (DISPATCHED, EXECUTING)


class LoggedIds:
    """Gives new ids: the fact's own one first, so that it is the same whenever the fact is taken."""

    __slots__ = ("_first", "_new_id", "count")

    def __init__(self, first: str, new_id: NewId) -> None:
        self._first, self._new_id = first, new_id
        self.count = 0

    def __call__(self) -> str:
        """Give an id."""
        self.count += 1
        return self._first if self.count == 1 else self._new_id()


def may_be_logged(run: LiveRun, fact: TaskCompleted) -> bool:
    """Say whether a fact most likely lets the run go on with one more task, and does nothing that others wait for."""
    if fact.metrics or run.program.workflow.has_transforms:
        return False
    token = working_token(run, fact)
    return token is not None and token.scope.group is None and token.node.id in run.program.loggable


def working_token(run: LiveRun, fact: TaskCompleted) -> Token | None:
    """Give the token whose task has completed; None if that was taken before."""
    token = run.state.tokens.get(fact.token_id)
    return token if token is not None and token.status in _WORKING else None
