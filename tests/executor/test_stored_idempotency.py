"""Acting once per key with records in the database: durable first, whatever fails or is cancelled (RET-4)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from support.faulty_stores import FaultyStore
from support.tasks import ORIGIN, Bench, ManualEnvironment, action, bench, step, task, until
from wonder.errors import WonderError
from wonder.executor.environment import Environment, SystemEnvironment
from wonder.executor.results import TaskResult
from wonder.executor.stored_idempotency import StoredIdempotency
from wonder.storage.errors import (
    ConnectionLost,
    DatabaseBusy,
    DatabaseFailed,
    DiskFull,
    LeaseLost,
    ValueRefused,
    WriteRefused,
)
from wonder.storage.runs.leases import Lease, claim_lease
from wonder.storage.store import Fence, Store

CHARGE = action("charge", idempotency={"key_template": "order-{{input.order}}"})


class SlowStore:
    """A real store whose commits wait for a word."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.asked, self.go = asyncio.Event(), asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def commit(self, batch: Any, *, fence: Fence | None = None, **options: Any) -> None:
        """Wait, then commit."""
        self.asked.set()
        await self.go.wait()
        await self._store.commit(batch, fence=fence, **options)


class Till:
    """What charges, and counts how often."""

    def __init__(self) -> None:
        self.charged: list[int] = []

    async def __call__(self, order: int) -> int:
        """Act, and give how often that was."""
        self.charged.append(order)
        return len(self.charged)


@pytest.fixture
async def lease(store: Store) -> AsyncIterator[Lease]:
    """The right to write."""
    taken = await claim_lease(store, "owner")
    assert taken
    yield taken
    await taken.release()


@asynccontextmanager
async def working(store: Any, lease: Lease, environment: Environment | None = None) -> AsyncIterator[Bench]:
    """An executor that keeps what it does in the database."""
    environment = environment or SystemEnvironment(seed=1)
    idempotency = StoredIdempotency(store, lease, environment)
    async with bench(environment=environment, idempotency=idempotency) as it:
        yield it
    await idempotency.close()
    assert len(idempotency._claims) == 0


async def charge(it: Bench, till: Till, order: int = 7, **fields: Any) -> TaskResult:
    """Charge for an order."""
    return await it.run(task(step("charge"), **fields), {"order": order}, CHARGE, charge=till)


async def test_ret_4_a_second_execution_returns_the_first_result_after_a_restart(store: Store, lease: Lease) -> None:
    """RET-4: and one with another key acts."""
    till = Till()
    outputs = []
    for order in (7, 7, 8, 7):
        async with working(store, lease) as it:
            outputs += [(await charge(it, till, order)).output, (await charge(it, till, order)).output]
    assert outputs == [1, 1, 1, 1, 2, 2, 1, 1]
    assert till.charged == [7, 8]


async def test_ret_4_the_result_is_durable_before_it_is_used(store: Store, lease: Lease) -> None:
    """RET-4: neither the next step nor one that waits for the same key goes on before."""
    slow, till = SlowStore(store), Till()
    async with working(slow, lease) as it:
        first = asyncio.create_task(charge(it, till))
        await slow.asked.wait()
        second = asyncio.create_task(charge(it, till))
        await asyncio.sleep(0.05)
        assert not first.done()
        assert not second.done()
        slow.go.set()
        assert [(await first).output, (await second).output] == [1, 1]
    assert till.charged == [7]


async def test_ret_4_an_action_without_a_key_asks_the_database_nothing(store: Store, lease: Lease) -> None:
    faulty, till = FaultyStore(store), Till()
    faulty.fetch = None  # type: ignore[attr-defined]  # whoever reads falls over it
    async with working(faulty, lease) as it:
        assert (await it.run(task(step("charge")), {"order": 7}, charge=till)).output == 1
    assert faulty.commits == 0


async def test_ret_4_many_that_end_at_once_share_commits(store: Store, lease: Lease) -> None:
    counting, till = FaultyStore(store), Till()
    async with working(counting, lease) as it:
        compiled = it.compiled(task(step("charge")), CHARGE, charge=till)
        inputs: list[Any] = [{"order": number % 80} for number in range(160)]
        results = await asyncio.gather(*(it.executor.run(compiled, input, ORIGIN) for input in inputs))
        again = await asyncio.gather(*(it.executor.run(compiled, input, ORIGIN) for input in inputs))
    assert sorted(till.charged) == list(range(80))
    assert [result.output for result in results[:80]] == [result.output for result in results[80:]]
    assert [result.output for result in again] == [result.output for result in results]
    assert counting.commits <= 40
    assert counting.most_inside == 1


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    "error",
    [ConnectionLost("x"), DatabaseBusy("x"), DiskFull("x"), WriteRefused("x"), DatabaseFailed("x")],
    ids=lambda error: error.code,
)
async def test_ret_4_a_database_that_is_away_for_a_while_does_not_make_an_action_act_again(
    store: Store, lease: Lease, error: WonderError, when: str
) -> None:
    faulty, till = FaultyStore(store), Till()
    for ahead in (1, 2, 3):
        faulty.fail(ahead, error, when)
    environment = ManualEnvironment()
    async with working(faulty, lease, environment) as it:
        outputs = [(await charge(it, till)).output for _ in range(2)]
    assert (outputs, till.charged) == ([1, 1], [7])
    assert environment.slept == [50, 100, 200]


async def test_ret_4_a_database_that_can_not_be_read_for_a_while_holds_up_and_does_not_fail(
    store: Store, lease: Lease
) -> None:
    till, faults = Till(), [ConnectionLost("x"), DatabaseBusy("x")]

    class Unreadable(FaultyStore):
        async def fetch(self, name: str, *parameters: Any) -> Any:
            if faults:
                raise faults.pop()
            return await self._store.fetch(name, *parameters)

    async with working(Unreadable(store), lease, ManualEnvironment()) as it:
        assert (await charge(it, till)).output == 1
    assert not faults


