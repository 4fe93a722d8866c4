"""A program that runs workflows until it is killed, or has brought all of them to their end.

It imports everything once, and then makes a real process, by fork, for each line that it reads, as JSON: `["start",
OUTPUT, WHAT, ARGUMENT…]` gives the process's id, `["wait", ID]` how it ended (negative: by which signal).
"""

import asyncio
import faulthandler
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

from support.definitions import update
from support.faulty_stores import KillingStore, wonder_on
from support.systems import bundle, calls, line, status_of, waits
from support.triggers import give, source, trigger, triggered
from wonder.app.application import Application
from wonder.app.opening import open_wonder
from wonder.app.results import Run, RunResult
from wonder.coordinator import quarantine
from wonder.coordinator.errors import RunQuarantined
from wonder.errors import WonderError
from wonder.objects.directory import DirectoryObjects
from wonder.objects.files import Incoming
from wonder.storage import run_writer
from wonder.storage.runs.headers import load_header
from wonder.storage.runs.listing import list_runs
from wonder.storage.runs.reading import inbox_of_run
from wonder.storage.sqlite import commits as sqlite_commits

KEYS = ["one", "two", "three"]
ITEMS = [0, 1, 2]
TRIGGERED = 1_000
LEASE_MS = 400
HANGS_SECONDS = 120

_INNER = bundle(
    "inner",
    {"work": calls("effect", input_mapping={"name": "inner", "key": "$.input.key"}, output_mapping={"output": "$"})},
)["workflow"]
del _INNER["name"]
DEFINITION: dict[str, Any] = {
    **bundle(
        "everything",
        {
            "start": update(),
            "each": calls(
                "effect", input_mapping={"name": "$.item", "key": "$.input.key"}, output_mapping={"state.n": "$.name"}
            ),
            "ask": waits("human_input", {"prompt": "go on?", "schema": {}}, output_mapping={"output.answer": "$"}),
            "sleep": waits("sleep", {"ms": 30}),
            "call": waits(
                "workflow_call",
                {"workflow_def_id": "inner"},
                input_mapping={"key": "$.input.key"},
                output_mapping={"output.inner": "$.name"},
            ),
            "listen": waits(
                "wait_for_event",
                {"event": "go", "key": "{{input.key}}"},
                input_mapping={"key": "$.input.key"},
                output_mapping={"output.event": "$"},
            ),
            "last": calls("effect", input_mapping={"name": "last", "key": "$.input.key"}),
            "done": update(**{"output.all": "state.all"}),
        },
        [
            {"from": "start", "to": "each", "foreach": {"collection": "input.items"}},
            {
                "from": "each",
                "to": "ask",
                "synchronization": {
                    "strategy": "all",
                    "sibling_group": "start",
                    "merge": {"source": "_branch.output.n", "target": "state.all", "strategy": "append"},
                },
            },
            *line("ask", "sleep", "call", "listen", "last", "done"),
        ],
        context_schema={"type": "object", "properties": {"n": {}, "all": {"type": "array"}}},
    ),
    "workflows": {"inner": _INNER},
}

STEPS_COUNT = 80
_NAMES = [f"step-{number}" for number in range(STEPS_COUNT)]
_STEP = {"ref": "it", "action": "effect", "input_mapping": "$.input", "output_mapping": {"output.name": "$.name"}}
# One task for all: what is compiled for a node reads the database, which brings steps to its tables.
STEPS = {
    **bundle(
        "steps",
        {
            name: {
                "task": "step",
                "input_mapping": {"name": name, "key": "$.input.key"},
                "output_mapping": {"state.n": "$.name"},
            }
            for name in _NAMES
        },
        line(*_NAMES),
        context_schema={"type": "object", "properties": {"n": {"type": "string"}}},
    ),
    "tasks": {"step": {"steps": [_STEP]}},
    "actions": {"effect": {"kind": "python", "implementation": {"function": "tests:effect"}}},
}

