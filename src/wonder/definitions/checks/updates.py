"""Checks of the actions that work on a context itself (FIL-2)."""

from wonder.definitions.checks.flow import Sight, check_expression_reads, check_read
from wonder.definitions.checks.lookup import ActionView
from wonder.definitions.checks.resources import up_to_element
from wonder.definitions.checks.secret_places import SECRETS
from wonder.definitions.checks.texts import read_expression
from wonder.definitions.faults import Path
from wonder.definitions.findings import Findings
from wonder.errors import WonderError
from wonder.language.templates import compile_template


def check_scoped_action(
    action: ActionView, sight: Sight, roots: frozenset[str], path: Path, findings: Findings
) -> None:
    """Note what such an action reads at one place of use that can't be there; `path` is that of the action."""
    kind, path = action.kind, (*path, "implementation")
    if kind is None or not kind.scoped or action.implementation is None:
        return
    for place, text in kind.expressions(action.implementation):
        where = (*path, *place)
        # A text that can't be compiled was noted where the action stands.
        if expression := read_expression(text, roots, where, Findings()):
            check_expression_reads(expression, sight, where, findings)
    for place, template in kind.templates(action.implementation):
        if template is not None:
            _check_template(template, sight, (*path, *place), findings)


def _check_template(text: str, sight: Sight, where: Path, findings: Findings) -> None:
    try:
        names = compile_template(text).names
    except WonderError:
        return  # noted where the action stands
    for name in names:
        if name and name[0] != SECRETS:
            check_read(up_to_element(name), sight, where, findings)
