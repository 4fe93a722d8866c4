"""A run in full, for people: its nodes with time, attempts and cost, its family, what it waits for."""

import time

from msgspec import UNSET

from wonder.cli.output import color, named, print_table, visible, visible_json, visible_lines
from wonder.cli.questions import event_lines, function_lines, given_lines, question_lines
from wonder.cli.run_headers import shown_status, shown_time, shown_took
from wonder.language.values import encode_json
from wonder.operations.run_records import RunDetails, TokenRecord, TriggerRecord

_MARKS = {
    "completed": ("good", "✓"),
    "failed": ("error", "✗"),
    "cancelled": ("error", "✗"),
    **dict.fromkeys(("queued", "running", "waiting", "paused"), ("warning", "…")),
}
_CHILDREN_SHOWN = 20
_TRIGGERED_SHOWN = 10
_INPUT_SHOWN = 300
_FAILURES_SHOWN = 20
_ITEM_SHOWN = 40


def print_details(details: RunDetails) -> None:
    """Print them for a person."""
    style, mark = _MARKS[details.status]
    name = f"{details.workflow}@{details.workflow_version}"
    print(f"{color(style, mark)} {name} {shown_status(details)}  {color('dim', details.run_id)}")
    if details.is_quarantined:
        print("  its process died again and again while it was under way; find out why, then")
        run_id = details.run_id
        print(f"  `wonder runs resume {run_id}` lets it go on, and `wonder runs cancel {run_id}` ends it")
    print(f"  started {shown_time(details.created_ms)}, {shown_took(details)}{_spent(details)}")
    if details.parent_run_id:
        print(f"  called by run {details.parent_run_id}")
    if details.triggered_by:
        print(f"  triggered by {details.triggered_by.run_id}")
    if details.retry_of_run_id:
        print(f"  retry of run {details.retry_of_run_id}")
    elif details.forked_from_run_id:
        print(f"  forked from run {details.forked_from_run_id} after event {details.forked_from_sequence}")
    if details.retried_as:
        print(f"  retried as run {details.retried_as}")
    if details.schedule is not None:
        print(f"  started by the schedule {visible(details.schedule)}")
    if details.input is not None:
        given = encode_json(details.input)
        more = f"… (`wonder runs context {details.run_id}` shows it all)" if len(given) > _INPUT_SHOWN else ""
        print(f"  input {visible(given[:_INPUT_SHOWN])}{more}")
    if details.error:
        where = f" at node {details.error.node!r}" if details.error.node else ""
        print(f"  {color('error', visible(details.error.code))}{where}: {visible_lines(details.error.message)}")
    if details.status == "completed":
        print(f"  output {visible_json(details.output)}")
    if until_ms := details.calls_wait_until_ms:
        until = time.strftime("%H:%M:%S", time.localtime(until_ms / 1_000))
        print(f"  its project has used up max_llm_calls_per_hour: calls of models wait in line until {until}")
    print()
    _print_nodes(details)
    if details.children:
        print()
    for child in details.children[:_CHILDREN_SHOWN]:
        print(f"called run {child.run_id}: {child.status}")
    if details.children_total > _CHILDREN_SHOWN:
        print(f"and {details.children_total - _CHILDREN_SHOWN:,} more; `wonder query` reads all from run_log")
    _print_triggered(details)
    if details.answers:
        print()
    for answer in details.answers:
        print(f"{_short(answer.prompt)}: {given_lines([answer])[0]}")
    for item in details.inbox:
        print("\n" + "\n".join(question_lines(item)))
    if details.events:
        print("\n" + "\n".join(event_lines(details.events)))
    if details.functions:
        print("\n" + "\n".join(function_lines(details.functions)))


def _print_nodes(details: RunDetails) -> None:
    titles = ["NODE", "PATH", "STATUS", "TOOK", "ATTEMPTS"]
    items = any(token.item is not UNSET for token in details.tokens)
    costs = details.llm_tokens or details.cost_usd
    rows = []
    for token in details.tokens:
        took = "under way" if token.took_ms is None else f"{token.took_ms / 1000:.3f} s"
        row = [
            named(token.node, token.node_name),
            token.path_id,
            token.status + _until(token),
            took,
            str(token.attempts or ""),
        ]
        row += [f"{token.llm_tokens:,}", f"{token.cost_usd:.6f}"] if costs else []
        rows.append([*row, _item(token)] if items else row)
    titles += ["TOKENS", "COST USD"] if costs else []
    print_table([*titles, "ITEM"] if items else titles, rows)
    failed = [token for token in details.tokens if token.error and not _is_end(token, details)]
    for token in failed[:_FAILURES_SHOWN]:
        assert token.error
        reason = f"{color('error', visible(token.error.code))}: {visible_lines(token.error.message)}"
        print(f"{token.node} {token.path_id} failed with {reason}")
    if len(failed) > _FAILURES_SHOWN:
        print(f"and {len(failed) - _FAILURES_SHOWN:,} more; `wonder runs history {details.run_id} --failed` shows all")
    if details.tokens_total > len(rows):
        print(f"these are the first {len(rows):,} of {details.tokens_total:,}; `wonder query` reads all from token_log")


def _short(prompt: str) -> str:
    """Write the beginning of a question in one line."""
    first = visible(prompt.strip().partition("\n")[0])
    return first if len(first) <= _ITEM_SHOWN else first[:_ITEM_SHOWN] + "…"


def _item(token: TokenRecord) -> str:
    """Write what a branch was made for, shortened."""
    shown = "" if token.item is UNSET else visible(encode_json(token.item))
    return shown if len(shown) <= _ITEM_SHOWN else shown[:_ITEM_SHOWN] + "…"


def _is_end(token: TokenRecord, details: RunDetails) -> bool:
    """Say whether the failure of a node is the run's own, which is shown above."""
    error, own = token.error, details.error
    return own is not None and error is not None and (own.node, own.message) == (token.node, error.message)


def _spent(details: RunDetails) -> str:
    tokens, cost = details.llm_tokens, details.cost_usd
    return f", {cost:.6f} USD for {tokens:,} tokens" if tokens or cost else ""


def _until(token: TokenRecord) -> str:
    """Say how long something sleeps."""
    wait = token.waits_for
    if not isinstance(wait, dict) or wait.get("kind") != "sleep" or not isinstance(due_ms := wait.get("due_ms"), int):
        return ""
    return f", sleeps until {shown_time(due_ms)}" if 0 <= due_ms < 2**42 else ""


def _print_triggered(details: RunDetails) -> None:
    if not details.triggers:
        return
    print()
    print_table(["TRIGGER", "STATUS", "RUNS", "REASON"], [_trigger(trigger) for trigger in details.triggers])
    for run_id in details.triggered_run_ids[:_TRIGGERED_SHOWN]:
        print(f"  ↳ {run_id}")
    if len(details.triggered_run_ids) > _TRIGGERED_SHOWN:
        print(f"  … and {len(details.triggered_run_ids) - _TRIGGERED_SHOWN:,} more; --json shows all")


def _trigger(trigger: TriggerRecord) -> list[str]:
    reason = f"{trigger.reason.code}: {trigger.reason.message}" if trigger.reason else ""
    return [trigger.workflow_id, trigger.status, str(trigger.runs), reason]