CHARGES = bundle(
    "charges",
    {
        "charge": {
            "action": {
                "kind": "python",
                "implementation": {"function": "tests:charge"},
                "idempotency": {"key_template": "order-{{input.order}}"},
            },
            "input_mapping": {"order": "$.input.order"},
            "output_mapping": {"output.by": "$"},
        }
    },
)

ARTIFACTS = bundle(
    "artifacts",
    {
        "start": update(),
        "write": {
            "action": {
                "kind": "write_artifact",
                "implementation": {"artifact_type_id": "blob", "content_mapping": {"text": "$.text", "n": "$.n"}},
            },
            "input_mapping": {"text": "$.input.text", "n": "$.item"},
            "output_mapping": {"state.id": "$.artifact_id"},
        },
        "done": update(**{"output.ids": "state.ids"}),
    },
    [
        {"from": "start", "to": "write", "foreach": {"collection": "input.items"}},
        {
            "from": "write",
            "to": "done",
            "synchronization": {
                "strategy": "all",
                "sibling_group": "start",
                "merge": {"source": "_branch.output.id", "target": "state.ids", "strategy": "append"},
            },
        },
    ],
    context_schema={"type": "object", "properties": {"id": {}, "ids": {"type": "array"}}},
)


class Effects:
    """A side effect that can be counted from outside: a line in a file."""

    def __init__(self, folder: Path, kill_at: int | None) -> None:
        self._file = folder / "effects"
        self._kill_at = kill_at
        self._count = 0

    async def __call__(self, name: Any, key: str) -> dict[str, Any]:
        """Act, and perhaps end with the result not yet handed over."""
        with self._file.open("a") as file:  # a line only
            file.write(f"{key} {name}\n")
        self._count += 1
        if self._count == self._kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return {"name": name}


async def work(url: str, folder: str, moment: str, number: str) -> None:
    """Start all runs, do what they wait for, and tell how they ended.

    MOMENT is `before`, `during` or `after` the n-th commit (`before:STATEMENT` counts those with that statement), or at
    the n-th `result` of a task or `read`ing, or `never`.
    A line is printed per run that was accepted, and at the end all results as JSON.
    """
    effects = Effects(Path(folder), int(number) if moment == "result" else None)
    stores: list[KillingStore] = []

    def wrap(store: Any) -> KillingStore:
        stores.append(KillingStore(store, "never" if moment == "result" else moment, int(number)))
        return stores[0]

    async with wonder_on(url, wrap, {"effect": effects}, LEASE_MS) as wonder:
        workflow = await wonder.deploy(DEFINITION)
        runs = {}
        for key in KEYS:
            runs[key] = await wonder.start(workflow, {"key": key, "items": ITEMS}, idempotency_key=key)
            print(f"accepted {key} {runs[key].id}", flush=True)
        answering = asyncio.Lock()
        results = await asyncio.gather(*(_bring_to_end(wonder, run, key, answering) for key, run in runs.items()))
        counts = {"commits": stores[0].commits, "reads": stores[0].reads}
        print(json.dumps({"results": {result.run_id: result.output for result in results}, **counts}), flush=True)


async def charge(url: str, folder: str, moment: str, number: str) -> None:
    """Start two runs that charge for the same order, and tell by which process each says that it was done.

    MOMENT is as for `work`; a line in a file is printed per charge.
    """
    started = asyncio.Event()

    async def act(order: int) -> int:
        # Both runs are under way when one is charged for and the other waits.
        await started.wait()
        with (Path(folder) / "charges").open("a") as file:  # a line only
            file.write(f"{order}\n")
        if moment == "result":
            os.kill(os.getpid(), signal.SIGKILL)
        return os.getpid()

    def wrap(store: Any) -> KillingStore:
        return KillingStore(store, "never" if moment == "result" else moment, int(number))

    async with wonder_on(url, wrap, {"charge": act}, LEASE_MS) as wonder:
        workflow = await wonder.deploy(CHARGES)
        runs = [await wonder.start(workflow, {"order": 7}, idempotency_key=key) for key in KEYS[:2]]
        started.set()
        results = [await run.wait() for run in runs]
        outputs: list[Any] = [result.output for result in results]
        print(json.dumps({"by": [output["by"] for output in outputs]}), flush=True)


