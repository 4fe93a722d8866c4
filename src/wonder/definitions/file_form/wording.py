"""The words in which faults of a record's shape are told: what was found, and how to fix it."""

from collections.abc import Callable, Sequence
from typing import Any

from wonder.definitions.faults import Path
from wonder.language.schemas import closest
from wonder.language.values import encode_json

_SHOWN_LENGTH = 60

FORMS = {
    "function": "module:function, as in orders:reserve",
    "until": "a date or a moment, as in 2030-01-31 or 2030-01-31T08:00:00Z",
    "metric_name": "letters, digits, '_', ':' and '.', as in orders.total",
    "url": "an address that begins with http:// or https://",
}
"""How a text with a form of its own is written, by the name of its field."""

TAGS = {
    "type": "add 'type: expression' or 'type: structured'; an expression can also be written as a plain string",
    "transport": "add 'transport: stdio' or 'transport: http'",
}
"""What the field can be that says which of several forms an object has, by its name."""


def show(value: Any) -> str:
    """Write a value for people; a long one is cut, a long list or object only named."""
    text = encode_json(value)
    if len(text) <= _SHOWN_LENGTH:
        return text
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return "an object with " + some(list(value), most=5)
    return text[: _SHOWN_LENGTH - 3] + "…"


def some(options: Sequence[str], most: int = 20) -> str:
    """List options for people, the first of them if they are many."""
    return ", ".join(f"'{option}'" for option in options[:most]) + (", …" if len(options) > most else "")


def nearest(found: str, options: Sequence[str]) -> str | None:
    """Find the option that was meant: one much like it, or the only one that it is a part of."""
    if near := closest(found, options):
        return near
    inside = [option for option in options if len(found) > 2 and found.lower() in option]
    return inside[0] if len(inside) == 1 else None


def hint_for_type(wanted: str, path: Path, found: Any) -> str:
    """Say how to write what was wanted, with the unit or the form that people look for."""
    name = str(path[-1]) if path else ""
    if wanted == "a whole number" and (name == "ms" or name.endswith("_ms")):
        return "write a whole number of milliseconds, as in 60000"
    if wanted == "an object" and isinstance(found, list):
        return "write an object with the name of each element as its key"
    if wanted == "a string" and isinstance(found, bool | int | float):
        return f'write it in quotes: "{encode_json(found)}"'
    if wanted == "a list" and isinstance(found, str) and name == "command":
        return f"write the program and each of its arguments as a list: [{', '.join(found.split()[:8])}]"
    return f"write {wanted}"


def hint_of_rule(rule: str, found: Any) -> str:
    """Say how to fix a record that breaks one of its own rules; `found` is the record as it was written."""
    hint = _RULES.get(rule, "")
    return hint if isinstance(hint, str) else hint(found if isinstance(found, dict) else {})


def _task_or_action(found: dict[str, Any]) -> str:
    if "action" in found:
        return "this one has both: keep one of them"
    return "this one has neither: name a task with 'task', or write an action here with 'action'"


def _ms_or_until(found: dict[str, Any]) -> str:
    return "keep one of them" if found else "add 'ms: 1000', or 'until: 2030-01-31T08:00:00Z'"


def _cron_or_interval(found: dict[str, Any]) -> str:
    return "keep one of them" if "cron" in found else "add 'cron: 30 2 * * *', or 'every_ms: 900000'"


def _shell_text(found: dict[str, Any]) -> str:
    if isinstance(found.get("command"), str):
        return "write the command as a list, or add 'shell: true'"
    return "write the command as one string, or leave 'shell' out"


_RULES: dict[str, str | Callable[[dict[str, Any]], str]] = {
    "shell_text": _shell_text,
    "ms_or_until": _ms_or_until,
    "cron_or_interval": _cron_or_interval,
    "task_or_action": _task_or_action,
    "no_limit": "add max_iterations or timeout_ms, or leave loop_config out",
    "spawn_and_foreach": "keep one of them; a foreach already makes one branch per item",
    "foreach_and_synchronization": "join on one transition, and fan out on the next",
    "bad_name": "choose another name",
    "phase_form": "move it to 'workflows' of the file",
    "no_such_day": "correct the day or the year",
}
