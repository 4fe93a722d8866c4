"""The description of the server, OpenAPI 3.1, made from the declarations of the operations."""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from wonder.api.definitions import StoredDefinitions, media_types
from wonder.api.inputs import WAIT_SECONDS_MAX, fields_of, types_of
from wonder.api.routes import IN_PROJECT, Route
from wonder.operations.declaring import Stream
from wonder.operations.outputs import Output
from wonder.operations.readiness import Readiness
from wonder.operations.run_records import RunOutcome

_REF: Final = "#/components/schemas/{name}"
_ERRORS: Final = {
    "400": "Something is wrong with the request.",
    "401": "There is no key that can be used.",
    "403": "The role or the scope of the key does not allow it.",
    "404": "It is not there, or the caller may not see it.",
    "408": "The request came too slowly.",
    "409": "It conflicts with what is.",
    "412": "It has changed meanwhile.",
    "413": "The body is too large.",
    "415": "The body has another type.",
    "429": "Too many requests of this caller.",
    "500": "The server failed.",
    "503": "It can't be done now.",
}
_WITHOUT_BODY: Final = {"408", "412", "413", "415"}


class Health(Output, frozen=True):
    """That the process lives."""

    status: str


class ProblemPart(Output, frozen=True):
    """One of several things that are wrong; of a definition with its position."""

    type: str
    message: str


class ProblemAnswer(Output, frozen=True):
    """What went wrong."""

    error: str
    """In words."""
    code: str
    errors: list[ProblemPart]


def describe(routes: Iterable[Route], version: str) -> dict[str, Any]:
    """Give the description of all routes."""
    routes = list(routes)
    types = {one for route in routes for one in (route.declared.input, route.declared.output)} - {bytes}
    own: set[Any] = {Health, ProblemAnswer, ProblemPart, Readiness, RunOutcome, StoredDefinitions}
    ordered = sorted(types | own, key=str)
    schemas, components = msgspec.json.schema_components(ordered, ref_template=_REF)
    schema_of = dict(zip(ordered, schemas, strict=True))
    # More than these two are there, depending on what is wrong.
    components["ProblemPart"]["additionalProperties"] = True
    paths: dict[str, dict[str, Any]] = {
        "/healthz": {"get": _plain("healthz", "Say that the process lives.", schema_of[Health])},
        "/readyz": {"get": _plain("readyz", "Say whether requests can be carried out.", schema_of[Readiness])},
        "/openapi.json": {"get": _plain("openapi", "Describe the server.", {"type": "object"})},
    }
    text = {"description": "As Prometheus reads it.", "content": {"text/plain": {"schema": {"type": "string"}}}}
    paths["/metrics"] = {
        "get": {
            "operationId": "metrics",
            "summary": "Give what the project has counted; to a key of the whole server also what the server has.",
            "tags": ["server"],
            "responses": {"200": text, **_problems(_ERRORS.keys() - _WITHOUT_BODY)},
        }
    }
    for route in routes:
        described = _operation(route, schema_of, components)
        paths.setdefault(route.path, {})[route.method.lower()] = described
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Wonder",
            "version": version,
            "description": "A durable workflow engine. Paths below /v1/projects/{project} are about that project; the "
            "same paths directly below /v1 are about the caller's own.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"key": []}, {}],
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": dict(sorted(components.items())),
            "responses": _problem_responses(),
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "description": "An API key."}},
        },
    }


def _operation(route: Route, schema_of: dict[Any, Any], components: dict[str, Any]) -> dict[str, Any]:
    one = route.declared
    described: dict[str, Any] = {
        "operationId": _id(route),
        "summary": one.sentence,
        "description": f"Needs the role {one.role}" + ("." if route.reach == "project" else f" of the {route.reach}."),
        "tags": [one.name.partition(".")[0]],
        "parameters": _parameters(route, components),
        "responses": _responses(route, schema_of),
    }
    if route.has_body:
        described["requestBody"] = _body(route, components)
    return described


def _id(route: Route) -> str:
    """Name an operation once: by its name, and what tells its other places from the first."""
    name = route.declared.name.replace(".", "_")
    if route.form != "fields":
        words = route.path.removeprefix(IN_PROJECT).removeprefix("/v1").strip("/")
        name = f"{route.form}_of_{words}".replace(" ", "_").replace("/", "_").replace("-", "_")
        name = name.replace("{", "").replace("}", "")
    elif "version" in route.in_path:
        name += "_version"
    elif route.path.endswith("/runs/{run_id}/artifacts"):
        name = "runs_artifacts"
    if "/workflow-defs" in route.path and route.form == "fields":
        name = name.replace("workflows", "workflow_defs")
    if route.reach == "workspace" and route.fixed:
        name += "_of_workspace"
    if route.path.startswith("/workflows"):
        name += "_at_root"
    return f"{name}_in_project" if route.path.startswith(IN_PROJECT) and "{project}" in route.path else name


