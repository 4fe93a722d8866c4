"""Watching runs: what actions tell comes to whoever looks, in order, from any thread, and is not kept."""

import asyncio
import threading
from typing import Any

from wonder.actions.protocol import Origin
from wonder.observe.watching import Progress, Watchers

ORIGIN = Origin("project", "run-1", "node", "0.1")
SECONDS = 5.0


async def test_each_that_watches_a_run_is_told_and_others_are_not() -> None:
    watchers = Watchers()
    with watchers.watch("run-1") as one, watchers.watch("run-1") as two, watchers.watch("run-2") as other:
        watchers.tell(ORIGIN, "step", {"done": 1})
        told = [Progress("node", "0.1", "step", {"done": 1})]
        assert (one.take(), two.take(), other.take()) == (told, told, [])
        assert one.take() == []
    assert len(watchers) == 0


async def test_nothing_is_kept_when_nobody_watches() -> None:
    watchers = Watchers()
    watchers.tell(ORIGIN, "step", "before")
    assert not watchers._by_run
    with watchers.watch("run-1") as watcher:
        assert watcher.take() == []


async def test_of_one_that_does_not_look_the_oldest_are_dropped() -> None:
    watchers = Watchers()
    with watchers.watch("run-1", messages_max=3) as watcher:
        for i in range(10):
            watchers.tell(ORIGIN, "step", i)
        assert [message.progress for message in watcher.take()] == [7, 8, 9]
        assert watcher.dropped == 7


async def test_what_is_told_in_other_threads_comes_in_order_and_wakes_the_watcher() -> None:
    watchers = Watchers()

    def work(name: str) -> None:
        for i in range(300):
            watchers.tell(ORIGIN, name, i)

    with watchers.watch("run-1", messages_max=10_000) as watcher:
        threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
        for thread in threads:
            thread.start()
        seen: dict[str, list[Any]] = {"a": [], "b": [], "c": []}
        async with asyncio.timeout(SECONDS):
            async for message in watcher.messages():
                seen[message.step].append(message.progress)
                if sum(map(len, seen.values())) == 900:
                    break
        for thread in threads:
            thread.join()
    assert seen == {name: list(range(300)) for name in "abc"}


async def test_what_has_come_before_the_end_is_still_given() -> None:
    watchers = Watchers()
    with watchers.watch("run-1") as watcher:
        watchers.tell(ORIGIN, "step", "last")
        watcher.end()
        async with asyncio.timeout(SECONDS):
            assert [message.progress async for message in watcher.messages()] == ["last"]


async def test_what_is_no_json_is_not_told_and_what_is_changed_later_was_copied() -> None:
    watchers, told = Watchers(), {"items": [1]}
    with watchers.watch("run-1") as watcher:
        wrong: Any = {"x": object()}
        watchers.tell(ORIGIN, "step", wrong)
        watchers.tell(ORIGIN, "step", told)  # type: ignore[arg-type]
        told["items"].append(2)
        assert [message.progress for message in watcher.take()] == [{"items": [1]}]
