"""Spending: what calls of models may cost is reserved before they begin, and charged when they have ended (RES-6)."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final, Literal, NamedTuple

from wonder.storage.runs.cells import number, text
from wonder.storage.runs.leases import Lease, check_lease
from wonder.storage.store import Entry, Reader, Store, Transaction

NANO: Final = 1_000_000_000
NANO_PER_CENT: Final = NANO // 100
HOUR_MS: Final = 3_600_000
SUM_MAX_NANOUSD: Final = 4_000_000_000 * NANO
"""No budget or sum is larger, as spending.sql has it too."""
_AT_ONCE: Final = 500


class Budgeted(NamedTuple):
    """A project or workspace that a call counts against, in billionths of a dollar; None for no limit."""

    scope: Literal["project", "workspace"]
    id: str
    max_nanousd: int | None = None
    alert_nanousd: int | None = None
    name: str = ""

    @property
    def is_free(self) -> bool:
        """Whether nothing has to be looked at before or after a call."""
        return self.max_nanousd is None and self.alert_nanousd is None


class Standing(NamedTuple):
    """What a project or workspace has spent in a month, holds for calls under way, and was given beyond its budget."""

    spent_nanousd: int
    reserved_nanousd: int
    extended_nanousd: int


class Reservation(NamedTuple):
    """A call that may begin."""

    id: str
    month: str
    nanousd: int
    budgets: tuple[Budgeted, ...]


class Refused(NamedTuple):
    """The budgets that do not allow a call, and how they stand."""

    budgets: list[tuple[Budgeted, Standing]]


class TooSoon(NamedTuple):
    """A limit of calls per hour that is reached until a time."""

    until_ms: int


def month_of(now_ms: int) -> str:
    """Name the calendar month of a time, in UTC."""
    return datetime.fromtimestamp(now_ms / 1_000, UTC).strftime("%Y-%m")


async def reserve(
    store: Store, lease: Lease, reservation: Reservation, run_id: str | None, now_ms: int, calls_max: int | None
) -> Refused | TooSoon | None:
    """Reserve the worst case of a call, durably; or say why it may not begin, and then nothing was written.

    What no run asked for is no call that a limit counts. Raises LeaseLost.
    """
    try:
        async with store.transaction() as transaction:
            await check_lease(transaction, lease.fence)
            await _reserve_in_budgets(transaction, reservation)
            if run_id is not None:
                await _count_call(transaction, reservation, now_ms, calls_max)
            ids = (reservation.id, *_ids(reservation), run_id or "")
            amount = (reservation.month, reservation.nanousd, lease.owner_id, lease.epoch, now_ms)
            await transaction.execute("insert_reservation", *ids, *amount)
    except _NotNow as error:
        return error.reason
    return None


async def _reserve_in_budgets(transaction: Transaction, reservation: Reservation) -> None:
    refused = []
    # Always in the same order, so that two of them never wait for each other.
    for budget in sorted(reservation.budgets, key=lambda budget: budget.id):
        row = (budget.id, reservation.month)
        await transaction.execute("ensure_spending", *row)
        if not await transaction.execute("reserve_spending", *row, reservation.nanousd, budget.max_nanousd):
            refused.append((budget, await standing(transaction, *row)))
    if refused:
        raise _NotNow(Refused(refused))


async def _count_call(transaction: Transaction, reservation: Reservation, now_ms: int, calls_max: int | None) -> None:
    """Count a call, also where nothing limits them: a limit that is set later counts the hour before."""
    project_id, _ = _ids(reservation)
    if calls_max is not None:
        until_ms = await calls_full_until(transaction, project_id, calls_max, now_ms)
        if until_ms is not None:
            raise _NotNow(TooSoon(until_ms))
    await transaction.execute("insert_model_call", project_id, now_ms, reservation.id)


def call_rows(calls: Sequence[tuple[str, int, str]]) -> Entry:
    """Give the statement that counts calls which nothing limits: project, time and an id of each."""
    return "insert_model_call", [list(call) for call in calls]


async def calls_full_until(reader: Reader, project_id: str, calls_max: int, now_ms: int) -> int | None:
    """Say until when a project may call no model, if it has called so many in the last hour."""
    full = await reader.fetch("recent_model_calls", project_id, now_ms - HOUR_MS, calls_max - 1)
    return number(full[0][0]) + HOUR_MS if full else None


async def charge(store: Store, lease: Lease, reservation: Reservation, nanousd: int) -> list[Budgeted]:
    """Put what a call has cost in the place of its reservation; give the budgets whose alert it has set off."""
    alerts = []
    async with store.transaction() as transaction:
        await check_lease(transaction, lease.fence)
        if not await transaction.execute("delete_reservation", reservation.id):
            return []
        for budget in sorted(reservation.budgets, key=lambda budget: budget.id):
            row = (budget.id, reservation.month)
            await transaction.execute("charge_spending", *row, reservation.nanousd, nanousd)
            alert = budget.alert_nanousd
            if alert is not None and await transaction.execute("tell_alert", *row, alert):
                alerts.append(budget)
    return alerts


async def charge_lost(store: Store, lease: Lease) -> int:
    """Count the calls of processes that have ended as if they had cost the worst case; say how many there were.

    Nobody knows whether they were made, and who was told that a budget holds must not pay more.
    """
    count = 0
    while True:
        async with store.transaction() as transaction:
            await check_lease(transaction, lease.fence)
            rows = await transaction.fetch("reservations_of_others", lease.owner_id, lease.epoch, _AT_ONCE)
            for id, project_id, workspace_id, month, nanousd in rows:
                await transaction.execute("delete_reservation", id)
                for scope_id in sorted((text(project_id), text(workspace_id))):
                    await transaction.execute("charge_spending", scope_id, month, nanousd, nanousd)
        count += len(rows)
        if len(rows) < _AT_ONCE:
            return count


async def standing(reader: Reader, scope_id: str, month: str) -> Standing:
    """Say what a project or workspace has spent in a month."""
    rows = await reader.fetch("spending_of", scope_id, month)
    return Standing(*map(number, rows[0])) if rows else Standing(0, 0, 0)


async def forget_old_calls(transaction: Transaction, now_ms: int) -> None:
    """Forget calls that no limit looks at any more."""
    await transaction.execute("delete_old_model_calls", now_ms - HOUR_MS)


def extension_entry(scope_ids: Sequence[str], cents: int, now_ms: int) -> Entry:
    """Give the statement that adds to budgets for the month of a time, to go with the answer that asked for it."""
    month = month_of(now_ms)
    return "extend_budget", [(scope_id, month, cents * NANO_PER_CENT) for scope_id in scope_ids]


def _ids(reservation: Reservation) -> tuple[str, str]:
    by_scope = {budget.scope: budget.id for budget in reservation.budgets}
    return by_scope["project"], by_scope["workspace"]


class _NotNow(Exception):
    """Leaves a transaction, which rolls it back."""

    def __init__(self, reason: Refused | TooSoon) -> None:
        super().__init__(reason)
        self.reason = reason
