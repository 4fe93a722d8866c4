"""A database with runs of many kinds, made by the real engine, and ways to spoil it."""

import asyncio
import json
from collections.abc import Callable
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from typing import Any

from support.definitions import update as update_by_name
from support.systems import bundle, calls, line, open_item, running, settle, status_of, until, waits
from wonder.actions.protocol import ActionFailed
from wonder.app.application import Application
from wonder.app.results import Run
from wonder.checker.checking import Count, check_runs
from wonder.checker.events import NOT_INDEXED
from wonder.checker.violations import Violation
from wonder.storage.opening import open_store
from wonder.storage.store import Store, Value

STATE = {
    "type": "object",
    "properties": {
        "n": {"type": ["integer", "null"]},
        "price": {"type": "number"},
        "sure": {"type": "boolean"},
        "person": {"type": "object", "properties": {"name": {"type": "string"}}},
        "all": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": ["integer", "null"]}}}},
        "open": {},
        "words": {"type": "array", "items": {"type": "array", "items": {"type": "string"}}},
    },
}
ASK = waits("human_input", {"prompt": "go on?"}, output_mapping={"state.given": "$"})
Event = list[Any]
# Places in an event as the packed rows have it.
SEQUENCE, STEP, TYPE, AT, NODE, TOKEN, PATH, METADATA = range(8)


def update(*updates: tuple[str, Any]) -> dict[str, Any]:
    """Make a node that updates the context."""
    return update_by_name(**dict(updates))


def joined(source: str, target: str, group: str, strategy: Any = "all", **fields: Any) -> dict[str, Any]:
    """Make a transition with a join."""
    return {"from": source, "to": target, "synchronization": {"strategy": strategy, "sibling_group": group, **fields}}


def merge(strategy: str) -> dict[str, str]:
    """Make a merge of what branches wrote to `n`."""
    return {"source": "_branch.output.n", "target": "state.merged", "strategy": strategy}


def foreach_workflow() -> dict[str, Any]:
    each = {"from": "start", "to": "work", "foreach": {"collection": "input.items", "max_parallel": 2}}
    nodes = {
        "start": update(),
        "work": calls("square", input_mapping={"n": "$.item"}, output_mapping={"state.n": "$.n"}),
        "end": update(("output.all", "state.merged")),
    }
    return bundle("each", nodes, [each, joined("work", "end", "start", merge=merge("append"))])


