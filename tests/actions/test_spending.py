"""Budgets and limits of calls of models (RES-6): never overspent, whatever runs at once and whenever a process ends."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from wonder.actions.money.call_line import CallLine
from wonder.actions.money.spending import StoredSpending
from wonder.actions.protocol import ActionContext, ActionFailed, Origin
from wonder.actions.resources import Tenancy
from wonder.app.ids import new_ulid
from wonder.clock import SystemClock
from wonder.definitions.records.tenancy import ProjectSettings, WorkspaceSettings
from wonder.storage.errors import ConnectionLost
from wonder.storage.runs.leases import Lease, claim_lease
from wonder.storage.spending import (
    HOUR_MS,
    NANO_PER_CENT,
    SUM_MAX_NANOUSD,
    Standing,
    extension_entry,
    forget_old_calls,
    month_of,
    standing,
)
from wonder.storage.store import Store

NOVEMBER_MS = 1_794_787_200_000  # 2026-11-16
DECEMBER_MS = NOVEMBER_MS + 20 * 86_400_000


class Time(SystemClock):
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.ms = NOVEMBER_MS

    def now_ms(self) -> int:
        """The time."""
        return self.ms


@pytest.fixture
async def lease(store: Store) -> AsyncIterator[Lease]:
    """The right to write."""
    taken = await claim_lease(store, "owner")
    assert taken
    yield taken
    await taken.release()


@pytest.fixture
def time() -> Time:
    """The time of the tests."""
    return Time()


@pytest.fixture
async def spending(store: Store, lease: Lease, time: Time) -> AsyncIterator[StoredSpending]:
    """What is tested."""
    made = StoredSpending(store, lease, time, new_ulid)
    yield made
    await made.close()


def tenancy(budget: Any = None, workspace: Any = None, calls: int | None = None) -> Tenancy:
    """A project and its workspace with budgets."""
    project = ProjectSettings.model_validate({"budget": budget or {}, "rate_limits": {"max_llm_calls_per_hour": calls}})
    return Tenancy("W", WorkspaceSettings.model_validate({"budget": workspace or {}}), "P", project)


def context(run_id: str = "run", deadline_ms: float | None = None, told: list[Any] | None = None) -> ActionContext:
    """What a call is made with."""
    origin = Origin("P", run_id, "node")
    return ActionContext(origin, "step", 1, task_due_ms=deadline_ms, on_progress=None if told is None else told.append)


async def spend(spending: StoredSpending, of: Tenancy, worst: float, cost: float | None, **at: Any) -> ActionContext:
    """Make a call."""
    given = context(**at)
    async with spending.call(given, of, worst) as call:
        await asyncio.sleep(0)
        if cost is not None:
            call.charge(cost)
    return given


async def test_res_6_calls_at_once_never_overspend(store: Store, spending: StoredSpending) -> None:
    of, made, most = tenancy({"max_monthly_spend_cents": 50}), 0, 0

    async def call() -> None:
        nonlocal made, most
        async with spending.call(context(), of, 0.01) as call:
            made += 1
            now = await standing(store, "P", "2026-11")
            most = max(most, now.spent_nanousd + now.reserved_nanousd)
            call.charge(0.01)

    ended = await asyncio.gather(*[call() for _ in range(200)], return_exceptions=True)
    refused = [error for error in ended if isinstance(error, ActionFailed)]
    assert (made, len(refused), {error.code for error in refused}) == (50, 150, {"BUDGET_EXCEEDED"})
    assert most <= 50 * NANO_PER_CENT
    assert await standing(store, "P", "2026-11") == Standing(50 * NANO_PER_CENT, 0, 0)
    assert await standing(store, "W", "2026-11") == Standing(50 * NANO_PER_CENT, 0, 0)


async def test_res_6_what_was_reserved_and_not_spent_can_be_spent_by_others(spending: StoredSpending) -> None:
    of = tenancy({"max_monthly_spend_cents": 100})
    for _ in range(10):
        await spend(spending, of, 0.99, 0.001)


async def test_res_6_a_call_of_which_nothing_is_known_counts_its_worst_case(
    store: Store, spending: StoredSpending
) -> None:
    with pytest.raises(RuntimeError):
        async with spending.call(context(), tenancy({"max_monthly_spend_cents": 100}), 0.4):
            raise RuntimeError
    assert (await standing(store, "P", "2026-11")).spent_nanousd == 40 * NANO_PER_CENT


async def test_res_6_both_budgets_must_allow_a_call(store: Store, spending: StoredSpending) -> None:
    of = tenancy({"max_monthly_spend_cents": 100, "on_exceeded": "human_gate"}, {"max_monthly_spend_cents": 30})
    await spend(spending, of, 0.2, 0.2)
    with pytest.raises(ActionFailed, match=r"of the workspace's budget for 2026-11 0\.100000 USD are left") as refused:
        await spend(spending, of, 0.2, 0.2)
    details: Any = refused.value.details
    assert (refused.value.retryable, details["on_exceeded"]) == (False, "human_gate")
    assert [one["id"] for one in details["budgets"]] == ["W"]
    # Nothing is left of what the project's budget had allowed.
    assert await standing(store, "P", "2026-11") == Standing(20 * NANO_PER_CENT, 0, 0)


async def test_res_6_a_budget_of_nothing_allows_nothing_but_what_is_free(spending: StoredSpending) -> None:
    of = tenancy({"max_monthly_spend_cents": 0})
    await spend(spending, of, 0.0, 0.0)
    with pytest.raises(ActionFailed):
        await spend(spending, of, 0.000_000_001, 0.0)


async def test_res_6_a_budget_that_is_overspent_is_called_so(spending: StoredSpending) -> None:
    await spend(spending, tenancy({"max_monthly_spend_cents": 10}), 0.1, 0.1)
    with pytest.raises(ActionFailed, match=r"the project's budget for 2026-11 is spent; ask for fewer"):
        await spend(spending, tenancy({"max_monthly_spend_cents": 10}), 0.1, 0.1)
    with pytest.raises(ActionFailed, match=r"the project's budget for 2026-11 is spent, and 0\.060000 USD more; ask"):
        await spend(spending, tenancy({"max_monthly_spend_cents": 4}), 0.1, 0.1)


async def test_res_6_a_month_begins_with_the_whole_budget(spending: StoredSpending, time: Time) -> None:
    of = tenancy({"max_monthly_spend_cents": 10})
    await spend(spending, of, 0.1, 0.1)
    with pytest.raises(ActionFailed):
        await spend(spending, of, 0.1, 0.1)
    time.ms = DECEMBER_MS
    await spend(spending, of, 0.1, 0.1)


async def test_res_6_a_person_can_extend_a_budget(store: Store, spending: StoredSpending) -> None:
    of = tenancy({"max_monthly_spend_cents": 10})
    await store.commit([extension_entry(["P"], 5, NOVEMBER_MS)])
    await spend(spending, of, 0.15, 0.15)
    with pytest.raises(ActionFailed):
        await spend(spending, of, 0.01, 0.01)


async def test_res_6_an_alert_is_told_once_when_its_threshold_is_crossed(spending: StoredSpending) -> None:
    of = tenancy({"alert_threshold_cents": 15}, {"alert_threshold_cents": 25})
    noted = [(await spend(spending, of, 0.1, 0.1)).noted for _ in range(4)]
    told = [[(type, metadata["scope"]) for type, metadata in one or []] for one in noted]
    assert told == [[], [("budget_alert", "project")], [("budget_alert", "workspace")], []]


async def test_res_6_a_threshold_below_what_is_spent_already_is_told_with_the_next_call(
    spending: StoredSpending, time: Time
) -> None:
    async def told(cents: int) -> list[Any]:
        noted = (await spend(spending, tenancy({"alert_threshold_cents": cents}), 0.1, 0.1)).noted
        return [metadata["threshold_cents"] for _, metadata in noted or []]

    await spend(spending, tenancy(), 0.5, 0.5)
    await spending.close()
    assert [await told(cents) for cents in (30, 30, 20, 20, 200)] == [[30], [], [20], [], []]
    time.ms += 31 * 24 * HOUR_MS
    assert [await told(cents) for cents in (20, 20, 20)] == [[], [20], []]


async def test_res_6_what_nobody_limits_is_added_up_all_the_same(store: Store, spending: StoredSpending) -> None:
    await asyncio.gather(*[spend(spending, tenancy(), 1.0, 0.01) for _ in range(20)])
    await spending.close()
    assert await standing(store, "P", "2026-11") == Standing(20 * NANO_PER_CENT, 0, 0)
    with pytest.raises(ActionFailed):
        await spend(spending, tenancy({"max_monthly_spend_cents": 20}), 0.01, 0.01)


async def test_res_6_a_price_beyond_all_numbers_keeps_nobody_elses_spending_from_being_stored(
    store: Store, spending: StoredSpending
) -> None:
    """Without a budget a price is an author's: 10^15 dollars for a call, of which the sum takes more than 64 bits."""
    other = Tenancy("W2", WorkspaceSettings(), "P2", ProjectSettings())
    for of in (tenancy(), tenancy(calls=100), other):
        for cost in (1e15, 1e300, None) if of is not other else (0.05,):
            await spend(spending, of, 1e300, cost)
    await spending.close()
    assert (await standing(store, "P2", "2026-11")).spent_nanousd == 5 * NANO_PER_CENT
    assert (await standing(store, "P", "2026-11")).spent_nanousd > 10**17