async def test_ret_4_a_record_that_is_refused_fails_its_own_action_only_and_frees_its_key(
    store: Store, lease: Lease
) -> None:
    till = Till()

    class Refusing(FaultyStore):
        async def commit(self, batch: Any, **options: Any) -> None:
            entries = list(batch)
            if any(row[2] == "order-3" for _, rows in entries for row in rows):
                raise ValueRefused("keep_record", "x")
            await super().commit(entries, **options)

    async with working(Refusing(store), lease) as it:
        compiled = it.compiled(task(step("charge")), CHARGE, charge=till)
        results = await asyncio.gather(*(it.executor.run(compiled, {"order": n}, ORIGIN) for n in range(6)))
    failed = [number for number, result in enumerate(results) if result.error]
    assert failed == [3]
    assert results[3].error
    assert results[3].error.code == "VALUE_REFUSED"


async def test_ret_4_one_that_is_cancelled_while_its_success_is_written_has_acted_all_the_same(
    store: Store, lease: Lease
) -> None:
    """RET-4: the next waits for that, and returns the first result; what is written with it does not suffer."""
    slow, till = SlowStore(store), Till()
    async with working(slow, lease) as it:
        compiled = it.compiled(task(step("charge")), CHARGE, charge=till)
        others = [asyncio.create_task(charge(it, till, order=8))]
        await slow.asked.wait()
        results: list[TaskResult] = []
        first = it.executor.start(compiled, {"order": 7}, ORIGIN, results.append)
        others.append(asyncio.create_task(charge(it, till, order=9)))
        await until(lambda: len(till.charged) == 3)
        first.cancel()
        await until(lambda: results)
        others.append(asyncio.create_task(charge(it, till)))
        await asyncio.sleep(0.02)
        assert not any(other.done() for other in others)
        slow.go.set()
        orders = [till.charged[(await other).output - 1] for other in others]  # type: ignore[operator,index]  # a number
    assert orders == [8, 9, 7]
    assert [result.status for result in results] == ["cancelled"]
    assert sorted(till.charged) == [7, 8, 9]


async def test_ret_4_a_time_out_while_a_success_is_written_or_waited_for_is_one(store: Store, lease: Lease) -> None:
    """RET-4, TSK-5: the time of a task is over whatever it waits for."""
    slow, till = SlowStore(store), Till()
    async with working(slow, lease) as it:
        statuses = [(await charge(it, till, timeout_ms=30)).status for _ in range(2)]
        slow.go.set()
        assert (await charge(it, till)).output == 1
    assert statuses == ["timed_out", "timed_out"]
    assert till.charged == [7]


async def test_ret_4_closing_writes_what_is_under_way(store: Store, lease: Lease) -> None:
    slow, till = SlowStore(store), Till()
    async with working(slow, lease) as it:
        first = asyncio.create_task(charge(it, till))
        await slow.asked.wait()
        asyncio.get_running_loop().call_later(0.1, slow.go.set)
    assert (await first).status == "cancelled"
    async with working(store, lease) as it:
        assert (await charge(it, till)).output == 1
    assert till.charged == [7]


async def test_ret_4_closing_does_not_wait_for_a_database_that_is_away(store: Store, lease: Lease) -> None:
    slow, till = SlowStore(store), Till()
    idempotency = StoredIdempotency(slow, lease, SystemEnvironment())
    async with bench(idempotency=idempotency) as it:
        first = asyncio.create_task(charge(it, till))
        await slow.asked.wait()
    assert (await first).status == "cancelled"
    async with asyncio.timeout(60):
        await idempotency.close()
    async with working(store, lease) as it:
        assert (await charge(it, till)).output == 2, "what was not kept is at least once"


async def test_inv_5_an_owner_that_was_replaced_keeps_nothing_and_acts_no_more(store: Store, lease: Lease) -> None:
    """RET-4: also where the task would try again, and with a key that is new."""
    lost: list[LeaseLost] = []
    environment = ManualEnvironment()
    idempotency = StoredIdempotency(store, lease, environment)
    idempotency.on_lost = lost.append
    charged: list[int] = []

    async def charge(order: int) -> int:
        charged.append(order)
        await lease.release()
        assert await claim_lease(store, "second")
        return order

    retried = task(
        step("charge", on_failure="retry"), retry={"max_attempts": 3, "backoff": "none", "initial_delay_ms": 1}
    )
    async with bench(environment=environment, idempotency=idempotency) as it:
        for order in (7, 8):
            result = await it.run(retried, {"order": order}, CHARGE, charge=charge)
            assert result.error
            assert result.error.code == "LEASE_LOST"
    assert charged == [7]
    assert lost
    assert await store.query("SELECT count(*) FROM idempotency_records") == [(0,)]


async def test_inv_5_an_owner_that_is_stopped_at_a_claim_takes_no_further_step(store: Store, lease: Lease) -> None:
    """RET-4: though the task would go on after a failed step."""
    till, shipped = Till(), Till()
    results: list[TaskResult] = []
    idempotency = StoredIdempotency(store, lease, SystemEnvironment())
    await lease.release()
    assert await claim_lease(store, "second")
    async with bench(idempotency=idempotency) as it:
        both = task(step("charge", on_failure="continue"), step("ship"))
        compiled = it.compiled(both, CHARGE, charge=till, ship=shipped)
        under_way = it.executor.start(compiled, {"order": 7}, ORIGIN, results.append)
        idempotency.on_lost = lambda error: under_way.cancel()
        await until(lambda: results)
    assert [result.status for result in results] == ["cancelled"]
    assert till.charged == shipped.charged == []
