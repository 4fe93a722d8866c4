"""Checks of an action by itself: its templates, and what its kind asks for."""

from wonder.definitions.checks.texts import a_kind, check_template
from wonder.definitions.drafts import ActionDraft
from wonder.definitions.findings import Findings
from wonder.definitions.kinds import KINDS


def check_action(action: ActionDraft, findings: Findings) -> None:
    """Note all that is wrong with an action wherever it is used."""
    body, path = action.body, action.path
    if body.idempotency:
        check_template(body.idempotency.key_template, (*path, "idempotency", "key_template"), findings)
    if KINDS.waits(body.kind) and body.execution and body.execution.retry_policy:
        message = f"{a_kind(body.kind)} waits durably and is never tried again"
        findings.error(
            "retry_on_waiting", (*path, "execution", "retry_policy"), message, "leave retry_policy out (LAY-3)"
        )
    kind = KINDS.find(body.kind)
    if kind and action.implementation is not None:
        kind.check(action.implementation, (*path, "implementation"), findings)
