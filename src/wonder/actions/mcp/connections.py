"""How a server is reached, with the secrets that its definition names put in."""

import hashlib
import os
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import msgspec
from msgspec import Struct

from wonder.actions.mcp.permission import check_permitted, folder_here
from wonder.actions.protocol import ActionFailed
from wonder.actions.resources import Resources, Tenancy
from wonder.actions.secrets.template_names import SECRETS, secrets_read
from wonder.definitions.addresses import why_no_address, why_no_header
from wonder.definitions.records.resources import HttpServer, McpServer, StdioServer
from wonder.definitions.secret_scopes import Destination, host_of_url
from wonder.language.templates import Template, compile_template
from wonder.language.values import JsonValue

# All that a command gets of our own environment; whatever else it needs is written in its definition.
_INHERITED: Final = ("PATH", "HOME", "LANG", "TMPDIR")


class StdioConnection(Struct, frozen=True):
    """A command of this machine, its arguments, all of its environment, and the folder that it is started in."""

    command: tuple[str, ...]
    env: dict[str, str]
    folder: str


class HttpConnection(Struct, frozen=True):
    """An address, and what is sent with every request."""

    url: str
    headers: dict[str, str]
    allow_private: bool


class Connection(Struct, frozen=True):
    """One server as it is to be reached now; `key` differs if anything about that does, a secret's value included."""

    server_id: str
    name: str
    key: str
    to: StdioConnection | HttpConnection
    project_id: str
    """Whose the server is, and so whose what it says is."""


async def connect(server: McpServer, tenancy: Tenancy, resources: Resources, run_id: str | None = None) -> Connection:
    """Give the way to a server, with its secrets put in; raises SecretMissing, SecretOutOfScope and ActionFailed.

    There is no other way to one, so that none is started or reached that may not be used (RES-6).
    """
    await check_permitted(server, tenancy, resources)
    to: StdioConnection | HttpConnection
    match server.connection:
        case StdioServer(command=command, env=env):
            inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
            given = await _filled(env, Destination("server", server.name), tenancy, resources, run_id)
            _check_variables(server.name, given)
            to = StdioConnection(tuple(command), inherited | given, folder_here())
        case HttpServer(url=url, headers=headers):
            if any("{{" in text for text in headers.values()) and any(name.lower() == "host" for name in headers):
                # Who serves several hosts would hand the secret to another one than it is for.
                raise _bad(server.name, "the header Host can't be given beside secrets; leave it out", "Host")
            given = await _filled(headers, host_of_url(url), tenancy, resources, run_id)
            _check_reachable(server.name, url, given)
            to = HttpConnection(url, given, tenancy.workspace.allow_private_addresses)
    return Connection(server.id, server.name, _key(server.id, to), to, server.project_id)


async def _filled(
    fields: Mapping[str, str], to: Destination, tenancy: Tenancy, resources: Resources, run_id: str | None
) -> dict[str, str]:
    templates = {name: _template(text) for name, text in fields.items() if "{{" in text}
    if not templates:
        return dict(fields)
    names = secrets_read(templates.values())
    values: dict[str, JsonValue] = dict(await resources.secrets.values(tenancy.project_id, names, lambda _: to, run_id))
    scope: dict[str, JsonValue] = {SECRETS: values}
    return {name: templates[name].render(scope) if name in templates else text for name, text in fields.items()}


@lru_cache(maxsize=1_000)
def _template(text: str) -> Template:
    return compile_template(text)


def _check_variables(server: str, variables: Mapping[str, str]) -> None:
    for name, value in variables.items():
        if "\x00" in name or "\x00" in value:
            # Without the value: it may be a secret.
            raise _bad(server, f"the environment variable {name!r} holds U+0000; correct it, or its secret", name)


def _check_reachable(server: str, url: str, headers: Mapping[str, str]) -> None:
    if why := why_no_address(url):
        raise _bad(server, f"its url {why}", "url")
    for name, value in headers.items():
        if why := why_no_header(name, value):
            raise _bad(server, f"{why}, and correct its secret if it has one", name)


def _bad(server: str, reason: str, field: str) -> ActionFailed:
    message = f"the MCP server {server!r} can't be used as it is defined: {reason}"
    return ActionFailed("MCP_BAD_DEFINITION", message, details={"server": server, "field": field})


def _key(server_id: str, to: StdioConnection | HttpConnection) -> str:
    # A digest, because the values may be secrets and keys are kept.
    return hashlib.sha256(msgspec.json.encode([server_id, to])).hexdigest()
