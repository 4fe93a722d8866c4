"""Clients: what people and programs ask of Wonder, at moments of the seed, and what they were told."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, Final, Literal

from simulation.databases import Template
from simulation.processes import Machine, Process
from simulation.schedule_clients import SCHEDULE_WISHES, ScheduleClients, ScheduleWish, resume_schedule
from simulation.store import DirectStore, at_once
from wonder.app.application import Application
from wonder.app.results import Run
from wonder.errors import WonderError
from wonder.language.values import JsonValue
from wonder.storage.runs.reading import InboxItem, open_inbox
from wonder.storage.store import Row

WishKind = Literal[
    "start",
    "start_again",
    "cancel",
    "pause",
    "resume",
    "answer",
    "answer_twice",
    "event",
    "event_again",
    "retry",
    "fork",
    ScheduleWish,
]
_WISHES: Final[tuple[WishKind, ...]] = (
    *("start", "start", "start_again", "cancel", "pause", "pause", "resume", "answer", "answer", "answer_twice"),
    *("event", "event", "event_again", "retry", "fork"),
)
_WISHES_MAX: Final = 10
_PERIOD_MS: Final = 3_000
# Whoever was paused with its parent goes on with it, and who waits for an event that has come gets it, by themselves.
_PAUSED: Final = "SELECT id FROM runs WHERE status = 'paused' AND paused_reason <> 'its parent was paused' ORDER BY id"
_AWAITED: Final = """
    SELECT DISTINCT event, key FROM event_waits AS wait WHERE NOT EXISTS (
        SELECT 1 FROM kept_events AS kept WHERE kept.project_id = wait.project_id AND kept.event = wait.event
            AND kept.key = wait.key AND kept.used_ms IS NULL)