def early_workflow(name: str, strategy: Any, slow: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A fan-out of two quick branches and a slow one, joined early, or late."""
    nodes = {"start": update(), "quick": update(("state.n", "1")), "slow": slow, "end": update(("output.done", "1"))}
    fan_out = [{"from": "start", "to": "quick", "spawn_count": 2}, {"from": "start", "to": "slow"}]
    joins = [joined(source, "end", "start", strategy, **fields) for source in ("quick", "slow")]
    return bundle(name, nodes, fan_out + joins)


async def make_runs(url: str) -> dict[str, str]:
    """Run workflows of many kinds, some to the end and some not, and give the ids of the runs by name."""

    async def square(n: int) -> dict[str, int]:
        return {"n": n * n}

    def fail() -> None:
        raise ActionFailed("BROKEN", "it broke")

    runs: dict[str, str] = {}
    async with running(url, square=square, fail=fail) as wonder:

        async def start(name: str, definition: dict[str, Any], given: Any = None, status: str = "completed") -> str:
            run = await wonder.start(await wonder.deploy(definition), given)
            runs[name] = run.id
            await status_of(wonder, run, status)
            return run.id

        await settle(wonder, snapshot_policy={"every_events": 20, "at_end": True})
        await start("line", _line())
        await start("loop", _loop())
        await start("each", foreach_workflow(), {"items": [1, 2, 3]})
        await start("nothing", foreach_workflow(), {"items": []})
        await start("any", early_workflow("any", "any", ASK, merge=merge("last_wins")))
        await start("two", early_workflow("two", {"m_of_n": 2}, ASK, merge=merge("keyed_by_branch")))
        abandons = early_workflow("abandons", {"m_of_n": 2}, waits("sleep", {"ms": 50}), on_early_complete="abandon")
        await start("abandoned", abandons)
        slow = early_workflow("slow", "all", ASK, timeout_ms=60_000)
        await start("joining", slow, status="waiting")
        await start("late", early_workflow("late", "all", ASK, timeout_ms=20, on_timeout="fail"), status="failed")
        proceeds = early_workflow("proceeds", "all", ASK, timeout_ms=20, on_timeout="proceed_with_available")
        await start("proceeded", proceeds)
        await start(
            "failed", bundle("fails", {"first": update(), "only": calls("fail")}, line("first", "only")), None, "failed"
        )
        await start("routed", _routed())
        await start(
            "slept",
            bundle(
                "sleeps",
                {"nap": waits("sleep", {"ms": 10}), "end": calls("square", input_mapping={"n": 2})},
                line("nap", "end"),
            ),
        )
        await start("asking", bundle("asks", {"ask": ASK}, timeout_ms=60_000), status="waiting")
        await start(
            "listening",
            bundle("listens", {"hear": waits("wait_for_event", {"event": "e", "timeout_ms": 60_000})}),
            status="waiting",
        )
        await _control(wonder, runs, start)
        await _trigger(wonder, runs, start)
        await _schedule(wonder, runs)
    return runs


async def _control(wonder: Application, runs: dict[str, str], start: Callable[..., Any]) -> None:
    """Answer, wake, call, cancel, pause, time out, retry and fork."""
    answered = await start("answered", bundle("answers", {"ask": ASK}), status="waiting")
    item = await open_item(wonder, Run(answered, wonder.wait))
    await wonder.answer(item.id, {"yes": True}, by="Ada")
    await start("woken", bundle("hears", {"hear": waits("wait_for_event", {"event": "other"})}), status="waiting")
    await wonder.send_event("other", None, {"x": 1})
    child = bundle("child", {"only": update(("output.x", "1"))})["workflow"]
    calling = bundle(
        "calls", {"call": waits("workflow_call", {"workflow_def_id": "child"}, output_mapping={"output.got": "$"})}
    )
    await start("called", {**calling, "workflows": {"child": child}})
    broken = bundle("broken", {"only": calls("fail")})["workflow"]
    catching = bundle("catches", {"call": waits("workflow_call", {"workflow_def_id": "broken", "on_failure": "catch"})})
    await start("caught", {**catching, "workflows": {"broken": broken}})
    asking = bundle("inner", {"ask": ASK})["workflow"]
    waiting = bundle("outer", {"call": waits("workflow_call", {"workflow_def_id": "inner"})})
    await start("calling", {**waiting, "workflows": {"inner": asking}}, status="waiting")
    await start("cancelled", bundle("stops", {"ask": ASK}), status="waiting")
    await wonder.cancel(runs["cancelled"])
    await start("paused", bundle("rests", {"ask": ASK, "then": update()}, line("ask", "then")), status="waiting")
    await wonder.pause(runs["paused"])
    item = await open_item(wonder, Run(runs["paused"], wonder.wait))
    await wonder.answer(item.id, 1)
    await start("gated", bundle("gates", {"ask": ASK}, timeout_ms=20), status="paused")
    for name, of in (
        ("retried", await wonder.retry(runs["failed"])),
        ("forked", await wonder.fork(runs["joining"], 11)),
    ):
        runs[name] = of.id
    await status_of(wonder, runs["retried"], "failed")
    await status_of(wonder, runs["forked"], "waiting")
    for name in ("answered", "woken"):
        await status_of(wonder, runs[name], "completed")


async def _trigger(wonder: Application, runs: dict[str, str], start: Callable[..., Any]) -> None:
    """Trigger runs for each of two items, in vain, not at all, and one that fails and is retried."""
    triggers = [
        {"workflowId": "fanned", "inputs": {"n": "@item"}, "forEach": "@output.items"},
        {"workflowId": "nobody", "inputs": {}},
        {"workflowId": "fanned", "inputs": {"n": "@output.absent"}},
        {"workflowId": "shaky", "inputs": {}, "max_retries": 1},
    ]
    fans = bundle("fans", {"only": update(("output.items", "input.items"))}, triggers=triggers)
    others = {
        "fanned": bundle("fanned", {"only": update(("output.n", "input.n"))})["workflow"],
        "shaky": bundle("shaky", {"only": calls("fail")})["workflow"],
    }
    source = await start("triggering", {**fans, "workflows": others}, {"items": [1, 2]})

    async def started(ordinal: int, attempt: int) -> Any:
        query = "SELECT run_id FROM triggered_runs WHERE trigger_ordinal = $1 AND attempt = $2"
        return await wonder.store.query(query, ordinal, attempt)

    for name, ordinal, attempt, status in (("triggered", 0, 0, "completed"), ("again", 3, 1, "failed")):
        runs[name] = str((await until(lambda o=ordinal, a=attempt: started(o, a)))[0][0])  # type: ignore[misc]
        await status_of(wonder, runs[name], status)
    for (run_id,) in await started(0, 0):
        await status_of(wonder, str(run_id), "completed")
    assert (await wonder.triggers(source)).status == "failed"


async def _schedule(wonder: Application, runs: dict[str, str]) -> None:
    """Catch up with six planned times, with one behind five that are missed, and with one before one that waits."""
    given = {"at": "@time", "local": ["@local_time"], "ms": "@time_ms", "name": "@schedule"}
    planned = bundle("planned", {"only": update(("output.at", "input.at"))})
    begins = (datetime.now(UTC) - timedelta(minutes=65)).isoformat(timespec="seconds")
    common = {"every_ms": 600_000, "starts_at": begins, "input": given, "paused": True}
    schedules = {
        "all": {"overlap": "allow", "catch_up": "all"},
        "last": {"overlap": "skip"},
        "queue": {"overlap": "queue_one", "catch_up": "all", "workflow": "held"},
    }
    made = {name: {"workflow": "planned", **common, **fields} for name, fields in schedules.items()}
    await wonder.deploy({**planned, "workflows": {"held": bundle("held", {"ask": ASK})["workflow"]}, "schedules": made})
    created = (datetime.now(UTC) - timedelta(minutes=60)).isoformat(timespec="microseconds").replace("+00:00", "Z")
    async with wonder.store.transaction() as transaction:
        # As if they had been made an hour ago, and no engine had run since.
        await transaction.run("UPDATE schedules SET created_at = $1, updated_at = $1", [(created,)])
        ms = int(datetime.fromisoformat(created).timestamp() * 1_000)
        await transaction.run("UPDATE schedule_states SET after_ms = $1, due_ms = $1, paused = 0", [(ms,)])

    async def started() -> Any:
        rows = await wonder.store.query(
            "SELECT name, run_id, status FROM schedule_firings JOIN runs ON runs.id = run_id "
            "JOIN schedules ON schedules.id = schedule_id ORDER BY planned_ms"
        )
        ended = [run_id for _, run_id, status in rows if status == "completed"]
        return rows if len(rows) == 8 and len(ended) == 7 else None

    for name, run_id, _ in await until(started):
        runs.setdefault(f"scheduled: {name}", str(run_id))
    run = await wonder.fire_schedule("last")
    runs["scheduled: by hand"] = run.id
    await status_of(wonder, run, "completed")


def _line() -> dict[str, Any]:
    writes = update(
        ("state.price", "2.5"),
        ("state.sure", "true"),
        ("state.person.name", "'Ada'"),
        ("state.all", [{"n": 1}, {"n": None}, {}]),
        ("state.words", [["a"], [], ["b", "c"]]),
        ("state.open", {"$literal": "x"}),
    )
    work = calls("square", input_mapping={"n": 3}, output_mapping={"state.n": "$.n", "output.n": "$.n"})
    return bundle(
        "line", {"write": writes, "work": work, "end": update()}, line("write", "work", "end"), context_schema=STATE
    )


def _loop() -> dict[str, Any]:
    count = update(("state.n", "coalesce(state.n, 0) + 1"))
    again = {"from": "count", "to": "count", "ref": "again", "loop_config": {"max_iterations": 3}}
    return bundle("loop", {"count": count, "end": update()}, [again, {"from": "count", "to": "end", "priority": 1}])


def _routed() -> dict[str, Any]:
    rescue = {"from": "only", "to": "rescue", "condition": "_last_error.code = 'BROKEN'"}
    return bundle("routes", {"only": calls("fail"), "rescue": update(("output.ok", "1"))}, [rescue])


class Spoiler:
    """A database that can be changed as no Application would."""

    def __init__(self, store: Store, runs: dict[str, str]) -> None:
        self.store, self.runs = store, runs

    async def events(self, name: str) -> list[Event]:
        """Give the events of a run as the packed rows have them."""
        rows = await self.store.query(
            "SELECT events FROM event_turns WHERE run_id = $1 ORDER BY first", self.runs[name]
        )
        return [event for (packed,) in rows for event in json.loads(str(packed))]

    async def write(self, name: str, events: list[Event]) -> None:
        """Put other events in the place of a run's own, in one row."""
        run_id = self.runs[name]
        async with self.store.transaction() as transaction:
            await transaction.run("DELETE FROM event_turns WHERE run_id = $1", [(run_id,)])
            row = (run_id, events[0][SEQUENCE], events[-1][SEQUENCE], json.dumps(events))
            await transaction.run(
                "INSERT INTO event_turns (run_id, first, last, events) VALUES ($1, $2, $3, $4)", [row]
            )
            # They are found as they are now: that is not what is to be spoilt.
            await transaction.run("DELETE FROM indexed_events WHERE run_id = $1", [(run_id,)])
            found = {event[SEQUENCE]: (event[TYPE], *event[3:6]) for event in events if event[TYPE] not in NOT_INDEXED}
            await transaction.run(
                "INSERT INTO indexed_events (run_id, sequence, type, at_ms, node_id, token_id, project_id)"
                " SELECT $1, $2, $3, $4, $5, $6, project_id FROM runs WHERE id = $1",
                [(run_id, sequence, *told) for sequence, told in found.items()],
            )

    async def change(self, name: str, type: str, change: Callable[[Event], object], which: int = 0) -> None:
        """Change one event of a type."""
        events = await self.events(name)
        change([event for event in events if event[TYPE] == type][which])
        await self.write(name, events)

    async def insert(self, name: str, place: int, event: Event) -> None:
        """Put another event at a place, and count those behind it anew."""
        events = await self.events(name)
        events.insert(place if place >= 0 else len(events) + place + 1, event)
        await self.write(name, [[number, min(e[STEP], number), *e[2:]] for number, e in enumerate(events, 1)])

    async def drop(self, name: str, type: str, which: int = 0) -> None:
        """Leave out one event of a type, and count those behind it anew."""
        events = await self.events(name)
        events.remove([event for event in events if event[TYPE] == type][which])
        await self.write(name, [[number, min(e[STEP], number), *e[2:]] for number, e in enumerate(events, 1)])

    async def sql(self, statement: str, *parameters: Value) -> None:
        """Change rows."""
        async with self.store.transaction() as transaction:
            await transaction.run(statement, [parameters])

    async def check(self) -> list[Violation]:
        """Check all runs."""
        return [violation async for violation in check_runs(self.store, Count())]

    async def check_until(self, rule: str, run_id: str) -> list[Violation]:
        """Check runs until the one is found of which this rule is broken; gives all that was found before it too."""
        found = []
        async with aclosing(check_runs(self.store, Count())) as violations:
            async for violation in violations:
                found.append(violation)
                if (violation.rule, violation.run_id) == (rule, run_id):
                    break
        return found


async def open_spoiler(url: str, runs: dict[str, str]) -> Spoiler:
    """Open a database to spoil it."""
    return Spoiler(await open_store(url), runs)


def make(url: str) -> dict[str, str]:
    """Make the runs, outside of any event loop."""
    return asyncio.run(make_runs(url))
