"""What a scenario came to, to be compared with how it goes without a crash, and all that is wrong with it."""

import json
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

from proof.crashes.outside import Outside
from proof.crashes.scenarios import Scenario
from wonder.checker.checking import Count, check_runs
from wonder.checker.outside import check_log
from wonder.language.values import canonical_json
from wonder.observe.verify import verify_run
from wonder.storage.store import Store

_RUNS = """
    SELECT runs.id, defs.name, runs.idempotency_key, runs.status, runs.output, runs.error
    FROM runs JOIN workflow_defs defs ON defs.id = runs.workflow_def_id AND defs.version = runs.workflow_version
    ORDER BY runs.id
"""
_TOKENS = "SELECT nodes.ref, tokens.status FROM tokens JOIN nodes ON nodes.id = tokens.node_id"
# Retries and forks have tokens that had completed before them.
_ACTED = """
    SELECT tokens.run_id, tokens.id FROM tokens JOIN nodes ON nodes.id = tokens.node_id
    JOIN runs ON runs.id = tokens.run_id AND runs.retry_of_run_id IS NULL AND runs.forked_from_run_id IS NULL
    JOIN steps ON steps.task_def_id = nodes.task_id AND steps.task_def_version = nodes.task_version
    JOIN action_defs actions ON actions.id = steps.action_id AND actions.version = steps.action_version
    WHERE tokens.status = 'completed' AND actions.kind = 'python' AND actions.idempotency IS NULL
"""


async def outcome(store: Store, scenario: Scenario) -> dict[str, Any]:
    """Give how all runs ended, and how their tokens did, without anything that is another each time."""
    runs = []
    for _, name, key, status, output, error in await store.query(_RUNS):
        code = None if error is None else json.loads(str(error))["code"]
        runs.append([str(name), key, str(status), None if output is None else json.loads(str(output)), code])
    found: dict[str, Any] = {"runs": sorted(runs, key=canonical_json)}
    if scenario.counts_tokens:
        tokens = Counter(f"{ref!s} {status!s}" for ref, status in await store.query(_TOKENS))
        found["tokens"] = dict(sorted(tokens.items()))
    return found


async def violations(store: Store, outside: Outside) -> AsyncIterator[str]:
    """Look for what must never be: in the rows, between rows and events, and between rows and what was seen outside."""
    async for violation in check_runs(store, Count()):
        yield f"checker: {violation}"
    log = outside.lines()
    async for violation in check_log(store, log):
        yield f"outside log: {violation}"
    for (run_id,) in await store.query("SELECT id FROM runs ORDER BY id"):
        for fault in await verify_run(store, str(run_id)):
            yield f"verify: run {run_id!s}: {fault}"
    effects = {(line["run"], line["token"]) for line in log if line["kind"] == "effect"}
    for run_id, token_id in await store.query(_ACTED):
        if (run_id, token_id) not in effects:
            yield f"effects: token {token_id!s} of run {run_id!s} completed, and its action has not acted"
    for line in _charged_too_often(log):
        yield line


def _charged_too_often(log: list[dict[str, Any]]) -> list[str]:
    """RET-4: a success that is kept is not repeated; only a crash between acting and keeping may do so."""
    charges = Counter(line["order"] for line in log if line["kind"] == "effect" and "order" in line)
    allowed = 1 + sum(line["kind"] == "crash" for line in log)
    return [f"effects: order {order} was charged for {n} times" for order, n in charges.items() if n > allowed]
