"""Checks of calls of Python functions: that the function is there, and takes what it is given (ACT-11)."""

from wonder.definitions.catalog import Catalog
from wonder.definitions.checks.flow import Sight, check_fit
from wonder.definitions.checks.lookup import ActionView, Lookup, TaskView
from wonder.definitions.drafts import ActionDraft, Bundle
from wonder.definitions.faults import Path
from wonder.definitions.findings import Findings
from wonder.definitions.kinds import KINDS
from wonder.language.values import JsonValue


def called_function(kind_name: str, implementation: object) -> str | None:
    """Give the name of the Python function that an action calls, if it calls one."""
    kind = KINDS.find(kind_name)
    return getattr(implementation, kind.function_field, None) if kind and kind.function_field else None


def called_functions(bundle: Bundle) -> set[str]:
    """Give the names of all Python functions that the actions of a bundle call."""
    everything = (bundle.definitions, *(library.definitions for library in bundle.libraries.values()))
    actions = [action for definitions in everything for action in definitions.actions.values()]
    return {name for one in actions if (name := called_function(one.body.kind, one.implementation))}


def check_function(action: ActionDraft, catalog: Catalog, findings: Findings) -> None:
    """Note a function whose call is certain to fail, whatever it is called with, and one that is not known here."""
    kind, name = KINDS.find(action.body.kind), called_function(action.body.kind, action.implementation)
    known = catalog.functions.get(name) if name else None
    if kind is None or kind.function_field is None or known is None:
        return
    where = (*action.path, "implementation", kind.function_field)
    if known.refusal:
        findings.error("function_not_callable", where, known.refusal, known.hint)
    elif known.doubt:
        findings.warning("function_unknown", where, known.doubt, known.hint)


def check_arguments(
    mapping: JsonValue, sight: Sight, action: ActionView, lookup: Lookup, where: Path, findings: Findings
) -> None:
    """Note arguments that the function of an action does not take, and those that it needs and does not get."""
    name = called_function(action.body.kind, action.implementation)
    if name and (known := lookup.function(name)):
        check_fit(mapping, sight, known.takes, f"the function '{name}'", where, findings)


def first_action_given_all(task: TaskView) -> ActionView | None:
    """Give the action that a task passes its whole input to at its beginning, in any case."""
    first = task.steps[0] if task.steps else None
    return first.action if first and first.body.input_mapping == "$.input" and first.body.condition is None else None
