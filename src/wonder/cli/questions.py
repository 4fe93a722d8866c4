"""How a question to a person is shown: what is asked, what an answer looks like, and how to give it; so with events."""

import shlex
import time
from collections.abc import Sequence
from typing import Any

from wonder.cli.output import color, visible, visible_json, visible_lines
from wonder.cli.run_headers import shown_time
from wonder.language.values import encode_json
from wonder.operations.question_records import GivenAnswer, Question, QuestionDetails
from wonder.operations.run_records import AwaitedEvent

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
    return [*lines[:-1], lines[-1] + due, *(f"  {line}" for line in (*standing_lines(item), *answer_lines(item)))]


def standing_lines(item: Question) -> list[str]:
    """Say whose question it is, who has claimed it, and how many approvers have answered."""
    lines = []
    if item.assignee:
        lines.append(f"assigned to {visible(item.assignee)}")
    elif item.role:
        lines.append(f"for the role {item.role}")
    if item.claimed_by:
        lines.append(f"claimed by {visible(item.claimed_by)}")
    if item.approvers:
        answered = {given.by for given in item.answers}
        waiting = ", ".join(visible(name) for name in item.approvers if name not in answered) or "nobody"
        lines.append(f"{item.needed} of {len(item.approvers)} approvers must agree; waits for {waiting}")
        lines += given_lines(item.answers)
    return lines


def given_lines(answers: Sequence[GivenAnswer]) -> list[str]:
    """Say who answered what when, one line each."""
    return [
        f"{shown_time(given.at_ms)}  {visible(given.by or 'somebody')} answered {visible(encode_json(given.answer))}"
        for given in answers
    ]


def detail_lines(item: QuestionDetails) -> list[str]:
    """Say all that is known of a question."""
    lines = [
        color("bold", visible_lines(item.prompt)),
        f"  {item.status}, run {item.run_id} of {visible(item.workflow)}",
    ]
    lines.append(f"  asked {shown_time(item.created_ms)}")
    if item.due_ms is not None and 0 <= item.due_ms < 2**42:
        lines[-1] += f", due {shown_time(item.due_ms)}"
    if item.reminders and item.reminded_ms is not None:
        lines.append(f"  reminded of {item.reminders:,} times, last {shown_time(item.reminded_ms)}")
    if item.answerable_by is not None:
        lines.append(f"  answerable by {visible(encode_json(item.answerable_by))}")
    lines += [f"  {line}" for line in standing_lines(item)]
    if not item.approvers:
        lines += [f"  {line}" for line in given_lines(item.answers)]
    for shown in item.evidence:
        value: Any = shown.value
        text = f"{shown.cut['start']}… ({shown.cut['bytes']:,} bytes)" if shown.cut else encode_json(value)
        lines.append(f"  {visible(shown.name)}: {visible(text)}")
    if item.status == "open":
        lines += [f"  {line}" for line in answer_lines(item)]
    return lines


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
