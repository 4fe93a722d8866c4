"""What went wrong, as an answer: one shape for all, and one place that says which status an error has (API-1)."""

import logging
from collections.abc import Sequence
from typing import Any

from wonder.api.asgi import Answer, json_answer
from wonder.app.results import RequestRefused
from wonder.errors import WonderError

_LOG = logging.getLogger("wonder.api")

RETRY_SECONDS = 1
"""When to ask again if nothing better is known."""

_NOT_FOUND = {"NOT_FOUND", "EVENT_NOT_THERE", "UNKNOWN_METRIC", "OBJECT_MISSING"}
_CONFLICTS = {
    *("NAME_TAKEN", "IN_USE", "DEFAULT_STAYS", "MCP_SERVER_FIXED", "CONSTRAINT_VIOLATED", "NOT_PUBLIC"),
    *("IDEMPOTENCY_KEY_REUSED", "IDEMPOTENCY_UNDER_WAY", "IDEMPOTENCY_UNKNOWN", "IDEMPOTENCY_ANSWER_NOT_KEPT"),
    *(
        "RUN_NOT_LIVE",
        "RUN_QUARANTINED",
        "ITEM_CLOSED",
        "ITEM_CLAIMED",
        "WORKFLOW_DISABLED",
        "PROJECT_ARCHIVED",
        "FORK_REFUSED",
    ),
    *("ENGINE_ELSEWHERE", "ENGINE_RUNS", "ANSWERED_OTHERWISE", "NOT_POSSIBLE"),
}
# Their messages name hosts and folders of the server, so that a text of our own is sent instead.
_UNAVAILABLE = {
    **dict.fromkeys(
        ("DATABASE_UNREACHABLE", "DATABASE_BUSY", "CONNECTION_LOST", "DISK_FULL", "WRITE_REFUSED", "STORE_CLOSED"),
        "the database can't be used now; try again",
    ),
    **dict.fromkeys(
        ("ENGINE_STOPPED", "LEASE_LOST", "COMMIT_FAILED", "NO_ENGINE_HERE"), "the engine stops or moves; try again"
    ),
    "REQUEST_UNANSWERED": "the process that runs the engine has not answered; it may still do what was asked",
    **dict.fromkeys(("OBJECTS_UNAVAILABLE",), "the content of artifacts can't be reached now; try again"),
    **dict.fromkeys(
        ("COMPILER_NOT_STARTED", "TRANSFORM_WORKER_NOT_STARTED", "TRANSFORM_WORKER_LOST"),
        "transforms can't be compiled now; try again",
    ),
    **dict.fromkeys(("VECTORS_UNAVAILABLE", "DRIVER_MISSING", "NO_VECTORS"), "a part that this needs is not installed"),
}
_INSIDE = {
    *("DATABASE_FAILED", "JOURNAL_DAMAGED", "BROKEN_CONTEXT", "SECRET_BROKEN", "OBJECT_DAMAGED", "UNDECLARED_EVENT"),
    *("SECRET_KEY_BAD", "SECRET_KEY_MISSING", "DATABASE_NEWER", "DATABASE_NOT_MIGRATED", "MIGRATION_CHANGED"),
    *("MIGRATION_FAILED", "DATABASE_UNSUITABLE", "NOT_A_DATABASE", "BAD_DATABASE_URL", "BAD_OBJECTS_URL"),
    *("UNKNOWN_EVENT", "UNKNOWN_WAIT", "UNKNOWN_REQUEST", "WONDER_ERROR"),
}
_STATUS = {
    **dict.fromkeys(_NOT_FOUND, 404),
    **dict.fromkeys(_CONFLICTS, 409),
    **dict.fromkeys(_UNAVAILABLE, 503),
    **dict.fromkeys(_INSIDE, 500),
    **dict.fromkeys(
        ("FORBIDDEN", "ROLE_REFUSED", "SCOPE_REFUSED", "NOT_ALLOWED", "KEY_NOT_ALLOWED", "MAY_NOT_ANSWER"), 403
    ),
    "SETTINGS_CHANGED": 412,
    "OBJECT_TOO_LARGE": 413,
}


class Problem(WonderError):
    """A request that is refused by this room itself, with the status of its answer."""

    def __init__(
        self, status: int, code: str, message: str, *, errors: Sequence[Any] = (), headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.reason_code, self.errors, self.headers = status, code, errors, headers or {}


def status_of(code: str) -> int:
    """Give the status for an error's code: what no list above has is wrong with what was asked."""
    return _STATUS.get(code, 400)


def answer_problem(error: Exception) -> Answer:
    """Answer with what went wrong; of what went wrong inside, nothing is told, and it is logged."""
    if isinstance(error, Problem):
        return _answer(error.status, error.reason_code, str(error), error.errors, error.headers)
    if not isinstance(error, WonderError):
        _LOG.error("a request failed inside", exc_info=error)
        return _inside()
    code = error.reason_code if isinstance(error, RequestRefused) else error.code
    status = status_of(code)
    if status == 500:
        _LOG.error("a request failed inside: %s", code, exc_info=error)
        return _inside()
    if status == 503:
        _LOG.warning("a request could not be carried out: %s: %s", code, error)
        return _answer(503, code, _UNAVAILABLE[code], (), {"retry-after": str(RETRY_SECONDS)})
    return _answer(status, code, str(error), (), {})


def _inside() -> Answer:
    return _answer(500, "INTERNAL", "the server failed; its log says why", (), {})


def _answer(status: int, code: str, message: str, errors: Sequence[Any], headers: dict[str, str]) -> Answer:
    return json_answer({"error": message, "code": code, "errors": list(errors)}, status, **headers)
