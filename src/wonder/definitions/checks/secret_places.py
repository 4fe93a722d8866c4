"""Checks of where secrets stand: only in what goes out, so that none can end up in a context, a prompt or an inbox."""

import re
from collections.abc import Iterator

from wonder.definitions.checks.texts import WORKFLOW_ROOTS, a_kind
from wonder.definitions.drafts import ActionDraft, Bundle, Definitions, WorkflowDraft
from wonder.definitions.faults import Path
from wonder.definitions.findings import Findings
from wonder.definitions.kinds import KINDS
from wonder.definitions.records.fields import Record
from wonder.definitions.records.graph import ExpressionCondition
from wonder.errors import WonderError
from wonder.language.expressions import Names, compile_expression
from wonder.language.templates import compile_template
from wonder.language.values import JsonValue

SECRETS = "secrets"

# Not a field of something else that is called so.
_BARE = re.compile(r"(?<![\w.\]\"'$])secrets\s*\.")


def check_secret_places(definitions: Definitions, section: Path, findings: Findings) -> None:
    """Note every secret that stands where it would be kept or shown."""
    has_own = any(map(_has_own, definitions.workflows.values()))
    for action in definitions.actions.values():
        _check_action(action, findings)
        if not has_own:
            _check_expressions(action, findings)
    for name, prompt in definitions.prompts.items():
        _check_record(prompt, (*section, "prompts", name), findings)
    for task in definitions.tasks.values():
        for step in task.steps:
            for field in ("input_mapping", "output_mapping"):
                _warn_of_mapping(getattr(step.body, field), (*step.path, field), findings)
            if step.body.condition and not has_own:
                _check_expression(step.body.condition.if_, (*step.path, "condition", "if"), findings)
    for workflow in definitions.workflows.values():
        _check_workflow(workflow, findings, has_own=has_own)


def check_secrets_of_project(bundle: Bundle, findings: Findings) -> None:
    """Note secrets that stand in a wrong place of a model or an MCP server."""
    for name, model in bundle.models.items():
        _check_record(model, ("models", name), findings)
    for name, server in bundle.mcp_servers.items():
        _check_record(server, ("mcp_servers", name), findings)


def _check_action(action: ActionDraft, findings: Findings) -> None:
    if action.body.idempotency:
        template = action.body.idempotency.key_template
        _check_text(template, (*action.path, "idempotency", "key_template"), findings, may=False)
    if action.implementation is not None:
        _check_record(action.implementation, (*action.path, "implementation"), findings)


def _check_record(record: Record, path: Path, findings: Findings) -> None:
    for field, text in texts_in(record.model_dump(by_alias=True), ()):
        _check_text(text, (*path, *field), findings, may=field[0] in record.secret_fields)


def _check_text(text: str, where: Path, findings: Findings, *, may: bool) -> None:
    read = secrets_in(text)
    if read and not may:
        # Of an element of a list, the name of the list.
        field = next(segment for segment in reversed(where) if isinstance(segment, str))
        message = f"a secret can't be used here: what becomes of '{field}' is kept or shown"
        findings.error("secret_misplaced", where, message, _hint())
    elif any(len(path) == 1 for path in read):
        message = "all secrets at once can't be used: which ones must be known before"
        findings.error("secret_misplaced", where, message, "name each one: {{secrets.NAME}}")


def _check_workflow(workflow: WorkflowDraft, findings: Findings, *, has_own: bool) -> None:
    for node in workflow.nodes.values():
        for field in ("input_mapping", "output_mapping"):
            _warn_of_mapping(getattr(node.body, field), (*node.path, field), findings)
    for transition in workflow.transitions:
        condition = transition.body.condition
        if isinstance(condition, ExpressionCondition) and not has_own:
            _check_expression(condition.expr, (*transition.path, "condition"), findings)


def _check_expressions(action: ActionDraft, findings: Findings) -> None:
    kind, path = KINDS.find(action.body.kind), (*action.path, "implementation")
    if kind and action.implementation is not None:
        for place, text in kind.expressions(action.implementation):
            _check_expression(text, (*path, *place), findings)


def _check_expression(text: str, where: Path, findings: Findings) -> None:
    """Note an expression that reads `secrets`, which means `state.secrets` there."""
    if not _BARE.search(text):
        return
    try:
        paths = compile_expression(text, Names(WORKFLOW_ROOTS)).paths
    except WonderError:
        return  # noted where it stands
    if any(path[:2] == ("state", SECRETS) for path in paths):
        message = "a secret can't be used in an expression: what that gives is kept"
        findings.error("secret_misplaced", where, message, _hint())


def _warn_of_mapping(mapping: JsonValue, path: Path, findings: Findings) -> None:
    for field, text in texts_in(mapping, ()):
        if secrets_in(text):
            message = "a mapping is not a template: the string is passed on unchanged, without the secret"
            findings.warning("secret_not_filled_in", (*path, *field), message, _hint())


def _hint() -> str:
    """Say where secrets may be used."""
    places = []
    for kind in KINDS.own.values():
        names = [name for name in kind.configuration.model_fields if name in kind.configuration.secret_fields]
        if names:
            places.append(f"{' or '.join(filter(None, (', '.join(names[:-1]), names[-1])))} of {a_kind(kind.kind)}")
    return f"use it in {', '.join(places)}, env or headers of an MCP server, or execution_config of a model"


def _has_own(workflow: WorkflowDraft) -> bool:
    """Say whether a workflow has something of its own that is called `secrets`."""
    schema = workflow.body.context_schema
    properties = schema.get("properties") if isinstance(schema, dict) else None
    loops = (transition.body.foreach for transition in workflow.transitions)
    return (isinstance(properties, dict) and SECRETS in properties) or any(
        loop is not None and loop.item_var == SECRETS for loop in loops
    )


def secrets_in(text: str) -> list[Path]:
    """Give the paths of secrets that a text reads if it is a template."""
    if SECRETS not in text or "{{" not in text:
        return []
    try:
        names = compile_template(text).names
    except WonderError:
        return []  # noted where it stands, or no template
    return [path for path in names if path[:1] == (SECRETS,)]


def texts_in(value: JsonValue, path: Path) -> Iterator[tuple[Path, str]]:
    """Give all texts in a value, each with its path."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, held in value.items():
            yield from texts_in(held, (*path, key))
    elif isinstance(value, list):
        for i, held in enumerate(value):
            yield from texts_in(held, (*path, i))
