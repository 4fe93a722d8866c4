"""Trials of fields: a definition with and without a field is run for real, and what comes of it is compared (TSK-7)."""

import asyncio
import json
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import asynccontextmanager, suppress
from copy import deepcopy
from pathlib import Path
from typing import Any, Final, NamedTuple, get_args

import apsw
from pydantic import BaseModel

from support.embedding_peer import EmbeddingPeer
from support.http_peer import HttpPeer, Received, answer, http_peer
from support.phase_workflows import ToolFile
from support.systems import settle, settle_workspace
from wonder.actions.protocol import ActionFailed
from wonder.app.application import Application
from wonder.app.opening import open_wonder
from wonder.coordinator.orders import AnswerItem
from wonder.definitions.faults import DefinitionRefused
from wonder.errors import WonderError
from wonder.storage.artifacts import artifacts_of_run
from wonder.storage.runs.listing import list_runs
from wonder.storage.runs.reading import events_of_run, inbox_of_run

ABSENT: Final = object()
_PATIENCE_SECONDS: Final = 0.2
_SETTLED_SECONDS: Final = 5.0
_ULID: Final = re.compile(r"\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b")
_UNSTEADY: Final = re.compile(r"127\.0\.0\.1:\d+|\b\d+(\.\d+)? ms\b|\d{4}-\d\d-\d\d[T ][\d:.]+Z?")
_HEADERS: Final = ("authorization", "content-type", "idempotency-key", "x-own")


_DYING: Final = """
import asyncio, os, sys
from wonder.app.opening import open_wonder

async def main():
    async with open_wonder(sys.argv[1], functions={"tests:die": lambda: os._exit(1)}) as wonder:
        await (await wonder.start("w")).wait()

asyncio.run(main())
"""


class Trial(NamedTuple):
    """One field, and two situations that differ in nothing but its value."""

    field: str
    without: dict[str, Any]
    given: dict[str, Any]
    shown_by: tuple[str, ...] = ()
    """The command that shows a field which only describes; otherwise what a run does is looked at."""
    told: str = ""
    """What that command must show."""


def trial(field: str, base: dict[str, Any], at: str, value: Any, other: Any = ABSENT, **more: Any) -> Trial:
    """Make a trial: at a place of the base, the field has the value, or another one, or is absent.

    `with_` are further places and values of both; the rest is about the situation.
    """
    both = deepcopy(base)
    for place, extra in more.pop("with_", {}).items():
        put(both, place, extra)
    without, given = deepcopy(both), deepcopy(both)
    put(without, at, other)
    put(given, at, value)
    return Trial(field, {"bundle": without, **more}, {"bundle": given, **more})


def shown(field: str, base: dict[str, Any], at: str, *command: str, told: Any = "Painted blue") -> Trial:
    """Make a trial of a field that is for people: a command shows it."""
    made = trial(field, base, at, told)
    return made._replace(shown_by=command, told=told[0] if isinstance(told, list) else told)


def of_project(field: str, base: dict[str, Any], value: Any, other: Any = ABSENT, **more: Any) -> Trial:
    """Make a trial of a setting of the project, `budget.on_exceeded` of the record ProjectBudget, say."""
    return _of_settings("project", field, base, value, other, more)


def of_workspace(field: str, base: dict[str, Any], value: Any, other: Any = ABSENT, **more: Any) -> Trial:
    """Make a trial of a setting of the workspace."""
    return _of_settings("workspace", field, base, value, other, more)


def _of_settings(where: str, field: str, base: dict[str, Any], value: Any, other: Any, more: dict[str, Any]) -> Trial:
    record, _, place = field.partition(":")
    settings = more.pop(where, {})
    situations = []
    for one in (other, value):
        own = deepcopy(settings)
        put(own, place, one)
        situations.append({"bundle": deepcopy(base), where: own, **more})
    return Trial(f"{record}.{place.rpartition('.')[2]}", *situations)


