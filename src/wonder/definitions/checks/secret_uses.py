"""Checks of secrets against their scopes: one that would go where it may not is refused before anything is stored.

Only what is written out is checked here: the host of an address that is not filled in, a program with its path. The
rest is checked when the action runs, as everything is.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from wonder.definitions.addresses import why_no_address
from wonder.definitions.catalog import Allowed
from wonder.definitions.checks.secret_places import secrets_in, texts_in
from wonder.definitions.drafts import Bundle
from wonder.definitions.faults import Path
from wonder.definitions.findings import Findings
from wonder.definitions.kinds import KINDS
from wonder.definitions.records.fields import Record
from wonder.definitions.records.providers import OWN_ADDRESSES
from wonder.definitions.records.resources import HttpServer, ModelProfileBody, StdioServer
from wonder.definitions.secret_scopes import Destination, host_of_url, quoted

_CLOUDFLARE: Final = "https://api.cloudflare.com"
# An address up to its path, with nothing to be filled in.
_ORIGIN: Final = re.compile(r"https?://[^/?#{}]+(?=[/?#]|$)", re.IGNORECASE)


class _Use(NamedTuple):
    name: str
    path: Path
    destination: Destination | None
    """None where it is known only when it is used."""
    workflow: str | None = None


def check_secret_uses(bundle: Bundle, allowed: Allowed, findings: Findings) -> None:
    """Note each secret that its scope does not let go where it would, and each that has no scope."""
    unscoped: set[str] = set()
    for use in _uses(bundle):
        if use.name not in allowed.secrets:
            continue  # It may be stored later.
        scope, destination = allowed.secrets[use.name], use.destination
        command = f"wonder secrets scope {quoted(use.name)}"
        if scope is None:
            if use.name not in unscoped:
                unscoped.add(use.name)
                message = f"the secret '{use.name}' has no scope: long-running processes refuse to use it"
                option = destination.option if destination else "--for-host HOST"
                findings.warning("secret_unscoped", use.path, message, f"say where it may go: {command} {option}")
            continue
        hint = f"use another secret, or have its scope widened: {command} {scope.options()}"
        if destination is not None and not scope.allows(destination):
            message = f"the secret '{use.name}' is not for {destination}"
            findings.error("secret_out_of_scope", use.path, message, f"{hint} {destination.option}")
        elif use.workflow is not None and not scope.allows_workflow(allowed.project_id, use.workflow):
            message = f"the secret '{use.name}' is not for the workflow '{use.workflow}'"
            findings.error("secret_out_of_scope", use.path, message, f"{hint} --for-workflow {quoted(use.workflow)}")


def _uses(bundle: Bundle) -> Iterator[_Use]:
    for action in bundle.definitions.actions.values():
        if action.implementation is not None:
            kind = KINDS.find(action.body.kind)
            destination = kind.secrets_go_to(action.implementation) if kind else None
            workflow = _workflow(action.path, bundle)
            for name, path in _named(action.implementation, (*action.path, "implementation")):
                yield _Use(name, path, destination, workflow)
    for name, model in bundle.models.items():
        to = _of_model(model)
        yield from (_Use(secret, path, to) for secret, path in _named(model, ("models", name)))
    for name, server in bundle.mcp_servers.items():
        to = _of_server(name, server)
        yield from (_Use(secret, path, to) for secret, path in _named(server, ("mcp_servers", name)))


def _named(record: Record, path: Path) -> Iterator[tuple[str, Path]]:
    """Give the secrets that a record names in the fields that may hold them, each with where that is."""
    fields = {name: value for name, value in record.model_dump(by_alias=True).items() if name in record.secret_fields}
    for where, text in texts_in(fields, ()):
        for read in secrets_in(text):
            if len(read) > 1:
                yield str(read[1]), (*path, *where)


def _of_model(model: ModelProfileBody) -> Destination | None:
    url = (model.execution_config or {}).get("base_url")
    own = _CLOUDFLARE if model.provider == "cloudflare" else OWN_ADDRESSES.get(model.provider, "")
    return host_in(url) if isinstance(url, str) else host_in(own)


def _of_server(name: str, server: StdioServer | HttpServer) -> Destination | None:
    return Destination("server", name) if isinstance(server, StdioServer) else host_in(server.url)


def host_in(url: str) -> Destination | None:
    """Give the host of an address that is not filled in up to its path; None for any other."""
    origin = _ORIGIN.match(url)
    if origin is None or not origin[0].isascii() or why_no_address(origin[0]):
        return None
    return host_of_url(origin[0])


def _workflow(path: Path, bundle: Bundle) -> str | None:
    """Give the workflow that an action stands in; None for one that several may use."""
    if path[:1] == ("workflows",) and len(path) > 1:
        return str(path[1])
    names = list(bundle.definitions.workflows)
    return names[0] if path[:1] == ("workflow",) and len(names) == 1 else None
