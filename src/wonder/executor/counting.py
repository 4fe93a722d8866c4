"""Counting: what a task evaluates is counted together, also what its actions evaluate between their waits (RES-6)."""

from collections.abc import Callable, Coroutine, Generator
from types import coroutine
from typing import Any, ParamSpec, TypeVar

from wonder.language import steps
from wonder.language.steps import Steps

Given = ParamSpec("Given")
Result = TypeVar("Result")


def counted(spent: Steps, evaluate: Callable[Given, Result], *given: Given.args, **options: Given.kwargs) -> Result:
    """Evaluate something, and count its steps; raises TooManySteps besides what it raises itself."""
    before = steps.begin(spent)
    try:
        return evaluate(*given, **options)
    finally:
        steps.end(before)


@coroutine
def counted_work(spent: Steps, work: Coroutine[Any, Any, Result]) -> Generator[Any, Any, Result]:
    """Do some work, and count the steps of what it evaluates; while it waits, others count their own."""
    failure: BaseException | None = None
    while True:
        before = steps.begin(spent)
        try:
            waits_for = work.send(None) if failure is None else work.throw(failure)
        except StopIteration as end:
            result: Result = end.value
            return result
        finally:
            steps.end(before)
        failure = None
        try:
            yield waits_for
        except GeneratorExit:
            work.close()
            raise
        except BaseException as error:
            failure = error