async def test_res_6_sums_end_where_two_of_them_still_fit_into_the_database(
    store: Store, spending: StoredSpending
) -> None:
    """Whatever an author's prices add up to, and however often somebody extends a budget."""
    for _ in range(3):
        await store.commit([("add_spending", [("P", "2026-11", SUM_MAX_NANOUSD)])])
        for _ in range(4):
            await store.commit([extension_entry(["P"], 100_000_000_000, NOVEMBER_MS)])
    assert await standing(store, "P", "2026-11") == Standing(SUM_MAX_NANOUSD, 0, SUM_MAX_NANOUSD)
    await spend(spending, tenancy({"max_monthly_spend_cents": 2**53 - 1}), 0.01, 0.01)
    with pytest.raises(ActionFailed, match="budget"):
        await spend(spending, tenancy(workspace={"max_monthly_spend_cents": 1}), 0.02, 0.02)
    assert (await standing(store, "P", "2026-11")).spent_nanousd == SUM_MAX_NANOUSD


async def test_inv_1_what_a_process_reserved_when_it_ended_counts_as_spent(store: Store, time: Time) -> None:
    first = await claim_lease(store, "first")
    assert first
    entered = StoredSpending(store, first, time, new_ulid).call(
        context(), tenancy({"max_monthly_spend_cents": 100}), 0.6
    )
    await entered.__aenter__()
    await first.release()
    second = await claim_lease(store, "second")
    assert second
    after = StoredSpending(store, second, time, new_ulid)
    await after.recover()
    await after.recover()
    assert await standing(store, "P", "2026-11") == Standing(60 * NANO_PER_CENT, 0, 0)
    # The first one comes back, and may not write any more (INV-5).
    await entered.__aexit__(None, None, None)
    assert await standing(store, "P", "2026-11") == Standing(60 * NANO_PER_CENT, 0, 0)
    await second.release()


