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
        message = f"{a_kind(body.kind)} waits durably and is never retried"
        findings.error(
            "retry_on_waiting", (*path, "execution", "retry_policy"), message, "leave retry_policy out (LAY-3)"
        )
    _check_idempotency(action, findings)
    kind = KINDS.find(body.kind)
    if kind and kind.carried_out == "on_context":
        _check_on_context(action, findings)
    if kind and action.implementation is not None:
        kind.check(action.implementation, (*path, "implementation"), findings)


def _check_idempotency(action: ActionDraft, findings: Findings) -> None:
    """Note an idempotency key of a wait that does nothing a key could keep it from (RET-4)."""
    kind = KINDS.find(action.body.kind)
    if action.body.idempotency and kind and (hint := kind.no_idempotency):
        message = f"{a_kind(kind.kind)} has no idempotency: it waits each time"
        findings.error("without_effect", (*action.path, "idempotency"), message, hint)


def _check_on_context(action: ActionDraft, findings: Findings) -> None:
    """Note what can't mean anything on an action that only reads and writes a context: it takes and gives nothing."""
    kind = action.body.kind
    for field, why, hint in (
        ("requires", "takes no input", "check the context with an assert before it"),
        ("produces", "gives no output", "leave it out, or check the context with an assert after it"),
        ("execution", "takes no time and is never retried", "leave it out"),
        ("idempotency", "does nothing outside of its run", "leave it out"),
    ):
        if getattr(action.body, field) is not None:
            message = f"{field} would have no effect: {a_kind(kind)} {why}"
            findings.error("without_effect", (*action.path, field), message, hint)
