"""Shrinking: a scenario that fails is made as small as it gets while it still fails."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final, TypeVar

from simulation.scenario import NODES_MAX, Scenario, play_of, scenario_of

_NODES_MIN: Final = 3
Item = TypeVar("Item")


def shrink(scenario: Scenario, fails: Callable[[Scenario], bool]) -> Scenario:
    """Leave out faults, then wishes, then nodes, one by one, as long as it fails without them."""
    while True:
        for smaller in _smaller(scenario):
            if fails(smaller):
                scenario = smaller
                break
        else:
            return scenario


def _smaller(scenario: Scenario) -> Iterator[Scenario]:
    if len(scenario.faults) > 1:
        half = len(scenario.faults) // 2
        yield replace(scenario, faults=scenario.faults[:half])
        yield replace(scenario, faults=scenario.faults[half:])
    for number in range(len(scenario.faults)):
        yield replace(scenario, faults=_without(scenario.faults, number))
    for number in reversed(range(len(scenario.wishes))):
        yield replace(scenario, wishes=_without(scenario.wishes, number))
    for nodes_max in range(_NODES_MIN, scenario.nodes_max if scenario.pattern is None else 0):
        yield replace(scenario, nodes_max=nodes_max)


def _without(items: tuple[Item, ...], number: int) -> tuple[Item, ...]:
    return (*items[:number], *items[number + 1 :])


def replay_command(scenario: Scenario) -> str:
    """Give the command that replays a scenario, whole or made smaller."""
    pattern = scenario.pattern
    whole = scenario_of(scenario.seed) if pattern is None else play_of(pattern, scenario.seed)
    command = f"python -m simulation --seed {scenario.seed}"
    if pattern is not None:
        command += f" --pattern {pattern}"
    if scenario.nodes_max != NODES_MAX:
        command += f" --nodes {scenario.nodes_max}"
    if scenario.wishes != whole.wishes:
        command += f" --wishes {_numbers(whole.wishes, scenario.wishes)}"
    if scenario.faults != whole.faults:
        command += f" --faults {_numbers(whole.faults, scenario.faults)}"
    return command


def _numbers(all_of_them: tuple[object, ...], kept: tuple[object, ...]) -> str:
    left, numbers = list(kept), []
    for number, one in enumerate(all_of_them):
        if left and left[0] == one:
            numbers.append(number)
            left.pop(0)
    return ",".join(map(str, numbers)) or "none"
