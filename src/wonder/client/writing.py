"""Writes the request for an operation, from the table of routes that the server itself is made from."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import quote, urlencode

import msgspec

from wonder.api.routes import IN_PROJECT, LOCAL, Route, all_routes
from wonder.client.errors import NotOverServer
from wonder.language.values import JsonValue, encode_json
from wonder.operations.declaring import Declared
from wonder.operations.outputs import as_json


@dataclass(frozen=True)
class Written:
    """A request, without the address of the server."""

    method: str
    path: str
    """With its query."""
    body: str | None
    counts_once: bool = False
    """Whether the body has a key already that makes it count once."""


# Who asks is said by the key, and not by the request.
_SAID_BY_KEY = frozenset({"by"})


def write_request(
    operation: Declared[Any, Any], given: Any, *, project: str | None, query: Mapping[str, str] | None = None
) -> Written:
    """Write the request for an operation in a project, or in that of the key; raises NotOverServer."""
    fields: Any = as_json(given)
    route = _route(operation.name, fields, in_project=project is not None)
    for name in route.own:
        value = fields.pop(name, None)
        if value and name not in _SAID_BY_KEY:
            raise NotOverServer(f"{name} of {operation.name}", "lets commands run on the machine of the server")
    for name in route.fixed:
        fields.pop(name, None)
    path = _path(route.path, fields, project)
    rest = {name: value for name, value in fields.items() if value is not None}
    if route.has_body:
        counts_once = rest.get("idempotency_key") is not None
        return Written(route.method, _with_query(path, query or {}), encode_json(rest), counts_once)
    texts = {name: _texts(operation, name, value) for name, value in rest.items()}
    return Written(route.method, _with_query(path, {**texts, **(query or {})}), None)


@cache
def _routes() -> dict[str, list[Route]]:
    found: dict[str, list[Route]] = {}
    for route in all_routes():
        # The other forms of a body say the same in another way.
        if route.form == "fields":
            found.setdefault(route.declared.name, []).append(route)
    return found


def _route(name: str, fields: Mapping[str, JsonValue], *, in_project: bool) -> Route:
    """Find where an operation is: with what is fixed at that place, and under the project if one is named."""
    for route in _routes().get(name, ()):
        is_fixed = all(fields.get(key) == value for key, value in route.fixed.items())
        is_there = route.reach != "project" or route.path.startswith(IN_PROJECT) == in_project
        if is_fixed and is_there:
            return route
    raise NotOverServer(name, LOCAL.get(name, "has no route"))


def _path(path: str, fields: dict[str, JsonValue], project: str | None) -> str:
    parts = []
    for part in path.split("/"):
        if part == "{project}" and project is not None:
            parts.append(quote(project, safe=""))
        elif part.startswith("{"):
            parts.append(quote(str(fields.pop(part.strip("{}"))), safe=""))
        else:
            parts.append(part)
    return "/".join(parts)


def _texts(operation: Declared[Any, Any], name: str, value: JsonValue) -> str | list[str]:
    if isinstance(value, list):
        return [str(one) for one in value]
    kinds = {one.encode_name: one.type for one in msgspec.structs.fields(operation.input)}
    if isinstance(value, bool | dict) or kinds[name] is Any:
        return encode_json(value)
    return str(value)


def _with_query(path: str, query: Mapping[str, str | list[str]]) -> str:
    return f"{path}?{urlencode(query, doseq=True)}" if query else path