async def go_on(url: str, folder: str, moment: str, number: str) -> None:
    """Run one run alone, step after step; MOMENT is as for `work`. Nothing is left to time that passes."""
    sqlite_commits.FAST_SECONDS = sqlite_commits.QUICK_SECONDS = 60.0
    run_writer.UNSETTLED_MS = 60_000
    effects = Effects(Path(folder), int(number) if moment == "result" else None)

    def wrap(store: Any) -> KillingStore:
        return KillingStore(store, "never" if moment == "result" else moment, int(number))

    async with wonder_on(url, wrap, {"effect": effects}, LEASE_MS) as wonder:
        run = await wonder.start(await wonder.deploy(STEPS), {"key": "one"}, idempotency_key="one")
        print(json.dumps({"status": (await run.wait()).status}), flush=True)


async def artifacts(url: str, folder: str, moment: str, number: str) -> None:
    """Run a workflow that writes three artifacts, and tell their ids.

    MOMENT is as for `work`, or at the n-th time that content is in the object store's making: `begun`, `written`,
    `durable` (and has no key yet), `kept` (and has one).
    """
    count = 0

    def ends(method: str) -> None:
        act = getattr(Incoming, method)

        def acting(*given: Any) -> Any:
            nonlocal count
            count += 1
            mine = count
            done = act(*given)
            if mine == int(number):
                os.kill(os.getpid(), signal.SIGKILL)
            return done

        setattr(Incoming, method, acting)

    if moment == "durable":
        Path.rename = lambda path, target: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[assignment,method-assign,return-value]
    elif moment in ("begun", "written", "kept"):
        ends({"begun": "begin", "written": "_write", "kept": "keep"}[moment])

    def wrap(store: Any) -> KillingStore:
        return KillingStore(store, moment if ":" in moment or moment in ("after", "before") else "never", int(number))

    objects = DirectoryObjects(Path(folder) / "objects")
    async with wonder_on(url, wrap, {}, LEASE_MS, objects=objects) as wonder:
        workflow = await wonder.deploy(ARTIFACTS)
        run = await wonder.start(workflow, {"items": ITEMS, "text": "x" * 100_000}, idempotency_key="one")
        output: Any = (await run.wait()).output
        print(json.dumps({"ids": output["ids"]}), flush=True)


async def fan_out(url: str, moment: str, number: str) -> None:
    """Start a run that triggers another for each of its items, wait for all of them, and tell how many there are.

    MOMENT is as for `work`.
    """

    def wrap(store: Any) -> KillingStore:
        return KillingStore(store, moment, int(number))

    definition = source(trigger(inputs={"n": "@item"}, forEach="@output.items"))
    async with wonder_on(url, wrap, {"give": give}, LEASE_MS) as wonder:
        workflow = await wonder.deploy(definition)
        run = await wonder.start(workflow, {"items": list(range(TRIGGERED))}, idempotency_key="one")
        print(f"accepted {run.id}", flush=True)
        await run.wait()
        headers = await triggered(wonder, run)
        print(json.dumps({"run_id": run.id, "runs": len(headers)}), flush=True)


async def _bring_to_end(wonder: Application, run: Run, key: str, answering: asyncio.Lock) -> RunResult:
    ended = asyncio.create_task(run.wait())
    sent = False
    while not ended.done():
        try:
            for item in await inbox_of_run(wonder.store, run.id):
                if item.status == "open":
                    # One after the other, so that each is a commit of its own, which can be counted.
                    async with answering:
                        await wonder.answer(item.id, {"yes": key})
                    print(f"answered {key} {item.id}", flush=True)
            if not sent:
                await wonder.send_event("go", key, {"key": key}, id=key)
                sent = True
        except WonderError as error:
            print(f"refused {error.code}", flush=True)
        await asyncio.wait([ended], timeout=0.01)
    return ended.result()