def put(value: Any, place: str, new: Any) -> None:
    """Set a place in a value, or take it out."""
    *outer, last = [int(part) if part.isdigit() else part for part in place.split(".")]
    for part in outer:
        value = value[part] if isinstance(value, list) else value.setdefault(part, {})
    if new is ABSENT:
        if isinstance(value, dict):
            value.pop(last, None)
    else:
        value[last] = new


class Calls:
    """The functions of the trials, and when each was called with what."""

    def __init__(self) -> None:
        self.made: list[tuple[str, float, dict[str, Any]]] = []

    @property
    def functions(self) -> dict[str, Callable[..., Any]]:
        """The functions by the names that definitions call them by."""
        return {
            f"tests:{name}": getattr(self, name)
            for name in ("echo", "die", "broken", "refused", "unsteady", "slow", "many")
        }

    def echo(self, **given: Any) -> Any:
        self._note("echo", given)
        return given

    def die(self, **given: Any) -> Any:
        self._note("die", given)
        return given

    def broken(self, **given: Any) -> Any:
        self._note("broken", given)
        raise ActionFailed("BROKEN", "it broke", retryable=True)

    def refused(self, **given: Any) -> Any:
        self._note("refused", given)
        raise ActionFailed("REFUSED", "never")

    def unsteady(self, **given: Any) -> Any:
        self._note("unsteady", given)
        if len(self.made) < 2:
            raise ActionFailed("BROKEN", "it broke", retryable=True)
        return {"calls": len(self.made)}

    async def slow(self, **given: Any) -> Any:
        self._note("slow", given)
        await asyncio.sleep(0.12)
        self._note("slow ended", given)
        return given

    def many(self, n: int = 10, **_: Any) -> Any:
        return {"items": list(range(n))}

    def _note(self, name: str, given: dict[str, Any]) -> None:
        self.made.append((name, time.monotonic(), given))

    def told(self) -> list[Any]:
        """Say what was called, in order, each with whether it was long after the one before."""
        pauses = [0.0, *(later[1] - sooner[1] for sooner, later in zip(self.made, self.made[1:], strict=False))]
        return [(name, pause > 0.3, given) for (name, _, given), pause in zip(self.made, pauses, strict=False)]


