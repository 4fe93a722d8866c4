"""No false alarms: what is right is told to be right, however unusual it looks."""

import pytest

from support.definitions import GREET_EVERYONE, SAMPLES, VALID, faults_in


@pytest.mark.parametrize("name", VALID)
def test_a_valid_definition_has_no_fault_at_all(name: str) -> None:
    assert [str(fault) for fault in faults_in(VALID[name])] == []


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_has_no_fault_at_all(name: str) -> None:
    assert [str(fault) for fault in faults_in(SAMPLES[name])] == []


def test_the_example_of_the_specification_has_no_fault_at_all() -> None:
    assert faults_in(GREET_EVERYONE) == []


def test_there_are_enough_of_them() -> None:
    assert len(VALID) >= 15
    assert SAMPLES
