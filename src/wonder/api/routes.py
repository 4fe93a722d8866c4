"""Where each operation is found: its method and its path. What is not in this table can't be asked for over HTTP.

`/runs` of a project is `/v1/runs` in the caller's project, and `/v1/projects/{project}/runs` in another one.
A name in braces is the field of the operation's input that this part of the path is.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias

from wonder.app.callers import ROLES, Reach
from wonder.language.values import JsonValue
from wonder.operations.catalogue import all_operations
from wonder.operations.declaring import Declared

PREFIX: Final = "/v1"
IN_PROJECT: Final = "/v1/projects/{project}"

# Of a project.
PROJECT_ROUTES: Final[dict[str, str]] = {
    "actions.archive": "POST /action-defs/{name}/archive",
    "actions.list": "GET /action-defs",
    "actions.restore": "POST /action-defs/{name}/restore",
    "actions.show": "GET /action-defs/{name}",
    "artifact_types.archive": "POST /artifact-types/{name}/archive",
    "artifact_types.list": "GET /artifact-types",
    "artifact_types.restore": "POST /artifact-types/{name}/restore",
    "artifact_types.show": "GET /artifact-types/{name}",
    "artifacts.content": "GET /artifacts/{artifact_id}/content",
    "artifacts.list": "GET /artifacts",
    "artifacts.show": "GET /artifacts/{artifact_id}",
    "costs.show": "GET /costs",
    "definitions.deploy": "POST /definitions/deploy",
    "definitions.schema": "GET /definitions/schema",
    "definitions.validate": "POST /definitions/validate",
    "engine.status": "GET /engine",
    "events.find": "GET /events",
    "events.send": "POST /events",
    "inbox.answer": "POST /inbox/{item_id}/answer",
    "inbox.claim": "POST /inbox/{item_id}/claim",
    "inbox.delegate": "POST /inbox/{item_id}/delegate",
    "inbox.list": "GET /inbox",
    "inbox.release": "POST /inbox/{item_id}/release",
    "inbox.show": "GET /inbox/{item_id}",
    "audit.list": "GET /audit",
    "keys.create": "POST /keys",
    "keys.list": "GET /keys",
    "keys.revoke": "POST /keys/{key}/revoke",
    "kinds.list": "GET /kinds",
    "kinds.show": "GET /kinds/{kind}",
    "logs.list": "GET /logs",
    "mcp.archive": "POST /mcp-servers/{name}/archive",
    "mcp.list": "GET /mcp-servers",
    "mcp.restore": "POST /mcp-servers/{name}/restore",
    "mcp.tools": "POST /mcp-servers/{server}/tools",
    "metrics.show": "GET /metrics",
    "models.archive": "POST /model-profiles/{name}/archive",
    "models.list": "GET /model-profiles",
    "models.restore": "POST /model-profiles/{name}/restore",
    "models.show": "GET /model-profiles/{name}",
    "prompts.archive": "POST /prompt-specs/{name}/archive",
    "prompts.list": "GET /prompt-specs",
    "prompts.restore": "POST /prompt-specs/{name}/restore",
    "prompts.show": "GET /prompt-specs/{name}",
    "retention.preview": "GET /retention",
    "runs.cancel": "POST /runs/{run_id}/cancel",
    "runs.context": "GET /runs/{run_id}/context",
    "runs.count": "GET /run-counts",
    "runs.events": "GET /runs/{run_id}/events",
    "runs.fork": "POST /runs/{run_id}/fork",
    "runs.history": "GET /runs/{run_id}/history",
    "runs.list": "GET /runs",
    "runs.outcome": "GET /runs/{run_id}/outcome",
    "runs.pause": "POST /runs/{run_id}/pause",
    "runs.progress": "GET /runs/{run_id}/progress",
    "runs.resume": "POST /runs/{run_id}/resume",
    "runs.retry": "POST /runs/{run_id}/retry",
    "runs.retry_all": "POST /retries",
    "runs.show": "GET /runs/{run_id}",
    "runs.start": "POST /workflows/{workflow}/runs",
    "runs.to_retry": "GET /retries",
    "runs.verify": "GET /runs/{run_id}/verification",
    "runs.wait_for_triggered": "GET /runs/{run_id}/triggered",
    "schedules.create": "POST /schedules",
    "schedules.delete": "DELETE /schedules/{name}",
    "schedules.fire": "POST /schedules/{name}/fire",
    "schedules.list": "GET /schedules",
    "schedules.next": "GET /schedules/{name}/next",
    "schedules.pause": "POST /schedules/{name}/pause",
    "schedules.resume": "POST /schedules/{name}/resume",
    "schedules.show": "GET /schedules/{name}",
    "secrets.delete": "DELETE /secrets/{name}",
    "secrets.list": "GET /secrets",
    "secrets.scope": "PUT /secrets/{name}/scope",
    "secrets.set": "PUT /secrets/{name}",
    "settings.set": "PUT /settings/{key}",
    "settings.show": "GET /settings",
    "tasks.archive": "POST /task-defs/{name}/archive",
    "tasks.list": "GET /task-defs",
    "tasks.restore": "POST /task-defs/{name}/restore",
    "tasks.show": "GET /task-defs/{name}",
    "vectors.index": "POST /vector-indexes/{name}/index",
    "vectors.archive": "POST /vector-indexes/{name}/archive",
    "vectors.list": "GET /vector-indexes",
    "vectors.restore": "POST /vector-indexes/{name}/restore",
    "vectors.show": "GET /vector-indexes/{name}",
    "workflows.archive": "POST /workflows/{name}/archive",
    "workflows.bind": "PUT /workflows/{name}/definition",
    "workflows.diff": "GET /workflows/{name}/diff",
    "workflows.disable": "POST /workflows/{name}/disable",
    "workflows.enable": "POST /workflows/{name}/enable",
    "workflows.list": "GET /workflows",
    "workflows.pin": "PUT /workflows/{name}/pin",
    "workflows.rename": "POST /workflows/{name}/rename",
    "workflows.restore": "POST /workflows/{name}/restore",
    "workflows.show": "GET /workflows/{name}",
    "workflows.unpin": "DELETE /workflows/{name}/pin",
}
# Of the caller's workspace. A key that is limited to a project reaches none of them.
WORKSPACE_ROUTES: Final[dict[str, str]] = {
    "libraries.archive": "POST /libraries/{name}/archive",
    "libraries.create": "POST /libraries",
    "libraries.list": "GET /libraries",
    "libraries.restore": "POST /libraries/{name}/restore",
    "libraries.show": "GET /libraries/{name}",
    "projects.archive": "POST /projects/{name}/archive",
    "projects.create": "POST /projects",
    "projects.list": "GET /projects",
    "projects.rename": "POST /projects/{name}/rename",
    "projects.restore": "POST /projects/{name}/restore",
    "projects.show": "GET /projects/{name}",
    "settings.set": "PUT /workspace/settings/{key}",
    "settings.show": "GET /workspace/settings",
}
# Of the whole server. A key that is limited to a workspace reaches none of them.
SERVER_ROUTES: Final[dict[str, str]] = {
    "definitions.deploy_public": "POST /public-definitions/deploy",
    "libraries.archive_public": "POST /public-libraries/{name}/archive",
    "libraries.create_public": "POST /public-libraries",
    "libraries.restore_public": "POST /public-libraries/{name}/restore",
    "retention.apply": "POST /retention/apply",
    "secrets.rotate": "POST /secret-keys/rotate",
    "system.diagnose": "GET /diagnosis",
    "workspaces.archive": "POST /workspaces/{name}/archive",
    "workspaces.create": "POST /workspaces",
    "workspaces.list": "GET /workspaces",
    "workspaces.rename": "POST /workspaces/{name}/rename",
    "workspaces.restore": "POST /workspaces/{name}/restore",
    "workspaces.show": "GET /workspaces/{name}",
}
LOCAL: Final[dict[str, str]] = {
    **dict.fromkeys(
        ("backups.check", "backups.make", "backups.restore"), "reads and writes folders of the machine of the server"
    ),
    **dict.fromkeys(
        ("database.check", "database.copy", "database.grant_reader", "database.migrate", "database.repair"),
        "works on the database as a whole, beside or before a server",
    ),
    "database.trust": "is about the user account that owns a database file",
    "logs.follow": "has no end; the logs of a run so far are `logs.list`",
    **dict.fromkeys(
        ("mcp.allow", "mcp.approvals", "mcp.forget"), "approves commands that are started on the machine of the server"
    ),
    "metrics.prometheus": "is `GET /metrics`, which adds the figures of the server itself",
    **dict.fromkeys(
        ("query.functions", "query.run", "query.tables"), "SQL sees every workspace; it needs views with the tenant in"
    ),
}
"""What is only asked for on the machine of the server, or in another way, and why."""

Form: TypeAlias = Literal["fields", "phase form", "file form", "library", "part"]
"""What a body is: fields of the input, a workflow in the phase form, a definition file, definitions of a library, or
one definition with its name."""

# Definitions, as they are written, without being wrapped as texts of files.
_WRITTEN: Final[list[tuple[str, str, Form, str]]] = [
    ("definitions.deploy", "POST /workflows", "phase form", ""),
    ("definitions.deploy", "POST /bundles", "file form", ""),
    ("definitions.validate", "POST /bundles/validate", "file form", ""),
    ("definitions.deploy", "POST /workflow-defs", "part", "workflows"),
    ("definitions.deploy", "POST /task-defs", "part", "tasks"),
    ("definitions.deploy", "POST /action-defs", "part", "actions"),
    ("definitions.deploy", "POST /prompt-specs", "part", "prompts"),
    ("definitions.deploy", "POST /artifact-types", "part", "artifact_types"),
    ("definitions.deploy", "POST /model-profiles", "part", "models"),
    ("definitions.deploy", "POST /mcp-servers", "part", "mcp_servers"),
    ("definitions.deploy", "POST /vector-indexes", "part", "vector_indexes"),
]
# What is found in another place as well.
_ALSO: Final[list[tuple[str, str]]] = [
    ("actions.show", "GET /action-defs/{name}/versions/{version}"),
    ("artifact_types.show", "GET /artifact-types/{name}/versions/{version}"),
    ("artifacts.list", "GET /runs/{run_id}/artifacts"),
    ("prompts.show", "GET /prompt-specs/{name}/versions/{version}"),
    ("tasks.show", "GET /task-defs/{name}/versions/{version}"),
    ("workflows.list", "GET /workflow-defs"),
    ("workflows.show", "GET /workflow-defs/{name}"),
    ("workflows.show", "GET /workflow-defs/{name}/versions/{version}"),
    ("workflows.show", "GET /workflows/{name}/versions/{version}"),
]
_FIXED: Final[dict[tuple[str, str], dict[str, JsonValue]]] = {
    ("settings.set", "project"): {"of": "project"},
    ("settings.show", "project"): {"of": "project"},
    ("settings.set", "workspace"): {"of": "workspace"},
    ("settings.show", "workspace"): {"of": "workspace"},
}
# Fields that no request may fill: the caller's name is the key's, and a definition must not approve its own commands.
_OWN: Final[dict[str, frozenset[str]]] = {
    **dict.fromkeys(
        ("inbox.answer", "inbox.claim", "inbox.delegate", "inbox.list", "inbox.release"), frozenset({"by"})
    ),
    # The header If-Match.
    "settings.set": frozenset({"only_if"}),
    "definitions.deploy": frozenset({"allow_mcp"}),
    "definitions.deploy_public": frozenset({"allow_mcp"}),
    "definitions.validate": frozenset({"allow_mcp"}),
}
_CREATED: Final = {
    *("runs.start", "runs.retry", "runs.fork", "schedules.fire", "schedules.create", "projects.create"),
    *("keys.create", "workspaces.create", "libraries.create", "libraries.create_public"),
}
_WAITING: Final = {"runs.outcome", "runs.show", "runs.start"}


class NoRole(Exception):
    """An operation without a role was to be mounted."""


@dataclass(frozen=True)
class Route:
    """An operation at one place."""

    declared: Declared[Any, Any]
    method: str
    path: str
    """With `/v1` before it."""
    reach: Reach
    """How far a caller must reach at least."""
    fixed: Mapping[str, JsonValue] = field(default_factory=dict)
    own: frozenset[str] = frozenset()
    """Fields that are no part of a request."""
    status: int = 200
    waits: bool = False
    """Whether `?wait=` waits for the end of a run."""
    form: Form = "fields"
    section: str = ""
    """The section of a definition file that one definition belongs to."""

    @property
    def in_path(self) -> list[str]:
        """The parameters in the path, but for the project."""
        names = [part.strip("{}") for part in self.path.split("/") if part.startswith("{")]
        return [name for name in names if name != "project"]

    @property
    def has_body(self) -> bool:
        """Whether the rest of the operation's input is the body; of other methods it is the query."""
        return self.method in ("POST", "PUT", "PATCH")


