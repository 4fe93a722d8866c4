"""The thread that writes moves to a processor on which writes are quicker, once that is found out, and stays there."""

import os
import sys

import pytest

from wonder.storage.processors import Processors, move_to

QUICK, SLOW = 100e-6, 140e-6


class Machine:
    """Processors that are as quick as we say, and a thread that is moved."""

    def __init__(self, **seconds: float) -> None:
        self.seconds = {int(name.removeprefix("cpu")): took for name, took in seconds.items()}
        self.here, self.moves = min(self.seconds), list[int]()
        self.refused: list[int] | None = None
        self.processors = Processors(lambda: self.here, lambda: set(self.seconds), self._move)

    def _move(self, to: int) -> None:
        if self.refused is not None:
            self.refused.append(to)
            raise PermissionError
        self.here = to
        self.moves.append(to)

    def write(self, times: int) -> None:
        for _ in range(times):
            self.processors.wrote(self.seconds[self.here])


def test_a_thread_moves_away_from_where_writes_take_longer_and_stays_away() -> None:
    machine = Machine(cpu0=SLOW, cpu1=QUICK)
    machine.write(1_500)
    assert (machine.here, machine.moves) == (1, [1])


def test_where_all_are_as_quick_one_other_is_tried_and_the_thread_stays_there() -> None:
    machine = Machine(cpu0=QUICK, cpu1=QUICK, cpu2=QUICK)
    machine.write(1_500)
    assert machine.moves == [1]


def test_a_thread_goes_back_from_a_processor_that_proves_to_be_slower() -> None:
    machine = Machine(cpu0=QUICK, cpu1=SLOW)
    machine.write(1_500)
    assert machine.moves == [1, 0]


def test_a_thread_that_the_system_has_moved_returns_after_a_few_writes() -> None:
    machine = Machine(cpu0=SLOW, cpu1=QUICK)
    machine.write(100)
    machine.here = 0
    machine.write(5)
    assert machine.here == 1


def test_a_thread_that_the_system_takes_back_each_time_is_moved_ever_less_often() -> None:
    machine = Machine(cpu0=SLOW, cpu1=QUICK)
    machine.write(100)
    for _ in range(2_000):
        machine.here = 0
        machine.write(7)
    assert len(machine.moves) < 20


@pytest.mark.parametrize("usable", [{0}, {0, 1}])
def test_a_thread_that_never_arrives_is_moved_ever_less_often(usable: set[int]) -> None:
    """It is taken back before it writes, or there is nowhere to go any more."""
    machine = Machine(cpu0=SLOW, cpu1=QUICK)
    tried = list[int]()
    machine.processors = Processors(lambda: 0, lambda: usable, tried.append)
    machine.write(20_000)
    assert 1 <= len(tried) < 30


def test_a_write_that_takes_very_long_once_moves_nobody() -> None:
    machine = Machine(cpu0=QUICK, cpu1=QUICK)
    machine.write(100)
    machine.processors.wrote(10.0)
    machine.write(200)
    assert machine.moves == [1]


def test_what_was_found_out_is_found_out_anew_after_a_while() -> None:
    machine = Machine(cpu0=SLOW, cpu1=QUICK)
    machine.write(1_000)
    machine.seconds = {0: SLOW / 2, 1: QUICK}
    machine.write(2_000)
    assert machine.here == 0


def test_where_a_thread_may_not_be_moved_it_is_rarely_tried() -> None:
    machine = Machine(cpu0=SLOW, cpu1=QUICK)
    machine.refused = []
    machine.write(10_000)
    assert 1 <= len(machine.refused) <= 4


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux moves threads")
def test_a_thread_is_moved_and_not_tied() -> None:
    usable = os.sched_getaffinity(0)
    if len(usable) < 2:
        assert Processors.of_this_thread() is None
        return
    processors = Processors.of_this_thread()
    assert processors
    for one in usable:
        move_to(one)
        assert os.sched_getaffinity(0) == usable
    processors.wrote(QUICK)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux moves threads")
def test_a_processor_that_is_not_for_us_is_not_taken() -> None:
    with pytest.raises(OSError, match="not for this thread"):
        move_to(max(os.sched_getaffinity(0)) + 1)
