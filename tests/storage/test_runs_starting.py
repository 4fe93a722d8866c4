"""Starting runs with idempotency keys: a start counts once, however many arrive and wherever (CTL-17)."""

import asyncio
from typing import Any

import pytest

from support.recorded_runs import PROJECT
from wonder.errors import WonderError
from wonder.storage.errors import ConstraintViolated
from wonder.storage.opening import open_store
from wonder.storage.runs.errors import IdempotencyKeyReused
from wonder.storage.runs.headers import load_header
from wonder.storage.runs.recording import Batch
from wonder.storage.runs.records import NewRun
from wonder.storage.runs.starting import Accepted, Starts, holders_of_keys, input_hash, insert_runs
from wonder.storage.store import Store


def new_run(id: str, key: str | None = None, value: Any = 1, workflow_id: str | None = "workflow") -> NewRun:
    return NewRun(
        id=id,
        project_id=PROJECT,
        workflow_id=workflow_id,
        workflow_def_id="definition",
        workflow_version=1,
        input={"x": value},
        created_ms=5,
        idempotency_key=key,
        input_hash=input_hash({"x": value}),
    )


async def ids(store: Store) -> list[object]:
    return [id for (id,) in await store.query("SELECT id FROM runs ORDER BY id")]


async def test_ctl_17_the_same_key_and_input_give_the_first_run(store: Store) -> None:
    assert await insert_runs(store, [new_run("a", "k")]) == [Accepted("a", True)]
    assert await insert_runs(store, [new_run("b", "k"), new_run("c")]) == [Accepted("a", False), Accepted("c", True)]
    assert await ids(store) == ["a", "c"]
    header = await load_header(store, "a")
    assert (header.status, header.queued_input, header.idempotency_key) == ("queued", {"x": 1}, "k")


async def test_ctl_17_the_same_key_with_another_input_is_a_conflict(store: Store) -> None:
    await insert_runs(store, [new_run("a", "k")])
    refused, accepted = await insert_runs(store, [new_run("b", "k", 2), new_run("c", "other", 2)])
    assert isinstance(refused, IdempotencyKeyReused)
    assert (refused.code, refused.key, refused.run_id) == ("IDEMPOTENCY_KEY_REUSED", "k", "a")
    assert accepted == Accepted("c", True)
    assert await ids(store) == ["a", "c"]


async def test_ctl_17_a_key_is_per_workflow_and_a_run_without_one_has_none(store: Store) -> None:
    runs = [new_run("a", "k"), new_run("b", "k", workflow_id="other"), new_run("c", "k", workflow_id=None)]
    runs += [new_run("d", "k", workflow_id=None), new_run("e"), new_run("f")]
    assert await insert_runs(store, runs) == [Accepted(run.id, True) for run in runs]


async def test_ctl_17_starts_that_arrive_together_make_one_run(store: Store) -> None:
    outcomes = await insert_runs(store, [new_run("a", "k"), new_run("b", "k"), new_run("c", "k", 2)])
    assert outcomes[:2] == [Accepted("a", True), Accepted("a", False)]
    assert isinstance(outcomes[2], IdempotencyKeyReused)
    assert await ids(store) == ["a"]


async def test_ctl_17_starts_that_race_on_many_connections_make_one_run_per_key(store: Store, store_url: str) -> None:
    other = await open_store(store_url)
    batches = [
        [new_run(f"{number}-{key}", f"key{key}") for key in (range(10) if number % 2 else reversed(range(10)))]
        for number in range(8)
    ]
    stores = [store, other] * 4
    found = await asyncio.gather(*(insert_runs(one, batch) for one, batch in zip(stores, batches, strict=True)))
    winners: dict[str, set[str]] = {}
    for batch, outcomes in zip(batches, found, strict=True):
        for run, outcome in zip(batch, outcomes, strict=True):
            assert isinstance(outcome, Accepted)
            winners.setdefault(run.idempotency_key or "", set()).add(outcome.run_id)
    assert {key: len(runs) for key, runs in winners.items()} == {f"key{key}": 1 for key in range(10)}
    assert await store.query("SELECT count(*) FROM runs") == [(10,)]
    await other.close()


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": 1}, {"a": 1.0}, False),
        ({"a": 1}, {"a": True}, False),
        ({"a": None}, {}, False),
        ([1, 2], [2, 1], False),
    ],
)
def test_ctl_17_inputs_are_the_same_whatever_the_order_of_their_keys(one: Any, other: Any, same: bool) -> None:
    assert (input_hash(one) == input_hash(other)) == same


async def test_ctl_17_a_start_is_found_by_the_next_before_it_is_durable(store: Store) -> None:
    starts, batch, first = Starts(), Batch(), new_run("a", "k")
    assert await starts.accept(store, first) == Accepted("a", True)
    batch.start(first)
    assert await starts.accept(store, new_run("b", "k")) == Accepted("a", False)
    with pytest.raises(IdempotencyKeyReused):
        await starts.accept(store, new_run("c", "k", 2))
    await store.commit(batch.entries())
    starts.forget(first)
    assert await starts.accept(store, new_run("b", "k")) == Accepted("a", False)
    with pytest.raises(IdempotencyKeyReused):
        await starts.accept(store, new_run("c", "k", 2))
    assert await starts.accept(store, new_run("d")) == Accepted("d", True)


async def test_ctl_17_starts_in_one_process_that_ask_at_once_make_one_run(store: Store) -> None:
    starts = Starts()
    runs = [new_run(f"r{number}", "k") for number in range(20)]
    found = await asyncio.gather(*(starts.accept(store, run) for run in runs))
    (winner,) = {accepted.run_id for accepted in found}
    assert [accepted.is_new for accepted in found].count(True) == 1
    for run in runs:
        starts.forget(run)
    assert await holders_of_keys(store, [("workflow", "k")]) == {}, f"{winner} was never stored"
    assert await starts.accept(store, runs[3]) == Accepted("r3", True), "a failed commit frees the key"


async def test_ctl_17_two_processes_that_store_the_same_key_in_batches_do_not_both_succeed(store: Store) -> None:
    one, two = Batch(), Batch()
    one.start(new_run("a", "k"))
    two.start(new_run("b", "k"))
    await store.commit(one.entries())
    with pytest.raises(ConstraintViolated):
        await store.commit(two.entries())
    assert await ids(store) == ["a"]


async def test_nothing_is_stored_when_one_run_can_not_be(store: Store) -> None:
    await insert_runs(store, [new_run("a")])
    with pytest.raises(WonderError):
        await insert_runs(store, [new_run("b", "k"), new_run("a")])
    assert await ids(store) == ["a"]
    assert await insert_runs(store, []) == []


async def test_ctl_17_a_start_whose_question_was_overtaken_asks_again(store: Store) -> None:
    """The first was not stored when it was asked, and was stored and forgotten before the answer came."""
    starts, first, answered = Starts(), new_run("a", "k"), asyncio.Event()

    class Slow:
        """Asks at once, and hands the answer over later."""

        async def fetch(self, name: str, *parameters: Any) -> Any:
            rows = await store.fetch(name, *parameters)
            await answered.wait()
            return rows

    second = asyncio.create_task(starts.accept(Slow(), new_run("b", "k")))  # type: ignore[arg-type]  # all it is asked
    await asyncio.sleep(0.05)
    assert await starts.accept(store, first) == Accepted("a", True)
    await insert_runs(store, [first])
    starts.forget(first)
    answered.set()
    assert await second == Accepted("a", False)