def _parameters(route: Route, components: dict[str, Any]) -> list[dict[str, Any]]:
    properties = components.get(route.declared.input.__name__, {}).get("properties", {})
    found = []
    for name in [part.strip("{}") for part in route.path.split("/") if part.startswith("{")]:
        schema = properties[name] if name in types_of(route) else {"type": "string"}
        found.append({"name": name, "in": "path", "required": True, "schema": _for_path(schema)})
    if not route.has_body:
        required = _required(route, components)
        found += [
            {"name": name, "in": "query", "required": name in required, "schema": properties[name]}
            for name in fields_of(route)
        ]
    if route.waits:
        seconds = {"type": "integer", "minimum": 0, "maximum": WAIT_SECONDS_MAX}
        found.append({"name": "wait", "in": "query", "required": False, "schema": seconds})
    if route.method == "POST" and route.declared.changes:
        key = {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[ -~]+$"}
        found.append({"name": "Idempotency-Key", "in": "header", "required": False, "schema": key})
    if route.declared.name == "settings.set":
        found.append({"name": "If-Match", "in": "header", "required": False, "schema": {"type": "string"}})
    workspace = {"name": "Wonder-Workspace", "in": "header", "required": False, "schema": {"type": "string"}}
    return [*found, workspace]


def _for_path(schema: dict[str, Any]) -> dict[str, Any]:
    """Give the schema of a parameter in a path, which is never empty."""
    return {"type": "string", "minLength": 1} if schema.get("type") == "string" else {"type": "integer"}


def _required(route: Route, components: dict[str, Any]) -> list[str]:
    required: list[str] = components.get(route.declared.input.__name__, {}).get("required", [])
    return required


def _body(route: Route, components: dict[str, Any]) -> dict[str, Any]:
    if route.form != "fields":
        schema: dict[str, Any] = {"type": "object"}
        if route.form == "part":
            schema = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}
        content = {one: {"schema": schema if one == "application/json" else {}} for one in media_types(route)}
        return {"required": True, "content": content}
    properties = components.get(route.declared.input.__name__, {}).get("properties", {})
    fields = fields_of(route)
    required = [name for name in _required(route, components) if name in fields]
    schema = {
        "type": "object",
        "properties": {name: properties[name] for name in fields},
        "required": required,
        "additionalProperties": False,
    }
    return {"required": bool(required), "content": {"application/json": {"schema": schema}}}


def _responses(route: Route, schema_of: dict[Any, Any]) -> dict[str, Any]:
    one = route.declared
    if one.name == "artifacts.content":
        content: dict[str, Any] = {"*/*": {"schema": {}}}
    elif isinstance(one, Stream):
        items = {"type": "array", "items": schema_of[one.output]}
        schema = {"type": "object", "required": ["items"], "properties": {"items": items}}
        content = {"application/json": {"schema": schema}}
    elif route.form != "fields" and one.changes:
        content = {"application/json": {"schema": schema_of[StoredDefinitions]}}
    elif route.waits and one.changes:
        content = {"application/json": {"schema": {"anyOf": [schema_of[RunOutcome], schema_of[one.output]]}}}
    else:
        content = {"application/json": {"schema": schema_of[one.output]}}
    status = 201 if route.form != "fields" and one.changes else route.status
    left_out = set() if route.has_body else _WITHOUT_BODY
    return {str(status): {"description": "Done.", "content": content}} | _problems(_ERRORS.keys() - left_out)


def _plain(name: str, sentence: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Describe what everybody may ask for."""
    responses: dict[str, Any] = {"200": {"description": "Done.", "content": {"application/json": {"schema": schema}}}}
    if name == "readyz":
        both = {"anyOf": [schema, {"$ref": "#/components/schemas/ProblemAnswer"}]}
        responses["503"] = {"description": "Not now.", "content": {"application/json": {"schema": both}}}
    return {"operationId": name, "summary": sentence, "tags": ["server"], "security": [], "responses": responses}


def _problem_responses() -> dict[str, Any]:
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/ProblemAnswer"}}}
    return {f"Problem{status}": {"description": text, "content": content} for status, text in _ERRORS.items()}


def _problems(statuses: Iterable[str]) -> dict[str, Any]:
    return {status: {"$ref": f"#/components/responses/Problem{status}"} for status in sorted(statuses)}
