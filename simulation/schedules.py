"""Schedules to simulate: every policy, at times so near that they come while everything goes wrong."""

from datetime import UTC, datetime
from random import Random
from typing import Any, Final

from simulation.world import START_MS

FUNCTION: Final = "simulation:keep_time"
SCHEDULED: Final = "scheduled"
"""The workflow that schedules start."""
OVERLAPS: Final = ("skip", "queue_one", "queue_all", "allow", "cancel_previous")
CATCH_UPS: Final = ("none", "last", "all")
_INPUT: Final = {"schedule": "@schedule", "planned": "@time_ms"}
_SHARE: Final = 0.2


def random_schedules(seed: int) -> dict[str, Any]:
    """Make the schedules of a definition's seed, in the form of a file; most have none."""
    random = Random(f"schedules {seed}")
    if random.random() > _SHARE:
        return {}
    return {f"schedule-{number}": _schedule(random) for number in range(random.randint(1, 3))}


def scheduled_workflow(seed: int) -> dict[str, Any]:
    """Make the workflow that they start: it tells the world for which time it stands, and may take long for that."""
    random = Random(f"scheduled {seed}")
    action = {"kind": "python", "implementation": {"function": FUNCTION}}
    step = {"ref": "keep", "action": action, "input_mapping": "$.input"}
    given = {name: f"$.input.{name}" for name in _INPUT}
    nodes: dict[str, Any] = {"keep": {"task": {"steps": [step], "timeout_ms": 2_000}, "input_mapping": given}}
    transitions = []
    if random.random() < 0.5:
        nap_ms = random.choice([300, 1_400, 3_100])
        nodes["nap"] = {"action": {"kind": "sleep", "implementation": {"ms": nap_ms}}}
        transitions.append({"from": "keep", "to": "nap"})
    properties = {"schedule": {"type": "string"}, "planned": {"type": "integer"}}
    schema = {"type": "object", "required": list(properties), "properties": properties}
    return {"initial_node": "keep", "input_schema": schema, "nodes": nodes, "transitions": transitions}


def changed(fields: dict[str, Any], chance: int) -> dict[str, Any]:
    """Change a schedule: its times, its input, or what it does with times that it has missed."""
    match chance % 4:
        case 0 if fields.get("every_ms"):
            return {**fields, "every_ms": 1_000 + chance % 3 * 700}
        case 1:
            return {**fields, "input": {**_INPUT, "more": chance % 5}}
        case 2:
            return {**fields, "overlap": "allow" if fields["overlap"].startswith("queue") else fields["overlap"]}
        case _:
            return {**fields, "catch_up": CATCH_UPS[chance % 3]}


def _schedule(random: Random) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "workflow": SCHEDULED,
        "input": _INPUT,
        "overlap": random.choice(OVERLAPS),
        "catch_up": random.choice(CATCH_UPS),
        "catch_up_max": random.choice([3, 100]),
        "catch_up_ms": random.choice([None, None, None, 80_000]),
        "jitter_ms": random.choice([0, 0, 0, 700]),
    }
    if random.random() < 0.2:
        return fields | {"cron": "* * * * *", "time_zone": "UTC", "ends_at": _time(70)}
    if random.random() < 0.3:
        fields["starts_at"] = _time(random.choice([1, 3]))
    return fields | {"every_ms": random.choice([1_000, 1_500, 4_000]), "ends_at": _time(random.choice([4, 6, 10]))}


def _time(seconds: int) -> str:
    return datetime.fromtimestamp(START_MS // 1_000 + seconds, UTC).isoformat()
