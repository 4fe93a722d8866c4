"""CTL-9, CTL-7a: who can come to a join is found in few steps, counted because time depends on load."""

from typing import Any

import pytest

from support.graphs import edge, graph, join
from wonder.definitions.checks import ways_back
from wonder.definitions.checks.branches import Branches
from wonder.definitions.checks.joins import check_joins
from wonder.definitions.checks.outputs import check_branch_writes
from wonder.definitions.drafts import WorkflowDraft
from wonder.definitions.findings import Findings
from wonder.definitions.loading import load_value


def in_a_row(count: int, *, strategy: Any = "all") -> list[str | dict[str, Any]]:
    """Many fan-outs, one behind the other, each joined before the next."""
    made: list[str | dict[str, Any]] = []
    for number in range(count):
        group = join(f"s{number}", strategy=strategy)
        made += [f"s{number} > {branch}{number}" for branch in "ab"]
        made += [edge(f"{branch}{number} > j{number}", **group) for branch in "ab"]
        made.append(f"j{number} > s{number + 1}")
    return made


def with_lost_branches(count: int) -> list[str | dict[str, Any]]:
    """The same, with one more branch in each that comes to no join."""
    return [*in_a_row(count), *(f"s{number} > lost{number}" for number in range(count))]


def checked(transitions: list[str | dict[str, Any]]) -> tuple[int, int, list[str]]:
    """Give the steps that the checks take, how many nodes there are, and the codes that they find."""
    definition = graph(*transitions)
    for ref, node in definition["workflow"]["nodes"].items():
        if ref[0] in "ab":
            node["output_mapping"] = {"state.found": "$.found"}
    workflow = _workflow(definition)
    branches, findings = Branches(workflow), Findings()
    check_joins(workflow, branches, findings)
    check_branch_writes(workflow, branches, dict.fromkeys(workflow.nodes), findings)
    return branches.ways_back.steps, len(workflow.nodes), [fault.code for fault in findings.faults]


def _workflow(definition: dict[str, Any]) -> WorkflowDraft:
    (workflow,) = load_value(definition).reading.bundle.definitions.workflows.values()
    return workflow


@pytest.mark.parametrize("strategy", ["all", {"m_of_n": 2}])
def test_ctl_9_many_fan_outs_in_a_row_take_some_steps_each(strategy: Any) -> None:
    """Each question is about what is near: what lies before a fan-out does not matter to its join."""
    for count in (50, 400):
        steps, nodes, codes = checked(in_a_row(count, strategy=strategy))
        assert not codes
        assert steps < 8 * nodes


def test_ctl_9_branches_that_can_not_come_are_told_as_long_as_that_takes_no_more_than_a_million_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps, _, codes = checked(with_lost_branches(50))
    assert codes == ["join_waits_for_others"] * 50
    monkeypatch.setattr(ways_back, "STEPS_MAX", 2_000)
    fewer, _, codes = checked(with_lost_branches(50))
    assert fewer < 2_100 < steps
    assert 0 < len(codes) < 50
    assert set(codes) == {"join_waits_for_others"}