def all_routes() -> list[Route]:
    """Give every place where an operation is; those of a project are there twice."""
    known = all_operations()
    found: list[Route] = []
    for prefix in (PREFIX, IN_PROJECT):
        found += [_route(known[name], place, "project", prefix) for name, place in PROJECT_ROUTES.items()]
        found += [_route(known[name], place, "project", prefix) for name, place in _ALSO]
        found += [
            replace(_route(known[name], place, "project", prefix), form=form, section=section)
            for name, place, form, section in _WRITTEN
        ]
    # As the source of the phase form has it.
    phases = _route(known["definitions.deploy"], "POST /workflows", "project", "")
    library = _route(known["definitions.deploy"], "POST /libraries/{library}/bundles", "workspace", PREFIX)
    found += [replace(phases, form="phase form"), replace(library, form="library")]
    found += [_route(known[name], place, "workspace", PREFIX) for name, place in WORKSPACE_ROUTES.items()]
    found += [_route(known[name], place, "server", PREFIX) for name, place in SERVER_ROUTES.items()]
    return found


def _route(declared: Declared[Any, Any], place: str, reach: Reach, prefix: str) -> Route:
    name = declared.name
    if declared.role not in ROLES:
        raise NoRole(name)
    method, _, path = place.partition(" ")
    return Route(
        declared,
        method,
        prefix + path,
        reach,
        _FIXED.get((name, reach), {}),
        _OWN.get(name, frozenset()),
        201 if name in _CREATED else 200,
        name in _WAITING,
    )
