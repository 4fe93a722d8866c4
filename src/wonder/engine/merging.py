"""Merging: one value out of the outputs of the branches that arrived (CTL-11)."""

from collections.abc import Sequence
from typing import assert_never

from wonder.engine.compiled import Merge
from wonder.engine.failure import Failure
from wonder.engine.state import RunState, Scope
from wonder.engine.views import view_from
from wonder.language.paths import MISSING, Missing
from wonder.language.paths.getters import getter
from wonder.language.schemas.faults import show_value
from wonder.language.steps import spend, spend_on_elements
from wonder.language.values import JsonValue


def merged(run: RunState, merge: Merge, arrived: Sequence[Scope], last_index: int) -> tuple[JsonValue] | Failure | None:
    """Give the merged value in a tuple, None if there is nothing to write, or why it can't be merged.

    `arrived` is in the order of branches, whatever the order of arrival; `last_index` is the last that arrived.
    """
    match merge.strategy:
        case "append":
            return ([_or_null(found) for found in _sources(run, merge, arrived)],)
        case "keyed_by_branch":
            found = zip(arrived, _sources(run, merge, arrived), strict=True)
            return ({str(branch.index): _or_null(value) for branch, value in found},)
        case "merge_object":
            return _merged_object(run, merge, arrived)
        case "last_wins":
            last = [branch for branch in arrived if branch.index == last_index]
            return (_or_null(_sources(run, merge, last)[0]),) if last else None
        case _:
            assert_never(merge.strategy)


def _merged_object(run: RunState, merge: Merge, arrived: Sequence[Scope]) -> tuple[JsonValue] | Failure:
    whole: dict[str, JsonValue] = {}
    for branch, found in zip(arrived, _sources(run, merge, arrived), strict=True):
        if found is MISSING:
            continue
        if not isinstance(found, dict):
            message = (
                f"branch {branch.index} brought {show_value(found)}, which is no object and can't be merged into one; "
                "let the branch write an object, or merge with append"
            )
            return Failure("MERGE_NOT_OBJECT", message, details={"branch": branch.index})
        spend_on_elements(len(found))
        whole.update(found)
    return (whole,)


def _sources(run: RunState, merge: Merge, branches: Sequence[Scope]) -> list[JsonValue | Missing]:
    spend(len(branches))
    if merge.from_output is not None:
        find = getter(merge.from_output)
        return [find(branch.output) for branch in branches]
    find = getter(merge.source)
    return [find(view_from(run, branch, None, with_branch=True)) for branch in branches]


def _or_null(found: JsonValue | Missing) -> JsonValue:
    return None if found is MISSING else found
