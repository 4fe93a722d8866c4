"""Budgets and limits of calls of models, kept in the database: reserved before a call, charged after it (RES-6)."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from math import ceil
from typing import Any, Final, TypeVar

from wonder.actions.money.call_line import CallLine
from wonder.actions.protocol import ActionContext, ActionFailed
from wonder.actions.resources import Tenancy
from wonder.backoff import insist
from wonder.clock import Clock
from wonder.definitions.records.tenancy import Budget
from wonder.engine.events import BUDGET_ALERT, BudgetAlert
from wonder.errors import WonderError
from wonder.storage.errors import ConnectionLost, DatabaseBusy, LeaseLost
from wonder.storage.runs.leases import Lease
from wonder.storage.spending import (
    NANO,
    NANO_PER_CENT,
    SUM_MAX_NANOUSD,
    Budgeted,
    Refused,
    Reservation,
    TooSoon,
    call_rows,
    charge,
    charge_lost,
    month_of,
    reserve,
)
from wonder.storage.store import NewId, Row, Store

_CLOSING_SECONDS: Final = 1.0
# So long before its time is over a call leaves the line at the latest.
_SPARE_SECONDS: Final = 1.0
# More than any call costs at the highest price that an operator can set.
_CALL_MAX_USD: Final = 100_000_000
# Prices are an author's where there is no budget: then no call is held for more, so that thousands of them add up.
_FREE_MAX_USD: Final = 1_000_000

T = TypeVar("T")

log = logging.getLogger("wonder.actions")


class Call:
    """A call that may be made; its worst case is reserved until it ends."""

    __slots__ = ("nanousd",)

    def __init__(self) -> None:
        self.nanousd: int | None = None

    def charge(self, cost_usd: float) -> None:
        """Say what the call has cost, also when it failed; without it, the worst case counts."""
        self.nanousd = to_nanousd(cost_usd)


class StoredSpending:
    """What projects and workspaces spend, by the process that has the lease."""

    def __init__(self, store: Store, lease: Lease, clock: Clock, new_id: NewId) -> None:
        self._store, self._lease, self._clock, self._new_id = store, lease, clock, new_id
        self._lines: dict[str, CallLine] = {}
        self._spent: dict[tuple[str, str], int] = {}
        self._calls: list[tuple[str, int, str]] = []
        self._is_writing = False
        self._under_way: set[asyncio.Task[Any]] = set()

    async def recover(self) -> None:
        """Settle what processes before this one have reserved, at its worst case."""
        lost = await charge_lost(self._store, self._lease)
        if lost:
            log.warning("%d calls of models were under way when their process ended; their worst case counts", lost)

    @asynccontextmanager
    async def call(self, context: ActionContext, tenancy: Tenancy, worst_case_usd: float) -> AsyncIterator[Call]:
        """Wait in line for a call and reserve what it can cost at most; raises ActionFailed if it may not be made."""
        calls_max = tenancy.project.rate_limits.max_llm_calls_per_hour
        budgets = _budgets(tenancy)
        is_free = all(budget.is_free for budget in budgets)
        worst, call = to_nanousd(min(worst_case_usd, _FREE_MAX_USD) if is_free else worst_case_usd), Call()
        if calls_max is None and is_free:
            # Nobody limits it: what it costs is added up, and nothing has to be waited for.
            self._calls.append((tenancy.project_id, self._clock.now_ms(), self._new_id()))
            try:
                yield call
            finally:
                self._add(budgets, worst if call.nanousd is None else call.nanousd)
            return
        reservation = Reservation(self._new_id(), month_of(self._clock.now_ms()), worst, budgets)
        if calls_max is None:
            await self._reserve(reservation, context, tenancy, None)
        else:
            await self._wait_in_line(reservation, context, tenancy, calls_max)
        async with self._charged(reservation, call, context):
            yield call

    @asynccontextmanager
    async def embedding(self, tenancy: Tenancy, worst_case_usd: float) -> AsyncIterator[Call]:
        """Reserve what embedding can cost at most, which is no run's and no call of a model; raises ActionFailed."""
        month, call = month_of(self._clock.now_ms()), Call()
        reservation = Reservation(self._new_id(), month, to_nanousd(worst_case_usd), _budgets(tenancy))
        await self._reserve(reservation, None, tenancy, None)
        async with self._charged(reservation, call, None):
            yield call

    @asynccontextmanager
    async def _charged(
        self, reservation: Reservation, call: Call, context: ActionContext | None
    ) -> AsyncIterator[None]:
        try:
            yield
        finally:
            spent = reservation.nanousd if call.nanousd is None else call.nanousd
            # Shielded, because who is cancelled now has spent it all the same.
            await asyncio.shield(self._begin(self._charge(reservation, spent, context)))

    async def close(self) -> None:
        """Write down what is not yet, if the database takes it soon."""
        if self._under_way:
            _, late = await asyncio.wait(self._under_way, timeout=_CLOSING_SECONDS)
            for writing in late:
                writing.cancel()
            if late:
                await asyncio.wait(late)

    async def _wait_in_line(
        self, reservation: Reservation, context: ActionContext, tenancy: Tenancy, calls_max: int
    ) -> None:
        """Reserve a call when its turn has come, run by run, or fail when the action's time is over before."""
        line = self._lines.setdefault(tenancy.project_id, CallLine())
        due_ms = context.deadline_ms
        left = None if due_ms is None else max(0.0, (due_ms - self._clock.now_ms()) / 1_000)
        # Not to the last moment: on a busy machine the action would be aborted before it can say why it failed.
        seconds = None if left is None else left - min(left / 5, _SPARE_SECONDS)
        until_ms: int | None = None
        try:
            async with asyncio.timeout(seconds), line.turn(context.origin.run_id, context.report_progress):
                while until_ms := await self._reserve(reservation, context, tenancy, calls_max):
                    context.report_progress({"waiting_for": "max_llm_calls_per_hour", "until_ms": until_ms})
                    await self._clock.sleep(max(1, until_ms - self._clock.now_ms()))
        except TimeoutError:
            message = (
                f"the project calls models at most {calls_max:,} times an hour, and no call became free in the "
                "action's time; try again later, or raise max_llm_calls_per_hour"
            )
            wait_ms = None if until_ms is None else max(0, until_ms - self._clock.now_ms())
            raise ActionFailed("RATE_LIMITED", message, retryable=True, retry_after_ms=wait_ms) from None

    async def _reserve(
        self, reservation: Reservation, context: ActionContext | None, tenancy: Tenancy, calls_max: int | None
    ) -> int | None:
        """Reserve a call; give until when no more are allowed this hour. Raises ActionFailed over a budget."""
        answer = await insist(
            lambda: self._try_to_reserve(reservation, context, calls_max),
            # No reason to fail a run: the database will be back, or the action's time is over.
            passing=(ConnectionLost, DatabaseBusy),
            clock=self._clock,
            report=_reporter("what a call of a model may cost can't be reserved"),
        )
        if isinstance(answer, Refused):
            raise _exceeded(answer, reservation, tenancy)
        return answer.until_ms if isinstance(answer, TooSoon) else None

    async def _try_to_reserve(
        self, reservation: Reservation, context: ActionContext | None, calls_max: int | None
    ) -> Refused | TooSoon | None:
        run_id, now_ms = context.origin.run_id if context else None, self._clock.now_ms()
        # Shielded, because who is cancelled in the middle of it would not know what was written.
        reserving = self._begin(reserve(self._store, self._lease, reservation, run_id, now_ms, calls_max))
        try:
            return await asyncio.shield(reserving)
        except asyncio.CancelledError:
            self._begin(self._release(reserving, reservation, context))
            raise
        except (ConnectionLost, DatabaseBusy):
            # It may be written all the same, if only the answer was lost.
            await asyncio.shield(self._begin(self._charge(reservation, 0, context)))
            raise

    async def _release(
        self,
        reserving: "asyncio.Task[Refused | TooSoon | None]",
        reservation: Reservation,
        context: ActionContext | None,
    ) -> None:
        """Give back what was reserved for a call that nobody makes any more."""
        await asyncio.wait([reserving])
        if not reserving.cancelled() and not isinstance(reserving.exception(), LeaseLost):
            await self._charge(reservation, 0, context)

    async def _charge(self, reservation: Reservation, nanousd: int, context: ActionContext | None) -> None:
        try:
            alerts = await self._insist_on_writing(lambda: charge(self._store, self._lease, reservation, nanousd))
        except LeaseLost:
            return  # The process that has it now counts the worst case.
        for budget in alerts:
            _alert(budget, reservation.month, context)

    def _add(self, budgets: tuple[Budgeted, ...], nanousd: int) -> None:
        month = month_of(self._clock.now_ms())
        for budget in budgets:
            key = (budget.id, month)
            self._spent[key] = self._spent.get(key, 0) + nanousd
        if not self._is_writing:
            self._is_writing = True
            self._begin(self._write())

    async def _write(self) -> None:
        """Add up what was spent without a limit; while one commit is under way, the next sum grows."""
        try:
            while self._spent or self._calls:
                await self._insist_on_writing(self._write_sum)
        except LeaseLost:
            return
        finally:
            self._is_writing = False

    async def _write_sum(self) -> None:
        spent, self._spent = self._spent, {}
        calls, self._calls = self._calls, []
        # In the order in which reservations lock them.
        rows: list[Row] = [(*key, min(total, SUM_MAX_NANOUSD)) for key, total in sorted(spent.items())]
        try:
            entries = [("add_spending", rows), call_rows(calls)]
            await self._store.commit(entries, fence=self._lease.fence, independent=True)
        except LeaseLost:
            raise
        except WonderError:
            self._calls = calls + self._calls
            for key, nanousd in spent.items():
                self._spent[key] = self._spent.get(key, 0) + nanousd
            raise

    async def _insist_on_writing(self, attempt: Callable[[], Awaitable[T]]) -> T:
        report = _reporter("what calls of models have cost can't be written")
        return await insist(attempt, passing=(WonderError,), final=(LeaseLost,), clock=self._clock, report=report)

    def _begin(self, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        task = asyncio.get_running_loop().create_task(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return task


def _reporter(what: str) -> Callable[[WonderError, float], None]:
    return lambda error, pause_ms: log.warning("%s: %s; trying again in %d ms", what, error, pause_ms)


def _alert(budget: Budgeted, month: str, context: ActionContext | None) -> None:
    alert = (budget.alert_nanousd or 0) // NANO_PER_CENT
    named = (budget.scope, budget.name, alert, budget.id)
    log.warning("the %s %r has spent its alert_threshold_cents of %d (id %s)", *named)
    if context:
        told: BudgetAlert = {
            "scope": budget.scope,
            "id": budget.id,
            "name": budget.name,
            "month": month,
            "threshold_cents": alert,
        }
        context.note(BUDGET_ALERT(told))


def _budgets(tenancy: Tenancy) -> tuple[Budgeted, Budgeted]:
    return (
        _budgeted("project", tenancy.project_id, tenancy.project_name, tenancy.project.budget),
        _budgeted("workspace", tenancy.workspace_id, tenancy.workspace_name, tenancy.workspace.budget),
    )


def to_nanousd(usd: float) -> int:
    """Give an amount in billionths of a dollar, rounded up: a budget holds for what is really asked for."""
    if not usd < _CALL_MAX_USD:  # what is no number neither
        return _CALL_MAX_USD * NANO
    return max(0, ceil(round(usd * NANO, 3)))


def _budgeted(scope: str, id: str, name: str, budget: Budget) -> Budgeted:
    most, alert = budget.max_monthly_spend_cents, budget.alert_threshold_cents
    return Budgeted(
        scope,  # type: ignore[arg-type]  # one of two words of ours
        id,
        None if most is None else min(int(most) * NANO_PER_CENT, SUM_MAX_NANOUSD),
        None if alert is None else min(int(alert) * NANO_PER_CENT, SUM_MAX_NANOUSD),
        name,
    )


def _exceeded(refused: Refused, reservation: Reservation, tenancy: Tenancy) -> ActionFailed:
    told = [
        {
            "scope": budget.scope,
            "id": budget.id,
            "max_cents": (budget.max_nanousd or 0) // NANO_PER_CENT,
            "extended_cents": standing.extended_nanousd // NANO_PER_CENT,
            "spent_usd": standing.spent_nanousd / NANO,
            "reserved_usd": standing.reserved_nanousd / NANO,
        }
        for budget, standing in refused.budgets
    ]
    budget, standing = refused.budgets[0]
    left = ((budget.max_nanousd or 0) + standing.extended_nanousd - standing.spent_nanousd) / NANO
    whose = f"the {budget.scope}'s budget for {reservation.month}"
    message = f"the call may cost up to {reservation.nanousd / NANO:.6f} USD, and "
    if left > 0:
        held = standing.reserved_nanousd / NANO
        message += f"of {whose} {left:.6f} USD are left, {held:.6f} of them held for calls under way"
    else:
        message += f"{whose} is spent" + (f", and {-left:.6f} USD more" if left < 0 else "")
    if tenancy.project.budget.on_exceeded == "fail":
        raised = f"wonder {budget.scope} set budget.max_monthly_spend_cents CENTS"
        message += f"; ask for fewer tokens, or raise it: {raised}"
    details = {
        "on_exceeded": tenancy.project.budget.on_exceeded,
        "asked_usd": reservation.nanousd / NANO,
        "month": reservation.month,
        "budgets": told,
    }
    return ActionFailed("BUDGET_EXCEEDED", message, details=details)  # type: ignore[arg-type]  # it is JSON
