"""A load for one database: small runs of several kinds, the clients that bring them to their end, and their log."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, Final

from wonder.actions.python.kind import current_context
from wonder.app.application import Application
from wonder.app.opening import open_wonder
from wonder.app.results import Run
from wonder.errors import WonderError
from wonder.storage.runs.leases import read_lease
from wonder.storage.runs.reading import live_runs, open_inbox
from wonder.storage.store import Reader

Line = dict[str, Any]
WORKFLOWS: Final = ("chain", "fan", "waits", "caller")
_LOOK_SECONDS: Final = 0.005
_ACT: Final = {"kind": "python", "implementation": {"function": "proof:act"}}
_GIVEN: Final = {"name": "$.input.key"}


def _node(action: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"action": action, **fields}


def _wait(kind: str, **implementation: Any) -> dict[str, Any]:
    return _node({"kind": kind, "implementation": implementation}, input_mapping={"key": "$.input.key"})


def _update(**updates: str) -> dict[str, Any]:
    wanted = [{"path": path.replace("__", "."), "expr": expr} for path, expr in updates.items()]
    return _node({"kind": "update_context", "implementation": {"updates": wanted}})


def _line(*nodes: str) -> list[dict[str, Any]]:
    return [{"from": left, "to": right} for left, right in pairwise(nodes)]


def _workflow(nodes: dict[str, Any], transitions: list[dict[str, Any]]) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"n": {}, "all": {"type": "array"}}}
    graph = {"initial_node": next(iter(nodes)), "nodes": nodes, "transitions": transitions}
    return {**graph, "context_schema": schema}


_CHAIN: Final = _workflow(
    {
        "start": _update(state__n="1"),
        "first": _node(_ACT, input_mapping=_GIVEN),
        "second": _node(_ACT, input_mapping=_GIVEN),
        "third": _node(_ACT, input_mapping=_GIVEN, output_mapping={"output": "$"}),
    },
    _line("start", "first", "second", "third"),
)
_FAN: Final = _workflow(
    {
        "start": _update(),
        "each": _node(_ACT, input_mapping={"name": "$.item"}, output_mapping={"state.n": "$.name"}),
        "done": _update(output__all="state.all"),
    },
    [
        {"from": "start", "to": "each", "foreach": {"collection": "input.items"}},
        {
            "from": "each",
            "to": "done",
            "synchronization": {
                "strategy": "all",
                "sibling_group": "start",
                "merge": {"source": "_branch.output.n", "target": "state.all", "strategy": "append"},
            },
        },
    ],
)
_WAITS: Final = _workflow(
    {
        "ask": _wait("human_input", prompt="go on?", schema={}) | {"output_mapping": {"output.answer": "$"}},
        "sleep": _wait("sleep", ms=10),
        "listen": _wait("wait_for_event", event="go", key="{{input.key}}") | {"output_mapping": {"output.event": "$"}},
        "last": _node(_ACT, input_mapping=_GIVEN),
    },
    _line("ask", "sleep", "listen", "last"),
)
_CALLER: Final = _workflow(
    {
        "before": _node(_ACT, input_mapping=_GIVEN),
        "call": _wait("workflow_call", workflow_def_id="chain") | {"output_mapping": {"output.inner": "$.name"}},
        "after": _node(_ACT, input_mapping=_GIVEN),
    },
    _line("before", "call", "after"),
)
DEFINITION: Final = {
    "workflow": {"name": "caller", **_CALLER},
    "workflows": {"chain": _CHAIN, "fan": _FAN, "waits": _WAITS},
}


class Load:
    """Clients of one database, through however many processes and power cuts; `note` takes each line of their log."""

    def __init__(self, random: Random, note: Callable[[Line], None]) -> None:
        self._random, self._note = random, note
        self.asked: dict[str, tuple[str, dict[str, Any]]] = {}
        """The workflow and the input of each run that was asked for, by its idempotency key, whether that was heard."""

    def open(self, database: Path) -> AbstractAsyncContextManager[Application]:
        """Open the database with its engine, and deploy what the runs follow."""
        return self._opened(f"sqlite:///{database}")

    def plan(self, count: int, padding: int = 0) -> list[str]:
        """Think up runs, and give the idempotency key of each; `padding` makes each as many bytes longer."""
        first = len(self.asked)
        for number in range(first, first + count):
            given = {"key": f"key-{number}", "items": list(range(self._random.randint(0, 6))), "padding": "x" * padding}
            self.asked[f"key-{number}"] = self._random.choice(WORKFLOWS), given
        return list(self.asked)[first:]

    async def ask(self, wonder: Application, key: str) -> Run:
        """Ask for one of these runs, for the first time or once more."""
        workflow, given = self.asked[key]
        run = await wonder.start(workflow, given, idempotency_key=key)
        self._tell("accepted", run=run.id, key_=key)
        return run

    async def cancel(self, wonder: Application, run: Run) -> None:
        """Cancel a run, if it has not ended."""
        try:
            await wonder.cancel(run.id)
        except WonderError:
            return
        self._tell("cancel_confirmed", run=run.id)

    async def hear(self, wonder: Application, run: Run) -> None:
        """Wait until a run has ended, and note how."""
        result = await wonder.wait(run.id)
        self._note({"kind": "told_end", "run": run.id, "status": result.status, "output": result.output})

    async def finish(self, wonder: Application) -> None:
        """Do what runs wait for, until all runs of the database have ended."""
        store, project_id = wonder.store, wonder.home.project_id
        for key in list(self.asked):
            await wonder.send_event("go", key, {"key": key}, id=key)
            self._tell("event_accepted", project=project_id, event="go", key_=key)
        while await live_runs(store):
            for item in (await open_inbox(store, project_id)).items:
                try:
                    await wonder.answer(item.id, {"yes": item.id})
                except WonderError:
                    continue
                self._note({"kind": "answer_accepted", "item": item.id})
            await asyncio.sleep(_LOOK_SECONDS)

    @asynccontextmanager
    async def _opened(self, url: str) -> AsyncIterator[Application]:
        async with open_wonder(url, functions={"proof:act": self._act}) as wonder:
            assert wonder.engine
            lease = await read_lease(wonder.store)
            assert lease
            self._tell("claimed", owner=lease.owner_id, epoch=lease.epoch)
            await wonder.deploy(DEFINITION)
            yield wonder

    async def _act(self, name: Any) -> dict[str, Any]:
        origin = current_context().origin
        # Which token this is, only the database can say later.
        self._tell("effect", run=origin.run_id, node=origin.node, path=origin.branch)
        if self._random.random() < 0.5:
            await asyncio.sleep(0)
        return {"name": name}

    def _tell(self, kind: str, **fields: Any) -> None:
        line = {name.rstrip("_"): value for name, value in fields.items()}
        self._note({"kind": kind, "at": time.time_ns() // 1_000_000, **line})


async def with_tokens(reader: Reader, log: list[Line]) -> list[Line]:
    """Give the log with the token of each effect; where the database knows none, the node and the path stand for it."""
    rows = await reader.query(
        "SELECT t.run_id, n.ref, t.path_id, t.id FROM tokens AS t JOIN runs AS r ON r.id = t.run_id JOIN nodes AS n"
        " ON n.workflow_def_id = r.workflow_def_id AND n.workflow_def_version = r.workflow_version AND n.id = t.node_id"
    )
    tokens = {(run, node, path): token for run, node, path, token in rows}
    return [
        {**line, "token": tokens.get((line["run"], line["node"], line["path"]), f"at {line['node']} {line['path']}")}
        if line["kind"] == "effect"
        else line
        for line in log
    ]
