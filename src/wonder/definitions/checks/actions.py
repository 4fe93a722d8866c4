"""Checks of an action by itself: its schemas, its templates, and what its kind asks for."""

import re
from collections.abc import Callable
from typing import Any

from wonder.definitions.checks.findings import Findings
from wonder.definitions.checks.flow import ANYTHING, Sight, check_mapping
from wonder.definitions.checks.texts import (
    WORKFLOW_ROOTS,
    a_kind,
    check_template,
    read_dotted,
    read_expression,
    read_target,
)
from wonder.definitions.drafts import ActionDraft
from wonder.definitions.faults import Path
from wonder.definitions.records.actions import WAITING_KINDS
from wonder.definitions.records.fields import FromContext
from wonder.definitions.records.implementations import (
    Assert,
    DefaultAnswer,
    EmitMetric,
    HttpRequest,
    HumanInput,
    MetricExpression,
    ReadFile,
    ShellCommand,
    UpdateContext,
    WaitForEvent,
    WorkflowCall,
    WriteArtifact,
    WriteFile,
)
from wonder.language.schemas import compile_validator

# They are about the connection, which is ours: with another's idea of where a body ends, it would begin a new request.
_HEADERS_OF_CONNECTION = frozenset(
    {"connection", "content-length", "expect", "keep-alive", "proxy-connection", "te", "trailer", "upgrade"}
    | {"transfer-encoding"}
)
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def check_action(action: ActionDraft, findings: Findings) -> None:
    """Note all that is wrong with an action wherever it is used."""
    body, path = action.body, action.path
    if body.idempotency:
        check_template(body.idempotency.key_template, (*path, "idempotency", "key_template"), findings)
    if body.kind in WAITING_KINDS and body.execution and body.execution.retry_policy:
        message = f"{a_kind(body.kind)} waits durably and is never tried again"
        findings.error(
            "retry_on_waiting", (*path, "execution", "retry_policy"), message, "leave retry_policy out (LAY-3)"
        )
    check = _BY_KIND.get(body.kind)
    if check and action.implementation is not None:
        check(action.implementation, (*path, "implementation"), findings)


def _check_http_request(request: HttpRequest, path: Path, findings: Findings) -> None:
    check_template(request.url_template, (*path, "url_template"), findings, escape="url")
    _check_url(request.url_template, (*path, "url_template"), findings)
    check_template(request.body_template, (*path, "body_template"), findings)
    for name, value in (request.headers or {}).items():
        check_template(value, (*path, "headers", name), findings)
        if not _HEADER_NAME.fullmatch(name):
            message = f"{name!r} can't be the name of a header"
            findings.error("bad_header", (*path, "headers", name), message, "use letters, digits and '-'")
        elif "\r" in value or "\n" in value:
            message = f"the header '{name}' has a line break in it, which would end it"
            findings.error("bad_header", (*path, "headers", name), message, "write it on one line")
        elif name.lower() in _HEADERS_OF_CONNECTION:
            message = f"the header '{name}' is about the connection, and not the request's to say"
            findings.error("bad_header", (*path, "headers", name), message, "leave it out")
    if request.body_template is not None and request.method in ("GET", "HEAD"):
        message = f"a {request.method} request has no body"
        findings.warning("body_not_sent", (*path, "body_template"), message, "use POST, or leave the body out")


def _check_url(template: str, where: Path, findings: Findings) -> None:
    """Note an address that can't become one of HTTP, whatever its template is filled with."""
    fixed, tag, _ = template.partition("{{")
    begins = fixed.lower().startswith(("http://", "https://"))
    if not begins and not (tag and any(scheme.startswith(fixed.lower()) for scheme in ("http://", "https://"))):
        message = f"'{template[:80]}' is no address of HTTP"
        findings.error("bad_url", where, message, "begin it with https:// or http://")


def _check_human_input(question: HumanInput, path: Path, findings: Findings) -> None:
    check_template(question.prompt, (*path, "prompt"), findings)
    if question.on_deadline != "fail" and question.deadline_ms is None:
        message = "on_deadline says what happens at a deadline, but there is none"
        findings.error("no_deadline", (*path, "on_deadline"), message, "add deadline_ms")
    if isinstance(question.on_deadline, DefaultAnswer):
        for fault in compile_validator(question.schema_).faults(question.on_deadline.default):
            where = (*path, "on_deadline", "default", *fault.path)
            findings.error(
                "default_misfit", where, f"the default answer does not fit the schema: {fault.message}", "correct it"
            )


