"""The pool of threads."""

import asyncio
import threading
import time

import pytest

from support.tasks import until
from wonder.actions.threads import Threads


async def test_a_call_returns_what_its_function_returns_or_raises() -> None:
    """And again and again, on the same thread."""
    threads = Threads(threads_max=1)
    assert await threads.call(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        await threads.call(lambda: 1 // 0)
    names = {await threads.call(threading.get_ident) for _ in range(5)}
    assert len(names) == 1
    threads.close()


async def test_no_more_functions_run_at_once_than_there_are_threads() -> None:
    """The others wait in line, in order."""
    threads, running, most, order = Threads(threads_max=3), 0, 0, []
    lock = threading.Lock()

    def work(number: int) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
            order.append(number)
        time.sleep(0.02)
        with lock:
            running -= 1

    await asyncio.gather(*[threads.call(lambda n=n: work(n)) for n in range(20)])
    assert most == 3
    assert sorted(order) == list(range(20))
    assert order[-3:] != [0, 1, 2]
    threads.close()


async def test_on_start_is_called_when_a_thread_is_free() -> None:
    """Not before."""
    threads, release, started = Threads(threads_max=1), threading.Event(), []
    first = asyncio.create_task(threads.call(release.wait))
    await asyncio.sleep(0)
    second = asyncio.create_task(threads.call(lambda: None, lambda: started.append(1)))
    await asyncio.sleep(0.02)
    assert started == []
    release.set()
    await asyncio.gather(first, second)
    assert started == [1]
    threads.close()


async def test_a_call_that_is_cancelled_in_line_is_never_run_and_blocks_nobody() -> None:
    """Its place in line goes to the next."""
    threads, release, ran = Threads(threads_max=1), threading.Event(), []
    first = asyncio.create_task(threads.call(release.wait))
    await asyncio.sleep(0)
    second = asyncio.create_task(threads.call(lambda: ran.append("second")))
    third = asyncio.create_task(threads.call(lambda: ran.append("third")))
    await asyncio.sleep(0)
    second.cancel()
    release.set()
    await asyncio.gather(first, third)
    assert ran == ["third"]
    threads.close()


async def test_lost_threads_are_replaced_up_to_a_bound_and_counted_until_they_return() -> None:
    """Beyond the bound they take up places of the pool, so that the number of threads has an end."""
    threads, release = Threads(threads_max=2, lost_max=3), threading.Event()
    begun: list[int] = []
    for lost in range(1, 5):
        blocked = asyncio.create_task(threads.call(lambda: begun.append(1) or release.wait()))
        # One that had not begun would return at once, without having run.
        await until(lambda lost=lost: len(begun) == lost)
        blocked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await blocked
        assert threads.lost == lost
    # Four are lost, three of them replaced: one of the two places is left.
    assert await threads.call(lambda: "still one") == "still one"
    blocked = asyncio.create_task(threads.call(release.wait))
    waiting = asyncio.create_task(threads.call(lambda: "then"))
    await asyncio.sleep(0.02)
    assert not waiting.done()
    release.set()
    assert await waiting == "then"
    assert await blocked is True
    await until(lambda: threads.lost == 0)
    assert sorted(await asyncio.gather(*[threads.call(lambda n=n: n) for n in range(10)])) == list(range(10))
    threads.close()


async def test_a_lost_thread_that_is_not_replaced_lets_nobody_in() -> None:
    """Its place is free only when it returns."""
    threads, release = Threads(threads_max=2, lost_max=0), threading.Event()
    blocked = [asyncio.create_task(threads.call(release.wait)) for _ in range(2)]
    await asyncio.sleep(0)
    waiting = asyncio.create_task(threads.call(lambda: "at last"))
    await asyncio.sleep(0.01)
    blocked[0].cancel()
    await asyncio.sleep(0.02)
    assert (threads.lost, waiting.done()) == (1, False)
    release.set()
    assert await waiting == "at last"
    await blocked[1]
    threads.close()


async def test_cancelling_at_any_moment_loses_no_place() -> None:
    """A few hundred calls, each cancelled or not around the time when it returns."""
    threads = Threads(threads_max=2, lost_max=2)
    for number in range(300):
        call = asyncio.create_task(threads.call(lambda: time.sleep(0.0001)))
        for _ in range(number % 7):
            await asyncio.sleep(0)
        if number % 3:
            await asyncio.sleep(0.00005 * (number % 5))
            call.cancel()
        await asyncio.gather(call, return_exceptions=True)
    await until(lambda: threads.lost == 0)
    assert (threads._busy, len(threads._line)) == (0, 0)
    assert await asyncio.gather(*[threads.call(lambda n=n: n) for n in range(4)]) == [0, 1, 2, 3]
    threads.close()
    await until(lambda: not [t for t in threading.enumerate() if t.name == "wonder-function" and t.is_alive()])


def test_a_loop_that_is_closed_while_a_thread_works_does_no_harm() -> None:
    """The thread ends when its function returns."""
    threads, release = Threads(), threading.Event()

    async def abandon() -> None:
        call = asyncio.create_task(threads.call(lambda: release.wait(2)))
        await asyncio.sleep(0.01)
        call.cancel()

    asyncio.run(abandon())
    release.set()
    deadline = time.monotonic() + 60
    while any(thread.name == "wonder-function" for thread in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.005)
