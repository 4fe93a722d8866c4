"""How a question to a person is shown: what is asked, what an answer looks like, and how to give it; so with events."""

import shlex
import time

from wonder.cli.output import color, visible, visible_json, visible_lines
from wonder.operations.run_records import AwaitedEvent, Question

# What the engine itself asks has a schema that says less than an example.
_ANSWERS = {
    "budget": ('{"decision": "extend", "extend_cents": 100}', '{"decision": "fail"}'),
    "timeout": ('{"decision": "extend", "extend_ms": 60000}', '{"decision": "abort"}', '{"decision": "fail"}'),
}


def question_lines(item: Question) -> list[str]:
    """Say what is asked, until when, and how to answer."""
    due = ""
    if item.due_ms is not None and 0 <= item.due_ms < 2**42:
        due = time.strftime(" (until %Y-%m-%d %H:%M:%S)", time.localtime(item.due_ms / 1_000))
    # Line by line, behind a margin from the second on: none may pass for one of ours, wherever these are printed.
    lines = visible_lines(item.prompt).split("\n")
    return [*lines[:-1], lines[-1] + due, *(f"  {line}" for line in answer_lines(item))]


def answer_lines(item: Question) -> list[str]:
    """Say what answers a question takes and how to give one."""
    if known := _ANSWERS.get(item.kind):
        return [color("hint", f"wonder answer {item.id} '{known[0]}'"), f"or {', '.join(known[1:])}"]
    return [f"answer with JSON that fits {visible_json(item.schema)}", color("hint", f"wonder answer {item.id} JSON")]


def function_lines(functions: list[str]) -> list[str]:
    """Say which functions are waited for, and how to give them."""
    lines = []
    for name in functions:
        module = name.partition(":")[0]
        lines += [
            f"waits for function {visible(name)!r}, which no process that runs the engine has; start one with "
            f"--module {visible(module)}",
            f"  {color('hint', f'wonder serve --no-http --module {visible(module)}')}",
        ]
    return lines


def event_lines(waits: list[AwaitedEvent]) -> list[str]:
    """Say what events are waited for and how to send them; equal ones once."""
    lines = []
    for wait in dict.fromkeys((wait.event, wait.key) for wait in waits):
        event, key = wait
        keyed = f" with the key {key!r}" if key else ""
        command = f"wonder events send {shlex.quote(event)}" + (f" --key {shlex.quote(key)}" if key else "")
        lines += [visible(f"waits for the event {event!r}{keyed}"), f"  {color('hint', visible(command))}"]
    return lines