def _check_update_context(update_context: UpdateContext, path: Path, findings: Findings) -> None:
    for i, update in enumerate(update_context.updates):
        where = (*path, "updates", i)
        read_target(update.path, (*where, "path"), findings, in_workflow=update_context.scope == "workflow")
        if isinstance(update.expr, str):
            otherwise = 'mend the expression there; a text that is meant as it is stands in {"$literal": "…"}'
            read_expression(update.expr, WORKFLOW_ROOTS, (*where, "expr"), findings, otherwise=otherwise)


def _check_assert(assertion: Assert, path: Path, findings: Findings) -> None:
    read_expression(assertion.expr, WORKFLOW_ROOTS, (*path, "expr"), findings)


def _check_emit_metric(metric: EmitMetric, path: Path, findings: Findings) -> None:
    if isinstance(metric.value, MetricExpression):
        read_expression(metric.value.expr, WORKFLOW_ROOTS, (*path, "value", "expr"), findings)
    for name, value in (metric.dimensions or {}).items():
        check_template(value, (*path, "dimensions", name), findings)
        if name.startswith("__"):
            message = f"dimensions that begin with '__', as {name!r} does, belong to who collects metrics"
            findings.error("reserved_name", (*path, "dimensions", name), message, "choose another name")


def _check_write_artifact(artifact: WriteArtifact, path: Path, findings: Findings) -> None:
    # `$` is the action's input, of which nothing is known here.
    check_mapping(artifact.content_mapping, Sight({}, whole=ANYTHING), (*path, "content_mapping"), findings)


def _check_workflow_call(call: WorkflowCall, path: Path, findings: Findings) -> None:
    for name in ("workflow_def_id", "version"):
        value = getattr(call, name)
        if isinstance(value, FromContext):
            read_dotted(value.from_context, (*path, name, "from_context"), findings)


def _check_wait_for_event(wait: WaitForEvent, path: Path, findings: Findings) -> None:
    check_template(wait.key, (*path, "key"), findings)


def _check_shell_command(command: ShellCommand, path: Path, findings: Findings) -> None:
    if isinstance(command.command, str):
        if "{{" in command.command:
            message = "a text for a shell is no template, so that no value can become a command: {{…}} stays as it is"
            hint = 'give values in env, and read them in the text as "$NAME"'
            findings.warning("template_in_shell", (*path, "command"), message, hint)
    else:
        for i, argument in enumerate(command.command):
            check_template(argument, (*path, "command", i), findings)
    if command.cwd is not None:
        _check_file_path(command.cwd, (*path, "cwd"), findings)
    for name, value in command.env.items():
        check_template(value, (*path, "env", name), findings)
    check_template(command.stdin, (*path, "stdin"), findings)


def _check_read_file(file: ReadFile, path: Path, findings: Findings) -> None:
    _check_file_path(file.path, (*path, "path"), findings)


def _check_write_file(file: WriteFile, path: Path, findings: Findings) -> None:
    _check_file_path(file.path, (*path, "path"), findings)
    check_template(file.content, (*path, "content"), findings)


def _check_file_path(text: str, where: Path, findings: Findings) -> None:
    check_template(text, where, findings)
    if text.startswith(("/", "~")) or ".." in text.replace("\\", "/").split("/"):
        message = f"'{text}' leads out of the project's files_root"
        findings.error("path_outside", where, message, "write a path relative to files_root, without '..'")


_BY_KIND: dict[str, Callable[[Any, Path, Findings], None]] = {
    "http_request": _check_http_request,
    "human_input": _check_human_input,
    "update_context": _check_update_context,
    "assert": _check_assert,
    "emit_metric": _check_emit_metric,
    "write_artifact": _check_write_artifact,
    "workflow_call": _check_workflow_call,
    "wait_for_event": _check_wait_for_event,
    "shell_command": _check_shell_command,
    "read_file": _check_read_file,
    "write_file": _check_write_file,
}
