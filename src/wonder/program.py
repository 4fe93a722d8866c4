"""The door for Python programs: what `wonder.open` gives (CMD-8).

Operations are imported by the methods that use them: most programs only start runs, and begin sooner without.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import wraps
from typing import TYPE_CHECKING, Any, Generic, Literal, ParamSpec, TypeAlias, TypeVar, cast, overload

import msgspec

from wonder.app.application import Application
from wonder.app.opening import open_wonder
from wonder.app.results import Run
from wonder.errors import WonderError
from wonder.language.values import JsonValue

if TYPE_CHECKING:
    from wonder.definitions.records.workflows import Startable
    from wonder.operations.logs import LogMessage
    from wonder.operations.queries import QueryAnswer
    from wonder.operations.question_records import Question, QuestionDetails
    from wonder.operations.run_records import ListedStatus, RunSummary

T = TypeVar("T")
P = ParamSpec("P")

Moment: TypeAlias = datetime | timedelta | int | None
"""A time; a length of time before now; milliseconds since 1970."""


class OutputMisfit(WonderError):
    """The output of a run is not of the type that the program expects."""

    code = "OUTPUT_MISFIT"

    def __init__(self, run_id: str, type_name: str, reason: str) -> None:
        super().__init__(
            f"the output of run {run_id} is not a {type_name}: {reason}; change the type, or its output_schema"
        )
        self.run_id, self.type_name, self.reason = run_id, type_name, reason


@dataclass(frozen=True)
class TypedResult(Generic[T]):
    """How a run ended; `output` is None if it has not completed."""

    run_id: str
    status: Literal["completed", "failed", "cancelled"]
    output: T | None
    error: dict[str, JsonValue] | None


@dataclass(frozen=True)
class TypedRun(Generic[T]):
    """A run that was started, whose output has a type."""

    id: str
    _run: Run
    _read: Callable[[JsonValue], T]
    _type_name: str

    async def wait(self) -> TypedResult[T]:
        """Wait until the run has ended; raises OutputMisfit if its output is not of the type."""
        ended = await self._run.wait()
        output = None
        if ended.status == "completed":
            try:
                output = self._read(ended.output)
            except ValueError as error:  # of pydantic and of msgspec
                raise OutputMisfit(self.id, self._type_name, str(error)) from error
        return TypedResult(self.id, ended.status, output, ended.error)


class App(Application):
    """An open database with its engine: deploy, start, answer, and look at runs, logs and questions."""

    @overload
    async def start(
        self,
        workflow: "Startable | str",
        input: JsonValue = None,
        *,
        idempotency_key: str | None = None,
        version: int | None = None,
    ) -> Run: ...

    @overload
    async def start(
        self,
        workflow: "Startable | str",
        input: JsonValue = None,
        *,
        idempotency_key: str | None = None,
        version: int | None = None,
        output: type[T],
    ) -> TypedRun[T]: ...

    async def start(
        self,
        workflow: "Startable | str",
        input: JsonValue = None,
        *,
        idempotency_key: str | None = None,
        version: int | None = None,
        output: type[T] | None = None,
    ) -> Run | TypedRun[T]:
        """Start a run of a workflow, of `name@version` or of `library/name@version`; durable when this returns.

        A `version` is run whatever is pinned; without one it is the pinned or the newest.
        Raises NotFound, WorkflowDisabled, InputRefused, KeyNeedsWorkflow or IdempotencyKeyReused.

        With `output`, a pydantic model, a dataclass, a TypedDict, a msgspec.Struct or any type that msgspec converts,
        the result of `run.wait()` has an output of that type. A type that can't be converted is a TypeError.
        """
        if output is None:
            return await super().start(workflow, input, idempotency_key=idempotency_key, version=version)
        read = _reader(output)
        run = await super().start(workflow, input, idempotency_key=idempotency_key, version=version)
        return TypedRun(run.id, run, read, getattr(output, "__name__", str(output)))

    async def inbox(
        self,
        *,
        of: str | None = None,
        assignee: str | None = None,
        role: Literal["operator", "author", "admin"] | None = None,
        claimed: bool | None = None,
        workflow: str | None = None,
    ) -> "AsyncIterator[Question]":
        """Give the questions that runs ask people, oldest first; `answer` answers one.

        With `of`, only those whose turn it is that person's. The other filters are those of `wonder inbox`.
        """
        from wonder.operations.inbox import ListInbox, list_inbox  # as the module says

        cursor = None
        while True:
            asked = ListInbox(
                mine=of is not None,
                by=of,
                assignee=assignee,
                role=role,
                claimed=claimed,
                workflow=workflow,
                cursor=cursor,
            )
            page = await list_inbox(self, asked)
            for question in page.items:
                yield question
            if (cursor := page.cursor) is None:
                return

    async def question(self, item_id: str) -> "QuestionDetails":
        """Give one question, open or closed: its evidence, and who answered what when; raises NotFound."""
        from wonder.operations.inbox import OneQuestion, show_question  # as the module says

        return await show_question(self, OneQuestion(item_id=item_id))

    async def runs(
        self,
        *,
        status: "ListedStatus | None" = None,
        workflow: str | None = None,
        workflow_version: int | None = None,
        since: Moment = None,
        until: Moment = None,
        error: str | None = None,
        error_code: str | None = None,
        node: str | None = None,
        tag: str | None = None,
        retried: bool | None = None,
        parent_run_id: str | None = None,
        cost_min_usd: float | None = None,
        where: str | None = None,
    ) -> "AsyncIterator[RunSummary]":
        """Give runs of the project, newest first; all of them, page by page. The filters are those of `runs list`."""
        from wonder.operations.run_lists import ListRuns, list_project_runs  # as the module says

        cursor = None
        since_ms, until_ms = _milliseconds(since), _milliseconds(until)
        while True:
            asked = ListRuns(
                status=status,
                workflow=workflow,
                workflow_version=workflow_version,
                since_ms=since_ms,
                until_ms=until_ms,
                error=error,
                error_code=error_code,
                node=node,
                tag=tag,
                retried=retried,
                parent_run_id=parent_run_id,
                cost_min_usd=cost_min_usd,
                where=where,
                cursor=cursor,
            )
            page = await list_project_runs(self, asked)
            for run in page.runs:
                yield run
            if (cursor := page.cursor) is None:
                return

    async def query(self, sql: str, *, seconds: float = 30.0, limit: int = 10_000) -> "QueryAnswer":
        """Run one SELECT over runs, events and contexts, as `wonder query` does; raises QueryRefused."""
        from wonder.operations.declaring import place_of  # as the module says
        from wonder.operations.queries import Query, run_query

        return await run_query(place_of(self), Query(sql=sql, seconds=seconds, limit=limit))

    async def logs(
        self,
        *,
        run_id: str | None = None,
        node: str | None = None,
        level: Literal["debug", "info", "warning", "error"] = "debug",
        since: Moment = None,
        until: Moment = None,
        follow: bool = False,
    ) -> "AsyncIterator[LogMessage]":
        """Give log messages, newest first; with `follow` new ones as they come, those of a run until it has ended."""
        from wonder.operations.logs import ListLogs, WhichLogs, follow_logs, list_logs  # as the module says

        since_ms, until_ms = _milliseconds(since), _milliseconds(until)
        if follow:
            which = WhichLogs(run_id=run_id, node=node, level=level, since_ms=since_ms, until_ms=until_ms)
            async for message in follow_logs(self, which):
                yield message
            return
        cursor = None
        while True:
            asked = ListLogs(run_id=run_id, node=node, level=level, since_ms=since_ms, until_ms=until_ms, cursor=cursor)
            page = await list_logs(self, asked)
            for message in page.logs:
                yield message
            if (cursor := page.cursor) is None:
                return


def _opens(
    opening: Callable[P, AbstractAsyncContextManager[Application]],
) -> Callable[P, AbstractAsyncContextManager[App]]:
    """Give the same function with the same parameters, whose application has the methods of this door."""

    @wraps(opening)
    def opened(*given: P.args, **named: P.kwargs) -> AbstractAsyncContextManager[App]:
        named.setdefault("application", App)
        return cast("AbstractAsyncContextManager[App]", opening(*given, **named))

    return opened


open = _opens(open_wonder)


def connect(
    url: str, key: str | None = None, *, workspace: str | None = None, project: str | None = None
) -> AbstractAsyncContextManager[App]:
    """Use a project on a server, `wonder serve`, as if its database were open here (CMD-13).

    `key` is an API key of the server, which only a server that is for its own machine alone does without. `workspace`
    and `project` choose among those that the key reaches, by name or id. Requests are tried again for some seconds
    while the server can't be reached, and whatever changes something is done once. Functions, modules and MCP commands
    are those of the server. Errors have the same codes as with `wonder.open`; most are of the class ServerRefused.
    """
    from wonder.client.application import RemoteApplication, connected  # most programs open a database themselves

    class RemoteApp(App, RemoteApplication):
        """What `wonder.open` gives, on a server."""

    return connected(RemoteApp, url, key, workspace=workspace, project=project)


def _reader(output: type[T]) -> Callable[[JsonValue], T]:
    """Give what turns JSON into a value of this type; a TypeError before anything starts if there is none."""
    if callable(validate := getattr(output, "model_validate", None)):
        return cast("Callable[[JsonValue], T]", validate)
    msgspec.json.schema(output)  # raises TypeError for a class that msgspec does not know
    return lambda value: msgspec.convert(value, output)


def _milliseconds(moment: Any) -> int | None:
    if isinstance(moment, timedelta):
        moment = datetime.now(UTC) - moment
    if isinstance(moment, datetime):
        return int((moment if moment.tzinfo else moment.astimezone()).timestamp() * 1000)
    if moment is None or isinstance(moment, int):
        return moment
    raise TypeError(f"{moment!r} is not a time; give a datetime, a timedelta before now, or milliseconds since 1970")
