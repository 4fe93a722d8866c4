"""How a server is reached, with the secrets that its definition names put in."""

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import msgspec

from wonder.actions.protocol import ActionFailed
from wonder.actions.resources import Resources, Tenancy
from wonder.actions.template_names import SECRETS, secrets_read
from wonder.definitions.records.resources import HttpServer, McpServer, StdioServer
from wonder.language.templates import Template, compile_template
from wonder.language.values import JsonValue

# All that a command gets of our own environment; whatever else it needs is written in its definition.
_INHERITED: Final = ("PATH", "HOME", "LANG", "TMPDIR")


@dataclass(frozen=True, slots=True)
class StdioConnection:
    """A command of this machine, its arguments, and all of its environment."""

    command: tuple[str, ...]
    env: dict[str, str]


@dataclass(frozen=True, slots=True)
class HttpConnection:
    """An address, and what is sent with every request."""

    url: str
    headers: dict[str, str]
    allow_private: bool


@dataclass(frozen=True, slots=True)
class Connection:
    """One server as it is to be reached now; `key` differs if anything about that does, a secret's value included."""

    server_id: str
    name: str
    key: str
    to: StdioConnection | HttpConnection


def check_allowed(server: McpServer, tenancy: Tenancy) -> None:
    """Refuse a server that its workspace does not allow (RES-6)."""
    allowed = tenancy.workspace.allowed_mcp_servers
    if allowed is not None and server.name not in allowed and server.id not in allowed:
        message = (
            f"the workspace does not allow the MCP server {server.name!r} (allowed: {', '.join(allowed) or 'none'}); "
            "have an admin add it to allowed_mcp_servers, or use another"
        )
        raise ActionFailed("MCP_SERVER_NOT_ALLOWED", message, details={"server": server.name})


async def connect(server: McpServer, tenancy: Tenancy, resources: Resources) -> Connection:
    """Put a definition's secrets in; raises SecretMissing."""
    to: StdioConnection | HttpConnection
    match server.connection:
        case StdioServer(command=command, env=env):
            inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
            given = await _filled(env, tenancy, resources)
            _check(server.name, "environment variable", given, lambda text: "\x00" in text, "U+0000")
            to = StdioConnection(tuple(command), inherited | given)
        case HttpServer(url=url, headers=headers):
            given = await _filled(headers, tenancy, resources)
            _check(server.name, "header", given, _is_no_header, "what no header can: a line break, or no ASCII")
            to = HttpConnection(url, given, tenancy.workspace.allow_private_addresses)
    return Connection(server.id, server.name, _key(server.id, to), to)


async def _filled(fields: Mapping[str, str], tenancy: Tenancy, resources: Resources) -> dict[str, str]:
    templates = {name: _template(text) for name, text in fields.items() if "{{" in text}
    if not templates:
        return dict(fields)
    names = secrets_read(templates.values())
    values: dict[str, JsonValue] = dict(await resources.secrets.values(tenancy.project_id, names))
    scope: dict[str, JsonValue] = {SECRETS: values}
    return {name: templates[name].render(scope) if name in templates else text for name, text in fields.items()}


@lru_cache(maxsize=1_000)
def _template(text: str) -> Template:
    return compile_template(text)


def _check(server: str, noun: str, fields: Mapping[str, str], is_bad: Callable[[str], bool], what: str) -> None:
    for name, value in fields.items():
        if is_bad(name) or is_bad(value):
            # Without the value: it may be a secret.
            message = f"the {noun} {name!r} of the MCP server {server!r} holds {what}; correct it, or its secret"
            raise ActionFailed("MCP_BAD_DEFINITION", message, details={"server": server, "field": name})


def _is_no_header(text: str) -> bool:
    return not text.isascii() or any(sign in text for sign in "\x00\r\n")


def _key(server_id: str, to: StdioConnection | HttpConnection) -> str:
    # A digest, because the values may be secrets and keys are kept.
    return hashlib.sha256(msgspec.json.encode([server_id, to])).hexdigest()
