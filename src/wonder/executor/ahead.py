"""Work that is begun before it may have any effect: it goes as far as nobody can tell, and waits there."""

from collections.abc import Coroutine, Generator
from types import coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


def begin(work: Coroutine[Any, Any, Any]) -> bool:
    """Do some work up to where it waits for leave; False if it does not come there, and has to begin anew."""
    try:
        waits_for = work.send(None)
    except StopIteration:
        return False
    if waits_for is not _LEAVE:
        work.close()
        return False
    return True


@coroutine
def leave() -> Generator[Any, Any, None]:
    """Wait until the work may go on."""
    yield _LEAVE


@coroutine
def rest(work: Coroutine[Any, Any, Result], waits_for: Any) -> Generator[Any, Any, Result]:
    """Go on with work that has begun, and waits for something; gives what it returns."""
    while True:
        failure: BaseException | None = None
        try:
            yield waits_for
        except GeneratorExit:
            work.close()
            raise
        except BaseException as error:
            failure = error
        try:
            waits_for = work.send(None) if failure is None else work.throw(failure)
        except StopIteration as end:
            result: Result = end.value
            return result


class _Leave:
    """What is waited for."""


_LEAVE = _Leave()
