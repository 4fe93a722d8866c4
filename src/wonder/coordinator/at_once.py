"""Work that begins at once: what never has to wait needs neither an asyncio task nor a turn of the loop."""

from collections.abc import Coroutine, Generator
from contextlib import suppress
from types import coroutine
from typing import Any


def begin(work: Coroutine[Any, Any, None]) -> Coroutine[Any, Any, None] | None:
    """Do some work up to where it first has to wait; gives what is left of it, to be made a task, or None.

    Until then it is part of whatever asyncio task is the current one, so it may not ask for that.
    """
    try:
        waits_for = work.send(None)
    except StopIteration:
        return None
    return _rest(work, waits_for)


async def _rest(work: Coroutine[Any, Any, None], waits_for: Any) -> None:
    await _go_on(work, waits_for)


@coroutine
def _go_on(work: Coroutine[Any, Any, None], waits_for: Any) -> Generator[Any, Any, None]:
    """Pass on what work waits for, and what comes of it."""
    with suppress(StopIteration):
        while True:
            try:
                yield waits_for
            except GeneratorExit:
                work.close()
                raise
            except BaseException as error:
                waits_for = work.throw(error)
            else:
                waits_for = work.send(None)
