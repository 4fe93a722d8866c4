"""Does the checker see it? Every rule, broken by hand in a good database, is reported with the rule and the run."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from support.checked_runs import AT, METADATA, NODE, PATH, SEQUENCE, STEP, TOKEN, TYPE, Event, Spoiler
from wonder.checker.violations import RULES

Spoil = Callable[[Spoiler], Awaitable[None]]
NOBODY = "01NOBODY"


def told(**fields: Any) -> Callable[[Event], object]:
    """Change what an event tells."""
    return lambda event: event[METADATA].update(fields)


def at(place: int, value: Any) -> Callable[[Event], object]:
    """Change a field of an event."""
    return lambda event: event.__setitem__(place, value)


def sql(name: str, statement: str) -> Spoil:
    """Change rows of a run, whose id is $1."""
    return lambda db: db.sql(statement, db.runs[name])


def change(name: str, type: str, how: Callable[[Event], object], which: int = 0) -> Spoil:
    """Change an event of a run."""
    return lambda db: db.change(name, type, how, which)


def drop(name: str, type: str, which: int = 0) -> Spoil:
    """Leave an event of a run out."""
    return lambda db: db.drop(name, type, which)


def double(name: str, type: str, place: int | None = None, which: int = 0) -> Spoil:
    """Let an event of a run happen twice: once more behind itself, or at a place."""

    async def spoil(db: Spoiler) -> None:
        events = await db.events(name)
        found = [event for event in events if event[TYPE] == type][which]
        await db.insert(name, events.index(found) + 1 if place is None else place, list(found))

    return spoil


def move(name: str, type: str, place: int, which: int = 0) -> Spoil:
    """Let an event of a run happen at another time."""

    async def spoil(db: Spoiler) -> None:
        found = [event for event in await db.events(name) if event[TYPE] == type][which]
        await db.drop(name, type, which)
        await db.insert(name, place, list(found))

    return spoil


def append(name: str, type: str, **metadata: Any) -> Spoil:
    """Append an event to a run."""

    async def spoil(db: Spoiler) -> None:
        last = (await db.events(name))[-1]
        await db.insert(name, -1, [0, 10**6, type, last[AT], None, None, None, metadata, None, None])

    return spoil


def rewrite(name: str, how: Callable[[list[Event]], list[Event] | None]) -> Spoil:
    """Change all events of a run."""

    async def spoil(db: Spoiler) -> None:
        events = await db.events(name)
        await db.write(name, how(events) or events)

    return spoil


def second_child(events: list[Event]) -> list[Event]:
    """Make another token of the first one, as if it had gone on twice."""
    made = next(event for event in events if event[TYPE] == "token_spawned" and event[METADATA]["parent"])
    place = events.index(made) + 1
    other = [*made[:TOKEN], "01OTHER", *made[TOKEN + 1 :]]
    cancelled = [*other[:TYPE], "token_cancelled", *other[TYPE + 1 : METADATA], {}, None, None]
    events = [*events[:place], other, cancelled, *events[place:]]
    return [[number, min(event[STEP], number), *event[TYPE:]] for number, event in enumerate(events, 1)]


def without_candidates_behind(events: list[Event]) -> None:
    """Let a later tier be looked at although an earlier one matched."""
    event = [event for event in events if event[TYPE] == "transitions_evaluated"][-1]
    event[METADATA]["tiers"][0]["candidates"][0]["matched"] = True


def released(events: list[Event]) -> None:
    """Let the third branch of a foreach begin together with the first two."""
    begun = [event for event in events if event[TYPE] == "token_dispatched"]
    place = events.index(begun[1]) + 1
    events.remove(begun[2])
    events.insert(place, begun[2])
    for number, event in enumerate(events, 1):
        event[SEQUENCE], event[STEP] = number, min(event[STEP], number)


def begun_when_paused(events: list[Event]) -> list[Event]:
    """Let a token that the pause holds back begin."""
    held = [event for event in events if event[TYPE] == "token_spawned"][-1]
    done = [len(events) + 1, len(events) + 1, "node_completed", held[AT], *held[NODE : PATH + 1], {}, None, None]
    return [*events, done]


TABLE: list[tuple[str, str, str, Spoil]] = [
    ("sequence", "line", "an event is missing", rewrite("line", lambda events: events[:5] + events[6:])),
    (
        "sequence",
        "line",
        "two events have one number",
        rewrite("line", lambda events: [*events[:5], events[4], *events[5:]]),
    ),
    ("sequence", "line", "the first event is missing", rewrite("line", lambda events: events[1:])),
    (
        "sequence",
        "line",
        "a row says that it holds more",
        sql("line", "UPDATE event_turns SET last = last + 1 WHERE run_id = $1 AND first = 1"),
    ),
    ("sequence", "line", "a step begins in the future", change("line", "token_spawned", at(STEP, 999))),
    ("sequence", "asking", "all events are gone", sql("asking", "DELETE FROM event_turns WHERE run_id = $1")),
    ("declared", "line", "an event has an unknown type", change("line", "token_spawned", at(TYPE, "token_born"))),
    ("declared", "line", "an event has an unknown field", change("line", "node_completed", told(colour="red"))),
    ("declared", "line", "an event lacks a field", change("line", "workflow_completed", at(METADATA, {}))),
    ("index", "failed", "an event is not found", sql("failed", "DELETE FROM indexed_events WHERE run_id = $1")),
    (
        "index",
        "failed",
        "an event is found in another project",
        sql("failed", "UPDATE indexed_events SET project_id = 'x' WHERE run_id = $1"),
    ),
    (
        "index",
        "line",
        "an event is found that is not there",
        sql("line", "INSERT INTO indexed_events VALUES ($1, 999, 'p', 'node_failed', 1, NULL, NULL)"),
    ),
    (
        "index",
        "line",
        "an event is found that every run has",
        sql("line", "INSERT INTO indexed_events VALUES ($1, 1, 'p', 'workflow_started', 1, NULL, NULL)"),
    ),
    ("end", "line", "it ends twice", append("line", "workflow_failed", error={"code": "X"})),
    ("end", "line", "something is behind its end", append("line", "context_updated", changes=[])),
    ("end", "line", "its row says another end", sql("line", "UPDATE runs SET status = 'cancelled' WHERE id = $1")),
    ("end", "line", "its row has another output", sql("line", "UPDATE runs SET output = '{\"n\": 4}' WHERE id = $1")),
    ("end", "line", "no event says its end", drop("line", "workflow_completed")),
    (
        "end",
        "asking",
        "its row says an end and no event does",
        sql("asking", "UPDATE runs SET status = 'failed', completed_ms = 1 WHERE id = $1"),
    ),
    (
        "end",
        "failed",
        "its row has another error",
        sql("failed", 'UPDATE runs SET error = \'{"code": "OTHER", "message": ""}\' WHERE id = $1'),
    ),
    ("tokens", "line", "a token ends twice", double("line", "token_completed")),
    ("tokens", "line", "a token is made twice", double("line", "token_spawned")),
    ("tokens", "line", "a token moves behind its end", double("line", "node_started", -1)),
    ("tokens", "line", "a token never ends", drop("line", "token_completed", -1)),
    ("tokens", "line", "an event is of no token", change("line", "node_completed", at(TOKEN, NOBODY))),
    ("tokens", "line", "an event is at another node", change("line", "node_completed", at(NODE, NOBODY))),
    ("tokens", "answered", "a token resumes that did not wait", double("answered", "token_resumed", 2)),
    ("conservation", "line", "a token goes on twice", rewrite("line", second_child)),
    ("conservation", "line", "a token comes from nowhere", change("line", "token_spawned", told(parent=NOBODY), 1)),
    ("conservation", "line", "there are two first tokens", change("line", "token_spawned", told(parent=None), 1)),
    ("conservation", "each", "the first token is elsewhere", change("each", "token_spawned", at(PATH, "7"))),
    ("routing", "loop", "a tier behind a match is looked at", rewrite("loop", without_candidates_behind)),
    (
        "routing",
        "line",
        "a transition is taken that leaves another node",
        change(
            "line",
            "transitions_evaluated",
            lambda event: event[METADATA]["tiers"][0]["candidates"][0].update(transition=NOBODY),
        ),
    ),
    ("routing", "line", "a token goes where nothing led", change("line", "token_spawned", at(NODE, NOBODY), 1)),
    ("fan-out", "each", "a branch is missing", drop("each", "token_spawned", 2)),
    ("fan-out", "each", "a branch has the number of another", change("each", "token_spawned", told(branch=0), 2)),
    (
        "fan-out",
        "each",
        "there are fewer items than branches",
        change("each", "fan_out_started", lambda event: event[METADATA]["branches"][0]["items"].pop()),
    ),
    ("max-parallel", "each", "too many branches are under way", rewrite("each", released)),
    ("fan-in", "each", "a join fires twice", double("each", "fan_in_completed")),
    ("fan-in", "each", "a join fires before all have arrived", move("each", "fan_in_completed", 10)),
    ("fan-in", "two", "a join fires one arrival too early", drop("two", "fan_in_waiting", 1)),
    ("fan-in", "each", "a join counts too many", change("each", "fan_in_completed", told(arrived=4))),
    ("fan-in", "each", "a join makes no token", change("each", "token_spawned", told(parent="01OTHER"), -1)),
    ("fan-in", "late", "a join times out before its timer", drop("late", "timer_fired")),
    ("fan-in", "two", "a waiting token goes on alone", drop("two", "fan_in_completed")),
    (
        "merge",
        "each",
        "a branch's output is lost",
        change("each", "context_updated", lambda event: event[METADATA]["changes"][0][1].pop(), 3),
    ),
    (
        "merge",
        "two",
        "a branch's output is another's",
        change("two", "context_updated", lambda event: event[METADATA]["changes"][0].__setitem__(1, 9)),
    ),
    (
        "loops",
        "loop",
        "a loop is not counted",
        change("loop", "transitions_evaluated", lambda event: event[METADATA].pop("loops")),
    ),
    (
        "loops",
        "loop",
        "a loop goes beyond its limit",
        lambda db: db.sql(
            "UPDATE transitions SET loop_config = '{\"max_iterations\": 2}' WHERE loop_config IS NOT NULL"
        ),
    ),
    ("results", "line", "a result is taken twice", double("line", "node_completed", which=1)),
    ("results", "line", "a result comes of no work", drop("line", "node_started")),
    ("results", "line", "a result is applied again", double("line", "context_updated", 11)),
    ("results", "line", "a token goes on without a result", drop("line", "node_completed")),
    ("attempts", "line", "a task is tried too often", change("line", "node_completed", told(attempts=2), 1)),
    ("attempts", "line", "a task is dispatched too often", change("line", "token_dispatched", told(losses=4))),
    (
        "attempts",
        "line",
        "an action is tried too often",
        change("line", "node_completed", told(steps=[{"ref": "x", "attempts": 2}]), 1),
    ),
    ("paused", "paused", "a token begins in a pause", rewrite("paused", begun_when_paused)),
    ("timers", "slept", "a timer fires early", change("slept", "timer_fired", at(AT, 5))),
    ("timers", "slept", "a timer fires that was not set", drop("slept", "timer_set")),
    ("timers", "slept", "a timer fires twice", double("slept", "timer_fired")),
    ("timers", "slept", "a sleep is over without its timer", drop("slept", "timer_fired")),
    (
        "timers",
        "joining",
        "a timer is set too early",
        change("joining", "timer_set", lambda event: event[METADATA].update(due_ms=event[METADATA]["due_ms"] - 9)),
    ),
    ("timers", "gated", "a run times out without its timer", drop("gated", "timer_fired")),
    (
        "children",
        "called",
        "a child says another caller",
        sql("called", "UPDATE runs SET parent_token_id = 'x' WHERE parent_run_id = $1"),
    ),
    (
        "children",
        "called",
        "a child has not ended",
        sql("called", "UPDATE runs SET status = 'running' WHERE parent_run_id = $1"),
    ),
    ("children", "called", "a child is gone", sql("called", "DELETE FROM runs WHERE parent_run_id = $1")),
    ("children", "called", "a child was not called", drop("called", "token_suspended")),
    ("inbox", "answered", "an item is asked twice", double("answered", "human_input_requested")),
    ("inbox", "answered", "an item is answered twice", double("answered", "human_input_answered")),
    (
        "inbox",
        "answered",
        "an answer is forgotten",
        sql("answered", "UPDATE inbox_items SET status = 'open', closed_ms = NULL WHERE run_id = $1"),
    ),
    ("inbox", "asking", "a question is gone", sql("asking", "DELETE FROM inbox_items WHERE run_id = $1")),
    (
        "fold",
        "line",
        "a token's row says another end",
        sql("line", "UPDATE tokens SET status = 'failed' WHERE run_id = $1"),
    ),
    ("fold", "line", "a token's row is gone", sql("line", "DELETE FROM tokens WHERE run_id = $1 AND path_id = '0'")),
    (
        "fold",
        "asking",
        "a token's row says that it has ended",
        sql("asking", "UPDATE tokens SET status = 'completed', ended_ms = 1 WHERE run_id = $1"),
    ),
    (
        "fold",
        "asking",
        "a token waits for something else",
        sql("asking", "UPDATE tokens SET state_data = '{}' WHERE run_id = $1"),
    ),
    (
        "fold",
        "asking",
        "a run is running that waits",
        sql("asking", "UPDATE runs SET status = 'running' WHERE id = $1"),
    ),
    ("fold", "asking", "a timer is gone", sql("asking", "DELETE FROM timers WHERE run_id = $1")),
    ("fold", "asking", "a timer has another time", sql("asking", "UPDATE timers SET due_ms = 1 WHERE run_id = $1")),
    ("fold", "gated", "a gate is forgotten", sql("gated", "UPDATE runs SET gate_item_id = NULL WHERE id = $1")),
    ("fold", "listening", "a wait for an event is gone", sql("listening", "DELETE FROM event_waits WHERE run_id = $1")),
    ("fold", "joining", "a group is gone", sql("joining", "DELETE FROM run_groups WHERE run_id = $1")),
    (
        "fold",
        "joining",
        "a join is marked as fired",
        sql("joining", "UPDATE run_groups SET fired = '[\"x\"]' WHERE run_id = $1"),
    ),
    (
        "fold",
        "joining",
        "an arrival is forgotten",
        sql("joining", "UPDATE run_branches SET status = 'under_way' WHERE run_id = $1"),
    ),
    (
        "fold",
        "joining",
        "a branch's output is lost",
        sql("joining", "UPDATE run_branches SET output = '{}' WHERE run_id = $1"),
    ),
    (
        "fold",
        "forked",
        "a fork's arrival is forgotten",
        sql("forked", "UPDATE run_branches SET arrived_as = 0 WHERE run_id = $1"),
    ),
    (
        "fold",
        "joining",
        "a loop is counted that was none",
        sql("joining", "INSERT INTO run_loops VALUES ($1, '', 0, 't', 1, 1)"),
    ),
    (
        "snapshots",
        "line",
        "a snapshot has another context",
        sql("line", "UPDATE snapshots SET context = '{}' WHERE run_id = $1"),
    ),
    (
        "snapshots",
        "line",
        "a snapshot has tokens that are not",
        sql("line", 'UPDATE snapshots SET tokens = \'[{"id": "x", "status": "pending"}]\' WHERE run_id = $1'),
    ),
    (
        "snapshots",
        "line",
        "a snapshot is of the future",
        sql("line", "UPDATE snapshots SET sequence = 999 WHERE run_id = $1"),
    ),
    (
        "triggers",
        "triggering",
        "a trigger was lost",
        sql("triggering", "DELETE FROM trigger_firings WHERE run_id = $1 AND ordinal = 0"),
    ),
    (
        "triggers",
        "line",
        "what has no triggers has fired one",
        sql("line", "INSERT INTO trigger_firings VALUES ($1, 0, 't', 'w', 'triggered', 0, 0, 0, 0, NULL)"),
    ),
    (
        "triggers",
        "triggering",
        "a run that was started is lost",
        sql("triggering", "DELETE FROM triggered_runs WHERE triggered_by_run_id = $1 AND item_index = 1"),
    ),
    (
        "triggers",
        "triggering",
        "a run was started beyond the items",
        sql("triggering", "UPDATE triggered_runs SET item_index = 7 WHERE triggered_by_run_id = $1 AND item_index = 1"),
    ),
    (
        "triggers",
        "triggering",
        "items are miscounted",
        sql("triggering", "UPDATE trigger_firings SET items = 5, upto = 5 WHERE run_id = $1 AND ordinal = 0"),
    ),
    (
        "triggers",
        "triggering",
        "one with a missing ref is not skipped",
        sql("triggering", "UPDATE trigger_firings SET status = 'failed' WHERE run_id = $1 AND ordinal = 2"),
    ),
    (
        "triggers",
        "triggering",
        "one is half done and says that it is over",
        sql("triggering", "UPDATE trigger_firings SET upto = 1 WHERE run_id = $1 AND ordinal = 0"),
    ),
    ("triggers", "triggering", "nobody is told that a trigger fired", drop("triggering", "trigger_fired")),
    ("triggers", "triggering", "a trigger fires twice", double("triggering", "trigger_fired")),
    (
        "triggers",
        "triggering",
        "an event tells of more runs than there are",
        change("triggering", "trigger_fired", told(runs=9)),
    ),
    (
        "triggers",
        "triggered",
        "the run that triggered it is not there",
        sql("triggered", "UPDATE triggered_runs SET triggered_by_run_id = 'gone' WHERE run_id = $1"),
    ),
    (
        "triggers",
        "triggered",
        "it is triggered too deep",
        sql("triggered", "UPDATE triggered_runs SET trigger_depth = 11 WHERE run_id = $1"),
    ),
    (
        "triggers",
        "triggered",
        "it is due to be retried without a failure",
        sql("triggered", "UPDATE triggered_runs SET retry_due = 1 WHERE run_id = $1"),
    ),
    (
        "triggers",
        "again",
        "it is retried more often than allowed",
        sql("again", "UPDATE triggered_runs SET max_retries = 0 WHERE run_id = $1"),
    ),
    (
        "triggers",
        "again",
        "it retries another attempt than the last",
        sql("again", "UPDATE triggered_runs SET attempt = 3, max_retries = 3 WHERE run_id = $1"),
    ),
    (
        "unreadable",
        "line",
        "an event is not of its form",
        change("line", "token_spawned", lambda event: event[METADATA].clear()),
    ),
    (
        "listed",
        "line",
        "a completed run is among those that failed",
        sql(
            "line",
            "INSERT INTO run_failures (run_id, project_id, workflow_def_id, code) "
            "SELECT id, project_id, workflow_def_id, 'BAD' FROM runs WHERE id = $1",
        ),
    ),
    (
        "listed",
        "line",
        "a run has cost what no event says",
        sql(
            "line",
            "INSERT INTO run_costs (run_id, project_id, cost_usd) SELECT id, project_id, 0.5 FROM runs WHERE id = $1",
        ),
    ),
    ("unreadable", "line", "the definition is gone", sql("line", "UPDATE runs SET workflow_version = 7 WHERE id = $1")),
]


@pytest.mark.parametrize(
    ("rule", "name", "spoil"),
    [pytest.param(rule, name, spoil, id=f"{rule}: {what}") for rule, name, what, spoil in TABLE],
)
async def test_every_broken_rule_is_reported_with_its_run(spoiler: Spoiler, rule: str, name: str, spoil: Spoil) -> None:
    await spoil(spoiler)
    found = await spoiler.check_until(rule, spoiler.runs[name])
    assert (rule, spoiler.runs[name]) in {(one.rule, one.run_id) for one in found}, "\n".join(map(str, found))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE {main} SET state_n = 8 WHERE run_id = $1",
        "UPDATE {main} SET state_sure = NULL WHERE run_id = $1",
        "UPDATE {main} SET state_person_name = 'Bob' WHERE run_id = $1",
        "UPDATE {main} SET state_open = '\"y\"' WHERE run_id = $1",
        'UPDATE {main} SET _rest = \'{{"state": {{"other": 1}}}}\' WHERE run_id = $1',
        "DELETE FROM {main} WHERE run_id = $1",
        "DELETE FROM {main}_state_all WHERE run_id = $1 AND position = 2",
        "DELETE FROM {main}_state_all WHERE run_id = $1 AND position = 0",
        "DELETE FROM {main}_state_words_items WHERE run_id = $1 AND position_1 = 2",
    ],
)
async def test_a_context_that_is_not_the_one_of_the_events_is_reported(spoiler: Spoiler, statement: str) -> None:
    """EVT-2, CTX-4."""
    query = "SELECT workflow_def_id, workflow_version FROM runs WHERE id = $1"
    ((id, version),) = await spoiler.store.query(query, spoiler.runs["line"])
    await spoiler.sql(statement.format(main=f"context_{str(id).lower()}_{version!s}"), spoiler.runs["line"])
    found = {(one.rule, one.run_id) for one in await spoiler.check()}
    assert found == {("context", spoiler.runs["line"])}


@pytest.mark.parametrize(
    "table",
    [
        "tokens",
        "timers",
        "event_turns",
        "indexed_events",
        "inbox_items",
        "event_waits",
        "trigger_firings",
        "triggered_runs",
    ],
)
async def test_rows_of_runs_that_are_not_there_are_reported(spoiler: Spoiler, table: str) -> None:
    await spoiler.sql(f"UPDATE {table} SET run_id = 'gone' WHERE run_id = (SELECT min(run_id) FROM {table})")
    assert ("orphans", "gone") in {(one.rule, one.run_id) for one in await spoiler.check_until("orphans", "gone")}


async def test_cmd_14_counts_that_are_not_those_of_the_runs_are_reported(spoiler: Spoiler) -> None:
    await spoiler.sql("UPDATE run_counts SET runs = runs + 1 WHERE status = 'completed'")
    assert ("counts", "") in {(one.rule, one.run_id) for one in await spoiler.check()}


async def test_a_child_whose_caller_is_not_there_is_reported(spoiler: Spoiler) -> None:
    """ACT-5."""
    ((child,),) = await spoiler.store.query("SELECT id FROM runs WHERE parent_run_id = $1", spoiler.runs["called"])
    await spoiler.sql("UPDATE runs SET parent_run_id = 'gone' WHERE id = $1", child)
    assert ("children", child) in {(one.rule, one.run_id) for one in await spoiler.check()}


def test_every_rule_that_needs_no_log_is_in_the_table() -> None:
    of_logs = {"accepted", "told", "overdue", "effects", "cancel", "answers", "events", "lease"}
    elsewhere = {"context", "counts", "orphans", "schedules"}
    assert {row[0] for row in TABLE} | elsewhere | of_logs == set(RULES)
