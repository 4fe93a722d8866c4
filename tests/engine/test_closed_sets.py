"""Closed sets: every value that a definition, a decision or a fact can have is dealt with wherever it is told apart.

Where mypy sees the type, `assert_never` holds that; here are the tables, and the checker's own lists.
"""

from typing import Any, get_args

import pytest

import wonder.actions  # noqa: F401  # announces the kinds
from wonder.checker import definitions as for_checker
from wonder.checker.definitions import ALL, Join
from wonder.checker.definitions import _join as checker_join
from wonder.checker.fan_in import _merged
from wonder.checker.state import Group
from wonder.cli.report import _STATUSES
from wonder.cli.run_details import _MARKS
from wonder.definitions.kinds import KINDS
from wonder.definitions.records.graph import MergeStrategy, OnEarlyComplete, OnFanInTimeout, Synchronization
from wonder.engine.decide import _TAKERS
from wonder.engine.decisions import (
    AbortTask,
    AwaitEvent,
    ContinueLater,
    ControlChild,
    Decision,
    EndGroup,
    FireTriggers,
    MoveTrigger,
    RecordEvent,
    RequestInput,
    RetryRun,
    SendMetric,
    SetRunStatus,
    StartChild,
    StopAwaiting,
    UpdateInput,
    WarnOfMapping,
    WithdrawInput,
)
from wonder.engine.evolve import EVOLVERS
from wonder.engine.facts import Fact, TriggerAdvanced
from wonder.engine.state import ENDED_RUN, FINAL, EndStatus, RunEnd
from wonder.engine.wait_kinds import UnknownWait, WaitKind, wait_kind
from wonder.engine.waiting_tasks import _WAITS
from wonder.operations.run_records import RunStatus
from wonder.storage.runs.recording import _TAKERS as STORED

# Decisions that change nothing of a run's state, and those that have no rows.
ACTING_ONLY = {RequestInput, WithdrawInput, AbortTask, StartChild, ControlChild, AwaitEvent, StopAwaiting, SendMetric}
ACTING_ONLY |= {UpdateInput, FireTriggers, MoveTrigger, RetryRun, ContinueLater, WarnOfMapping}
WITHOUT_ROWS = {RecordEvent, EndGroup, AbortTask, StartChild, ControlChild, ContinueLater, WarnOfMapping}


def test_every_decision_is_applied_or_only_acts() -> None:
    assert EVOLVERS.keys() | ACTING_ONLY == set(get_args(Decision))
    assert not EVOLVERS.keys() & ACTING_ONLY


def test_every_decision_is_stored_or_has_no_rows() -> None:
    """Events are taken before the others."""
    assert STORED.keys() | WITHOUT_ROWS == set(get_args(Decision))
    assert not STORED.keys() & WITHOUT_ROWS


def test_every_fact_is_taken() -> None:
    """A trigger advances only when the run has ended."""
    assert _TAKERS.keys() | {TriggerAdvanced} == set(get_args(Fact))


def test_every_status_of_a_run_has_an_exit_status_and_a_mark() -> None:
    statuses = set(get_args(RunStatus))
    unended = set(get_args(SetRunStatus.__annotations__["status"]))
    assert statuses == unended | set(get_args(RunEnd))
    assert _STATUSES.keys() == _MARKS.keys() == statuses
    assert set(get_args(RunEnd)) == ENDED_RUN
    assert set(get_args(EndStatus)) == FINAL


def test_every_kind_that_waits_is_a_kind_of_wait() -> None:
    waiting = {kind for kind in KINDS.own if KINDS.waits(kind)}
    assert _WAITS.keys() == waiting
    assert {*waiting, "budget", "function"} == set(get_args(WaitKind))
    for kind in get_args(WaitKind):
        assert wait_kind("t", {"kind": kind}) == kind


@pytest.mark.parametrize("wait", [None, {}, {"kind": "telepathy"}, {"kind": ["sleep"]}])
def test_a_wait_of_an_unknown_kind_is_an_error(wait: Any) -> None:
    with pytest.raises(UnknownWait, match=r"the token t waits for .*, which is not known; open the database with"):
        wait_kind("t", wait)


def test_the_checker_knows_the_same_joins() -> None:
    assert set(for_checker.MERGE_STRATEGIES) == set(get_args(MergeStrategy))
    assert set(for_checker.ON_TIMEOUT) == set(get_args(OnFanInTimeout))
    assert set(for_checker.ON_EARLY_COMPLETE) == set(get_args(OnEarlyComplete))
    for strategy, needed in (("all", ALL), ("any", 1), ({"m_of_n": 3}, 3)):
        sync = {"strategy": strategy, "sibling_group": "a"}
        Synchronization.model_validate(sync)
        assert checker_join("n", 0, sync).needed == needed


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"strategy": "most"}, "the join into n has the unknown strategy 'most'"),
        ({"on_timeout": "wait"}, "the join into n has the unknown on_timeout 'wait'"),
        ({"on_early_complete": "keep"}, "the join into n has the unknown on_early_complete 'keep'"),
        ({"merge": {"strategy": "first_wins"}}, "the join into n has the unknown merge strategy 'first_wins'"),
    ],
)
def test_the_checker_does_not_take_an_unknown_value_for_another(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        checker_join("n", 0, {"strategy": "all", "sibling_group": "a", **fields})


@pytest.mark.parametrize("strategy", get_args(MergeStrategy))
def test_the_checker_merges_by_every_strategy(strategy: str) -> None:
    """With nothing arrived: each gives its own empty value, and none that of another by default."""
    merge = {"source": "_branch.output.x", "target": "state.x", "strategy": strategy}
    group = Group("g", "a", "0", (None, 0), [("t", 0, None)])
    made = _merged(group, Join("n", 0, ALL, "a", None, None, "fail", "cancel", merge), ["x"])
    assert made == {"append": [], "keyed_by_branch": {}, "merge_object": {}}.get(strategy, made)
    with pytest.raises(ValueError, match="unknown strategy 'first_wins'"):
        _merged(group, Join("n", 0, ALL, "a", None, None, "fail", "cancel", {**merge, "strategy": "first_wins"}), ["x"])