async def test_res_6_an_alert_that_lost_calls_have_reached_is_told_by_the_next_call(store: Store, time: Time) -> None:
    of = tenancy({"max_monthly_spend_cents": 100, "alert_threshold_cents": 50}, {"alert_threshold_cents": 99})
    first = await claim_lease(store, "first")
    assert first
    entered = StoredSpending(store, first, time, new_ulid).call(context(), of, 0.6)
    await entered.__aenter__()
    await first.release()
    second = await claim_lease(store, "second")
    assert second
    after = StoredSpending(store, second, time, new_ulid)
    await after.recover()
    noted = [(await spend(after, of, 0.01, 0.01)).noted for _ in range(2)]
    told = [[(type, metadata["scope"], metadata["month"]) for type, metadata in one or []] for one in noted]
    assert told == [[("budget_alert", "project", "2026-11")], []]
    await entered.__aexit__(None, None, None)
    await second.release()


async def test_inv_3_a_call_that_is_cancelled_is_settled_all_the_same(store: Store, spending: StoredSpending) -> None:
    begun = asyncio.Event()

    async def call() -> None:
        async with spending.call(context(), tenancy({"max_monthly_spend_cents": 100}), 0.5):
            begun.set()
            await asyncio.sleep(3_600)

    task = asyncio.create_task(call())
    await begun.wait()
    task.cancel()
    await asyncio.wait([task])
    assert await standing(store, "P", "2026-11") == Standing(50 * NANO_PER_CENT, 0, 0)


async def test_inv_3_a_call_that_is_cancelled_before_it_began_holds_nothing(
    store: Store, spending: StoredSpending
) -> None:
    """Whatever the database was doing in that moment."""
    of = tenancy({"max_monthly_spend_cents": 1_000})
    for turns in range(40):
        task = asyncio.create_task(spend(spending, of, 0.01, 0.0))
        for _ in range(turns):
            await asyncio.sleep(0.0002)
        task.cancel()
        await asyncio.wait([task])
    await spending.close()
    assert (await standing(store, "P", month_of(NOVEMBER_MS))).reserved_nanousd == 0
    assert await store.query("SELECT count(*) FROM reservations") == [(0,)]


class LosingStore:
    """Loses its connection after a number of transactions, which were stored."""

    def __init__(self, store: Store, losses: int) -> None:
        self._store, self._losses = store, losses

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        """Store, and say that it is not known."""
        async with self._store.transaction() as transaction:
            yield transaction
        self._losses -= 1
        if self._losses >= 0:
            raise ConnectionLost("gone")


async def test_inv_3_a_call_waits_for_a_database_that_comes_back(store: Store, lease: Lease, time: Time) -> None:
    """And what was stored without our knowing it is not held twice."""
    losing: Any = LosingStore(store, 1)
    spending = StoredSpending(losing, lease, time, new_ulid)
    await spend(spending, tenancy({"max_monthly_spend_cents": 1}), 0.01, 0.01)
    assert await standing(store, "P", "2026-11") == Standing(NANO_PER_CENT, 0, 0)


