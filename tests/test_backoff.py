"""Trying again after errors: how long the pauses are, what is tried again, and what ends it."""

import asyncio

import pytest

from wonder.backoff import Backoff, doubled_ms, insist
from wonder.errors import WonderError


class Passing(WonderError):
    """An error that is gone later."""


class Final(Passing):
    """An error that stays, though its base passes."""


class Database:
    """Fails as often as it is told to, and notes what is asked of it."""

    def __init__(self, *errors: Exception) -> None:
        self.errors, self.pauses, self.reports = list(errors), list[float](), list[tuple[WonderError, float]]()

    async def answer(self) -> str:
        """Fail, or answer."""
        if self.errors:
            raise self.errors.pop(0)
        return "answer"

    async def insist(self) -> str:
        """Ask until there is an answer."""
        return await insist(
            self.answer,
            passing=(Passing,),
            final=(Final,),
            clock=self,
            report=lambda *told: self.reports.append(told),
        )

    async def sleep(self, milliseconds: float) -> None:
        """Note the pause."""
        self.pauses.append(milliseconds)
        await asyncio.sleep(0)


def test_pauses_double_up_to_the_longest_and_begin_anew_after_a_success() -> None:
    backoff = Backoff(50, 300)
    assert [backoff.next_ms() for _ in range(5)] == [50, 100, 200, 300, 300]
    backoff.reset()
    assert backoff.next_ms() == 50


def test_a_pause_after_very_many_failures_is_still_a_number() -> None:
    assert doubled_ms(1, 100_000) == 2**60
    backoff = Backoff()
    assert max(backoff.next_ms() for _ in range(2_000)) == 5_000


async def test_what_passes_is_tried_again_and_reported_with_the_pause_that_follows() -> None:
    errors = [Passing("one"), Passing("two")]
    database = Database(*errors)
    assert await database.insist() == "answer"
    assert database.pauses == [50, 100]
    assert database.reports == [(errors[0], 50), (errors[1], 100)]


@pytest.mark.parametrize("error", [Final("stays"), WonderError("another"), ValueError("a bug")])
async def test_what_does_not_pass_is_raised(error: Exception) -> None:
    database = Database(Passing("passes"), error)
    with pytest.raises(type(error)) as raised:
        await database.insist()
    assert raised.value is error
    assert database.pauses == [50]


async def test_a_cancellation_that_an_error_replaced_ends_it() -> None:
    database = Database()

    async def hide() -> str:
        try:
            await asyncio.sleep(60)
        finally:
            raise Passing("in the place of the cancellation")

    database.answer = hide  # type: ignore[method-assign]
    task = asyncio.create_task(database.insist())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert database.pauses == []
