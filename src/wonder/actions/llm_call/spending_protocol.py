"""Where calls of models are counted against budgets and rate limits (RES-6)."""

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from wonder.actions.protocol import ActionContext
from wonder.actions.resources import Tenancy


class ReservedCall(Protocol):
    """A call that may be made; its worst case is reserved until it ends."""

    def charge(self, cost_usd: float) -> None:
        """Say what the call has cost, also when it failed; without it, the worst case counts."""


class Spending(Protocol):
    """Reserves before a call, charges after it."""

    def call(
        self, context: ActionContext, tenancy: Tenancy, worst_case_usd: float
    ) -> AbstractAsyncContextManager[ReservedCall]:
        """Wait in line for a call and reserve what it can cost at most; raises ActionFailed if it may not be made."""
