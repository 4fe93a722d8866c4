"""Makes the input of an operation from a request: from its path, and from its query or its body."""

from types import UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin
from urllib.parse import parse_qsl

import msgspec
from msgspec import UnsetType

from wonder.api.problems import Problem
from wonder.api.routes import Route
from wonder.language.values import BadValue, JsonValue, parse_json

WAIT_SECONDS_MAX: Final = 60
_PARAMETERS_MAX: Final = 100
_QUERY_BYTES_MAX: Final = 16_000


def read_query(query: str) -> dict[str, list[str]]:
    """Read a query string strictly: what could be read in two ways is refused."""
    if not query:
        return {}
    if len(query) > _QUERY_BYTES_MAX:
        raise Problem(400, "BAD_QUERY", f"the query has more than {_QUERY_BYTES_MAX:,} bytes; send less")
    try:
        pairs = parse_qsl(
            query, keep_blank_values=True, strict_parsing=True, errors="strict", max_num_fields=_PARAMETERS_MAX
        )
    except (ValueError, UnicodeError):
        raise Problem(400, "BAD_QUERY", "the query is not name=value&…, in UTF-8 with escapes") from None
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return found


def take_wait(query: dict[str, list[str]]) -> int:
    """Take `wait` out of a query: for how many seconds to wait for the end of a run."""
    texts = query.pop("wait", None)
    if texts is None:
        return 0
    text = texts[0]
    if len(texts) > 1 or not (text.isascii() and text.isdigit()) or int(text[:9]) > WAIT_SECONDS_MAX:
        raise Problem(400, "BAD_QUERY", f"wait is {text[:40]!r}; give whole seconds from 0 to {WAIT_SECONDS_MAX}")
    return int(text)


def fields_of(route: Route) -> dict[str, Any]:
    """Give the fields that a request can fill by its query or its body, with their types."""
    taken = {*route.in_path, *route.own, *route.fixed}
    return {name: type for name, type in types_of(route).items() if name not in taken}


def types_of(route: Route) -> dict[str, Any]:
    """Give all fields of an operation's input, with their types."""
    return {one.encode_name: one.type for one in msgspec.structs.fields(route.declared.input)}


def input_of(route: Route, parameters: dict[str, str], query: dict[str, list[str]], body: JsonValue) -> Any:
    """Make an operation's input; raises Problem or InputNotAccepted."""
    fields = fields_of(route)
    rest = _from_body(route, fields, body) if route.has_body else _from_query(fields, query)
    if route.has_body and query:
        raise Problem(400, "BAD_QUERY", f"there is no parameter {next(iter(query))[:80]!r}; write it into the body")
    return route.declared.read({**rest, **_from_path(route, parameters), **route.fixed})


def _from_path(route: Route, parameters: dict[str, str]) -> dict[str, JsonValue]:
    """Give the fields that the path says; a version belongs to its name where it is no field of its own."""
    types = types_of(route)
    if "version" in parameters and "version" not in types:
        return {"name": f"{parameters['name']}@{parameters['version']}"}
    return {name: _value(name, _kinds(types[name]), text) for name, text in parameters.items()}


def _from_body(route: Route, fields: dict[str, Any], body: JsonValue) -> dict[str, JsonValue]:
    if body is None:
        return {}
    if not isinstance(body, dict):
        raise Problem(400, "BAD_BODY", f"the body is not a JSON object; send one with {_listed(fields)}")
    for name in body:
        if name not in fields:
            raise Problem(
                400, "UNKNOWN_FIELD", f"the body has an unknown field {name[:80]!r}; it has {_listed(fields)}"
            )
    return body


def _from_query(fields: dict[str, Any], query: dict[str, list[str]]) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {}
    for name, texts in query.items():
        if name not in fields:
            raise Problem(400, "UNKNOWN_PARAMETER", f"there is no parameter {name[:80]!r}; there is {_listed(fields)}")
        kinds = _kinds(fields[name])
        if any(get_origin(kind) is list for kind in kinds):
            found[name] = list(texts)
        elif len(texts) > 1:
            raise Problem(400, "BAD_QUERY", f"the parameter {name!r} is given twice; keep one of them")
        else:
            found[name] = _value(name, kinds, texts[0])
    return found


def _value(name: str, kinds: list[Any], text: str) -> JsonValue:
    """Read a parameter as the type of its field; what does not fit stays a text, which the operation refuses."""
    if Any in kinds:
        try:
            return parse_json(text)
        except BadValue as error:
            raise Problem(400, "BAD_QUERY", f"the parameter {name!r} is not JSON: {error}") from None
    if bool in kinds and text in ("true", "false"):
        return text == "true"
    if int in kinds and len(text) < 20 and text.removeprefix("-").isascii() and text.removeprefix("-").isdigit():
        return int(text)
    if float in kinds and int not in kinds:
        try:
            return float(text)
        except ValueError:
            return text
    return text


def _kinds(type: Any) -> list[Any]:
    """Give the types that a field may have, without null and without its absence."""
    if get_origin(type) in (Union, UnionType):
        return [kind for part in get_args(type) if part not in (None.__class__, UnsetType) for kind in _kinds(part)]
    return [str] if get_origin(type) is Literal else [type]


def _listed(fields: dict[str, Any]) -> str:
    return ", ".join(fields) or "nothing to give"
