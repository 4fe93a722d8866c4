"""The page of all events, out of their declarations: `PYTHONPATH=src:tests python -m support.events_page` writes it."""

import typing
from pathlib import Path
from typing import Any

import msgspec

from wonder.engine.event_type import EventType
from wonder.engine.events import EVENTS

PAGE = Path(__file__).parents[2] / "docs/reference/events.md"
_HEAD = """\
# Events

Everything that happens in a run is recorded as an event, in the same commit as the change itself
([EVT-1](../rules/events.md)). `wonder runs events RUN` lists them, and `wonder runs events --type TYPE --since 2h`
finds those of all runs; `--node`, `--token` and `--until` narrow both (operations `runs.events`, `events.find`).
`wonder query` reads them with SQL, from `events` or, with readable times, `event_log` ([query](query.md)). With
`--json` every event has

| field | what it is |
|---|---|
| `sequence_number` | its number in the run, from 1, without gaps |
| `event_type` | one of the types below |
| `timestamp` | when it happened, in milliseconds since 1970 |
| `recorded_ms` | the same, but never before that of an event before it: the start of a task is recorded with its end |
| `message` | what happened, as a sentence for people |
| `node`, `token_id`, `path_id` | the node, token and path that it is about; null if it is about the whole run |
| `metadata` | the fields of its type, as below |

A field with a question mark may be missing. This page is made from `src/wonder/engine/events.py`, and a test compares
the two.
"""


def page() -> str:
    """Return the whole page."""
    return _HEAD + "".join(_section(declared) for declared in EVENTS.values())


def _section(declared: EventType[Any]) -> str:
    schema = msgspec.json.schema(declared.fields)
    (root,) = [part for part in schema["$defs"].values() if part.get("title") == declared.fields.__name__]
    lines = [f"\n## {declared.name}\n\n{declared.sentence}\n"]
    fields = root["properties"]
    if fields:
        lines.append("\n| field | type | what it is |\n|---|---|---|\n")
    for name in typing.get_type_hints(declared.fields):
        field = fields[name]
        mark = "" if name in declared.required else "?"
        lines.append(f"| `{name}`{mark} | {_type(field)} | {field.get('description', '')} |\n")
    return "".join(lines)


def _type(field: dict[str, Any]) -> str:
    if "anyOf" in field:
        return " or ".join(_type(one) for one in field["anyOf"])
    if "enum" in field:
        return " or ".join(f"`{value}`" for value in field["enum"])
    return str(field.get("type", "any JSON"))


if __name__ == "__main__":
    PAGE.write_text(page())
