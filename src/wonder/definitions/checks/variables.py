"""Checks of the variables that templates of an action read, where it is known what its input has: in line in a node."""

from collections.abc import Iterator
from typing import Final

from wonder.definitions.checks.lookup import ActionView
from wonder.definitions.checks.secret_places import SECRETS
from wonder.definitions.faults import Path
from wonder.definitions.findings import Findings
from wonder.errors import WonderError
from wonder.language.mappings import LITERAL
from wonder.language.schemas import closest
from wonder.language.templates import compile_template
from wonder.language.values import JsonValue, show_path

INPUT: Final = "input"
_OF_KEYS: Final = ("run_id", "node", "branch")
"""What the template of an idempotency key reads besides (ACT-9)."""


def check_variables(action: ActionView, input_mapping: JsonValue, findings: Findings) -> None:
    """Note variables of an action's templates that nothing of its input mapping gives: each would be an empty text."""
    fields = _fields_given(input_mapping)
    if fields is None or action.path is None:
        return
    for where, text in _templates(action, (*action.path, "implementation")):
        _check(text, fields, (), where, findings)
    if action.body.idempotency:
        where = (*action.path, "idempotency", "key_template")
        _check(action.body.idempotency.key_template, fields, _OF_KEYS, where, findings)


def _fields_given(mapping: JsonValue) -> list[str] | None:
    """List the fields that a mapping gives at most; None where that is not known."""
    if mapping is None:
        return []
    if isinstance(mapping, dict) and LITERAL not in mapping:
        return list(mapping)
    return None


def _templates(action: ActionView, path: Path) -> Iterator[tuple[Path, str | None]]:
    kind = action.kind
    # Those of an action on a context read that, and not its input.
    if kind and not kind.scoped and action.implementation is not None:
        for place, text in kind.templates(action.implementation):
            yield (*path, *place), text


def _check(text: str | None, fields: list[str], also: tuple[str, ...], where: Path, findings: Findings) -> None:
    if text is None or "{{" not in text:
        return
    try:
        names = compile_template(text).names
    except WonderError:
        return  # noted already
    for name in names:
        read = name[1:] if name[:1] == (INPUT,) and INPUT not in fields else name
        if not read or read[0] in fields or name[0] == SECRETS or (read is name and name[0] in also):
            continue
        missing = str(read[0])
        near = closest(missing, fields)
        added = f"add '{missing}' to the node's input_mapping, or correct the template"
        hint = f"did you mean '{near}'?" if near else added
        message = f"'{show_path(name)}' does not exist: the node's input_mapping has no '{missing}'"
        findings.error("unknown_variable", where, message, hint)
