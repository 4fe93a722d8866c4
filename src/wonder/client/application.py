"""An application on a server: what `wonder.open` gives, with every operation carried out there (CMD-13)."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from wonder.app.application import Application
from wonder.app.given_files import read_given_file
from wonder.app.results import Run, RunResult, Triggered
from wonder.client.connection import Server
from wonder.client.errors import NotOverServer, ServerRefused
from wonder.client.refusals import faults_of
from wonder.definitions.faults import DefinitionRefused
from wonder.definitions.records.workflows import Workflow
from wonder.language.values import JsonValue, encode_json
from wonder.operations.definitions import GivenFile, GivenFiles
from wonder.operations.definitions import deploy as deploy_files
from wonder.operations.following import run_outcome
from wonder.operations.inbox import (
    Answer,
    ClaimQuestion,
    DelegateQuestion,
    answer_item,
    claim_question,
    delegate_question,
    release_question,
)
from wonder.operations.outputs import as_json
from wonder.operations.run_orders import (
    EVENT_TTL_SECONDS,
    CancelRun,
    ForkRun,
    OutsideEvent,
    PauseRun,
    ResumeRun,
    RetryRun,
    RetryVersion,
    Start,
    cancel_run,
    fork_run,
    pause_run,
    resume_run,
    retry_run,
    send_event,
    start_run,
)
from wonder.operations.runs import OneRun, show_run
from wonder.operations.schedules import OneSchedule, fire_schedule
from wonder.operations.workflow_records import WorkflowRecord
from wonder.operations.workflows import ShowWorkflow, show_workflow

if TYPE_CHECKING:
    from wonder.definitions.records.workflows import Startable
    from wonder.observe.watching import Progress

# Below what proxies take for a connection that hangs.
_WAIT_SECONDS: Final = "25"
Opened = TypeVar("Opened", bound="RemoteApplication")


class RemoteApplication(Application):
    """A project on a server; nothing of its database is in this process."""

    remote: Server

    def __init__(self, server: Server) -> None:  # nothing of an open database is here
        self.remote, self.url, self.objects_url, self.local = server, server.url, None, False

    async def deploy(self, definition: str | Path | Mapping[str, Any], *, allow_mcp: Collection[str] = ()) -> Workflow:
        """Have a definition, a file or a value, checked and stored; raises DefinitionRefused."""
        if isinstance(definition, Mapping):
            name, text = "definition", encode_json(dict(definition))
        else:
            name = str(definition)
            text = (await asyncio.to_thread(read_given_file, definition)).decode("utf-8", errors="replace")
        asked = GivenFiles(files=[GivenFile(text=text, name=name)], allow_mcp=list(allow_mcp))
        (deployed,) = (await deploy_files(self, asked)).files
        if not deployed.stored:
            # A value has no lines that a person could look at.
            is_file = not isinstance(definition, Mapping)
            raise DefinitionRefused(faults_of(deployed.errors + deployed.warnings, placed=is_file))
        if not deployed.workflow:
            raise ServerRefused(404, "NOT_FOUND", f"{name} has no workflow that could be started; it was stored")
        return _workflow(deployed.workflow)

    async def workflow(self, name: str) -> Workflow:
        """Find a workflow of the project by its name or id; raises an error with the code NOT_FOUND."""
        found = (await show_workflow(self, ShowWorkflow(name=name))).workflow
        if found is None:
            raise ServerRefused(404, "NOT_FOUND", f"{name!r} is a definition, and no workflow of the project")
        return _workflow(found)

    async def start(
        self,
        workflow: "Startable | str",
        input: JsonValue = None,
        *,
        idempotency_key: str | None = None,
        version: int | None = None,
    ) -> Run:
        """Start a run of a workflow, or of `name@version`; durable when this returns."""
        name = workflow if isinstance(workflow, str) else workflow.id or workflow.name
        if version is not None:
            name = f"{name.partition('@')[0]}@{version}"
        started = await start_run(self, Start(workflow=name, input=input, idempotency_key=idempotency_key))
        return Run(started.run_id, self.wait)

    async def retry(self, run_id: str, *, version: RetryVersion = None) -> Run:
        """Begin a failed run again, as a new one, just before its failure (CTL-19)."""
        return Run((await retry_run(self, RetryRun(run_id=run_id, version=version))).run_id, self.wait)

    async def fork(self, run_id: str, after: int, state: JsonValue = None) -> Run:
        """Begin a new run as another was after an event, with another state if one is given (CTL-19)."""
        return Run((await fork_run(self, ForkRun(run_id=run_id, after=after, state=state))).run_id, self.wait)

    async def fire_schedule(self, name: str) -> Run:
        """Start a run of a schedule now, paused or not."""
        return Run((await fire_schedule(self, OneSchedule(name=name))).run_id, self.wait)

    async def cancel(self, run_id: str, reason: str | None = None) -> None:
        """End a run."""
        await cancel_run(self, CancelRun(run_id=run_id, reason=reason))

    async def pause(self, run_id: str) -> None:
        """Let a run dispatch nothing more."""
        await pause_run(self, PauseRun(run_id=run_id))

    async def resume(self, run_id: str) -> None:
        """Let a paused run go on."""
        await resume_run(self, ResumeRun(run_id=run_id))

    async def answer(self, item_id: str, value: JsonValue, *, by: str | None = None) -> None:
        """Answer an inbox item; the key says who answers, and not `by`."""
        await answer_item(self, Answer(item_id=item_id, answer=value, by=by))

    async def claim_question(self, item_id: str, *, by: str) -> None:
        """Let nobody else answer an inbox item; the key says who claims it, and not `by`."""
        await claim_question(self, ClaimQuestion(item_id=item_id, by=by))

    async def release_question(self, item_id: str, *, by: str | None = None) -> None:
        """Let others answer an inbox item again."""
        await release_question(self, ClaimQuestion(item_id=item_id, by=by))

    async def delegate_question(self, item_id: str, to: str, *, by: str | None = None) -> None:
        """Hand an inbox item, or your place among its approvers, to another person."""
        await delegate_question(self, DelegateQuestion(item_id=item_id, to=to, by=by))

    async def send_event(
        self,
        event: str,
        key: str | None = None,
        payload: JsonValue = None,
        *,
        id: str | None = None,
        ttl_seconds: int = EVENT_TTL_SECONDS,
    ) -> None:
        """Wake what waits for an event, or keep it so long for the first that comes; an `id` makes it count once."""
        await send_event(self, OutsideEvent(event=event, key=key, payload=payload, id=id, ttl_seconds=ttl_seconds))

    async def wait(self, run_id: str) -> RunResult:
        """Wait until a run has ended."""
        while True:
            outcome = await self.remote.ask(run_outcome, OneRun(run_id=run_id), {"wait": _WAIT_SECONDS})
            if outcome.status in ("completed", "failed", "cancelled"):
                error: Any = None if outcome.error is None else as_json(outcome.error)
                return RunResult(run_id, outcome.status, outcome.output, error)

    async def watch(self, run_id: str) -> "AsyncIterator[Progress]":
        """Wait until a run has ended; what its actions report meanwhile is not heard of here."""
        await self.wait(run_id)
        return
        yield

    async def triggers(self, run_id: str) -> Triggered:
        """Say what a run's triggers have done, and which runs they have started (PHS-6)."""
        shown = await show_run(self, OneRun(run_id=run_id))
        status: Any = shown.trigger_status
        firings: Any = shown.triggers
        return Triggered(status, shown.triggered_run_ids, firings)

    async def allow_mcp_server(self, name: str) -> None:
        """Refuse: commands are approved on the machine where they are started."""
        raise NotOverServer("mcp.allow", "approves a command that is started on the machine of the server")

    async def close(self) -> None:
        """Close the connections."""
        await self.remote.close()


@asynccontextmanager
async def connected(
    application: type[Opened], url: str, key: str | None, *, workspace: str | None = None, project: str | None = None
) -> AsyncIterator[Opened]:
    """Use a project on a server; raises BadServer."""
    app = application(Server(url, key, workspace=workspace, project=project))
    try:
        yield app
    finally:
        await app.close()


def _workflow(record: WorkflowRecord) -> Workflow:
    return Workflow.model_validate(as_json(record))