async def use(url: str, key: str) -> None:
    """Do what a process does while another one runs the engine: start, look, answer, tell, wait, cancel."""
    async with open_wonder(url) as wonder:
        print(f"engine {wonder.engine is not None}", flush=True)
        run = await wonder.start("everything", {"key": key, "items": ITEMS}, idempotency_key=key)
        other = await wonder.start("everything", {"key": "other", "items": []})
        result = await _bring_to_end(wonder, run, key, asyncio.Lock())
        await wonder.pause(other.id)
        await wonder.resume(other.id)
        await wonder.cancel(other.id, "enough")
        ended = [(await wonder.wait(one.id)).status for one in (run, other)]
        try:
            await wonder.start("everything", {"key": key, "items": [7]}, idempotency_key=key)
        except WonderError as error:
            refused = getattr(error, "reason_code", None)
        listed = await list_runs(wonder.store, wonder.home.project_id)
        statuses = sorted(header.status for header in listed.items)
        told = {"output": result.output, "ended": ended, "refused": refused, "statuses": statuses}
        print(json.dumps(told), flush=True)


async def poison(url: str, kills: str) -> None:
    """Run a workflow whose task kills its process, beside one that takes its time and one that waits for a person."""
    quarantine.TRIAL_MS = 300.0

    async def kill() -> dict[str, str]:
        if kills == "kills":
            os.kill(os.getpid(), signal.SIGKILL)
        return {}

    async def slow() -> dict[str, str]:
        await asyncio.sleep(0.2)
        return {}

    async with wonder_on(url, lambda store: store, {"kill": kill, "slow": slow}, LEASE_MS) as wonder:
        ask = bundle("asking", {"ask": waits("human_input", {"prompt": "?", "schema": {}})})
        runs = {}
        for definition in (ask, bundle("honest", {"slow": calls("slow")}), bundle("poison", {"kill": calls("kill")})):
            workflow = await wonder.deploy(definition)
            runs[workflow.name] = await wonder.start(workflow, idempotency_key="one")
        async with asyncio.timeout(20):
            await runs["honest"].wait()
        await status_of(wonder, runs["poison"], "paused")
        headers = {name: await load_header(wonder.store, run.id) for name, run in runs.items()}
        told = {name: [header.status, header.paused_reason] for name, header in headers.items()}
        run_id = runs["poison"].id
        with suppress(RunQuarantined):
            await wonder.pause(run_id)
            raise AssertionError("a run that is set aside was paused")
        if kills != "kills":
            await (wonder.cancel(run_id) if kills == "cancel" else wonder.resume(run_id))
            told["then"] = [(await wonder.wait(run_id)).status]
        print(json.dumps(told), flush=True)


_DOES: dict[str, Callable[..., Coroutine[Any, Any, None]]] = {
    "work": work,
    "use": use,
    "charge": charge,
    "go_on": go_on,
    "artifacts": artifacts,
    "fan_out": fan_out,
    "poison": poison,
}


def main() -> None:
    """Make a process for each line."""
    for text in sys.stdin:
        order, *rest = json.loads(text)
        if order == "wait":
            _, status = os.waitpid(rest[0], 0)
            print(os.waitstatus_to_exitcode(status), flush=True)
            continue
        process_id = os.fork()
        if process_id == 0:
            _be(*rest)
        print(process_id, flush=True)


def _be(output: str, what: str, *arguments: str) -> None:
    code = 1
    try:
        descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        # One that hangs ends, and says where: its test would wait for it for ever.
        faulthandler.dump_traceback_later(HANGS_SECONDS, exit=True)
        asyncio.run(_DOES[what](*arguments))
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
