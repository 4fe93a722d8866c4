"""Views: the context as a token, a condition or a merge sees it from its scope (CTX-5, CTL-7)."""

from typing import Any

from wonder.engine.replaced import overlay
from wonder.engine.state import RunState, Scope
from wonder.language.steps import spend_on_elements
from wonder.language.values import JsonValue


def view_from(
    run: RunState,
    scope: Scope,
    last_error: dict[str, JsonValue] | None,
    *,
    with_branch: bool,
) -> dict[str, Any]:
    """Give the roots that can be read from a scope; `_branch` only where somebody reads it."""
    own = (scope.output, scope.replaced)
    return build_view(run.input, run.state, run.output, scope, own, last_error, with_branch=with_branch)


def build_view(
    run_input: JsonValue,
    state: JsonValue,
    output: JsonValue,
    scope: Scope,
    own: tuple[JsonValue, JsonValue],
    last_error: dict[str, JsonValue] | None,
    *,
    with_branch: bool,
) -> dict[str, Any]:
    """The same, with values that are not in the run's state yet; `own` is what the innermost branch wrote.

    That is its output, and which objects in it were written as a whole.
    """
    if scope.group is None:
        view: dict[str, Any] = {"input": run_input, "state": state, "output": output}
    else:
        view = {"input": run_input, "output": output}
        for around in enclosing(scope):
            written, replaced = own if around is scope else (around.output, around.replaced)
            if written != {} or replaced is True:
                state = overlay(state, written, replaced)
            segment = around.segment
            if segment is not None and segment.items is not None and segment.transition.foreach is not None:
                view[segment.transition.foreach.item_var] = segment.items[around.index - segment.first]
        view["state"] = state
        if with_branch:
            view["_branch"] = branch_value(scope, own[0])
    if last_error is not None:
        view["_last_error"] = last_error
        if isinstance(state, dict):
            spend_on_elements(len(state))
            view["state"] = {**state, "_last_error": last_error}
    return view


def enclosing(scope: Scope) -> list[Scope]:
    """Give the branches around a place, from the outside in, the innermost included."""
    found: list[Scope] = []
    while scope.group is not None:
        found.append(scope)
        scope = scope.group.scope
    found.reverse()
    return found


def branch_value(scope: Scope, own_output: JsonValue) -> dict[str, JsonValue]:
    """Give `_branch`, with the outer ones under `parent`."""
    value: dict[str, JsonValue] | None = None
    for around in enclosing(scope):
        group, segment = around.group, around.segment
        assert group is not None
        assert segment is not None
        outer = value
        value = {
            "index": around.index,
            "total": group.total,
            "fan_out_node_id": group.node.id,
            "fan_out_transition_id": segment.transition.id,
            "output": own_output if around is scope else around.output,
        }
        if segment.items is not None:
            value["item"] = segment.items[around.index - segment.first]
            value["item_index"] = around.index - segment.first
        if outer is not None:
            value["parent"] = outer
    assert value is not None, "only a branch has a _branch"
    return value