"""

_PAUSED_SCHEDULES: Final = "SELECT name FROM schedules JOIN schedule_states ON schedule_id = id WHERE paused = 1"

Work = Callable[[], Awaitable[None]]


@dataclass(frozen=True)
class Wish:
    """What a client wants, when, and by which way."""

    kind: WishKind
    at_ms: int
    chance: int
    """Chooses the run, the item or the event."""
    by_request: bool
    """Whether it comes from another process than the one that runs the engine."""

    def __str__(self) -> str:
        return f"{self.kind} at {self.at_ms} ms{' by request' if self.by_request else ''}"


def plan_wishes(random: Random) -> list[Wish]:
    """Choose what clients want; the first always starts a run, and events may come before anybody waits for them."""
    wishes = [Wish("start", 0, 0, random.random() < 0.2)]
    if random.random() < 0.2:
        wishes += [Wish("event", 0, random.randrange(1_000_000), random.random() < 0.3) for _ in range(4)]
    for _ in range(random.randint(0, _WISHES_MAX)):
        at_ms = int(_PERIOD_MS * random.random() ** 2)
        wishes.append(Wish(random.choice(_WISHES), at_ms, random.randrange(1_000_000), random.random() < 0.3))
    return wishes


def plan_schedule_wishes(random: Random) -> list[Wish]:
    """Choose what clients want of schedules: as a rule nothing, so that what these do can be counted to the last."""
    return [
        Wish(random.choice(SCHEDULE_WISHES), random.randint(0, _PERIOD_MS), random.randrange(1_000_000), False)
        for _ in range(random.choice([0, 0, 1, 3]))
    ]


class Clients:
    """Carries out what clients want, and notes what they were told."""

    def __init__(self, machine: Machine, template: Template) -> None:
        self._machine, self._template, self._world = machine, template, machine.world
        # One that runs no engine, and never dies.
        self.visitor = Process(machine, "visitor")
        self.visitor.is_appointed = self.visitor.is_mortal = False
        self._under_way: set[str] = set()
        self._settled = 0
        self._look = DirectStore(machine.path, machine.reader)
        self._schedules = ScheduleClients(template.schedules)

    def begin(self, wish: Wish) -> None:
        """Have something wished for."""
        process = self.visitor if wish.by_request else self._machine.current
        if process.loop.is_dead:
            process = self.visitor
        work = self._work(wish, process.wonder)
        if work is not None:
            self._world.tell(f"client: {wish}")
            process.spawn(self._guarded(work))

    def bury(self) -> None:
        """Let go of all that is left."""
        self.visitor.bury()

    def rows(self, sql: str, *parameters: str) -> list[Row]:
        """Look into the database, from outside."""
        return at_once(self._look.query(sql, *parameters))

    def live_runs(self) -> list[Row]:
        """Give id and status of every run that has not ended."""
        return self.rows("SELECT id, status FROM runs WHERE completed_ms IS NULL ORDER BY id")

    @property
    def have_requests(self) -> bool:
        """Whether something was asked for that nobody has answered."""
        return bool(self.rows("SELECT 1 FROM requests WHERE answered_ms IS NULL LIMIT 1"))

    @property
    def have_triggers(self) -> bool:
        """Whether runs are still to be started by triggers, or to be retried for them."""
        pending = "SELECT 1 FROM trigger_firings WHERE status = 'pending' LIMIT 1"
        return bool(self.rows(pending) or self.rows("SELECT 1 FROM triggered_runs WHERE retry_due = 1 LIMIT 1"))

    @property
    def have_schedules(self) -> bool:
        """Whether schedules have something to do, now or later."""
        return bool(self.rows("SELECT 1 FROM schedule_states WHERE due_ms IS NOT NULL LIMIT 1"))

    def settle(self) -> None:
        """Let go on whatever waits for somebody: resume, answer, send; each is asked for once at a time."""
        visitor = self.visitor.wonder
        for (name,) in self.rows(_PAUSED_SCHEDULES):
            self._once(f"resume {name!s}", partial(resume_schedule, visitor, str(name)))
        for (run_id,) in self.rows(_PAUSED):
            self._once(f"resume {run_id!s}", partial(visitor.resume, str(run_id)))
        for item in self._open_items():
            self._once(f"answer {item.id}", partial(self._answer, visitor, item, self._next()))
        for event, key in self.rows(_AWAITED):
            named = (str(event), str(key) or None)
            self._once(f"send {named}", partial(self._send, visitor, named, None, self._next()))

    def cancel_all(self) -> None:
        """Cancel every run that no other would cancel, in the process that runs them: a request would come too late."""
        process = self.visitor if self._machine.current.loop.is_dead else self._machine.current
        for (run_id,) in self.rows("SELECT id FROM runs WHERE completed_ms IS NULL AND parent_run_id IS NULL"):
            process.spawn(self._guarded(partial(self._cancel, process.wonder, str(run_id))))

    def _next(self) -> int:
        # Another one each time: whoever is always told the same may ask for ever.
        self._settled += 1
        return self._settled

    def _open_items(self) -> list[InboxItem]:
        return at_once(open_inbox(self._look, self._template.home.project_id)).items

    def _once(self, what: str, work: Work) -> None:
        if what not in self._under_way:
            self._under_way.add(what)
            self._spawn(work).add_done_callback(lambda _: self._under_way.discard(what))

    def _spawn(self, work: Work) -> "asyncio.Task[None]":
        return self.visitor.spawn(self._guarded(work))

    async def _guarded(self, work: Work) -> None:
        try:
            await work()
        except WonderError as error:
            self._world.tell(f"client was told: {error.code}")
            self._world.happened["refused"] += 1
        except Exception as error:
            self._machine.look_at(error, "a client got")

    def _work(self, wish: Wish, wonder: Application) -> Work | None:
        match wish.kind:
            case "start":
                return lambda: self._start(wonder, None)
            case "start_again":
                return lambda: self._start(wonder, f"key {wish.chance % 2}")
            case "answer" | "answer_twice":
                items = self._open_items()
                if not items:
                    return None
                item = items[wish.chance % len(items)]
                if wish.kind == "answer_twice":
                    self._spawn(lambda: self._answer(self.visitor.wonder, item, wish.chance + 1))
                return lambda: self._answer(wonder, item, wish.chance)
            case "event" | "event_again":
                event = self._template.events[wish.chance % len(self._template.events)]
                sender = f"sender {wish.chance % 2}" if wish.kind == "event_again" else None
                return lambda: self._send(wonder, event, sender, wish.chance)
            case "pause_schedule" | "resume_schedule" | "change_schedule" | "fire_schedule":
                return self._schedules.work(wish.kind, wonder, wish.chance, self._accept)
        return self._run_work(wish, wonder)

    def _run_work(self, wish: Wish, wonder: Application) -> Work | None:
        wanted = {"retry": "status = 'failed'", "fork": "1 = 1"}.get(wish.kind, "completed_ms IS NULL")
        runs = self.rows(f"SELECT id FROM runs WHERE {wanted} ORDER BY id")
        if not runs:
            return None
        run_id = str(runs[wish.chance % len(runs)][0])
        match wish.kind:
            case "cancel":
                return lambda: self._cancel(wonder, run_id)
            case "pause":
                return lambda: wonder.pause(run_id)
            case "resume":
                return lambda: wonder.resume(run_id)
            case "retry":
                return lambda: self._accept(wonder.retry(run_id))
            case _:
                last = self.rows("SELECT max(sequence) FROM events WHERE run_id = $1", run_id)[0][0]
                after = 1 + wish.chance % max(int(str(last or 1)), 1)
                return lambda: self._accept(wonder.fork(run_id, after))

    async def _start(self, wonder: Application, key: str | None) -> None:
        run = await wonder.start(self._template.workflow, self._template.input, idempotency_key=key)
        self._world.note("accepted", run=run.id, **({"key": key} if key else {}))
        await self._wait(run)

    async def _accept(self, starting: Awaitable[Run]) -> None:
        run = await starting
        self._world.note("accepted", run=run.id)
        await self._wait(run)

    async def _wait(self, run: Run) -> None:
        if self._world.random.random() < 0.5:
            return
        result = await run.wait()
        self._world.note("told_end", run=run.id, status=result.status, output=result.output)

    async def _cancel(self, wonder: Application, run_id: str) -> None:
        await wonder.cancel(run_id, "a client wants it")
        # Where the clock jumps, nobody can say which effect came too late.
        at_ms = {"at": 1 << 60} if self._world.clock_jumps else {}
        self._world.note("cancel_confirmed", run=run_id, **at_ms)

    async def _answer(self, wonder: Application, item: InboxItem, chance: int) -> None:
        await wonder.answer(item.id, answer_to(item, chance), by="somebody")
        self._world.note("answer_accepted", item=item.id)

    async def _send(self, wonder: Application, named: tuple[str, str | None], sender: str | None, chance: int) -> None:
        event, key = named
        # The same for the same sender; some workflows go on until one without a payload comes.
        await wonder.send_event(event, key, {"n": 2} if sender or chance % 3 else None, id=sender)
        self._world.note("event_accepted", project=self._template.home.project_id, event=event, key=key)


def answer_to(item: InboxItem, chance: int) -> JsonValue:
    """Give some answer that fits a question."""
    if item.token_id is None:
        decision = ("fail", "extend", "abort")[chance % 3]
        return {"decision": decision, **({"extend_ms": 300} if decision == "extend" else {})}
    return _value(item.schema, chance)


def _value(schema: Any, chance: int) -> JsonValue:
    """Give some value that fits a simple schema."""
    if not isinstance(schema, dict):
        return chance
    if "enum" in schema:
        choice: JsonValue = schema["enum"][chance % len(schema["enum"])]
        return choice
    match schema.get("type"):
        case "string":
            return ("yes", "no", "later", "ready")[chance % 4]
        case "boolean":
            return chance % 2 == 0
        case "array":
            return [_value(schema.get("items"), chance)]
        case "object":
            return {name: _value(inner, chance) for name, inner in schema.get("properties", {}).items()}
        case _:
            return chance % 7
