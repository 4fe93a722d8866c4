"""A mixed load, watched: a small share of what `python -m proof load` does, and the rules that it judges by."""

from collections.abc import Callable

import pytest
from proof.loads.flatness import Measure, Point, Rule, at_most, grows_less_than, grows_steadily, not_higher

from proof import load


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_under_a_mixed_load_nothing_grows_and_nothing_is_violated(
    database: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """INV-1 to INV-4: memory, descriptors, threads and what is held in memory stay as they were."""
    arguments = ["--minutes", "0.33", "--seed", "7", "--rate", "12", "--database", database]
    assert load.main(arguments) == 0, capfd.readouterr().out
    printed = capfd.readouterr().out
    assert "\nflat\n" in printed
    for kind in ("answers", "cancels", "events", "forks", "pauses", "refused ITEM_CLOSED", "refused RUN_NOT_LIVE"):
        assert f"{kind} " in printed


def measured(value: Callable[[int], float], rule: Rule) -> Measure:
    """Make a measure of 100 values, ten a minute."""
    return Measure("something", rule, [Point(number / 10, value(number)) for number in range(100)])


@pytest.mark.parametrize(
    ("rule", "flat", "bent"),
    [
        (grows_less_than(10, 5), lambda n: 1_000 + n % 7, lambda n: 1_000 + 3 * n),
        (grows_less_than(10, 5), lambda n: 50 * (n < 15), lambda n: 3 * n),  # what is in the warm-up does not count
        (grows_less_than(10, 5), lambda n: 9_000 if n % 10 == 0 else 0, lambda n: 2 * n),  # nor do outliers
        (not_higher(), lambda n: 16, lambda n: 16 + (n > 80)),
        (not_higher(2), lambda n: 16 + n % 3, lambda n: 16 + n // 10),
        (at_most(1.5, 10), lambda n: 20 + n % 10, lambda n: 20 + n),
        (at_most(1.5, 10), lambda n: 500 if n % 9 == 0 else 20, lambda n: 20 if n < 60 else 45),
        (grows_steadily(1.5, 2), lambda n: 10 * n, lambda n: n * n),
    ],
)
def test_a_measure_is_flat_by_its_rule_and_bent_by_what_grows(
    rule: Rule, flat: Callable[[int], float], bent: Callable[[int], float]
) -> None:
    assert measured(flat, rule).is_flat
    assert not measured(bent, rule).is_flat
    assert "NOT FLAT" in str(measured(bent, rule))