async def test_res_6_calls_over_the_limit_of_an_hour_wait_and_then_fail(spending: StoredSpending, time: Time) -> None:
    of, told = tenancy(calls=2), list[Any]()
    await spend(spending, of, 0.0, 0.0)
    time.ms += 1_000
    await spend(spending, of, 0.0, 0.0)
    with pytest.raises(ActionFailed) as refused:
        await spend(spending, of, 0.0, 0.0, deadline_ms=time.ms + 100, told=told)
    assert (refused.value.code, refused.value.retryable) == ("RATE_LIMITED", True)
    assert refused.value.retry_after_ms == HOUR_MS - 1_000
    assert told[0] == {"waiting_for": "max_llm_calls_per_hour", "until_ms": NOVEMBER_MS + HOUR_MS}
    time.ms = NOVEMBER_MS + HOUR_MS
    await spend(spending, of, 0.0, 0.0)
    with pytest.raises(ActionFailed):
        await spend(spending, of, 0.0, 0.0, deadline_ms=time.ms + 50)


@pytest.mark.parametrize("budget", [None, {"max_monthly_spend_cents": 100}])
async def test_res_6_a_limit_of_calls_counts_the_hour_before_it_was_set(
    spending: StoredSpending, time: Time, budget: Any
) -> None:
    for _ in range(3):
        await spend(spending, tenancy(budget), 0.0, 0.0)
        time.ms += 1_000
    await spending.close()
    with pytest.raises(ActionFailed) as refused:
        await spend(spending, tenancy(budget, calls=3), 0.0, 0.0, deadline_ms=time.ms + 100)
    assert refused.value.code == "RATE_LIMITED"
    await spend(spending, tenancy(budget, calls=4), 0.0, 0.0, deadline_ms=time.ms + 100)


async def test_res_6_old_calls_are_forgotten(store: Store, spending: StoredSpending, time: Time) -> None:
    await spend(spending, tenancy(calls=5), 0.0, 0.0)
    time.ms += HOUR_MS
    await spend(spending, tenancy(calls=5), 0.0, 0.0)
    async with store.transaction() as transaction:
        await forget_old_calls(transaction, time.ms)
    assert await store.query("SELECT count(*) FROM model_calls") == [(1,)]


async def test_res_6_runs_take_turns_in_the_line() -> None:
    line, order, told = CallLine(), list[str](), list[Any]()
    go = asyncio.Event()

    async def call(run_id: str) -> None:
        async with line.turn(run_id, told.append):
            order.append(run_id)
            await go.wait()

    calls = [asyncio.create_task(call(run_id)) for run_id in ("a", "a", "a", "a", "b", "c")]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert [one["ahead"] for one in told] == [1, 2, 3, 4, 5]
    calls[2].cancel()
    go.set()
    await asyncio.wait(calls)
    assert order == ["a", "a", "b", "c", "a"]
    assert line.length == 0


@pytest.mark.parametrize(("deadline_ms", "waits"), [(100, 0.08), (2_000, 1.6), (60_000, 59.0), (0, 0.0)])
async def test_res_6_a_call_leaves_the_line_early_enough_to_say_why(
    spending: StoredSpending, time: Time, monkeypatch: pytest.MonkeyPatch, deadline_ms: int, waits: float
) -> None:
    """At the end of its time the action is aborted as timed out; on a busy machine that came first."""
    waited: list[float | None] = []

    def note(seconds: float | None) -> asyncio.Timeout:
        waited.append(seconds)
        return asyncio.Timeout(0)

    of = tenancy(calls=1)
    await spend(spending, of, 0.0, 0.0)
    monkeypatch.setattr(asyncio, "timeout", note)
    with pytest.raises(ActionFailed) as refused:
        await spend(spending, of, 0.0, 0.0, deadline_ms=time.ms + deadline_ms)
    assert (refused.value.code, waited) == ("RATE_LIMITED", [pytest.approx(waits)])


async def test_res_6_those_whose_time_is_over_in_the_same_moment_leave_the_line_together() -> None:
    line, ended = CallLine(), list[str]()

    async def call(run_id: str, seconds: float | None) -> None:
        try:
            async with line.turn(run_id, lambda told: None):
                await asyncio.sleep(seconds or 0)
        finally:
            ended.append(run_id)

    calls = [asyncio.create_task(call(run_id, 3_600)) for run_id in ("a", "b", "b", "c")]
    last = asyncio.create_task(call("d", None))
    await asyncio.sleep(0.01)
    for one in calls:
        one.cancel()
    done = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(one) for one in done] == [asyncio.CancelledError] * 4
    async with asyncio.timeout(60):
        await last
    assert line.length == 0
