"""Checks of MCP servers: how they are reached, before anybody tries."""

from wonder.definitions.addresses import why_no_address, why_no_header
from wonder.definitions.catalog import Catalog
from wonder.definitions.checks.texts import check_template
from wonder.definitions.drafts import ActionDraft
from wonder.definitions.faults import Path
from wonder.definitions.findings import Findings
from wonder.definitions.records.resources import HttpServer, StdioServer


def check_server(server: StdioServer | HttpServer, path: Path, findings: Findings) -> None:
    """Note an address that leads nowhere, headers that can't be sent, and templates that can't be read."""
    match server:
        case StdioServer(env=env):
            for name, text in env.items():
                check_template(text, (*path, "env", name), findings)
        case HttpServer(url=url, headers=headers):
            note_address(url, (*path, "url"), findings)
            for name, text in headers.items():
                check_template(text, (*path, "headers", name), findings)
                note_header(name, text, (*path, "headers", name), findings)


def check_tool_call(action: ActionDraft, catalog: Catalog, findings: Findings) -> None:
    """Note the call of a tool that its server gives only as a task of the protocol, where that is known (ACT-2)."""
    for reference in action.references:
        called = getattr(action.implementation, "tool_name", None)
        if called in catalog.tools_only_as_tasks.get(reference.name, ()):
            message = f"the tool '{called}' can be called only as a task of the protocol, which Wonder does not do"
            hint = f"use another tool of '{reference.name}', or a server that answers the call itself"
            findings.error("tool_only_as_task", (*action.path, "implementation", "tool_name"), message, hint)


def note_address(text: str, where: Path, findings: Findings) -> None:
    """Note what is wrong with an address."""
    if why := why_no_address(text):
        reason, _, hint = why.partition("; ")
        findings.error("bad_url", where, f"'{text[:80]}' {reason}", hint)


def note_header(name: str, text: str, where: Path, findings: Findings) -> None:
    """Note what is wrong with a header."""
    if why := why_no_header(name, text):
        reason, _, hint = why.partition("; ")
        findings.error("bad_header", where, reason, hint)