class Ground:
    """Where trials are run: a new SQLite database for each, and servers on loopback that all of them share."""

    def __init__(self, template: Path, folder: Path, peer: HttpPeer) -> None:
        self._template, self._folder, self.peer, self._count = template, folder, peer, 0
        self.tools = ToolFile(folder, "tools")
        self.tools.define(
            greet={"gives": {"line": "hello"}, "output": {"type": "object"}},
            part={"gives": {"line": "bye"}, "output": {"type": "object"}},
        )

    def _placed(self, value: Any, folder: Path) -> Any:
        text = json.dumps(value).replace("PEER", self.peer.url).replace("FOLDER", str(folder / "files"))
        return json.loads(text.replace('"TOOLS"', json.dumps(self.tools.server)))

    async def observe(self, situation: dict[str, Any]) -> dict[str, Any]:
        """Run a situation, and give all that a person or a server could see of it."""
        self._count += 1
        folder = self._folder / str(self._count)
        (folder / "files" / "sub").mkdir(parents=True)
        (folder / "files" / "a.txt").write_text("first")
        shutil.copy(self._template, folder / "wonder.db")
        self.peer.received.clear()
        calls = Calls()
        bundle = self._placed(situation["bundle"], folder)
        url = f"sqlite:///{folder / 'wonder.db'}"
        async with open_wonder(url, functions=calls.functions, runs="none") as wonder:
            try:
                workflow = await self._prepare(wonder, situation, bundle, folder)
            except DefinitionRefused as refusal:
                return {"refused": sorted(fault.code for fault in refusal.faults if fault.severity == "error")}
            except WonderError as error:
                return {"refused": [error.code]}
        if "back_ms" in situation:
            _turn_back(folder / "wonder.db", situation["back_ms"])
        if situation.get("dies"):
            subprocess.run([sys.executable, "-c", _DYING, url], check=False, timeout=60)  # noqa: ASYNC221
        async with open_wonder(url, functions=calls.functions) as wonder:
            begun = time.monotonic()
            if situation.get("start", True) and not situation.get("dies"):
                for run_input in situation.get("inputs", [situation.get("input", {})]):
                    await wonder.start(workflow, run_input)
            await self._settle(wonder, situation)
            seen = await self._seen(wonder, calls, folder)
            if "slower" in situation:
                seen["slow"] = time.monotonic() - begun > situation["slower"]
            if not situation.get("hours"):
                del seen["hours"]
            return _scrubbed(seen, folder)

    async def _prepare(self, wonder: Application, situation: dict[str, Any], bundle: Any, folder: Path) -> Any:
        """Deploy what a situation has, and settle what it says; gives the workflow."""
        if "workspace" in situation:
            await settle_workspace(wonder, **self._placed(situation["workspace"], folder))
        project = self._placed(situation.get("project", {}), folder)
        await settle(wonder, **{name: value for name, value in project.items() if not str(value).startswith("MODEL:")})
        for before in situation.get("before", ()):
            await wonder.deploy(self._placed(before, folder))
        allowed = list(bundle.get("mcp_servers", {})) if situation.get("allow_mcp", True) else []
        workflow = await wonder.deploy(bundle, allow_mcp=allowed)
        if named := str(project.get("default_model_profile_id", "")).removeprefix("MODEL:"):
            rows: Any = await wonder.store.query(f"SELECT id FROM model_profiles WHERE name = '{named}'")
            await settle(wonder, default_model_profile_id=rows[0][0])
        return workflow

    async def _settle(self, wonder: Application, situation: dict[str, Any]) -> None:
        """Wait until all runs have ended, or nothing has happened for a while; answer what is asked on the way."""
        patience = situation.get("patience", _PATIENCE_SECONDS)
        last, since, answered = "", time.monotonic(), set[str]()
        ends = since + _SETTLED_SECONDS
        lingers = situation.get("linger") or "triggers" in json.dumps(situation["bundle"])
        while time.monotonic() < ends:
            runs = (await list_runs(wonder.store, wonder.home.project_id)).items
            now = repr([(run.id, run.status, run.sequence) for run in runs])
            if runs and all(run.has_ended for run in runs) and now == last and not lingers:
                return
            if now != last:
                last, since = now, time.monotonic()
            elif time.monotonic() - since > patience and not any(run.status == "running" for run in runs):
                return
            for run in runs:
                for item in await inbox_of_run(wonder.store, run.id):
                    if "answer" in situation and item.status == "open" and item.id not in answered:
                        answered.add(item.id)
                        await wonder.answer(item.id, situation["answer"])
                    if "people" in situation and item.status == "open" and item.id not in answered:
                        answered.add(item.id)
                        await _answer_as(wonder, item.id, situation["people"])
            if "event" in situation and any(run.status == "waiting" for run in runs):
                await wonder.send_event(*situation["event"])
            await asyncio.sleep(0.01)

    async def _seen(self, wonder: Application, calls: Calls, folder: Path) -> dict[str, Any]:
        runs = (await list_runs(wonder.store, wonder.home.project_id)).items
        seen: dict[str, Any] = {
            name: [] for name in ("runs", "inbox", "used", "artifacts", "steps", "ways", "recorded")
        }
        seen |= {"calls": calls.told(), "events": Counter()}
        for run in sorted(runs, key=lambda one: one.id):
            error = (run.error.code, run.error.message) if run.error else None
            seen["runs"].append([run.workflow_version, run.status, run.paused_reason, run.output, error])
            for event in await events_of_run(wonder.store, run.id, limit=10_000):
                seen["events"][event.type] += 1
                told = event.metadata or {}
                seen["recorded"] += [told["output"]] if "output" in told else []
                seen["steps"] += [step["ref"] for step in told.get("steps") or ()]
                seen["ways"] += [one["transition"] for tier in told.get("tiers", ()) for one in tier["candidates"]]
                seen["used"].append([event.tokens, event.cost_usd]) if event.tokens or event.cost_usd else None
            page = await artifacts_of_run(wonder.store, run.id)
            seen["artifacts"].append([[one.content_type, one.schema_data] for one in page.items])
            for item in await inbox_of_run(wonder.store, run.id):
                standing = [item.assignee, item.role, item.people, item.evidence, item.answered_by]
                seen["inbox"].append([item.prompt, item.schema, item.status, *standing])
        query = wonder.store.query
        seen["metrics"] = await query("SELECT name, dimensions, count, sum FROM metrics ORDER BY 1, 2")
        seen["snapshots"] = await query("SELECT count(*) FROM snapshots")
        seen["costs"] = await query("SELECT spent_nanousd > 0, reserved_nanousd FROM spending ORDER BY 1, 2")
        seen["schedules"] = await query("SELECT started, skipped, due_ms IS NULL, due_ms % 60000 FROM schedule_states")
        planned: Any = await query("SELECT planned_ms / 60000 FROM schedule_firings")
        seen["minutes"] = sorted({minute % 60 for (minute,) in planned} if len(planned) < 10 else {len(planned)})
        seen["hours"] = sorted({minute // 60 % 24 for (minute,) in planned})
        seen["requests"] = [_request(one) for one in self.peer.received]
        seen["files"] = {path.name: path.read_text() for path in sorted((folder / "files").glob("*.txt"))}
        return seen


async def _answer_as(wonder: Application, item_id: str, people: list[dict[str, Any]]) -> None:
    """Answer as several people, one after the other, whether they may or not."""
    for one in people:
        with suppress(WonderError):
            await wonder.order(AnswerItem(item_id=item_id, **one))


def _turn_back(database: Path, milliseconds: int) -> None:
    """Have the schedules of a database believe that no engine has run for a time."""
    connection = apsw.Connection(str(database))
    connection.execute("UPDATE schedule_states SET after_ms = after_ms - ?, due_ms = 1", (milliseconds,))
    connection.close()


def _request(received: Received) -> list[Any]:
    headers = {name: received.header(name) for name in _HEADERS}
    return [received.method, received.target, headers, received.body.decode("utf-8", "replace")]


def _scrubbed(seen: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Leave out what differs from run to run: ids, addresses, times."""
    ids: dict[str, str] = {}
    text = json.dumps(seen, default=str, sort_keys=True).replace(str(folder), "~")
    text = _ULID.sub(lambda found: ids.setdefault(found[0], f"id-{len(ids)}"), text)
    made: dict[str, Any] = json.loads(_UNSTEADY.sub("~", text))
    return made


async def _answer_late(received: Received, writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(0.1)
    writer.write(answer(400, {"error": {"message": "no"}}))


@asynccontextmanager
async def prepared_peer() -> Any:
    """A server that answers requests, embeds words, and refuses to be a model (what it is asked is looked at)."""
    async with http_peer(
        ok=answer(200, {"n": 1}, content_type="application/json"), bad=answer(418, {"n": 2}), text=answer(200, "[1]")
    ) as peer:
        EmbeddingPeer(peer)
        for path in ("/v1", "/v2"):
            peer.answers[f"{path}/chat/completions"] = answer(400, {"error": {"message": "no"}})
        peer.answers["/slow/chat/completions"] = _answer_late
        yield peer


def records(*roots: Any) -> Iterator[type[BaseModel]]:
    """Give the records that are reached from some, each once, by the annotations of their fields."""
    seen: set[type[BaseModel]] = set()
    ahead = list(roots)
    while ahead:
        one = ahead.pop(0)
        if isinstance(one, type) and issubclass(one, BaseModel):
            if one not in seen:
                seen.add(one)
                yield one
                ahead += [field.annotation for field in one.model_fields.values()]
        else:
            ahead += get_args(one)


def fields_of(*roots: Any) -> list[str]:
    """List all fields of all records that are reached: `Record.field`."""
    return [f"{record.__name__}.{name}" for record in records(*roots) for name in record.model_fields]
